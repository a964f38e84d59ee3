"""Which properties of the CapacityScheduler carry over, and a line for each that does not: nothing is dropped without a word."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.convert.capacity_file import MONITOR, PREFIX, UNDERUTILIZED
from treadle.convert.capacity_settings import CALCULATOR, MONITORS, POLICIES, PREEMPTION, SETTINGS, is_user_limit
from treadle.convert.mapping import BY_APPLICATION, CHAIN, FORMAT, LEGACY, OVERRIDE
from treadle.convert.mapping_json import JSON_TEXT
from treadle.convert.reservable import CARRIED, CARRIED_OF_ALL, SYSTEM
from treadle.core.model.capacity import CapacityQueueSpec

JSON_FILE: Final = f"{PREFIX}mapping-rule-json-file"
ACL_SWITCH: Final = "yarn.acl.enable"
MOST: Final = "yarn.scheduler.maximum-allocation-"
_OF_QUEUES: Final = re.compile(
    r"queues|capacity|maximum-capacity|minimum-user-limit-percent|user-limit-factor|user-settings\..+\.weight|maximum-applications"
    r"|maximum-am-resource-percent|max-parallel-apps|maximum-allocation(-mb|-vcores)?|state|acl_submit_(applications|reservations)|acl_administer_queue|acl_application_max_priority"
    r"|default-application-priority|priority|ordering-policy(\.fair\.enable-size-based-weight|\.exclusive-enforced-partitions)?"
    r"|accessible-node-labels(\.[^.]+\.(capacity|maximum-capacity|maximum-am-resource-percent))?|default-node-label-expression"
    r"|(intra-queue-preemption\.)?disable_preemption|(maximum|default)-application-lifetime|allow-zero-capacity-sum"
)
_ROOTS: Final = re.compile(r"(accessible-node-labels\.[^.]+\.)?capacity|accessible-node-labels")
_OF_MAKERS: Final = re.compile(
    r"auto-queue-creation-v2\.(enabled|max-queues|maximum-queue-depth)"
    r"|auto-create-child-queue\.(enabled|max-queues|fail-on-exceeding-parent-capacity)"
)
_TEMPLATE: Final = re.compile(r"(?:(?:\*\.)*auto-queue-creation-v2\.(?:leaf-|parent-)?template|leaf-queue-template)\.(.+)")
_TEMPLATED: Final = re.compile(
    r"capacity|maximum-capacity|minimum-user-limit-percent|user-limit-factor|maximum-applications|maximum-am-resource-percent"
    r"|maximum-allocation(-mb|-vcores)?|ordering-policy(\.fair\.enable-size-based-weight)?|default-application-priority|priority"
    r"|(intra-queue-preemption\.)?disable_preemption|(maximum|default)-application-lifetime"
    r"|accessible-node-labels\.[^.]+\.(capacity|maximum-capacity|maximum-am-resource-percent)"
    r"|auto-queue-creation-v2\.queue-auto-removal\.enable"
)
_QUEUE_REASONS: Final = {
    "reservable": "the queue takes no reservations",
    "reservation-": "the queue takes no reservations",
    "average-capacity": "the queue takes no reservations",
    "instantaneous-max-capacity": "the queue takes no reservations",
    "show-reservations-as-queues": "status.dynamicQueues lists the queues of reservations",
    "multi-node-sorting": "nodes are chosen by nodes.scoring of the Scheduler",
    "auto-queue-creation-v2.queue-auto-removal": "it is about the queue itself, which is declared and stays",
    "auto-create-child-queue.management-policy": "leaves of a managed parent have all of their capacity or none",
    "acl_": "there are no such access lists",
}
"""How the rest of a name begins, and why it is not carried over."""
_REASONS: Final = {
    f"{PREFIX}reservations-continue-look-all-nodes": "every node is looked at",
    f"{PREFIX}per-node-heartbeat.": "many placements are decided in every pass",
    f"{PREFIX}schedule-asynchronously.": "scheduling does not wait for heartbeats",
    f"{PREFIX}multi-node-": "nodes are chosen by nodes.scoring of the Scheduler",
    f"{PREFIX}lazy-preemption-enabled": "victims are asked to go as soon as they are chosen",
    f"{PREFIX}workflow-priority-mappings": "priorities are those of the Applications",
    f"{PREFIX}application.fail-fast": "applications are told by conditions",
    f"{PREFIX}user-metrics.enable": "metrics are by queue",
    f"{PREFIX}queue.auto.refresh.monitoring-interval": "edits of objects are in force at once",
    f"{PREFIX}skip-allocate-on-nodes-with-reserved-containers": "room is held for whom it was made",
    f"{MONITOR}additional_res_balance_based_on_reserved_containers": "room is held for whom it was made",
    f"{MONITOR}select_based_on_reserved_containers": "room is held for whom it was made",
    f"{MONITOR}intra-queue-preemption.conservative-drf": "it has its default",
    f"{MONITOR}": "it has no counterpart",
    f"{UNDERUTILIZED}allow-move-reservation": "what is held does not move between nodes",
    "yarn.scheduler.minimum-allocation-": "pods get what they ask, unrounded",
    "yarn.scheduler.increment-allocation-": "pods get what they ask, unrounded",
    "yarn.scheduler.configuration.": "the configuration is what the objects say",
    "yarn.resource-types": "resource types are those of the nodes",
    "yarn.node-labels.": "a node's partition is its label treadle.dev/partition",
    "yarn.resourcemanager.node-labels.": "a node's partition is its label treadle.dev/partition",
    ACL_SWITCH: "access lists are always in force",
    "yarn.admin.acl": "administrators are those of the root's administerAcl",
    SYSTEM: "it has no counterpart; a plan follows its own steps, which are whole seconds",
    "yarn.scheduler.fair.": "a setting of the other scheduler; convert its allocation file",
    PREFIX: "it has no counterpart",
}
"""How a name begins, and why it is not carried over; the first that fits. Other names are of no concern to a scheduler."""
_CARRIED: Final = frozenset(
    {
        *SETTINGS,
        *PREEMPTION,
        MONITORS,
        POLICIES,
        CALCULATOR,
        BY_APPLICATION,
        CHAIN,
        FORMAT,
        JSON_TEXT,
        LEGACY,
        OVERRIDE,
        f"{MOST}mb",
        f"{MOST}vcores",
    }
)


def left_out(values: Mapping[str, str], queues: Mapping[str, CapacityQueueSpec]) -> Iterator[str]:
    """Yield a line for each property that is not carried over. ``queues`` are by Hadoop's paths."""
    for name in values:
        if (
            name in _CARRIED
            or name in CARRIED_OF_ALL
            or is_user_limit(name)
            or (name == ACL_SWITCH and values[name].strip() == "true")
        ):
            continue
        if name.startswith(f"{PREFIX}root."):
            reason = _of_queue(name.removeprefix(PREFIX), values, queues)
        else:
            reason = next((words for start, words in _REASONS.items() if name.startswith(start)), "")
        if reason:
            yield f"{name}: is left out; {reason}"


