"""How much a pod takes of a node, by the computation that is part of the Kubernetes API (component-helpers ``resource/helpers.go``).

Containers and sidecars run together; init containers run before, one after the other, each beside the sidecars started so far.
Pod-level requests replace the sum for cpu, memory and huge pages; overhead is added last. While a resize is under way the
larger of what is wished, allocated and in force counts, container by container, unless the resize is infeasible.
"""

from collections.abc import Iterable, Mapping

from treadle.core.resources import amount
from treadle.kube.wire import Amounts, Container, ContainerStatus, Pod

POD_LEVEL = ("cpu", "memory")
SLOT = ("pods", 1)

Sum = dict[str, int]


def demand(pod: Pod) -> tuple[tuple[str, int], ...]:
    """Return the named amounts of a pod, its slot included, ordered by name. Raises ``InvalidSpec`` for a bad quantity."""
    spec, status = pod.spec, pod.status
    if spec is None:
        return (SLOT,)
    statuses = status.container_statuses if status is not None and spec.node_name else None
    init = spec.init_containers
    if (
        not init
        and not statuses
        and not spec.overhead
        and spec.resources is None
        and spec.containers
        and len(spec.containers) == 1
    ):
        return _ordered(_amounts(_requests(spec.containers[0])))
    infeasible = _infeasible(pod)
    in_force = {
        one.name: one for one in (*(statuses or ()), *((status.init_container_statuses or ()) if status is not None else ()))
    }
    total = _aggregate(spec.containers or (), init or (), in_force, infeasible=infeasible)
    if spec.resources is not None and spec.resources.requests:
        for name, text in spec.resources.requests.items():
            if name in POD_LEVEL or name.startswith("hugepages-"):
                total[name] = amount(name, text)
    for name, text in (spec.overhead or {}).items():
        total[name] = total.get(name, 0) + amount(name, text)
    return _ordered(total)


def _ordered(total: Sum) -> tuple[tuple[str, int], ...]:
    return tuple(sorted([(name, value) for name, value in total.items() if value > 0 and name != "pods"] + [SLOT]))


def _requests(container: Container) -> Amounts:
    return (container.resources.requests or {}) if container.resources is not None else {}


def _amounts(named: Mapping[str, str | int | float]) -> Sum:
    return {name: amount(name, text) for name, text in named.items()}


def _infeasible(pod: Pod) -> bool:
    conditions = (pod.status.conditions or ()) if pod.status is not None else ()
    return any(one.type == "PodResizePending" and one.reason == "Infeasible" for one in conditions)


def _of(container: Container, in_force: Mapping[str, ContainerStatus], *, infeasible: bool) -> Sum:
    """Return a container's amounts: the larger of its spec, what is allocated and what is in force."""
    status = in_force.get(container.name)
    if status is None:
        return _amounts(_requests(container))
    views = [status.allocated_resources, status.resources.requests if status.resources is not None else None]
    if not infeasible or not any(views):
        views.append(_requests(container))
    total: Sum = {}
    for view in views:
        _raise_to(total, _amounts(view or {}))
    return total


def _aggregate(
    containers: Iterable[Container], init: Iterable[Container], in_force: Mapping[str, ContainerStatus], *, infeasible: bool
) -> Sum:
    together: Sum = {}
    for container in containers:
        _add(together, _of(container, in_force, infeasible=infeasible))
    sidecars: Sum = {}
    peak: Sum = {}
    for container in init:
        own = _of(container, in_force, infeasible=infeasible)
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
