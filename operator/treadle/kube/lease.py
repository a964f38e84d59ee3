"""Leader election by a Lease: at most one scheduler decides, and one that cannot renew stops before another may start.

client-go's rule: the lease's times are never compared with our clock. A lease counts as expired when its record has not changed
for its duration as we observe it. Every write carries the resourceVersion that was read, so two candidates cannot both win.

Leading is a right that runs out by itself, by a clock that goes on while the process is stopped: ``right`` is asked whenever a
write leaves. What was sent while it held may still arrive late. So a leader writes into the lease what it is about to bind, and
which claims are about to get devices. Who comes after it finds that in ``inherited`` and ``inherited_claims``: it sees to those
pods and claims before it decides anything.

A leader may also write where it serves, so that who stands by can pass on what only the leader answers.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from treadle.api.labels import GROUP
from treadle.kube.doubts import Asked
from treadle.kube.errors import KubeError
from treadle.kube.transport import Client, Response

log = logging.getLogger(__name__)

BINDING = f"{GROUP}/binding"
"""The annotation of a lease with the pods whose binds may be under way, each as ``namespace/name/uid``."""
CLAIMING = f"{GROUP}/claiming"
"""The annotation of a lease with the ResourceClaims for which devices may be on their way, each as ``namespace/name/uid``."""
SERVING = f"{GROUP}/serving"
"""The annotation of a lease with who serves where, as ``identity host:port``; it counts for the holder of that identity alone."""
SLACK = 0.5
"""Seconds before the lease's end at which the last write of a leader ends."""


