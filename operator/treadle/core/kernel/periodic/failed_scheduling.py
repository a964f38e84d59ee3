"""What the event FailedScheduling of a waiting application says, and when there is one.

In kube-scheduler's manner, with our words: the queue, the limit that holds its pods, how much is missing, how many pods are ahead
and which is the first. There is one for an application, a reason and a while, told of the first of its pods; pods that wait for
the same reason are counted in it.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treadle.core.effects import FAILED_SCHEDULING, GANG_IGNORED, PARTITION_IGNORED, QUEUE_NOT_FOUND, RecordEvent
from treadle.core.kernel.admission_checks import (
    AT_ZERO,
    GANG_INCOMPLETE,
    GANG_OVER,
    INVALID_POD,
    OVER_LARGEST,
    PARTITION_DENIED,
    UNSUPPORTED,
    VOLUMES,
)
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.tree.near import meant
from treadle.core.kernel.tree.order import waiting_order
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue

RETOLD_AFTER = 1800.0
"""Seconds after which an event is written again about what still waits: the API server forgets events after an hour."""
MOST_RETOLD = 1024
"""Entries about what is gone that are kept, beyond as many as there are applications."""
STANDINGS_LAST = 1.0
"""Seconds for which the order of a queue is good enough to tell who is ahead."""

MOST_GUESSED = 32
"""Names of queues in one pass of which it is said which one was probably meant: each is compared with many."""

NEVER_SERVED = frozenset({INVALID_POD, UNSUPPORTED, OVER_LARGEST, AT_ZERO, PARTITION_DENIED, VOLUMES, GANG_INCOMPLETE, GANG_OVER})
"""Reasons of pods whose turn never comes, whatever ends: they are ahead of no pod, and it says nothing which pods are ahead of them."""

Standing = tuple[int, str]
"""How many waiting pods of the queue are ahead of an application, and the first of them as ``namespace/name``."""


class Explainer(Protocol):
    """What says why pods wait (``views.explain``)."""

    def waiting(self, state: State, ask: Ask, /) -> tuple[str, str]:
        """Return (reason, message) of an ask that waits."""

    def limit_of_now(self, state: State, ask: Ask, /) -> str:
        """Return the limit that would hold an ask back by now if a node had room for it, empty if none would."""


def tell(state: State, ask: Ask, reason: str, message: str) -> tuple[RecordEvent | None, float]:
    """Return the event that is due about an ask that waits, if one is, and when to look again where one is held down (else infinity)."""
    application, settings = ask.application.whole, state.settings
    told = application.told
    if reason in told and state.now < told[reason] + settings.refresh_after:
        return None, float("inf")
    free = max(told.values(), default=float("-inf")) + settings.report_again
    if reason not in told and state.now < free:
        return None, free
    if reason in told and state.now < told[reason] + RETOLD_AFTER:
        return None, float("inf")
    told[reason] = state.now
    _remember(state, application, ask)
    return _event(state, ask, reason, message), float("inf")


def retell(state: State, explainer: Explainer) -> list[RecordEvent]:
    """Return the events that are written again, since what they told still holds."""
    events: list[RecordEvent] = []
    while state.reports.again and state.reports.again[0][0] <= state.now:
        _, _, identity, key = heappop(state.reports.again)
        application = state.applications.get(identity)
        for part in application.everywhere() if application is not None else ():
            ask = part.asks.get(key)
            if ask is None or ask.obstacle is None:
                continue
            event, _ = tell(state, ask, *explainer.waiting(state, ask))
            if event is not None:
                events.append(event)
    return events


def _remember(state: State, application: Application, ask: Ask) -> None:
    """Look at an ask again before its event is forgotten; by name, so that nothing that is gone is kept for that."""
    if len(state.reports.again) > 2 * len(state.applications) + MOST_RETOLD:
        state.reports.again = [one for one in state.reports.again if one[2] in state.applications]
        heapify(state.reports.again)
    heappush(state.reports.again, (state.now + RETOLD_AFTER, state.number(), application.id, ask.key))


def misplaced(state: State) -> list[RecordEvent]:
    """Return the events about applications that ask for a queue that does not exist, and that another one has taken."""
    events: list[RecordEvent] = []
    guesses = MOST_GUESSED
    for application, asked in state.reports.misnamed.items():
        queue = application.queue
        first = next(iter(application.pods.values()), None)
        if queue is None or first is None or state.tree.is_defined(asked) or queue.path == asked:
            continue
        near = meant(asked, filter(state.tree.is_defined, state.tree.queues)) if guesses > 0 else ""
        guesses -= 1
        state.reports.misnamed_count += 1
        note = (
            f"Queue {asked}, which {_named(application)} asks for, does not exist"
            f"{f' (did you mean {near}?)' if near else ''}; its pods are in queue {queue.path}"
        )
        spec = first.spec
        events.append(RecordEvent(spec.uid, spec.namespace, spec.name, application.id, QUEUE_NOT_FOUND, note, first.cause))
    state.reports.misnamed.clear()
    return events


def unheeded(state: State) -> list[RecordEvent]:
    """Return the events about applications that ask for a partition where there are none: their pods go to any node."""
    events: list[RecordEvent] = []
    for application, partition in state.reports.unheeded.items():
        first = next(iter(application.pods.values()), None)
        if not partition or first is None:
            continue
        spec = first.spec
        note = (
            f"Partition {partition}, which {_named(application)} asks for, means nothing under the discipline {state.discipline.name}: "
            "its pods may go to any node. Partitions belong to the discipline Capacity; a nodeSelector holds under both"
        )
        events.append(RecordEvent(spec.uid, spec.namespace, spec.name, application.id, PARTITION_IGNORED, note, first.cause))
        state.reports.unheeded[application] = ""
    state.reports.unheeded_news = False
    return events


def ungrouped(state: State) -> list[RecordEvent]:
    """Return the events about applications whose pods name PodGroups of which something is not acted on."""
    events: list[RecordEvent] = []
    for application, words in state.reports.ungrouped.items():
        first = next((record for record in application.pods.values() if record.spec.gang_source), None)
        if not words or first is None:
            continue
        spec = first.spec
        note = f"Pods of {_named(application)} name the {words}"
        events.append(RecordEvent(spec.uid, spec.namespace, spec.name, application.id, GANG_IGNORED, note, first.cause))
        state.reports.ungrouped[application] = ""
    state.reports.ungrouped_news = False
    return events


def _event(state: State, ask: Ask, reason: str, message: str) -> RecordEvent:
    application = ask.application.whole
    alike = [
        one for one in application.every_ask() if one.obstacle is not None and ask.wait and one.obstacle.reason == ask.wait.reason
    ]
    count = sum(len(one.pods) for one in alike)
    queue = application.queue
    where = f" of queue {queue.path}" if queue is not None else ""
    parts = [f"{reason}: {message.rstrip('.')}"]
    if reason == NO_NODE:
        parts.append(nearest_node(state, ask.shape))
    parts.append(f"{count} pod{'s' if count > 1 else ''} of {_named(application)}{where} wait{'' if count > 1 else 's'} for this")
    if queue is not None and reason not in NEVER_SERVED:
        parts.append(_ahead(state, queue, ask))
    spec, cause = ask.pods.first.spec, ask.pods.first.cause
    note = ". ".join(part for part in parts if part) + "."
    return RecordEvent(spec.uid, spec.namespace, spec.name, application.id, FAILED_SCHEDULING, note, cause)


def _named(application: Application) -> str:
    return f"application {application.id}"


def _ahead(state: State, queue: Queue, ask: Ask) -> str:
    application = ask.application.whole
    before, first = standings(state, queue).get(application.id, (0, ""))
    own = sorted(other for other in ask.application.asks.values() if other.rank < ask.rank and other.pods and _is_served(other))
    if own and not first:
        head = own[0].pods.first.spec
        first = f"{head.namespace}/{head.name}"
    count = before + sum(len(other.pods) for other in own)
    if not count:
        return "No pod of the queue is ahead"
    return f"{count} pod{'s are' if count > 1 else ' is'} ahead, first {first}"


def standings(state: State, queue: Queue) -> dict[str, Standing]:
    """Return how many pods are ahead of each application that waits in a leaf, as of at most ``STANDINGS_LAST`` ago."""
    known = state.reports.standings.get(queue.path)
    if known is not None and state.now < known[0] + STANDINGS_LAST:
        return known[1]
    if len(state.reports.standings) > len(state.tree.queues):
        state.reports.standings.clear()  # of queues that are gone
    found: dict[str, Standing] = {}
    count, first = 0, ""
    for application in waiting_order(queue):
        found[application.id] = (count, first)
        served = [ask for ask in application.every_ask() if ask.pods and _is_served(ask)]
        count += sum(len(ask.pods) for ask in served)
        if served and not first:
            head = min(served).pods.first.spec
            first = f"{head.namespace}/{head.name}"
    state.reports.standings[queue.path] = (state.now, found)
    return found


def _is_served(ask: Ask) -> bool:
    """Whether an ask may be served in its turn."""
    return ask.wait is None or ask.wait.reason not in NEVER_SERVED


def nearest_node(state: State, shape: Shape) -> str:
    """Return which node that suits a shape lacks the least of what is asked for, by share, and how much it lacks; empty if none suits, or none lacks."""
    nodes = state.nodes
    rows = np.flatnonzero(nodes.mask(shape.constraints))
    if not len(rows) or not shape.demand:
        return ""
    wanted = np.array([value for _, value in shape.demand], dtype=np.float64)
    free = nodes.columns()[[position for position, _ in shape.demand]][:, rows]
    short = np.maximum(wanted[:, None] - free, 0)
    shares = (short / np.maximum(wanted, 1)[:, None]).sum(axis=0)
    at = int(shares.argmin())
    if not shares[at]:
        return ""
    names = state.types.names
    missing = [
        f"{names[position]} {in_words(names[position], value - int(have))}"
        for (position, value), have in zip(shape.demand, free[:, at], strict=True)
        if value > int(have)
    ]
    return f"The nearest that suits, {nodes.names[int(rows[at])]}, lacks {', '.join(missing)}"
