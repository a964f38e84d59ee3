"""Pods that the kubelet of their node did not take: the node is left alone for a while, by pods that are alike.

Two schedulers that place on one node do not know of each other's decisions before they are bound, so both may give away the same room. The
kubelet takes one of the pods and fails the other, for good. Whoever made that pod makes another one, which would come to the same node at
once: so pods with the same demand and the same constraints do not go there for a pause, which doubles each time, and is the first one again
when the node has changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.effects import POD_REFUSED, RecordEvent
from treadle.core.kernel.nodes.shapes import alike
from treadle.core.kernel.periodic.memory import Pause
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from treadle.core.events import NodeHeldOff, PodRefused
    from treadle.core.kernel.nodes.shapes import Alike
    from treadle.core.kernel.state import State
    from treadle.core.model import PodSpec

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds for which a node is left alone after it refused a pod."""
REMEMBERED = LONGEST_PAUSE
"""Seconds after a pause for which it is remembered how long it was."""
MOST_PAUSES = 1024
"""Pauses that are remembered; the oldest are forgotten, and their nodes may be tried again."""
MOST_EVENTS = 256
"""Events about refused pods in one pass."""
MOST_WORDS = 300
"""Characters of what the kubelet said that are told."""
KNOWN = frozenset(
    {
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
        "OutOfephemeral-storage",
        "NodeAffinity",
        "NodePorts",
        "UnexpectedAdmissionError",
        "TopologyAffinityError",
        "PodFeatureUnsupported",
        "VolumeAttachmentLimitExceeded",
        "NodeShutdown",
    }
)
"""Reasons that are counted by their names."""


def refused(state: State, event: PodRefused) -> None:
    """Take note that a pod of ours was refused."""
    memory, pod = state.refused, event.pod
    known = event.reason if event.reason in KNOWN else "OutOfOther" if event.reason.startswith("OutOf") else "Other"
    memory.counts[known] += 1
    key = (pod.node, alike(pod.demand, pod.constraints))
    pause = memory.pauses.get(key)
    words = f"The kubelet of node {pod.node} did not take the pod ({event.reason}): {event.message[:MOST_WORDS] or 'it does not say why'}"
    if pause is None or pause.over:
        seconds = FIRST_PAUSE if pause is None else min(LONGEST_PAUSE, 2 * pause.seconds)
        _begin(state, key, Pause(_bare(pod), state.now + seconds, seconds))
        words = f"{words}. {_who_is_there(state, pod)} Pods like it are not placed there for {seconds:.0f} s, or until the node changes"
    else:
        words = f"{words}. Pods like it are not placed there at present, since it was not the first"
    state.record(pod.uid, "refused by the kubelet", f"{pod.node}: {event.reason[:100]}")
    if len(memory.events) < MOST_EVENTS:
        memory.events.append(RecordEvent(pod.uid, pod.namespace, pod.name, pod.application, POD_REFUSED, words, state.cause))


def held_off(state: State, event: NodeHeldOff) -> None:
    """Go on with a pause of another core."""
    pause = Pause(event.pod, event.until, event.pause, over=event.until <= state.now)
    _begin(state, (event.pod.node, alike(event.pod.demand, event.pod.constraints)), pause)


def node_changed(state: State, name: str) -> None:
    """Forget what a node refused: it is another one now."""
    for key in [key for key in state.refused.pauses if key[0] == name]:
        pause = state.refused.pauses.pop(key)
        if not pause.over:
            _tell_shapes(state, key[1], name)


def due(state: State) -> list[RecordEvent]:
    """Return the events that are due, and end the pauses that are over."""
    memory = state.refused
    events, memory.events = memory.events, []
    for key, pause in list(memory.pauses.items()):
        if not pause.over and state.now >= pause.until:
            pause.over = True
            _tell_shapes(state, key[1], key[0])
        if state.now >= pause.until + REMEMBERED:
            del memory.pauses[key]
    return events


def next_end(state: State) -> float | None:
    """Return when the next pause ends, None without any."""
    return min((pause.until for pause in state.refused.pauses.values() if not pause.over), default=None)


def _begin(state: State, key: tuple[str, Alike], pause: Pause) -> None:
    pauses = state.refused.pauses
    pauses.pop(key, None)
    pauses[key] = pause
    _tell_shapes(state, key[1], key[0])
    if len(pauses) > MOST_PAUSES:
        oldest = next(iter(pauses))
        del pauses[oldest]
        _tell_shapes(state, oldest[1], oldest[0])


def _tell_shapes(state: State, kind: Alike, name: str) -> None:
    names = tuple(sorted(node for (node, other), pause in state.refused.pauses.items() if other == kind and not pause.over))
    state.shapes.hold_off(kind, names)
    row = state.nodes.row.get(name)
    if row is not None and state.nodes.specs[row] is not None:
        state.nodes.touch(row)


def _bare(pod: PodSpec) -> PodSpec:
    """Return of a pod what its kind is known by."""
    return replace(pod, labels=(), reported=("", ""))


def _who_is_there(state: State, pod: PodSpec) -> str:
    """Say which pods are on the node of a pod, as far as is known, and what they hold of what the pod wants."""
    nodes = state.nodes
    row = nodes.row.get(pod.node)
    if row is None:
        return "The node is not known."
    there = [record for record in state.pods.values() if record.node == row and record.spec.uid != pod.uid]
    others = Counter(record.spec.scheduler or "no scheduler" for record in there if record.application is None)
    words = f"Known there: {sum(record.application is not None for record in there)} pods of ours"
    words += "".join(f", {count} of {name}" for name, count in others.most_common(3))
    wanted = []
    for name, value in pod.demand:
        at = state.types.index.get(name)
        if at is not None and name != "pods":
            have = nodes.allocatable[row][at]
            wanted.append(
                f"{name} {in_words(name, value)} wanted, {in_words(name, have - nodes.free[row][at])} of {in_words(name, have)} taken"
            )
    return f"{words}; {'; '.join(wanted)}." if wanted else f"{words}."
