"""Owners of opportunistic pods that wait are told why, after the same times as owners of others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treadle.core.effects import EXECUTION_TYPE_IGNORED, RecordEvent, ReportWaiting
from treadle.core.kernel.admission_checks import TOO_MANY
from treadle.core.kernel.opportunistic.caps import AT_MAXIMUM, Caps
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.placing import NO_ROOM, held_by_queue, obstacle
from treadle.core.kernel.opportunistic.queueing import may_come
from treadle.core.kernel.opportunistic.renewing import renew_kinds
from treadle.core.kernel.opportunistic.room import idle_room
from treadle.core.kernel.opportunistic.sets import is_of_set
from treadle.core.kernel.opportunistic.standing import Standing
from treadle.core.kernel.opportunistic.together import Together
from treadle.core.kernel.opportunistic.usage import unknown
from treadle.core.kernel.together.placing import constraints_of
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec

LONGEST = 1024
"""Characters of a message, as in conditions."""
MOST_NODES = 3
"""Nodes that are named in a message."""
MOST_TYPES = 4
"""Resource types that are named in an event."""
MOST_LOOKED_AT = 512
"""Pods that are looked at in one pass."""
NEVER = float("-inf")
SOON = 1.0
"""Seconds after which it is looked again who has to be told something, where nodes have been edited, and for which words stand at the least."""
MOST_RETOLD = 256
"""Pods whose owners are told in a row that they wait for other nodes now, though their reason is the same: a node that comes or goes concerns all that wait."""
Kind = tuple["Shape", tuple[tuple[str, int], ...]]


def tell(state: State) -> list[ReportWaiting]:
    """Return what owners of pods that have waited for a while are to be told, where the words are others than they know.

    Of very many pods some are looked at in one pass, and the others with the next ones, which are due at once.
    """
    kept, settings, now = state.opportunistic, state.settings, state.now
    when = next_telling(state)
    if when is None or now < when:
        return []
    line = kept.untold
    if not line:
        kept.told, kept.told_edits, kept.retold = now, kept.edits, 0
        line.extend(kept.waiting)
    effects = []
    words = _Words(state)
    for _ in range(min(MOST_LOOKED_AT, len(line))):
        record = kept.waiting.get(line.popleft())
        if record is None or now < record.reported_at + SOON:
            continue
        if now < record.since + settings.report_after and record.reported_at == NEVER:
            continue
        found = words.of(record)
        reason, message, _ = found
        same = record.reported_reason == reason
        if same and record.reported_message == message:
            continue
        hold = settings.refresh_after if same else settings.report_again
        if now < record.reported_at + hold and not (same and words.elsewhere(record, found)):
            continue
        record.reported_reason, record.reported_message, record.reported_at = reason, message, now
        kept.told_where[record.spec.uid] = found.where
        spec = record.spec
        effects.append(ReportWaiting(spec.uid, spec.namespace, spec.name, reason, message, record.cause))
    return effects


def unheeded(state: State) -> list[RecordEvent]:
    """Return the events about pods that say they are opportunistic and request something: one for an application."""
    kept = state.opportunistic
    events = []
    for identity in [identity for identity in kept.told_unheeded if identity not in state.applications]:
        del kept.told_unheeded[identity]
    for uid in kept.unheeded:
        record = state.pods.get(uid)
        if record is None or record.application is None or record.spec.application in kept.told_unheeded:
            continue
        spec = record.spec
        kept.told_unheeded[spec.application] = None
        events.append(
            RecordEvent(
                spec.uid, spec.namespace, spec.name, spec.application, EXECUTION_TYPE_IGNORED, _unheeded(spec), record.cause
            )
        )
    kept.unheeded.clear()
    return events


def _unheeded(spec: PodSpec) -> str:
    kept = [f"{name[:64]}={in_words(name, value)}" for name, value in spec.demand if name != "pods"]
    claims = spec.constraints.claims  # of a pod with extended resources alone it tells who may serve them
    if claims is not None and (claims.claims or claims.waiting or not claims.asks):
        kept.append("the devices of its claims")
    more = f", and {len(kept) - MOST_TYPES} more" if len(kept) > MOST_TYPES else ""
    return (
        f"Pods of application {spec.application} say that they are opportunistic, but a node keeps for them what they request: {', '.join(kept[:MOST_TYPES])}{more}. "
        "So they are counted as guaranteed pods, in their queue and on the node. An opportunistic pod requests cpu 0 and memory 0 and nothing else"
    )


def next_telling(state: State) -> float | None:
    """Return when it is looked again who has to be told something, None if nobody waits."""
    kept = state.opportunistic
    if not kept.waiting:
        return None
    if kept.untold:
        return kept.told
    first = next(iter(kept.waiting.values())).since  # they are in the order in which they came
    if kept.told_edits != kept.edits:
        return max(first + state.settings.report_after, kept.told + SOON)
    return max(first, kept.told) + state.settings.report_after


def waiting(state: State, record: PodRecord) -> tuple[str, str]:
    """Return (reason, message) of an opportunistic pod that waits."""
    return _Words(state).of(record)[:2]


def reasons(state: State) -> Counter[str]:
    """Return how many opportunistic pods wait for which reason."""
    found: Counter[str] = Counter()
    if not state.opportunistic.waiting:
        return found
    caps, together, lines = Caps(state, held_by_queue(state)), Together(state), state.opportunistic.lines
    renew_kinds(state)
    # To look what keeps one back may give it another shape, and with that another kind.
    for record, count in [(kind.first, len(kind.pods)) for kind in lines.kinds.values()]:
        wait = obstacle(state, record, together)
        reason = wait.reason if wait is not None else AT_MAXIMUM if caps.words(record) else NO_ROOM
        found[reason] += count
    return found


class _Told(NamedTuple):
    """What owners are told, and what of that depends on nodes and is told anew soon: how many admit the pod, and at which it stands."""

    reason: str
    message: str
    where: tuple[str, ...] = ()


class _Words:
    """Finds the words for pods that wait, as things are in one step."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._caps, self._together = Caps(state, held_by_queue(state)), Together(state)
        self._messages: dict[Kind, tuple[str, str]] = {}
        settings = state.scheduler.opportunistic.node_queues
        self._standing = None if settings is None else Standing(state, settings)

    def of(self, record: PodRecord) -> _Told:
        """Return the words for a pod."""
        state = self._state
        found = obstacle(state, record, self._together)
        if found is not None:
            limit = "runs as many applications as it may" if found.reason == TOO_MANY else "does not take it"
            return _Told(found.reason, (found.message or f"queue {found.blocker} {limit}")[:LONGEST])
        if words := self._caps.words(record):
            return _Told(AT_MAXIMUM, words[:LONGEST])
        key = record.shape, record.spec.opportunistic
        if key not in self._messages:
            count = self._together.starts_with(record)
            admit, why = _no_room(state, record, count)
            self._messages[key] = admit, _of_gang(self._together, record, count) + why
        admit, message = self._messages[key]
        where, more = self._stands(record)
        away = state.opportunistic.back_off.nodes(record.spec.application, state.now)
        if away:
            some = f"{', '.join(away[:MOST_NODES])}{', …' if len(away) > MOST_NODES else ''}"
            more += f"; pods of its application had to go from {some} lately and do not go back yet"
        return _Told(NO_ROOM, (message + more)[:LONGEST], (admit, *where))

    def elsewhere(self, record: PodRecord, found: _Told) -> bool:
        """Whether a pod waits for other nodes than its owner was told of, and that may be told now: of not too many in a row."""
        kept = self._state.opportunistic
        told = kept.told_where.get(record.spec.uid)
        if told is None or told == found.where or kept.retold >= MOST_RETOLD:
            return False
        kept.retold += 1
        return True

    def _stands(self, record: PodRecord) -> tuple[list[str], str]:
        """Return in the queues of which nodes a pod stands, none and an empty text where nodes have none."""
        if self._standing is None:
            return [], ""
        state = self._state
        admit, rows = state.nodes.mask(record.shape.constraints), state.nodes.row
        places = state.opportunistic.queues.places(record.spec.uid)
        places = [place for place in places if (row := rows.get(place[0])) is not None and admit[row]]
        if not places:
            return [], f"; it stands at no node: {self._standing.nowhere(record)}" if may_come(state, record) else ""
        more = f", and {len(places) - MOST_NODES} more" if len(places) > MOST_NODES else ""
        words = ", ".join(f"{node} (number {at} of {count})" for node, at, count in places[:MOST_NODES])
        return [node for node, _, _ in places], f"; it stands at {words}{more}"


