"""Claims for devices are told what was decided for them: the devices, and the pod that they are reserved for.

Each write holds only for the claim as it was read (its resourceVersion). Writes to one claim follow each other, each at the version that the one
before it made, so many pods may come to share a claim at once. Where there is no answer the same write is sent again: the version lets it be
taken once, so in the end it is known whether it was. Until then the devices are kept.

One device may stand in many claims, so versions alone do not keep two leaders from giving it twice: a leader announces the claims
that are about to get devices, and its successor fences them (``kube.device_fences``).
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from treadle.core.effects import ClaimDevices, FreeDevices, MakeClaim, ReserveDevices
from treadle.core.events import BindFailed
from treadle.core.model.devices import PROTECTION, Allocation, Consumer, DeviceRequest, DeviceResult
from treadle.core.model.volumes import NodeTerms
from treadle.kube.announcing import Announce, Announcing
from treadle.kube.devices import GROUP, SPECIAL
from treadle.kube.errors import Unreachable, Withheld
from treadle.kube.quantities import text_of
from treadle.kube.transport import MERGE, Client

log = logging.getLogger(__name__)

AT_ONCE = 16
FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0
"""Seconds after which a write without an answer is sent again; the wait doubles."""
PATIENCE = 590.0
"""Seconds for which it is; the core gives up the placement after ten minutes."""
MOST_KEPT = 4096
"""Claims whose newest version is remembered."""
OVERTAKEN = "this instance does not lead any more"
MOST_OF_NAME = 200
"""Characters of a pod's name that the name of a claim made for it begins with."""
_OK, _CREATED, _CONFLICT, _TOO_MANY, _SERVER = 200, 201, 409, 429, 500


