"""What an opportunistic pod will use: what its annotation says of a container, or else the container's limits where it requests nothing, or else its requests.

It is added up as requests are, since init containers run one after the other (``accounting``).
"""

from collections.abc import Iterable, Mapping

from treadle.api.execution import DEMAND, MEASURED, demand_of, is_opportunistic, promotes_itself
from treadle.api.labels import EXECUTION_TYPE
from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import UNBOUNDED
from treadle.kube import accounting, wire

Amounts = tuple[tuple[str, int], ...]
NOTHING: Amounts = ()
_ZERO = dict.fromkeys(MEASURED, 0)
SAYS_NOTHING = (
    f"metadata: an opportunistic pod ({EXECUTION_TYPE}) has to say what it will use of cpu or memory: "
    f"by limits of its containers, or by the annotation {DEMAND}"
)
_SHOWN = 60


def opportunistic(seen: wire.Pod) -> tuple[Amounts, str]:
    """Return what an opportunistic pod will use of cpu and memory, empty for a guaranteed one, and what cannot be understood, empty for nothing.

    One whose annotation makes no sense counts for what its containers say.
    """
    meta = seen.metadata
    try:
        if seen.spec is None or not is_opportunistic(meta.labels, meta.annotations):
            return NOTHING, ""
    except ValueError as error:
        return NOTHING, str(error)
    return if_opportunistic(seen)


def if_opportunistic(seen: wire.Pod) -> tuple[Amounts, str]:
    """Return the same of a pod as if it were opportunistic, whatever it says."""
    meta, spec = seen.metadata, seen.spec
    if spec is None:
        return NOTHING, ""
    problem, said = "", {}
    try:
        promotes_itself(meta.annotations)
        said = _of_containers(spec, meta.annotations)
    except ValueError as error:
        problem = str(error)
    try:
        found = {**_ZERO, **_sum(spec, said)}
    except InvalidSpec as error:
        found, problem = dict.fromkeys(MEASURED, UNBOUNDED), problem or str(error)
    if not problem and not any(found.values()):
        problem = SAYS_NOTHING
    return tuple(sorted(found.items())), problem


def _of_containers(spec: wire.PodSpec, notes: Mapping[str, str] | None) -> dict[str, dict[str, str]]:
    said = demand_of(notes)
    names = [one.name for one in (*(spec.containers or ()), *(spec.init_containers or ()))]
    for name in said:
        if name not in names:
            known = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise ValueError(
                f"metadata.annotations[{DEMAND}]: {name[:_SHOWN]!r} is no container of the pod; allowed are {known[:400]}"
            )
    return said


def _sum(spec: wire.PodSpec, said: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    whole = None
    if spec.resources is not None and not said:
        whole = wire.Resources(requests=_used(spec.resources))
    as_if = wire.PodSpec(
        containers=[*_as_if(spec.containers or (), said)],
        init_containers=[*_as_if(spec.init_containers or (), said)],
        resources=whole,
    )
    return {name: value for name, value in accounting.demand(wire.Pod(spec=as_if)) if name in MEASURED}


def _as_if(containers: Iterable[wire.Container], said: Mapping[str, Mapping[str, str]]) -> Iterable[wire.Container]:
    for one in containers:
        used: wire.Amounts = {**_used(one.resources or wire.Resources()), **said.get(one.name, {})}
        yield wire.Container(name=one.name, restart_policy=one.restart_policy, resources=wire.Resources(requests=used))


def _used(resources: wire.Resources) -> wire.Amounts:
    """Return what is requested, or where that is nothing the limit."""
    found: wire.Amounts = {}
    requests, limits = resources.requests or {}, resources.limits or {}
    for name in MEASURED:
        asked = requests.get(name, "0")
        if accounting.is_zero(name, asked):
            asked = limits.get(name, "0")
        if not accounting.is_zero(name, asked):
            found[name] = asked
    return found
