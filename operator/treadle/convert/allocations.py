"""The FairScheduler's allocation file (fair-scheduler.xml), read and refused as Hadoop's ``AllocationFileParser`` does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeVar

from treadle.convert import amounts, xml
from treadle.convert.amounts import Amounts
from treadle.convert.errors import AllocationError
from treadle.convert.reservable import named
from treadle.convert.rules import Rule, read_policy
from treadle.convert.xml import Element
from treadle.core.rules.fair.policies import POLICIES

T = TypeVar("T")
_POLICY_CLASSES = {
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FairSharePolicy": "fair",
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FifoPolicy": "fifo",
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.DominantResourceFairnessPolicy": "drf",
}
QUEUE_TAGS = ("queue", "pool")
_TOP = (
    *QUEUE_TAGS,
    "user",
    "userMaxAppsDefault",
    "queueMaxAppsDefault",
    "queueMaxResourcesDefault",
    "queueMaxAMShareDefault",
    "defaultMinSharePreemptionTimeout",
    "defaultFairSharePreemptionTimeout",
    "defaultFairSharePreemptionThreshold",
    "defaultQueueSchedulingPolicy",
    "queuePlacementPolicy",
)
_SETTINGS = (
    *QUEUE_TAGS,
    "minResources",
    "maxResources",
    "maxChildResources",
    "maxContainerAllocation",
    "maxRunningApps",
    "maxAMShare",
    "weight",
    "schedulingPolicy",
    "minSharePreemptionTimeout",
    "fairSharePreemptionTimeout",
    "fairSharePreemptionThreshold",
    "allowPreemptionFrom",
    "reservation",
    "aclSubmitApps",
    "aclAdministerApps",
)
"""What is proposed for an element that is not known."""
_OLD = frozenset({"minMaps", "minReduces", "maxMaps", "maxReduces"})


@dataclass(slots=True)
class QueueElement:
    """One queue of the file; None where it says nothing. Times are in seconds. ``acls`` are verbatim, by element name."""

    path: str
    line: int
    parent: bool = False
    children: list["QueueElement"] = field(default_factory=list)
    weight: float = 1.0
    minimum: Amounts | None = None
    maximum: Amounts | None = None
    maximum_of_children: Amounts | None = None
    maximum_container: Amounts | None = None
    max_running_apps: int | None = None
    max_am_share: float | None = None
    policy: str | None = None
    minimum_share_timeout: float | None = None
    fair_share_timeout: float | None = None
    fair_share_threshold: float | None = None
    allow_preemption_from: bool | None = None
    reservation: bool = False
    acls: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class AllocationFile:
    """A whole file.

    ``queues`` are the children of root, ``root`` what is said of root itself; ``warnings`` what Hadoop would log.
    """

    queues: list[QueueElement] = field(default_factory=list)
    root: QueueElement | None = None
    user_limits: dict[str, int] = field(default_factory=dict)
    user_max_apps: int | None = None
    queue_max_apps: int | None = None
    queue_max_resources: Amounts | None = None
    queue_max_am_share: float | None = None
    minimum_share_timeout: float | None = None
    fair_share_timeout: float | None = None
    fair_share_threshold: float | None = None
    default_policy: str = "fair"
    rules: list[Rule] | None = None
    reservations: dict[str, str] = field(default_factory=dict)
    """How all queues that take reservations do so."""
    warnings: list[str] = field(default_factory=list)


def read(text: str | bytes | Element, types: Sequence[str] = (amounts.MEMORY, amounts.VCORES)) -> AllocationFile:
    """Read a file, or its document element, for a cluster with these resource types. Raises ``AllocationError`` where Hadoop refuses to start."""
    document = text if isinstance(text, Element) else xml.parse(text)
    if document.tag != "allocations":
        raise AllocationError(document.line, f"the document element is {document.tag!r}; it must be 'allocations'")
    found = AllocationFile()
    tops: list[Element] = []
    legacy: float | None = None
    for element in document.children:
        match element.tag:
            case "queue" | "pool":
                tops.append(element)
            case "user":
                limit = element.child("maxRunningApps")
                name = element.attributes.get("name", "")
                if limit is not None:
                    found.user_limits[name] = _number(limit, int)
                others = (one for one in element.children if one.tag != "maxRunningApps")
                found.warnings += (_unknown(one, f"of user {name} ", ("maxRunningApps",)) for one in others)
            case "userMaxAppsDefault":
                found.user_max_apps = _number(element, int)
            case "queueMaxAppsDefault":
                found.queue_max_apps = _number(element, int)
            case "queueMaxResourcesDefault":
                found.queue_max_resources = amounts.parse(element.text, types, element.line)
                _tell_cores(element, found.warnings)
            case "queueMaxAMShareDefault":
                found.queue_max_am_share = min(1.0, _number(element, float))
            case "defaultMinSharePreemptionTimeout":
                found.minimum_share_timeout = float(_number(element, int))
            case "defaultFairSharePreemptionTimeout":
                found.fair_share_timeout = float(_number(element, int))
            case "fairSharePreemptionTimeout":
                legacy = float(_number(element, int))
            case "defaultFairSharePreemptionThreshold":
                found.fair_share_threshold = min(1.0, max(0.0, _number(element, float)))
            case "defaultQueueSchedulingPolicy" | "defaultQueueSchedulingMode":
                found.default_policy = _policy(element)
                if found.default_policy == "fifo":
                    raise AllocationError(
                        element.line, "fifo cannot be the default policy: parent queues cannot have it; allowed are fair, drf"
                    )
            case "queuePlacementPolicy":
                rules = read_policy(element, found.warnings)
                found.rules = rules if rules is not None else found.rules
            case "reservation-agent" | "reservation-policy" | "reservation-planner":
                kind, where = element.tag.removeprefix("reservation-"), f"line {element.line}: {element.tag}"
                found.reservations |= named(kind, element.text, where, found.warnings)
            case _:
                found.warnings.append(_unknown(element, "", _TOP))
    if found.fair_share_timeout is None:
        found.fair_share_timeout = legacy
    _queues(found, tops, types)
    return found


def _queues(found: AllocationFile, tops: list[Element], types: Sequence[str]) -> None:
    for element in tops:
        if element.attributes.get("name", "").strip().lower() == "root":
            if len(tops) > 1:
                raise AllocationError(element.line, "a queue named root must be the only queue at the top of the file")
            found.root = _queue(element, "", types, found.warnings)
            found.queues = found.root.children
            return
    found.queues = [_queue(element, "root", types, found.warnings) for element in tops]


def _queue(element: Element, parent: str, types: Sequence[str], warnings: list[str]) -> QueueElement:
    given = element.attributes.get("name")
    name = (given or "").strip()  # Python's strip knows Unicode's blanks, the non-breaking one included
    if not name:
        raise AllocationError(element.line, f"a queue's name must not be empty or blank, and this one is {given!r}")
    if "." in name:
        raise AllocationError(
            element.line, f"queue name {name!r}: a name must not contain a dot; nest the queue elements instead"
        )
    path = f"{parent}.{name}" if parent else "root"
    queue = QueueElement(path, element.line, parent=element.attributes.get("type") == "parent")
    for child in element.children:
        if child.tag in QUEUE_TAGS:
            queue.children.append(_queue(child, path, types, warnings))
        else:
            _setting(queue, child, types, warnings)
            if child.tag in {"maxResources", "maxChildResources"}:
                _tell_cores(child, warnings)
    _check(queue, warnings)
    queue.parent = queue.parent or bool(queue.children) or queue.reservation
    return queue


def _setting(queue: QueueElement, element: Element, types: Sequence[str], warnings: list[str]) -> None:
    match element.tag:
        case "minResources":
            queue.minimum = amounts.parse(element.text, types, element.line, missing=0)
        case "maxResources":
            queue.maximum = amounts.parse(element.text, types, element.line)
        case "maxChildResources":
            queue.maximum_of_children = amounts.parse(element.text, types, element.line)
        case "maxContainerAllocation":
            queue.maximum_container = amounts.parse(element.text, types, element.line, missing_cores=amounts.UNBOUNDED)
        case "maxRunningApps":
            queue.max_running_apps = _number(element, int)
        case "maxAMShare":
            queue.max_am_share = min(1.0, _number(element, float))
        case "weight":
            queue.weight = _number(element, float)
        case "schedulingPolicy" | "schedulingMode":
            queue.policy = _policy(element)
        case "minSharePreemptionTimeout":
            queue.minimum_share_timeout = float(_number(element, int))
        case "fairSharePreemptionTimeout":
            queue.fair_share_timeout = float(_number(element, int))
        case "fairSharePreemptionThreshold":
            queue.fair_share_threshold = min(1.0, max(0.0, _number(element, float)))
        case "allowPreemptionFrom":
            if queue.allow_preemption_from is not False:  # given twice, a refusal stands
                queue.allow_preemption_from = element.text.strip().lower() == "true"
        case "reservation":
            queue.reservation = True
        case tag if tag.startswith("acl"):
            queue.acls[tag] = element.text
        case _:
            warnings.append(_unknown(element, f"of queue {queue.path} ", _SETTINGS))


def _unknown(element: Element, where: str, known: Sequence[str]) -> str:
    """Say that an element is ignored, as Hadoop does without a word."""
    near = get_close_matches(element.tag, known, 1)
    meant = "; it is of MapReduce 1" if element.tag in _OLD else f"; did you mean {near[0]}?" if near else ""
    return f"line {element.line}: unknown element {element.tag!r} {where}is ignored{meant}"


def _tell_cores(element: Element, warnings: list[str]) -> None:
    if amounts.leaves_out_cores(element.text):
        warnings.append(f"line {element.line}: {element.tag} names no vcores, so Hadoop allows none; name them to change that")


def _check(queue: QueueElement, warnings: list[str]) -> None:
    parent = queue.parent or bool(queue.children)
    if queue.reservation and parent:
        raise AllocationError(
            queue.line, f"queue {queue.path}: 'reservation' is for leaf queues; it has child queues or type='parent'"
        )
    if queue.max_am_share is not None and parent:
        raise AllocationError(
            queue.line, f"queue {queue.path}: 'maxAMShare' is for leaf queues; it has child queues or type='parent'"
        )
    low, high = queue.minimum, queue.maximum
    if low is not None and high is not None and low.absolute is not None and high.absolute is not None:
        over = [name for name, value in low.absolute.items() if value > high.absolute[name]]
        if over:
            warnings.append(
                f"line {queue.line}: queue {queue.path}: minResources is over maxResources for {', '.join(over)}; the larger holds"
            )


def _number(element: Element, kind: Callable[[str], T]) -> T:
    try:
        return kind(element.text.strip())
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise AllocationError(
            element.line, f"{element.tag}: {element.text.strip()!r} is not {wanted}", "NumberFormatException"
        ) from None


def _policy(element: Element) -> str:
    name = element.text.strip()
    policy = _POLICY_CLASSES.get(name, name if name in POLICIES else name.lower())
    if policy not in POLICIES:
        raise AllocationError(element.line, f"{element.tag}: {name!r} is not a policy; allowed are {', '.join(sorted(POLICIES))}")
    return policy
