"""Conditions: what Treadle says of an object, in the form of ``metav1.Condition``.

Types and reasons are constants, so that a reader can rely on them and a test can find them. A condition changes its
``lastTransitionTime`` only when its status changes, and its message is cut to what the schema takes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from treadle.api.common import MAX_CONDITIONS, MAX_MESSAGE

READY: Final = "Ready"
"""True when the object is in force as written (or as far as ``NotActedOn`` allows)."""
NOT_ACTED_ON: Final = "NotActedOn"
"""True when the object sets fields that this version accepts but does not act on; the message names them."""

SUSPICIOUS: Final = "Suspicious"
"""Of a Queue: whether something in it is most likely a mistake, though it is allowed and acted on; said once something looked so."""
LOOKS_WRONG: Final = "LooksWrong"
NOTHING_LOOKS_WRONG: Final = "NothingLooksWrong"
"""The reasons of ``Suspicious``."""

MOVED: Final = "Moved"
"""Of an Application: whether it is in the queue that is asked for; said once a running one could not move there."""

DEADLINE_AT_RISK: Final = "DeadlineAtRisk"
"""Of an Application with a deadline: whether it ends too late in more than half of the futures that were looked at."""

PROBABLY_LATE: Final = "ProbablyLate"
PROBABLY_IN_TIME: Final = "ProbablyInTime"
"""The reasons of ``DeadlineAtRisk``."""
NOT_FORECAST: Final = "NotForecast"
"""The application has no deadline any more, or nothing is known of its end."""
MOVE_REFUSED: Final = "MoveRefused"
"""The running application may not move to the queue that is asked for; it stays where it is, and is tried again."""
AS_ASKED: Final = "AsAsked"
"""The application is in the queue that is asked for again, or nothing else is asked for any more."""
IN_FORCE: Final = "InForce"
"""The object is acted on as it is written."""
INTERNAL_ERROR: Final = "InternalError"
"""The scheduler cannot act on the object, for an error in its code or in a policy installed with it; it is tried again."""
INVALID: Final = "Invalid"
"""A field has a value that is not allowed; the message names field, value and what is allowed."""
LAST_GOOD_IN_FORCE: Final = "LastGoodInForce"
"""The present version is invalid, an earlier one is still acted on."""
NO_PARENT: Final = "NoParent"
"""The queue's parent does not exist, so the queue is not in the tree yet."""
PARENT_HAS_PODS: Final = "ParentHasPods"
"""The parent holds applications itself, so it is a leaf and cannot have children yet."""
PARENT_POLICY: Final = "ParentPolicy"
"""The policy does not go with the parent's, as in YARN: drf cannot stand under fair, nor anything under fifo."""
MAXIMUM_RAISED: Final = "MaximumRaised"
"""The queue's minimum is over its maximum; the minimum holds for both, as in YARN."""
DISCIPLINE_REFUSED: Final = "DisciplineRefused"
"""The queues do not allow the discipline that is asked for; the other one stays in force."""
CAPACITY_REFUSED: Final = "CapacityRefused"
"""The queues' capacities do not make sense together; the last good set of queues stays in force."""
RULE_PLACES_NOBODY: Final = "RulePlacesNobody"
"""A mapping rule names a queue that does not exist and may not be made; the other rules, and its fallback, are in force."""
SOLVER_MISSING: Final = "SolverMissing"
"""A solver is asked for that cannot be used; sets are placed by the walk over the nodes alone."""
USAGE_UNKNOWN: Final = "UsageUnknown"
"""Room for opportunistic pods goes by what nodes use, and that cannot be had; they are not placed meanwhile."""
LIFETIME_OVER: Final = "LifetimeOver"
"""The application's lifetime is over: its pods are deleted and none is started any more."""
NOT_SERVED: Final = "NotServed"
"""The Scheduler is served by another process than the one that looked, or by none."""
NOT_DECIDED: Final = "NotDecided"
"""The reservation has been seen, and whether it is accepted is decided with the next pass. Those that are refused have the rule for a reason, which docs/reasons.md lists."""
PROMISED: Final = "Promised"
"""The reservation is accepted as it is written, and has what its status says."""
NOT_SERVED_NOW: Final = "QueueNotReservable"
"""The reservation's queue takes no reservations now: nothing is planned, and what was promised is kept but not served."""
NAME_TAKEN: Final = "NameTaken"
"""An older Scheduler already serves one of the names."""
QUEUE_NOT_FOUND: Final = "QueueNotFound"
"""The application's queue does not exist and there is no default queue."""
QUEUE_IS_PARENT: Final = "QueueIsParent"
"""The application names a queue that has children; applications live in leaves."""
QUEUE_STOPPED: Final = "QueueStopped"
"""The application's queue, or one above it, takes no new application."""
PARENT_IS_LEAF: Final = "ParentIsLeaf"
"""A placement rule names a queue below one that is a leaf."""
PLACEMENT_REJECTED: Final = "PlacementRejected"
"""No placement rule takes the application; the message names the rule and says why."""
ACCESS_DENIED: Final = "AccessDenied"
"""The application's user may not submit to the queue: neither it nor a queue above it allows that."""
HAS_APPLICATIONS: Final = "HasApplications"
"""The queue holds applications itself, so it is a leaf and cannot be declared to hold queues yet."""
FIELDS_NOT_ACTED_ON: Final = "FieldsNotActedOn"
"""The reason of ``NotActedOn`` when true."""
ALL_ACTED_ON: Final = "AllActedOn"
"""The reason of ``NotActedOn`` when false."""

Status = Literal["True", "False", "Unknown"]


def condition(kind: str, status: Status | bool, reason: str, message: str = "", generation: int | None = None) -> dict[str, Any]:
    """A condition without its time; ``generation`` is the object's generation that it speaks of."""
    made: dict[str, Any] = {"type": kind, "status": str(status), "reason": reason, "message": _cut(message)}
    if generation is not None:
        made["observedGeneration"] = generation
    return made


def merge_condition(previous: Sequence[Mapping[str, Any]], new: Mapping[str, Any], now: str) -> list[dict[str, Any]]:
    """The conditions after one of them was set at ``now`` (RFC 3339).

    The order stays, a new type comes last, and the time is kept while the status is the same. Nothing given is changed. At
    most 16 remain, which is what the schema takes: the oldest other types go first.
    """
    old = next((entry for entry in previous if entry.get("type") == new["type"]), None)
    same = old is not None and old.get("status") == new["status"] and old.get("lastTransitionTime")
    merged = {
        **new,
        "message": _cut(str(new.get("message", ""))),
        "lastTransitionTime": old["lastTransitionTime"] if old and same else now,
    }
    if old is not None:
        return [merged if entry is old else dict(entry) for entry in previous]
    return [*(dict(entry) for entry in list(previous)[-(MAX_CONDITIONS - 1) :]), merged]


def _cut(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"
