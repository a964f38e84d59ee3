"""What a pod's labels and annotations say of its gang: in our words, else in those of the systems that have gangs.

The first that a pod says counts: ``treadle.dev/gang``; the PodGroup of Kubernetes that its ``spec.schedulingGroup`` names; YuniKorn's task
group; the PodGroup of Volcano, or of the scheduler-plugins, that it names; Kueue's pod group; koordinator's gang.
"""

import json
from typing import Final, NamedTuple

from treadle.api.labels import GROUP, Strings
from treadle.core.model.gangs import KUBERNETES, PLUGINS, VOLCANO

GANG: Final = f"{GROUP}/gang"
GANG_MINIMUM: Final = f"{GROUP}/gang-min-member"
"""How many pods of the gang start together, for those whose Application object does not say so."""
GANG_TOPOLOGY: Final = f"{GROUP}/gang-topology"
"""The label of nodes of which all nodes of the gang must have one value."""
GANG_PREFERRED_TOPOLOGY: Final = f"{GROUP}/gang-preferred-topology"
TASK_GROUP: Final = "yunikorn.apache.org/task-group-name"
TASK_GROUPS: Final = "yunikorn.apache.org/task-groups"
KUEUE_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
KUEUE_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_TOPOLOGY: Final = "kueue.x-k8s.io/podset-required-topology"
KUEUE_PREFERRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-preferred-topology"
VOLCANO_GROUPS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
VOLCANO_MINIMUM: Final = "scheduling.volcano.sh/group-min-member"
PLUGINS_GROUPS: Final = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")
KOORDINATOR_GANG: Final = "gang.scheduling.koordinator.sh/name"
KOORDINATOR_MINIMUM: Final = "gang.scheduling.koordinator.sh/min-available"

MOST_IN_GANG: Final = 100_000
"""Pods that may start together at the most."""
LONGEST_KEY: Final = 317
"""Characters of a label's key at the most: 253 of its prefix, a slash, and 63."""

ALL: Final = frozenset(
    {
        GANG,
        TASK_GROUP,
        TASK_GROUPS,
        KUEUE_GROUP,
        *VOLCANO_GROUPS,
        *PLUGINS_GROUPS,
        KOORDINATOR_GANG,
    }
)
"""Labels and annotations without any of which a pod is in no gang, and says nothing of one."""


class GangWords(NamedTuple):
    """What a pod says: the ``name`` of its gang, how many pods of which gangs start together, where, and who says more.

    ``source`` is the system whose PodGroup object of that name says more, ``group`` whether pods with that name are one application
    if nothing else says which they belong to.
    """

    name: str = ""
    minimums: tuple[tuple[str, int], ...] = ()
    topology: tuple[str, bool] | None = None
    source: str = ""
    group: bool = False


NOTHING: Final = GangWords()


def gang_of(labels: Strings, annotations: Strings, scheduling_group: str = "") -> GangWords:
    """Return what a pod says of its gang; ``scheduling_group`` is the PodGroup of Kubernetes that it names in its spec.

    Raises ``ValueError`` for a number, a label's key, or a list of task groups, that makes no sense.
    """
    own, notes = labels or {}, annotations or {}
    if not scheduling_group and ALL.isdisjoint(own) and ALL.isdisjoint(notes):
        return NOTHING
    topology = _topology(notes)
    name = own.get(GANG) or notes.get(GANG, "")
    if name:
        return GangWords(name, _said(name, GANG_MINIMUM, own.get(GANG_MINIMUM) or notes.get(GANG_MINIMUM, "")), topology)
    if scheduling_group:
        return GangWords(scheduling_group, (), topology, KUBERNETES, group=True)
    groups = notes.get(TASK_GROUPS, "")
    if groups or notes.get(TASK_GROUP):
        return GangWords(notes.get(TASK_GROUP, ""), _task_groups(groups) if groups else (), topology)
    for key in VOLCANO_GROUPS:
        if name := notes.get(key, ""):
            return GangWords(name, _said(name, VOLCANO_MINIMUM, notes.get(VOLCANO_MINIMUM, "")), topology, VOLCANO, group=True)
    for key in PLUGINS_GROUPS:
        if name := own.get(key, ""):
            return GangWords(name, (), topology, PLUGINS, group=True)
    if name := own.get(KUEUE_GROUP, ""):
        return GangWords(name, _said(name, KUEUE_COUNT, notes.get(KUEUE_COUNT, "")), topology, group=True)
    if name := notes.get(KOORDINATOR_GANG, ""):
        said = _said(name, KOORDINATOR_MINIMUM, notes.get(KOORDINATOR_MINIMUM, ""))
        return GangWords(name, said, topology, group=True)
    return NOTHING


def _said(name: str, key: str, text: str) -> tuple[tuple[str, int], ...]:
    if not text:
        return ()
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and 1 <= int(text) <= MOST_IN_GANG):
        raise ValueError(f"{key}: {text[:40]!r} is not a number from 1 to {MOST_IN_GANG}")
    return ((name, int(text)),)


def _topology(notes: dict[str, str] | Strings) -> tuple[str, bool] | None:
    for key, required in (
        (GANG_TOPOLOGY, True),
        (GANG_PREFERRED_TOPOLOGY, False),
        (KUEUE_TOPOLOGY, True),
        (KUEUE_PREFERRED_TOPOLOGY, False),
    ):
        text = notes.get(key, "") if notes else ""
        if text:
            if len(text) > LONGEST_KEY or not text.isprintable() or " " in text:
                raise ValueError(f"metadata.annotations[{key}]: {text[:40]!r} is not the key of a node label")
            return text, required
    return None


def _task_groups(text: str) -> tuple[tuple[str, int], ...]:
    """Read YuniKorn's list of task groups."""
    try:
        found = tuple((str(one["name"]), int(one["minMember"])) for one in json.loads(text))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"metadata.annotations[{TASK_GROUPS}]: no list of groups with name and minMember") from error
    for name, count in found:
        if not 0 <= count <= MOST_IN_GANG:
            raise ValueError(
                f"metadata.annotations[{TASK_GROUPS}]: minMember {count} of {name[:40]!r} is not from 0 to {MOST_IN_GANG}"
            )
    return found