def concerns(name: str) -> bool:
    """Whether a property is one of the CapacityScheduler, or another that carries over."""
    return name.startswith(PREFIX) or name in _CARRIED or name in CARRIED_OF_ALL


def _of_queue(name: str, values: Mapping[str, str], queues: Mapping[str, CapacityQueueSpec]) -> str:
    """Say why a property of a queue is left out; nothing if it is carried over."""
    path, value = name, values[PREFIX + name]
    while path not in queues:
        path = path.rpartition(".")[0]
    rest = name[len(path) + 1 :]
    if rest in CARRIED and values.get(f"{PREFIX}{path}.reservable", "").strip().lower() == "true":
        return ""
    if path == "root" and _ROOTS.fullmatch(rest):
        return "" if value.strip() in {"*", "100", "100.0"} else "the root has all there is"
    template = _TEMPLATE.fullmatch(rest)
    if template is not None:
        spec = queues[path]
        wanted = spec.flexible.enabled if "auto-queue" in rest else spec.managed is not None
        if not wanted and not rest.startswith("*"):
            return f"no queues are made below {path}"
        return "" if _TEMPLATED.fullmatch(template[1]) else "templates cannot say this"
    if _OF_QUEUES.fullmatch(rest) or _OF_MAKERS.fullmatch(rest):
        return ""
    known = next((words for start, words in _QUEUE_REASONS.items() if rest.startswith(start)), "")
    if known:
        return known
    last = rest.partition(".")[2]
    if last and (_OF_QUEUES.fullmatch(last) or _OF_MAKERS.fullmatch(last) or _TEMPLATE.fullmatch(last)):
        return f"no list of queues names {path}.{rest.partition('.')[0]}"
    return "it has no counterpart"
