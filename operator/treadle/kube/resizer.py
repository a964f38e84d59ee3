"""Pods on nodes are given other requests in place (the subresource ``resize``), where their execution type has changed.

A pod is read before, and the change holds only for the pod as it was read: what it asks for is its owner's to say, up to the moment of writing.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from treadle.api.execution import OPPORTUNISTIC
from treadle.core.effects import Resize
from treadle.core.events import PodGone, ResizeDone, ResizeFailed
from treadle.kube import turning
from treadle.kube.errors import KubeError
from treadle.kube.transport import STRATEGIC, Client, Response
from treadle.kube.wire import Pod

log = logging.getLogger(__name__)

AT_ONCE = 8
TRIES = 4
"""How often a pod is read and written again that changes in between."""
OVERTAKEN = "this instance does not lead any more"
Outcome = ResizeDone | ResizeFailed | PodGone
_pod = msgspec.json.Decoder(Pod)


class Resizer:
    """Changes requests of pods; ``report`` gets what became of it. ``resized`` counts the changes that were taken, ``failed`` the others."""

    def __init__(self, client: Client, report: Callable[[Outcome], None]) -> None:
        self.client = client
        self.resized = 0
        self.failed = 0
        self._report = report
        self._waiting: asyncio.Queue[Resize] = asyncio.Queue()
        self._under_way: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)

    def submit(self, decided: Resize) -> None:
        """Change the requests of a pod."""
        self._waiting.put_nowait(decided)

    async def run(self) -> None:
        """Resize until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                decided = await self._waiting.get()
                task = group.create_task(self._safely(decided), name=f"resize-{decided.name}")
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    def withdraw(self) -> None:
        """Change nothing more, because somebody else may lead."""
        while not self._waiting.empty():
            self._tell(ResizeFailed(self._waiting.get_nowait().uid, OVERTAKEN))
        for task in self._under_way:
            task.cancel(OVERTAKEN)

    async def _safely(self, decided: Resize) -> None:
        try:
            async with self._slots:
                outcome = await self._resize(decided)
        except asyncio.CancelledError:
            self._tell(ResizeFailed(decided.uid, OVERTAKEN))
            raise
        except (KubeError, msgspec.DecodeError) as error:
            outcome = ResizeFailed(decided.uid, str(error))
        except Exception:
            log.exception("requests of %s/%s", decided.namespace, decided.name)
            outcome = ResizeFailed(decided.uid, "its requests could not be changed by a defect of ours; the log has more")
        self._tell(outcome)

    async def _resize(self, decided: Resize) -> Outcome:
        path = f"/api/v1/namespaces/{decided.namespace}/pods/{decided.name}"
        for _ in range(TRIES):
            answer = await self.client.request("GET", path)
            if answer.status == 404:
                return PodGone(decided.uid)
            if answer.status != 200:
                return ResizeFailed(decided.uid, f"{answer.status} {answer.error().message}")
            seen = _pod.decode(answer.body)
            if seen.metadata.uid != decided.uid:
                return PodGone(decided.uid)
            change = _change(seen, guaranteed=decided.guaranteed)
            if change.why:
                return ResizeFailed(decided.uid, change.why)
            if (first := _said_first(seen, guaranteed=decided.guaranteed)) is not None:
                answer = await self._patch(f"{path}/status", first)
                if answer.status == 200:
                    seen = _pod.decode(answer.body)
            if answer.status == 200:
                answer = await self._patch(f"{path}/resize", turning.body(seen, change.requests))
            if answer.status == 200:
                return ResizeDone(decided.uid, decided.guaranteed)
            if answer.status != 409:
                refused = answer.status in {400, 403, 404, 405, 422}
                if refused and decided.guaranteed:
                    await self._as_it_was(path, seen)
                return ResizeFailed(decided.uid, f"{answer.status} {answer.error().message}", refused)
        return ResizeFailed(decided.uid, "the pod changes again and again")

    async def _as_it_was(self, path: str, seen: Pod) -> None:
        """Let a pod say again that it is opportunistic that stays so and is promoted by itself: its label was written before its requests were refused.

        Where that fails its label is looked at again when the promotion is tried again.
        """
        for _ in range(TRIES):
            if not turning.claims(seen):
                return
            answer = await self._patch(f"{path}/status", turning.relabelled(seen, OPPORTUNISTIC))
            if answer.status != 409:
                return
            answer = await self.client.request("GET", path)
            if answer.status != 200:
                return
            again = _pod.decode(answer.body)
            if again.metadata.uid != seen.metadata.uid:
                return
            seen = again

    async def _patch(self, path: str, body: dict[str, object]) -> Response:
        return await self.client.request("PATCH", path, body, pool="claims", content_type=STRATEGIC)

    def _tell(self, outcome: Outcome) -> None:
        if isinstance(outcome, ResizeDone):
            self.resized += 1
        elif isinstance(outcome, ResizeFailed):
            self.failed += 1
            log.info("requests of the pod with uid %s were not changed: %s", outcome.uid, outcome.message)
        self._report(outcome)


def _said_first(seen: Pod, *, guaranteed: bool) -> dict[str, object] | None:
    """Return what is written of a pod before its requests change, None for nothing: it would be turned back otherwise."""
    if guaranteed:
        return turning.relabelled(seen) if turning.alone(seen) else None
    return None if turning.was_opportunistic(seen.metadata.annotations or {}) else turning.noted(seen)


class _Change(NamedTuple):
    """What a pod is to request, or why it is not to be changed."""

    requests: turning.Requests
    why: str = ""


def _change(seen: Pod, *, guaranteed: bool) -> _Change:
    asks = turning.turns(seen)
    spec, notes = seen.spec, seen.metadata.annotations
    wants = (asks.promotes or asks.if_guaranteed) if guaranteed else asks.demotes  # the latter its application asks for
    if spec is None or notes is None or not wants:
        return _Change({}, "the pod does not ask for it any more")
    return _Change(turning.when_guaranteed(spec, notes) if guaranteed else turning.when_opportunistic(spec))
