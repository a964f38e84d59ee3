"""Evictions: victims of preemption are asked to go through the Eviction API, which respects disruption budgets.

A budget that does not let a pod go is asked again until the eviction's patience is at its end. Then the pod is deleted if the
policy says so, with its own time to end; else it stays, which is reported. Nobody is asked any more once nobody needs the room.
Every request names the uid, so that a namesake that came later is never meant.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from treadle.core.effects import Evict, Expire
from treadle.core.events import EvictFailed, PodGone
from treadle.kube.errors import Unreachable
from treadle.kube.transport import Client, Response

log = logging.getLogger(__name__)

AT_ONCE = 16
FIRST_WAIT, LONGEST_WAIT = 0.5, 5.0
WARN_EVERY = 300.0
"""Seconds between two warnings that evictions are refused."""
MOST_QUEUES = 10_000
"""Queues for which victims are counted."""
EVICTED, DELETED = "evicted", "deleted"
NO_RIGHT = 'resource "pods'
"""What the API server says where a right is missing, behind the user's name and the verb."""
OVERTAKEN = "this instance does not lead any more"


class Evictor:
    """Evicts pods; ``report`` gets what the core has to know.

    ``wanted`` says of a uid whether it still has to go, ``told`` is called for each pod that went, ``over`` for each that was
    deleted because its application's lifetime is over. ``clock`` is monotonic, in seconds.
    """

    def __init__(
        self,
        client: Client,
        report: Callable[[EvictFailed | PodGone], None],
        *,
        wanted: Callable[[str], bool] = lambda _: True,
        told: Callable[[Evict], None] = lambda _: None,
        over: Callable[[Expire], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        self.evicted = 0
        self.deleted = 0
        self.expired = 0
        """Pods that were deleted because the lifetime of their application was over."""
        self.stayed = 0
        self.gone_from: Counter[str] = Counter()
        """Pods that went, by the path of their queue."""
        self._report, self._wanted, self._told, self._over, self._clock = report, wanted, told, over, clock
        self._waiting: asyncio.Queue[Evict | Expire] = asyncio.Queue()
        self._under_way: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._warned = float("-inf")
        self._forbidden: dict[str, str] = {}
        """Why pods may not be evicted or deleted, by the verb; until one may."""

    @property
    def problem(self) -> str:
        """What the API server does not let us do with any pod; empty if nothing is known."""
        return "; ".join(f"pods may not be {verb}: {why}" for verb, why in self._forbidden.items())

    def submit(self, victim: Evict | Expire) -> None:
        """Ask a pod to go, or delete it if its application's lifetime is over."""
        self._waiting.put_nowait(victim)

    async def run(self) -> None:
        """Evict until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                victim = await self._waiting.get()
                task = group.create_task(self._safely(victim), name=f"evict-{victim.name}")
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    def withdraw(self) -> None:
        """Ask no pod any more, because somebody else may lead: those that were asked in vain stay."""
        while not self._waiting.empty():
            victim = self._waiting.get_nowait()
            if isinstance(victim, Evict):
                self._stays(victim, OVERTAKEN)
        for task in self._under_way:
            task.cancel(OVERTAKEN)

    async def _safely(self, victim: Evict | Expire) -> None:
        if isinstance(victim, Expire):
            await self._expire(victim)
            return
        try:
            await self._evict(victim)
        except asyncio.CancelledError:
            self._stays(victim, OVERTAKEN)
            raise
        except Exception:
            log.exception("eviction of %s/%s", victim.namespace, victim.name)
            self._stays(victim, "the eviction failed by a defect of ours; the log has more")

    async def _evict(self, victim: Evict) -> None:
        end = self._clock() + victim.patience
        wait = FIRST_WAIT
        while True:
            if not self._wanted(victim.uid):
                return
            answer, obstacle = await self._ask(victim)
            if answer is not None and not obstacle:
                return
            pause = min(wait if answer is None or answer.retry_after is None else answer.retry_after, LONGEST_WAIT)
            if self._clock() + pause > end:
                break
            await asyncio.sleep(pause)
            wait = min(wait * 2, LONGEST_WAIT)
        if victim.delete:
            await self._delete(victim, obstacle)
        else:
            self._stays(victim, obstacle)

    async def _ask(self, victim: Evict) -> tuple[Response | None, str]:
        """Send the eviction once. Returns the answer, and what stands in its way that may go away; empty if it is settled."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": victim.name, "namespace": victim.namespace},
            "deleteOptions": {"preconditions": {"uid": victim.uid}},
        }
        answer = await self._send("POST", f"{_path(victim)}/eviction", body)
        if answer is None:
            return None, "the API server does not answer"
        if answer.status in {200, 201}:
            self._forbidden.pop(EVICTED, None)
            self.evicted += 1
            self._went(victim)
            return answer, ""
        if answer.status == 429 or answer.status >= 500:  # a budget says 429 as a full server does, and two budgets say 500
            return answer, _why(answer)
        self._settle(victim, answer, EVICTED)
        return answer, ""

    async def _expire(self, pod: Expire) -> None:
        """Delete a pod with its own time to end, as YARN kills, whatever budgets say. What fails is asked again by the core."""
        try:
            answer = await self._send("DELETE", _path(pod), {"preconditions": {"uid": pod.uid}})
        except Exception:
            log.exception("deletion of %s/%s, whose application's lifetime is over", pod.namespace, pod.name)
            return
        if answer is None:
            return
        if answer.status in {200, 202}:
            self._forbidden.pop(DELETED, None)
            self.expired += 1
            self._over(pod)
            log.info("%s/%s was deleted: the lifetime of its application is over", pod.namespace, pod.name)
        elif answer.status in {404, 409}:
            self._report(PodGone(pod.uid))
        else:
            self._note(answer, DELETED)
            log.info("%s/%s was not deleted: %s %s", pod.namespace, pod.name, answer.status, answer.error().message)

    async def _delete(self, victim: Evict, obstacle: str) -> None:
        answer = await self._send("DELETE", _path(victim), {"preconditions": {"uid": victim.uid}})
        if answer is None:
            self._stays(victim, "the API server does not answer")
        elif answer.status in {200, 202}:
            self._forbidden.pop(DELETED, None)
            self.deleted += 1
            log.info("%s/%s was deleted for preemption: %s", victim.namespace, victim.name, obstacle)
            self._went(victim)
        else:
            self._settle(victim, answer, DELETED)

    def _settle(self, victim: Evict, answer: Response, verb: str) -> None:
        if answer.status in {404, 409}:  # gone, or another pod has the name by now
            self._report(PodGone(victim.uid))
            return
        self._note(answer, verb)
        self._stays(victim, f"{answer.status} {answer.error().message}")

    def _note(self, answer: Response, verb: str) -> None:
        """Take note of a refusal that is about our rights, and not about one pod, as a webhook's is."""
        why = answer.error().message
        if answer.status == 401 or (answer.status == 403 and NO_RIGHT in why):
            self._forbidden[verb] = f"{answer.status} {why}"
            if self._clock() >= self._warned + WARN_EVERY:
                self._warned = self._clock()
                log.warning("pods may not be %s: %s", verb, self._forbidden[verb])

    def _went(self, victim: Evict) -> None:
        self.gone_from[victim.queue] += 1
        if len(self.gone_from) > MOST_QUEUES:  # of queues that were made and have gone; the oldest is forgotten
            del self.gone_from[next(iter(self.gone_from))]
        self._told(victim)

    def _stays(self, victim: Evict, why: str) -> None:
        self.stayed += 1
        log.info("%s/%s stays: %s", victim.namespace, victim.name, why)
        self._report(EvictFailed(victim.uid, why))

    async def _send(self, method: str, path: str, body: Mapping[str, Any]) -> Response | None:
        async with self._slots:
            try:
                return await self.client.request(method, path, body, pool="evict")
            except Unreachable as error:
                log.info("%s %s: %s", method, path, error)
                return None


def _path(victim: Evict | Expire) -> str:
    return f"/api/v1/namespaces/{victim.namespace}/pods/{victim.name}"


def _why(answer: Response) -> str:
    """Return the words of the budget where there are any, else those of the answer."""
    try:
        causes = (answer.json().get("details") or {}).get("causes") or []
        said = next((str(cause.get("message")) for cause in causes if cause.get("message")), "")
    except Exception:  # noqa: BLE001 - whatever a proxy answered: the plain words are good enough
        said = ""
    return said or answer.error().message or f"the API server answered {answer.status}"
