"""PodGroup objects of other systems: where they are served, and what they come to for the core."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from treadle.api.gang_words import MOST_IN_GANG, gang_of
from treadle.core.model import PodGroupSpec
from treadle.core.model.gangs import KUBERNETES, PLUGINS, VOLCANO
from treadle.kube import wire

RESOURCE: Final = "podgroups"
VERSIONS: Final[dict[str, tuple[str, ...]]] = {
    KUBERNETES: ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1alpha2"),
    VOLCANO: ("scheduling.volcano.sh/v1beta1",),
    PLUGINS: ("scheduling.x-k8s.io/v1alpha1", "scheduling.sigs.k8s.io/v1alpha1"),
}
"""The group and version at which each system's may be served, the best first. Kubernetes' form is the same since 1.36."""
VOLCANO_DEFAULT: Final = "default"
"""The queue that Volcano writes into PodGroups that name none."""
LONGEST_QUEUE: Final = 63
"""Characters of a queue's name at the most, as in a label."""

Spec = Mapping[str, Any]


def pod_group(source: str, seen: wire.PodGroup) -> PodGroupSpec:
    """Translate a PodGroup; nothing is raised for what makes no sense, which counts as not said."""
    return PodGroupSpec(source, f"{seen.metadata.namespace}/{seen.metadata.name}", *_READ[source](seen.spec or {}))


def group_of_ended(pod: wire.Pod | wire.EndedPod) -> tuple[str, str] | None:
    """Return the system, and the namespace and name, of the PodGroup that a pod is in; None if it is in none."""
    meta, spec = pod.metadata, pod.spec
    of_kubernetes = spec.scheduling_group.pod_group_name if spec is not None and spec.scheduling_group is not None else ""
    try:
        said = gang_of(meta.labels, meta.annotations, of_kubernetes)
    except ValueError:
        return None
    return (said.source, f"{meta.namespace}/{said.name}") if said.source else None


Read = tuple[int | None, str, bool, tuple[str, ...], str]
"""The minimum, the topology and whether it is required, what is not acted on, and the queue."""


def _kubernetes(spec: Spec) -> Read:
    gang = _part(_part(spec, "schedulingPolicy"), "gang")
    found = _part(spec, "schedulingConstraints").get("topology")
    keys = [one["key"] for one in found or () if isinstance(one, dict) and isinstance(one.get("key"), str)]
    unheeded = ["spec.schedulingConstraints.topology beyond the first"] if len(keys) > 1 else []
    unheeded += _set(spec, "resourceClaims", "priorityClassName", "priority")
    if spec.get("disruptionMode") not in (None, "Pod") and "single" not in _part(spec, "disruptionMode"):
        unheeded.append("spec.disruptionMode")
    return _count(gang.get("minCount")), keys[0] if keys else "", True, tuple(unheeded), ""


def _volcano(spec: Spec) -> Read:
    unheeded = _set(spec, "minTaskMember", "networkTopology", "subGroupPolicy", "priorityClassName")
    minimum = _count(spec.get("minMember"))
    queue = spec.get("queue")
    if not isinstance(queue, str) or queue == VOLCANO_DEFAULT:
        queue = ""
    elif len(queue) > LONGEST_QUEUE:
        queue = ""
        unheeded.append("spec.queue")
    return minimum if minimum is not None and minimum > 1 else None, "", True, tuple(unheeded), queue


def _plugins(spec: Spec) -> Read:
    return _count(spec.get("minMember")), "", True, (), ""


_READ: Final[dict[str, Callable[[Spec], Read]]] = {KUBERNETES: _kubernetes, VOLCANO: _volcano, PLUGINS: _plugins}


def _part(spec: Spec, name: str) -> Spec:
    found = spec.get(name)
    return found if isinstance(found, dict) else {}


def _set(spec: Spec, *names: str) -> list[str]:
    return [f"spec.{name}" for name in names if spec.get(name)]


def _count(value: object) -> int | None:
    return min(value, MOST_IN_GANG) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