class DeviceBinder:
    """Writes what was decided for the claims of pods; ``report`` gets what went wrong. ``written`` counts writes that were taken.

    ``announce`` is asked before anything is sent that gives a claim devices.
    """

    def __init__(self, client: Client, report: Callable[[BindFailed], None], *, announce: Announce | None = None) -> None:
        self.client = client
        self.announcing = Announcing(announce)
        self.written = 0
        self.failed = 0
        self._report = report
        self._waiting: asyncio.Queue[ReserveDevices | FreeDevices] = asyncio.Queue()
        self._under_way: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._locks: dict[str, asyncio.Lock] = {}
        self._newest: dict[str, Mapping[str, Any]] = {}
        """Claims as the server answered last, by uid."""

    def submit(self, decided: ReserveDevices | FreeDevices) -> None:
        """Write what was decided for the claims of a pod, or for one claim that keeps devices for none."""
        if isinstance(decided, FreeDevices) or decided.claims or decided.made is not None:
            self._waiting.put_nowait(decided)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.announcing.run(), name="announce-devices")
            while True:
                decided = await self._waiting.get()
                task = group.create_task(self._safely(decided), name=f"devices-{decided.uid}")
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    def withdraw(self) -> None:
        """Write nothing more, because somebody else may lead."""
        while not self._waiting.empty():
            self._fail(self._waiting.get_nowait(), OVERTAKEN)
        for task in self._under_way:
            task.cancel(OVERTAKEN)

    async def _safely(self, decided: ReserveDevices | FreeDevices) -> None:
        try:
            if isinstance(decided, FreeDevices):
                async with self._slots:
                    await self._free(decided)
                return
            for claim in decided.claims:
                lock = self._locks.setdefault(claim.uid, asyncio.Lock())
                async with lock, self._slots:
                    await self._reserve(claim)
                if not lock.locked():
                    self._locks.pop(claim.uid, None)
            if decided.made is not None:
                async with self._slots:
                    await self._make(decided, decided.made)
        except asyncio.CancelledError:
            self._fail(decided, OVERTAKEN)
            raise
        except _NotTaken as error:
            self._fail(decided, str(error))
        except Exception:
            log.exception("claims for devices of %s", decided)
            self._fail(decided, "its claims for devices could not be written by a defect of ours; the log has more")

    async def _reserve(self, claim: ClaimDevices) -> None:
        """Let a claim have its devices and be reserved for one more pod."""
        path = f"{GROUP}/namespaces/{claim.namespace}/resourceclaims/{claim.claim}"
        what, consumer = f'resourceclaim "{claim.claim}"', claim.reserved[-1]
        version, finalizers, reserved = claim.version, list(claim.finalizers), [_consumer(one) for one in claim.reserved]
        newest = self._newest.get(claim.uid)
        if newest is not None and _number(newest) > int(claim.version or 0):
            version = newest["metadata"]["resourceVersion"]
            finalizers = newest["metadata"].get("finalizers") or []
            known = newest.get("status", {}).get("reservedFor") or []
            if any(one["uid"] == consumer.uid for one in known):
                return
            reserved = [*known, _consumer(consumer)]
        allocation = None if claim.allocation is None else allocation_of(claim.allocation)
        status: dict[str, Any] = {"reservedFor": reserved, **({"allocation": allocation} if allocation is not None else {})}

        def ours(found: Mapping[str, Any]) -> bool:
            there = found.get("status") or {}
            return bool(there.get("allocation")) and any(one["uid"] == consumer.uid for one in there.get("reservedFor") or ())

        async with self.announcing.of(f"{claim.namespace}/{claim.claim}/{claim.uid}" if allocation is not None else ""):
            if allocation is not None and PROTECTION not in finalizers:
                body: dict[str, Any] = {
                    "metadata": {"uid": claim.uid, "resourceVersion": version, "finalizers": [*finalizers, PROTECTION]}
                }
                answer = await self._patch(
                    path, body, what, lambda found: PROTECTION in (found["metadata"].get("finalizers") or [])
                )
                version = answer["metadata"]["resourceVersion"]
            written = {"metadata": {"uid": claim.uid, "resourceVersion": version}, "status": status}
            answer = await self._patch(f"{path}/status", written, what, ours, read=path)
        self._newest[claim.uid] = answer
        if len(self._newest) > MOST_KEPT:
            del self._newest[next(iter(self._newest))]
        self.written += 1

    async def _make(self, decided: ReserveDevices, made: MakeClaim) -> None:
        """Make the claim for the extended resources of a pod; what is left of it when something goes wrong is found by its owner, and deleted."""
        path = f"{GROUP}/namespaces/{decided.namespace}/resourceclaims"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": decided.name, "uid": decided.uid, "controller": True}
        body = {
            "metadata": {
                "generateName": f"{decided.name[:MOST_OF_NAME]}-extended-resources-",
                "annotations": {SPECIAL: "true"},
                "ownerReferences": [owner],
                "finalizers": [PROTECTION],
            },
            "spec": {"devices": {"requests": [_request(one) for one in made.requests]}},
        }
        try:
            answer = await self.client.request("POST", path, body, pool="claims")
        except Unreachable as error:
            raise _NotTaken(f"a claim for its extended resources could not be made: {error}") from error
        if answer.status != _CREATED:
            words = answer.error().message
            raise _NotTaken(f"a claim for its extended resources could not be made: {answer.status} {words}")
        claim = answer.json()
        meta = claim["metadata"]
        status = {"allocation": allocation_of(made.allocation), "reservedFor": [_consumer(Consumer(decided.uid, decided.name))]}
        patch = {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "status": status}
        where, what = f"{path}/{meta['name']}", f'resourceclaim "{meta["name"]}"'
        async with self.announcing.of(f"{decided.namespace}/{meta['name']}/{meta['uid']}"):
            await self._patch(
                f"{where}/status", patch, what, lambda found: bool((found.get("status") or {}).get("allocation")), read=where
            )
        mappings = [
            {"containerName": one.container, "resourceName": one.resource, "requestName": one.request} for one in made.mappings
        ]
        told = {"extendedResourceClaimStatus": {"requestMappings": mappings, "resourceClaimName": meta["name"]}}
        pod = f"/api/v1/namespaces/{decided.namespace}/pods/{decided.name}"
        await self._patch(
            f"{pod}/status", {"metadata": {"uid": decided.uid}, "status": told}, f"pod {decided.name}", lambda _: False
        )
        self.written += 1

    async def _delete(self, decided: FreeDevices) -> None:
        """Delete a claim that was made for extended resources, after the finalizer that protects it."""
        path = f"{GROUP}/namespaces/{decided.namespace}/resourceclaims/{decided.claim}"
        body: dict[str, Any] = {"metadata": {"resourceVersion": decided.version, "finalizers": None}}
        try:
            answer = await self.client.request("PATCH", path, body, pool="claims", content_type=MERGE)
            if answer.status == _OK:
                version = answer.json()["metadata"]["resourceVersion"]
                answer = await self.client.request("DELETE", path, {"preconditions": {"resourceVersion": version}}, pool="claims")
        except Unreachable as error:
            log.info("resourceclaim %s/%s is not deleted: %s", decided.namespace, decided.claim, error)
            return
        if answer.status != _OK:
            log.info("resourceclaim %s/%s is not deleted: %s", decided.namespace, decided.claim, answer.error())

    async def _free(self, decided: FreeDevices) -> None:
        if decided.delete:
            await self._delete(decided)
            return
        body = {
            "metadata": {"resourceVersion": decided.version},
            "status": {"allocation": None, "reservedFor": None, "devices": None},
        }
        path = f"{GROUP}/namespaces/{decided.namespace}/resourceclaims/{decided.claim}/status"
        try:
            answer = await self.client.request("PATCH", path, body, pool="claims", content_type=MERGE)
        except Unreachable as error:
            log.info("resourceclaim %s/%s keeps its devices: %s", decided.namespace, decided.claim, error)
            return
        if answer.status == _OK:
            self.written += 1
        else:
            log.info("resourceclaim %s/%s keeps its devices: %s", decided.namespace, decided.claim, answer.error())

    async def _patch(
        self, path: str, body: Mapping[str, Any], what: str, ours: Callable[[Mapping[str, Any]], bool], read: str = ""
    ) -> Mapping[str, Any]:
        """Write until it is known whether it was taken, and return the claim as it is then. Raises ``_NotTaken``."""
        wait, doubt, deadline = FIRST_WAIT, False, asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                answer = await self.client.request("PATCH", path, body, pool="claims", content_type=MERGE)
            except Withheld as error:
                if not doubt:
                    raise _NotTaken(f"{what} could not be written: {error}") from error
                why = str(error)
            except Unreachable as error:
                doubt, why = True, str(error)
            else:
                if answer.status == _OK:
                    found: Mapping[str, Any] = answer.json()
                    return found
                why = f"{answer.status} {answer.error().message}"
                if answer.status == _CONFLICT and doubt:
                    known = await self._read(read or path)
                    if known is not None and ours(known):
                        return known
                if answer.status < _SERVER and answer.status != _TOO_MANY:
                    raise _NotTaken(f"{what} could not be written: {why}")
                doubt = doubt or answer.status >= _SERVER
            if asyncio.get_running_loop().time() + wait > deadline:
                raise _NotTaken(f"{what} could not be written: {why}")
            log.info("%s: %s; it is written again", what, why)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _read(self, path: str) -> Mapping[str, Any] | None:
        try:
            answer = await self.client.request("GET", path, pool="claims")
        except Unreachable:
            return None
        found: Mapping[str, Any] | None = answer.json() if answer.status == _OK else None
        return found

    def _fail(self, decided: ReserveDevices | FreeDevices, why: str) -> None:
        if isinstance(decided, FreeDevices):
            return
        self.failed += 1
        log.info("devices of %s/%s: %s", decided.namespace, decided.name, why)
        self._report(BindFailed(decided.uid, "transient", why))


