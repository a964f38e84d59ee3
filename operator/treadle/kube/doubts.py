"""Binds in doubt: those of which no answer says what became of them. The pod is asked, and where it is not bound it is fenced.

A request without a useful answer may still be under way, in a proxy or in a server that is slow, and be carried out later. Every
Binding carries the resourceVersion of the pod as it was read, so one write to the pod keeps such a request out for good: the
server refuses a Binding whose version is not the pod's. Only then may the room on the node be given to somebody else.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from treadle.kube.errors import Unreachable
from treadle.kube.transport import STRATEGIC, Client, Response
from treadle.kube.wire import Pod

log = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
"""Seconds between two questions: the wait doubles from the first to the longest."""
AT_ONCE = 16
"""Questions that are under way at the same time."""
WARN_EVERY = 300.0
"""Seconds between two warnings that pods cannot be read or written to."""
BIND_UNANSWERED = "BindUnanswered"
"""The reason of the condition that fences a pod."""


class Asked(NamedTuple):
    """Which pod is asked about. ``version`` is the resourceVersion that its Binding carried, empty where that is not known."""

    uid: str
    namespace: str
    name: str
    version: str = ""
    node: str = ""

    @property
    def path(self) -> str:
        """The URL path of the pod."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


class Doubts:
    """Asks for pods until there is an answer that can be relied on. One request at a time for a pod, ``AT_ONCE`` for all."""

    def __init__(self, client: Client, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.client = client
        self.fenced = 0
        """Pods that were written to in order to keep a stray bind out."""
        self._now = now
        self.problem = ""
        """Which right is missing for asking, in the API server's words; empty while pods can be read and written to."""
        self._warned = float("-inf")
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._decode = msgspec.json.Decoder(Pod).decode

    async def settle(self, asked: Asked, *, fence: bool = True) -> Pod | None:
        """Return the pod as it is when no earlier bind can change it any more; None if there is no such pod.

        Asks again and again.

        With ``fence`` a pod that is not bound, and that still has the version that the Binding carried, is written to first.
        """
        wait = FIRST_WAIT
        try:
            while True:
                async with self._slots:
                    known, pod = await self._look(asked)
                    if known and (pod is None or _settled(pod, asked, fence=fence)):
                        return pod
                    if pod is not None:
                        known, pod = await self._fence(asked, pod)
                        if known:
                            return pod
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
        finally:  # also where it is not asked any more: what else is asked says so again
            self.problem = ""

    async def _look(self, asked: Asked) -> tuple[bool, Pod | None]:
        """Ask for the pod once. Returns whether the answer can be relied on, and the pod if there is one."""
        try:
            answer = await self.client.request("GET", asked.path, pool="read", timeout=10)
        except Unreachable:
            return False, None
        return self._read(asked, answer)

    async def _fence(self, asked: Asked, pod: Pod) -> tuple[bool, Pod | None]:
        """Write to a pod that is not bound, provided that it is as it was read; nothing is known where that fails."""
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": BIND_UNANSWERED,
            "message": f"the bind{f' to node {asked.node}' if asked.node else ''} was not answered; since {self._now().isoformat()} "
            "it cannot take place any more, and the pod is tried again",
        }
        meta = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
        body = {"metadata": meta, "status": {"conditions": [condition]}}
        try:
            answer = await self.client.request(
                "PATCH", f"{asked.path}/status", body, pool="status", content_type=STRATEGIC, timeout=10
            )
        except Unreachable:
            return False, None
        if answer.status != 200:
            if answer.status not in {404, 409}:
                self._warn("written to", asked, answer)
            return False, None
        known, found = self._read(asked, answer)
        if known:
            self.fenced += 1
        return known, found

    def _read(self, asked: Asked, answer: Response) -> tuple[bool, Pod | None]:
        """Read an answer that should be the pod, or say that there is none; what is neither says nothing."""
        if answer.status == 404:
            return answer.error().reason == "NotFound", None
        if answer.status != 200:
            self._warn("read", asked, answer)
            return False, None
        try:
            pod = self._decode(answer.body)
        except msgspec.DecodeError as error:
            log.warning("%s/%s: the answer is not a pod that can be read: %s", asked.namespace, asked.name, error)
            return False, None
        if not pod.metadata.uid or pod.spec is None:
            return False, None
        return True, pod if pod.metadata.uid == asked.uid else None

    def _warn(self, what: str, asked: Asked, answer: Response) -> None:
        """Say now and then that what became of binds cannot be found out; a right that is missing is a problem until a pod was read."""
        said = answer.error()
        if answer.status in {401, 403}:
            self.problem = f"{asked.namespace}/{asked.name}, whose bind is in doubt, cannot be {what}: {said}"
        now = time.monotonic()
        if now >= self._warned + WARN_EVERY:
            self._warned = now
            log.warning(
                "%s/%s, whose bind is in doubt, cannot be %s, and it is tried again: %s", asked.namespace, asked.name, what, said
            )


def _settled(pod: Pod, asked: Asked, *, fence: bool) -> bool:
    """Whether no bind that was sent before can change the pod: it is bound, or its version is another one than that bind carried."""
    assert pod.spec is not None
    return bool(pod.spec.node_name) or not fence or (bool(asked.version) and pod.metadata.resource_version != asked.version)
