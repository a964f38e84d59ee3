"""What the labels and annotations of a pod say, read once for all pods that say the same: those of an application do."""

from typing import Final, NamedTuple

from treadle.api import labels
from treadle.api.execution import says
from treadle.api.gang_words import NOTHING, GangWords, gang_of
from treadle.api.identity import Source, who
from treadle.api.known_labels import unknown_of
from treadle.api.labels import Role
from treadle.kube.pod_rules import known_labels

MOST_KNOWN: Final = 4096
LONGEST: Final = 1024
"""Characters of annotations of which the meaning is remembered."""
_CHOOSING: Final = frozenset(
    {
        labels.PLACEMENT_CONSTRAINTS,
        labels.LOCALITY_NODES,
        labels.LOCALITY_RACKS,
        labels.RELAX_LOCALITY,
    }
)
_OURS: Final = frozenset({labels.ALLOCATED_QUEUE, labels.ALLOCATED_APPLICATION, labels.BOUND_AS})
"""What is written with a bind: an application of one pod would be unlike every other for it."""
_NO_NAME: Final = labels.application_of(None, None, None, "")


class PodWords(NamedTuple):
    """What is said, each by the function of ``treadle.api`` that reads it.

    ``application`` is empty where it goes by the pod's owner or its name, and ``user`` where the namespace stands for it; ``claimed`` is the user that the pod claims in vain;
    ``unknown`` names what is of our group and means nothing; ``problem`` says what about the gang makes no sense; ``chooses`` whether any of it has a say in the choice of the node;
    ``types`` whether the execution type is said; ``unread_duration`` says what about the run time makes no sense.
    """

    labels: tuple[tuple[str, str], ...]
    gang: GangWords
    problem: str
    application: str
    queue: str
    role: Role
    user: str
    groups: tuple[str, ...]
    claimed: str
    unknown: str
    partition: str
    profile: str
    tags: tuple[str, ...]
    application_tags: tuple[str, ...]
    leads: bool
    chooses: bool
    types: bool
    duration: float
    unread_duration: str


_known: dict[object, PodWords] = {}


def words_of(
    own: dict[str, str] | None, notes: dict[str, str] | None, group: str = "", users: Source = Source.NAMESPACE
) -> PodWords:
    """Return what a pod's labels and annotations say; ``group`` is the PodGroup of Kubernetes that its spec names, ``users`` what says whose it is."""
    if notes and sum(map(len, notes.values())) > LONGEST:
        return _read(own, notes, group, users)
    said = tuple([one for one in notes.items() if one[0] not in _OURS]) if notes else ()
    key = (tuple(own.items()) if own else (), said, group, users)
    found = _known.get(key)
    if found is None:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        found = _known[key] = _read(own, notes, group, users)
    return found


def _read(own: dict[str, str] | None, notes: dict[str, str] | None, group: str, users: Source) -> PodWords:
    gang, problem = NOTHING, ""
    try:
        gang = gang_of(own, notes, group)
    except ValueError as error:
        problem = str(error)
    application = labels.application_of(own, notes, None, "", gang.name if gang.group else "")
    user, groups, claimed = who(notes, users)
    tags, application_tags = labels.tags_of(notes)
    duration, unread = 0.0, ""
    try:
        duration = labels.duration_of(notes)
    except ValueError as error:
        unread = str(error)
    return PodWords(
        known_labels(own),
        gang,
        problem,
        "" if application == _NO_NAME else application,
        labels.queue_of(own, notes) or "",
        labels.role_of(own, notes),
        user,
        groups,
        claimed,
        unknown_of(own, notes),
        labels.partition_of(own, notes),
        labels.profile_of(own, notes),
        tags,
        application_tags,
        labels.leads(notes),
        not (_CHOOSING.isdisjoint(own or ()) and _CHOOSING.isdisjoint(notes or ())),
        says(own, notes),
        duration,
        unread,
    )
