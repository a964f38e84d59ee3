"""Claims that a predecessor was giving devices are fenced: written to, so that what it sent for them is refused if it arrives late.

Each of its writes carries the resourceVersion that it had read; after a write of ours none of them can be taken any more. What was
taken before is told by the watch, so nothing is decided before the watch has come so far.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from treadle.api.labels import GROUP as OUR_GROUP
from treadle.kube.announcing import FIRST_WAIT, LONGEST_WAIT
from treadle.kube.devices import GROUP
from treadle.kube.doubts import Asked
from treadle.kube.errors import Unreachable
from treadle.kube.transport import MERGE, Client, Response

log = logging.getLogger(__name__)

FENCED = f"{OUR_GROUP}/fenced"
"""The annotation of a ResourceClaim that says since when nothing a former leader sent can give it devices."""
AT_ONCE = 16
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 200, 401, 403, 404, 409


class DeviceFences:
    """Fences ResourceClaims. ``fenced`` counts those that were written to."""

    def __init__(self, client: Client, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.client = client
        self.fenced = 0
        self._now = now
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def settle(self, claims: Iterable[Asked]) -> int:
        """Return when nothing that was sent before can give any of the claims devices.

        Returns the newest resourceVersion that a claim has by then: what is known of claims must be as new. A claim that may not
        be read or written to is given up: whoever sent something for it has lost that right as well.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._settle(claim)) for claim in claims]
        return max((task.result() for task in tasks), default=0)

    async def _settle(self, claim: Asked) -> int:
        path = f"{GROUP}/namespaces/{claim.namespace}/resourceclaims/{claim.name}"
        wait = FIRST_WAIT
        while True:
            try:
                async with self._slots:
                    version = await self._fence(claim, path)
                if version is not None:
                    return version
            except Unreachable as error:
                log.info("resourceclaim %s/%s cannot be fenced yet: %s", claim.namespace, claim.name, error)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _fence(self, claim: Asked, path: str) -> int | None:
        """Read the claim and write to it; returns its version after that, 0 if there is no such claim, None if nothing is known."""
        answer = await self.client.request("GET", path, pool="read", timeout=10)
        if answer.status != _OK:
            return self._refused(claim, answer)
        meta = answer.json()["metadata"]
        if meta["uid"] != claim.uid:
            return 0
        body = {
            "metadata": {
                "uid": claim.uid,
                "resourceVersion": meta["resourceVersion"],
                "annotations": {FENCED: self._now().isoformat()},
            }
        }
        answer = await self.client.request("PATCH", path, body, pool="status", content_type=MERGE, timeout=10)
        if answer.status != _OK:
            return self._refused(claim, answer)
        self.fenced += 1
        return int(answer.json()["metadata"]["resourceVersion"])

    def _refused(self, claim: Asked, answer: Response) -> int | None:
        error = answer.error()
        if answer.status == _NOT_FOUND and error.reason == "NotFound":
            return 0
        if answer.status in {_UNAUTHORIZED, _FORBIDDEN}:
            log.warning("resourceclaim %s/%s cannot be fenced, and is left as it is: %s", claim.namespace, claim.name, error)
            return 0
        if answer.status != _CONFLICT:
            log.info("resourceclaim %s/%s cannot be fenced yet: %s", claim.namespace, claim.name, error)
        return None
