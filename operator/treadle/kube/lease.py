"""Leader election by a Lease: at most one scheduler decides, and one that cannot renew stops before another may start.

client-go's rule: the lease's times are never compared with our clock. A lease counts as expired when its record has not changed
for its duration as we observe it. Every write carries the resourceVersion that was read, so two candidates cannot both win.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from treadle.kube.errors import KubeError
from treadle.kube.transport import Client

log = logging.getLogger(__name__)


class Lease:
    """Acquires and keeps the lease ``namespace/name`` as ``identity``. Times are in seconds, client-go's defaults."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        duration: float = 15.0,
        renew: float = 10.0,
        retry: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = identity
        self.holder = ""
        self._client = client
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._duration, self._renew, self._retry = duration, renew, retry
        self._observed: tuple[object, float] = (None, float("-inf"))
        self._renewed = float("-inf")
        self._clock = clock
        self._given_up = False

    @property
    def held(self) -> bool:
        """Whether we lead: our last successful renewal is recent enough that nobody else may have taken over."""
        return self._clock() < self._renewed + self._renew

    async def run(self, changed: Callable[[bool], None]) -> None:
        """Try to lead until cancelled; ``changed(True)`` when we begin to, ``changed(False)`` when we no longer do."""
        led = False
        while not self._given_up:
            try:
                await self._try()
            except KubeError as error:
                log.warning("lease %s: %s", self._name, error)
            if self.held != led:
                led = self.held
                changed(led)
            await asyncio.sleep(self._retry)

    async def release(self) -> None:
        """Give the lease up for good, so that the next leader need not wait for it to expire."""
        held, self._given_up = self.held, True
        self._renewed = float("-inf")
        if not held:
            return
        path = f"{self._collection}/{self._name}"
        try:
            for _ in range(3):  # a renewal that was under way may come between
                answer = await self._client.request("GET", path, timeout=2)
                lease = answer.json() if answer.status == 200 else {"spec": {}}
                if lease["spec"].get("holderIdentity") != self.identity:
                    return
                lease["spec"].update(holderIdentity="", leaseDurationSeconds=1)
                answer = await self._client.request("PUT", path, lease, timeout=2)
                if answer.status != 409:
                    return
        except KubeError as error:
            log.info("lease %s not released: %s", self._name, error)

    async def _try(self) -> None:
        start = self._clock()
        answer = await self._client.request("GET", f"{self._collection}/{self._name}", timeout=self._renew / 2)
        if answer.status == 404:
            body = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self._name},
                "spec": self._spec(0),
            }
            answer = await self._client.request("POST", self._collection, body, timeout=self._renew / 2)
        elif answer.status == 200:
            lease: dict[str, Any] = answer.json()
            spec = lease.get("spec") or {}
            self.holder = spec.get("holderIdentity") or ""
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
            answer = await self._client.request("PUT", f"{self._collection}/{self._name}", lease, timeout=self._renew / 2)
        if answer.status in {200, 201} and not self._given_up:
            self._renewed = start
            self.holder = self.identity
        elif answer.status not in {200, 201, 409}:
            raise answer.error()

    def _spec(self, transitions: int) -> dict[str, Any]:
        now = _now()
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }


def _now() -> str:
    """Return the time with the six decimals that MicroTime insists on."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