def _of_gang(together: Together, record: PodRecord, count: int) -> str:
    """Return how many have to have room at once, and how many of them would now."""
    if count == 1:
        return ""
    fit = min(together.most_at_once(record), count)
    return f'gang "{record.shape.gang[1]}" needs room for {count} pods at once{_in_one(record)}, and at most {fit} fit now; '


def _in_one(record: PodRecord) -> str:
    asked = record.shape.asked.together
    return f", on nodes with one value of {asked[0]}" if asked is not None and asked[1] else ""


def _no_room(state: State, record: PodRecord, count: int) -> tuple[str, str]:
    """Return how many nodes admit a pod by their rules, of all, and why none of them takes it."""
    nodes, idle, wanted = state.nodes, idle_room(state), record.spec.opportunistic
    rows = nodes.mask(record.shape.constraints).nonzero()[0]
    with_enough = rows[np.all(idle[:, rows] >= np.array(vector(wanted))[:, None], axis=0)]
    enough = len(with_enough)
    found = f"no node has {_words(wanted)} idle for it now"
    if enough:
        found = f"{enough} {'node has' if enough == 1 else 'nodes have'} {_words(wanted)} idle now, but {_but(state, record, count, with_enough)}"
    names = state.types.names[:TYPES]
    most = [(name, int(idle[at, rows].max(initial=0))) for at, name in enumerate(names)]
    by_usage = state.scheduler.opportunistic.by_usage
    lost = unknown(state) if by_usage else 0
    more = f"; of {lost} nodes it is not known what they use, so they take none" if lost else ""
    admit = f"{len(rows)}/{nodes.known()}"
    return admit, (
        f"opportunistic pods get what no pod {'uses' if by_usage else 'requests'}: {found}; "
        f"{admit} nodes admit it by their rules, the most that one of them has idle is {_words(most)}{more}"
    )


def _but(state: State, record: PodRecord, count: int, rows: NDArray[np.intp]) -> str:
    """Return why a pod does not go to any of some nodes that have idle what it will use."""
    if count > 1:
        return "there is not enough for all of them"
    asked = record.shape.asked.together
    if asked is not None and asked[1]:
        return f"it is to go where the others of its gang are, by {asked[0]}"
    if is_of_set(state, record):
        told = constraints_of(record.shape)
        return f"COULD_NOT_PLACE_ON_NODE: it was tried together with the others of its application that wait{told and f', constraint {told}'}"
    if all(_is_kept(state, row) for row in rows.tolist()):
        return "it is kept for the larger ones that stand there first (spec.opportunistic.nodeQueues of the Scheduler)"
    return "it cannot go there"


def _is_kept(state: State, row: int) -> bool:
    """Whether what a node has idle is kept for who stands there first and wants more."""
    kept = state.opportunistic
    first = next(iter(kept.queues.at.get(state.nodes.names[row], ())), None)
    if first is None or first not in kept.waiting:
        return False
    wants = np.array(vector(kept.waiting[first].spec.opportunistic))
    return bool((idle_room(state)[:, row] < wants).any())


def _words(amounts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name}={in_words(name, value)}" for name, value in amounts)
