"""Claims and volumes are told what was decided for them: the node that a volume is made for, or the volume that a claim gets.

Each write holds only for the object as it was read (its resourceVersion), so what somebody else has written meanwhile is never
overwritten. Whatever goes wrong is reported and decided anew: the watches tell what of it has come to be.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from treadle.core.effects import BindVolumes, ClaimVolume, ProvisionVolume
from treadle.core.events import BindFailed
from treadle.kube.errors import Unreachable
from treadle.kube.storage import SELECTED_NODE
from treadle.kube.transport import MERGE, Client

log = logging.getLogger(__name__)

AT_ONCE = 16
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
OVERTAKEN = "this instance does not lead any more"


class ClaimBinder:
    """Writes what was decided for the claims of pods; ``report`` gets what went wrong. ``written`` counts writes that were taken."""

    def __init__(self, client: Client, report: Callable[[BindFailed], None]) -> None:
        self.client = client
        self.written = 0
        self.failed = 0
        self._report = report
        self._waiting: asyncio.Queue[BindVolumes] = asyncio.Queue()
        self._under_way: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)

    def submit(self, decided: BindVolumes) -> None:
        """Write what was decided for the claims of a pod."""
        if decided.found or decided.made:
            self._waiting.put_nowait(decided)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                decided = await self._waiting.get()
                task = group.create_task(self._safely(decided), name=f"claims-{decided.name}")
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    def withdraw(self) -> None:
        """Write nothing more, because somebody else may lead."""
        while not self._waiting.empty():
            self._fail(self._waiting.get_nowait(), OVERTAKEN)
        for task in self._under_way:
            task.cancel(OVERTAKEN)

    async def _safely(self, decided: BindVolumes) -> None:
        try:
            async with self._slots:
                for volume in decided.found:
                    await self._keep(volume)
                for claim in decided.made:
                    await self._choose(claim, decided.node)
        except asyncio.CancelledError:
            self._fail(decided, OVERTAKEN)
            raise
        except _NotTaken as error:
            self._fail(decided, str(error))
        except Exception:
            log.exception("claims of pod %s/%s", decided.namespace, decided.name)
            self._fail(decided, "its claims could not be bound by a defect of ours; the log has more")

    async def _keep(self, decided: ClaimVolume) -> None:
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": decided.namespace,
            "name": decided.claim,
            "uid": decided.claim_uid,
            "resourceVersion": decided.claim_version,
        }
        body = {
            "metadata": {"resourceVersion": decided.volume_version, "annotations": {BY_CONTROLLER: "yes"}},
            "spec": {"claimRef": reference},
        }
        await self._patch(f"/api/v1/persistentvolumes/{decided.volume}", body, f'persistentvolume "{decided.volume}"')

    async def _choose(self, decided: ProvisionVolume, node: str) -> None:
        body = {"metadata": {"resourceVersion": decided.version, "annotations": {SELECTED_NODE: node}}}
        path = f"/api/v1/namespaces/{decided.namespace}/persistentvolumeclaims/{decided.claim}"
        await self._patch(path, body, f'persistentvolumeclaim "{decided.claim}"')

    async def _patch(self, path: str, body: Mapping[str, Any], what: str) -> None:
        try:
            answer = await self.client.request("PATCH", path, body, pool="claims", content_type=MERGE)
        except Unreachable as error:
            raise _NotTaken(f"{what} could not be written: {error}") from error
        if answer.status != 200:
            raise _NotTaken(f"{what} could not be written: {answer.status} {answer.error().message}")
        self.written += 1

    def _fail(self, decided: BindVolumes, why: str) -> None:
        self.failed += 1
        log.info("volumes of %s/%s: %s", decided.namespace, decided.name, why)
        self._report(BindFailed(decided.uid, "transient", why))


class _NotTaken(Exception):
    """A write that did not come to be, as far as is known."""
