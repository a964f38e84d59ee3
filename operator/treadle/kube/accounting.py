"""How much a pod takes of a node, by the computation that is part of the Kubernetes API (component-helpers ``resource/helpers.go``).

Containers and sidecars run together; init containers run before, one after the other, each beside the sidecars started so far.
Pod-level requests replace the sum for cpu, memory and huge pages; overhead is added last. While a resize is under way the
larger of what is wished, allocated and in force counts, container by container; what is wished does not if it is infeasible.
"""

from collections.abc import Iterable, Mapping

from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import UNBOUNDED, amount
from treadle.kube.wire import Amounts, Container, ContainerStatus, Pod, PodStatus

POD_LEVEL = ("cpu", "memory")
SLOT = ("pods", 1)

Sum = dict[str, int]
Demand = tuple[tuple[str, int], ...]

MOST_KNOWN = 4096
_known: dict[tuple[tuple[str, str | int | float], ...], Demand] = {}
"""What the requests of a pod's only container come to: the pods of an application are alike."""


def demand(pod: Pod) -> Demand:
    """Return the named amounts of a pod, its slot included, ordered by name. Raises ``InvalidSpec`` naming the field."""
    spec, status = pod.spec, pod.status
    if spec is None:
        return (SLOT,)
    seen = status if spec.node_name else None  # a pod without a node has nothing allocated or in force
    containers, init = spec.containers or (), spec.init_containers or ()
    if len(containers) == 1 and not init and not spec.overhead and spec.resources is None:  # nearly every pod
        only = containers[0]
        if seen is None or not seen.container_statuses:
            return _of_one(only)
    infeasible = seen is not None and _infeasible(seen)
    in_force: dict[str, ContainerStatus] = {}
    if seen is not None:
        in_force = {one.name: one for one in (*(seen.container_statuses or ()), *(seen.init_container_statuses or ()))}
    total = _aggregate(containers, init, in_force, infeasible=infeasible)
    if spec.resources is not None and spec.resources.requests:
        total.update(_pod_level(spec.resources.requests, seen, infeasible=infeasible))
    _add(total, _amounts(spec.overhead or {}, "spec.overhead"))
    return _ordered(total)


def tells(status: PodStatus) -> bool:
    """Whether a status may say that a pod takes more than its spec does."""
    return bool(status.container_statuses or status.init_container_statuses or status.resources is not None)


def _of_one(container: Container) -> Demand:
    requests = _requests(container)
    key = tuple(requests.items())
    found = _known.get(key)
    if found is None:
        found = _ordered(_amounts(requests, "spec.containers", container.name))
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = found
    return found


def _ordered(total: Sum) -> Demand:
    found = [(name, value) for name, value in total.items() if value > 0 and name != "pods"]
    for name, value in found:
        if value > UNBOUNDED:
            raise InvalidSpec(f"spec: the requests of {name} sum up to {value}, at most {UNBOUNDED} is allowed")
    return tuple(sorted([*found, SLOT]))


def _requests(container: Container) -> Amounts:
    return (container.resources.requests or {}) if container.resources is not None else {}


def _amounts(named: Mapping[str, str | int | float], field: str, container: str = "") -> Sum:
    found = {}
    for name, text in named.items():
        try:
            found[name] = amount(name, text)
        except InvalidSpec as error:
            where = f"{field}[{container}].resources.requests" if container else field
            raise InvalidSpec(f"{where}[{name}]: {error}") from None
    return found


def _pod_level(requests: Amounts, status: PodStatus | None, *, infeasible: bool) -> Sum:
    """Return what replaces the containers' sum: the pod's own requests, or what is allocated or in force if that is more."""
    views = _views(status, "status") if status is not None and status.resources is not None else []
    if not infeasible or not views:
        views.append(_amounts(requests, "spec.resources.requests"))
    return {name: value for name, value in _largest(views).items() if name in POD_LEVEL or name.startswith("hugepages-")}


def is_zero(name: str, text: str | float) -> bool:
    """Whether an amount is nothing; one that is no quantity is not."""
    try:
        return amount(name, text) == 0
    except InvalidSpec:
        return False


def _infeasible(status: PodStatus) -> bool:
    return any(one.type == "PodResizePending" and one.reason == "Infeasible" for one in status.conditions or ())


def _of(container: Container, field: str, in_force: Mapping[str, ContainerStatus], *, infeasible: bool) -> Sum:
    """Return a container's amounts: the larger of its spec, what is allocated and what is in force."""
    status = in_force.get(container.name)
    views = _views(status, f"status of {container.name}") if status is not None else []
    if not infeasible or not views:
        views.append(_amounts(_requests(container), field, container.name))
    return _largest(views)


def _views(status: ContainerStatus | PodStatus, field: str) -> list[Sum]:
    """Return what is allocated and what is in force, as far as either is told."""
    force = status.resources.requests if status.resources is not None else None
    return [_amounts(view, field) for view in (status.allocated_resources, force) if view]


def _largest(views: Iterable[Sum]) -> Sum:
    total: Sum = {}
    for view in views:
        for name, value in view.items():
            total[name] = max(value, total.get(name, 0))
    return total


def _aggregate(
    containers: Iterable[Container], init: Iterable[Container], in_force: Mapping[str, ContainerStatus], *, infeasible: bool
) -> Sum:
    together: Sum = {}
    for container in containers:
        _add(together, _of(container, "spec.containers", in_force, infeasible=infeasible))
    sidecars: Sum = {}
    peak: Sum = {}
    for container in init:
        own = _of(container, "spec.initContainers", in_force, infeasible=infeasible)
        if container.restart_policy == "Always":
            _add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            beside = dict(sidecars)
            _add(beside, own)
            _raise_to(peak, beside)
    _add(together, sidecars)
    _raise_to(together, peak)
    return together


def _add(total: Sum, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Sum, other: Mapping[str, int]) -> None:
    for name, value in other.items():
        if value > total.get(name, 0):
            total[name] = value