class _NotTaken(Exception):
    """A write that did not come to be, as far as is known."""


def allocation_of(allocation: Allocation) -> dict[str, Any]:
    """Return an allocation as the API has it; each part of a shared device gets an identity of its own."""
    config = [
        {"source": one.source, "opaque": json.loads(one.opaque), **({"requests": list(one.requests)} if one.requests else {})}
        for one in allocation.configs
    ]
    found: dict[str, Any] = {
        "devices": {"results": [_result(one) for one in allocation.results], **({"config": config} if config else {})},
        "allocationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if allocation.nodes is not None:
        found["nodeSelector"] = {"nodeSelectorTerms": _terms(allocation.nodes)}
    return found


def _request(one: DeviceRequest) -> dict[str, Any]:
    asked = one.alternatives[0]
    exactly = {"deviceClassName": asked.device_class, "allocationMode": asked.mode, "count": asked.count}
    return {"name": one.name, "exactly": exactly}


def _result(one: DeviceResult) -> dict[str, Any]:
    found: dict[str, Any] = {"request": one.request, "driver": one.driver, "pool": one.pool, "device": one.device}
    if one.admin:
        found["adminAccess"] = True
    if one.tolerations:
        found["tolerations"] = [
            {
                name: value
                for name, value in (
                    ("key", each.key),
                    ("operator", each.operator),
                    ("value", each.value),
                    ("effect", each.effect),
                    ("tolerationSeconds", each.seconds),
                )
                if value not in {"", None}
            }
            for each in one.tolerations
        ]
    if one.conditions:
        found["bindingConditions"] = list(one.conditions)
    if one.failures:
        found["bindingFailureConditions"] = list(one.failures)
    if one.shared:
        found["shareID"] = str(uuid4())
        if one.consumed:
            found["consumedCapacity"] = {name: text_of(amount) for name, amount in one.consumed}
    return found


def _terms(terms: NodeTerms) -> list[dict[str, Any]]:
    found = []
    for term in terms:
        by_field: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
        for one in term:
            values = {"values": list(one.values)} if one.values else {}
            by_field[one.field].append({"key": one.key, "operator": one.operator, **values})
        made: dict[str, Any] = {}
        if by_field[False]:
            made["matchExpressions"] = by_field[False]
        if by_field[True]:
            made["matchFields"] = by_field[True]
        found.append(made)
    return found


def _consumer(one: Consumer) -> dict[str, str]:
    return {"resource": one.resource, "name": one.name, "uid": one.uid, **({"apiGroup": one.group} if one.group else {})}


def _number(claim: Mapping[str, Any]) -> int:
    version = claim["metadata"]["resourceVersion"]
    return int(version) if version.isdecimal() else 0