def boot_time() -> float:
    """Return seconds since the machine started, those included for which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Lease:
    """Acquires and keeps the lease ``namespace/name`` as ``identity``. Times are in seconds.

    It lasts ``duration``, after ``renew`` without a renewal its holder leads no longer, a leader renews it each ``retry``, and who stands by looks each ``look``. A leader that is killed is
    followed within 15 seconds (client-go's defaults: 15, 10 and 2), one that gives it up within 2.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        duration: float = 11.0,
        renew: float = 8.0,
        retry: float = 2.0,
        look: float = 0.25,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self.identity = identity
        self.holder = ""
        self.problem = ""
        """Why the last try to lead, or to see who does, came to nothing; empty if it did not."""
        self.inherited: list[Asked] = []
        """Pods whose binds a predecessor may have under way; filled when the lease is acquired."""
        self.inherited_claims: list[Asked] = []
        """ResourceClaims that a predecessor may be giving devices; filled when the lease is acquired."""
        self.handed_over = False
        """Whether a predecessor gave the lease up with nothing under way, when it was acquired."""
        self.serves = ""
        """Where we serve, as ``host:port``, which stands in the lease while we lead; empty for nowhere. Set before ``run``."""
        self._elsewhere = ""
        self._client = client
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._duration, self._renew, self._retry, self._look = duration, renew, retry, look
        self._observed: tuple[object, float] = (None, float("-inf"))
        self._renewed = float("-inf")
        self._clock = clock
        self._given_up = False
        self._lock = asyncio.Lock()
        self._turned = asyncio.Event()
        self._written: dict[str, Any] | None = None
        """The lease as we last wrote it."""

    @property
    def held(self) -> bool:
        """Whether we lead: our last successful renewal is recent enough that nobody else may have taken over."""
        return self._clock() < self._renewed + self._renew

    @property
    def elsewhere(self) -> str:
        """Where whoever leads instead of us serves, as ``host:port`` with an address, of IPv6 in brackets; empty if nobody does or it is not said."""
        return "" if self.held else self._elsewhere

    def right(self) -> float:
        """Return for how many seconds a write that leaves now may live, so that it ends before anybody else can lead; 0 if we do not lead."""
        now = self._clock()
        return self._renewed + self._duration - SLACK - now if now < self._renewed + self._renew else 0.0

    async def run(self, changed: Callable[[bool], None]) -> None:
        """Try to lead until cancelled; ``changed(True)`` when we begin to, ``changed(False)`` when we no longer do."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._notice(changed), name="lease-notice")
            while not self._given_up:
                try:
                    async with self._lock:
                        await self._try()
                    self.problem = ""
                except KubeError as error:
                    self.problem = str(error)
                    log.warning("lease %s: %s", self._name, error)
                self._turned.set()
                await asyncio.sleep(self._retry if self.held else self._look)

    async def record(self, binding: list[str]) -> bool:
        """Write down which binds may be under way from now on; returns whether that is written and we lead.

        It renews the lease as well.
        """
        return await self._record(BINDING, binding)

    async def record_claims(self, claiming: list[str]) -> bool:
        """Write down which ResourceClaims may get devices from now on; returns whether that is written and we lead."""
        return await self._record(CLAIMING, claiming)

    async def _record(self, annotation: str, names: list[str]) -> bool:
        async with self._lock:
            if not self.held or self._given_up or self._written is None:
                return False
            lease = self._written
            metadata = {
                **lease["metadata"],
                "annotations": {**(lease["metadata"].get("annotations") or {}), annotation: " ".join(names)},
            }
            start = self._clock()
            try:
                answer = await self._put({**lease, "metadata": metadata, "spec": {**lease["spec"], "renewTime": _now()}})
                if answer.status == 200:
                    self._renew_at(start, answer)
                    return self.held
                await self._try()  # somebody else wrote to it, or an earlier write arrived after all
            except KubeError as error:
                log.warning("lease %s: %s", self._name, error)
            return False

    async def _notice(self, changed: Callable[[bool], None]) -> None:
        """Tell when leading begins, and when it ends: by a renewal, or by the lack of one."""
        led = False
        while not self._given_up:
            self._turned.clear()
            if self.held != led:
                led = not led
                changed(led)
            left = self._renewed + self._renew - self._clock()
            try:
                async with asyncio.timeout(max(left, 0.001) if led else None):
                    await self._turned.wait()
            except TimeoutError:
                continue

    async def release(self, *, settled: bool = True) -> None:
        """Give the lease up for good, so that the next leader need not wait for it to expire.

        Unless ``settled`` it keeps the list of what may be under way.
        """
        held, self._given_up = self.held, True
        self._renewed = float("-inf")
        self._turned.set()
        if not held:
            return
        path = f"{self._collection}/{self._name}"
        try:
            for _ in range(3):  # a renewal that was under way may come between
                answer = await self._client.request("GET", path, timeout=2, pool="lease")
                lease = answer.json() if answer.status == 200 else {"spec": {}}
                if lease["spec"].get("holderIdentity") != self.identity:
                    return
                lease["spec"].update(holderIdentity="", leaseDurationSeconds=1)
                if settled:
                    for annotation in (BINDING, CLAIMING):
                        (lease["metadata"].get("annotations") or {}).pop(annotation, None)
                answer = await self._client.request("PUT", path, lease, timeout=2, pool="lease")
                if answer.status != 409:
                    return
        except KubeError as error:
            log.info("lease %s not released: %s", self._name, error)

    async def _try(self) -> None:
        start = self._clock()
        answer = await self._client.request("GET", f"{self._collection}/{self._name}", timeout=self._renew / 2, pool="lease")
        lease: dict[str, Any] = {}
        released = False
        if answer.status == 404:
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": self._signed({"name": self._name}),
                "spec": self._spec(0),
            }
            answer = await self._client.request("POST", self._collection, body, timeout=self._renew / 2, pool="lease")
        elif answer.status == 200:
            lease = answer.json()
            spec = lease.get("spec") or {}
            self.holder = spec.get("holderIdentity") or ""
            self._elsewhere = _served(lease, self.holder) if self.holder != self.identity else ""
            released = not self.holder and not _announced(lease, BINDING) and not _announced(lease, CLAIMING)
            record = (lease["metadata"]["resourceVersion"],)
            if record != self._observed[0]:
                self._observed = (record, start)
            expired = start > self._observed[1] + float(spec.get("leaseDurationSeconds") or self._duration)
            if self.holder not in {"", self.identity} and not expired:
                return
            transitions = int(spec.get("leaseTransitions") or 0)
            lease["spec"] = {
                **self._spec(transitions + (self.holder != self.identity)),
                "acquireTime": spec.get("acquireTime") or _now(),
            }
            if self.holder != self.identity:
                lease["spec"]["acquireTime"] = _now()
            lease["metadata"] = self._signed(lease["metadata"])
            answer = await self._put(lease)
        if answer.status in {200, 201} and not self._given_up:
            if not self.held:
                self.handed_over = released
                self.inherited, self.inherited_claims = _announced(lease, BINDING), _announced(lease, CLAIMING)
            self._renew_at(start, answer)
        elif answer.status not in {200, 201, 409}:
            raise answer.error()

    async def _put(self, lease: dict[str, Any]) -> Response:
        return await self._client.request("PUT", f"{self._collection}/{self._name}", lease, timeout=self._renew / 2, pool="lease")

    def _renew_at(self, start: float, answer: Response) -> None:
        """Count from the moment at which the renewal was sent: nobody can have seen it earlier."""
        self._renewed = start
        self.holder = self.identity
        self._written = answer.json()

    def _signed(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Return metadata that say where we serve, and where nobody else does any more."""
        annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != SERVING}
        if self.serves:
            annotations[SERVING] = f"{self.identity} {self.serves}"
        return {**metadata, "annotations": annotations} if annotations or "annotations" in metadata else metadata

    def _spec(self, transitions: int) -> dict[str, Any]:
        now = _now()
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }


def _announced(lease: dict[str, Any], annotation: str) -> list[Asked]:
    """Read what a leader has announced; what is not in the form is left out."""
    text = ((lease.get("metadata") or {}).get("annotations") or {}).get(annotation) or ""
    parts = [entry.split("/") for entry in text.split()]
    return [Asked(part[2], part[0], part[1]) for part in parts if len(part) == 3 and all(part)]


def _served(lease: dict[str, Any], holder: str) -> str:
    """Read where the holder serves; what is not in the form, or is of another one, is left out."""
    text = ((lease.get("metadata") or {}).get("annotations") or {}).get(SERVING) or ""
    identity, _, address = text.rpartition(" ")
    host, colon, port = address.rpartition(":")
    if not holder or identity != holder or not colon or re.fullmatch("[0-9]{1,5}", port) is None or not 0 < int(port) < 65536:
        return ""
    try:
        found = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return ""
    if found.is_unspecified or found.is_multicast or "%" in host:  # a zone is of the machine that wrote it
        return ""
    return f"[{found}]:{int(port)}" if found.version == 6 else f"{found}:{int(port)}"


def _now() -> str:
    """Return the time with the six decimals that MicroTime insists on."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
