"""The kinds of differences between the core that serves and Hadoop, in a decision on one node. Each is a row of docs/deviations.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.builders import capacities_in
from offers.applicant import Applicant
from offers.nodes import Container, NodeManager
from offers.requests import ANY, Key
from treadle.core import Core
from treadle.core.disciplines.capacity.quota import limit_of, quota_of
from treadle.core.units.amounts import fits

Choice = tuple[str, Key]
"""An application and the key of its requests."""


class Kind(StrEnum):
    """Why the core decides otherwise."""

    RESERVATION = "reservation"
    """YARN holds a node for an application (any node, without an end), or what it holds counts against a limit."""
    SMALLER = "smaller ask"
    """An application's first ask finds no room on the node, and its next one does: in YARN the application's turn ends."""
    OVERTAKEN = "overtaken"
    """The first in order finds no room on the node, or under a maximum above it: in YARN those after it get nothing there."""
    LOCALITY = "locality"
    """Offers that were missed are a clock."""
    MASTERS = "master"
    """YARN charges a master when its application starts, and until that ends."""
    PROMISED = "preemption"
    """Room that victims left is given to whom they left for, or they are ended when it is (lazy preemption)."""
    MANAGED = "managed leaf"
    """Leaves of managed parents get their capacity by rounds."""
    ROUNDING = "rounding"
    """Two queues tie in single precision and do not in double precision, or the other way round; or sums in single precision make a user's limit a step larger."""
    SIZES = "size"
    """Weights by size are those of the last time that the application was ranked."""
    WEIGHTLESS = "no weight"
    """Siblings of which one has the weight 0 have no order under drf."""
    DRAINING = "draining"
    """A queue whose definition is gone keeps what it said until its applications have left; in YARN it has the defaults at once."""
    DEFECT = "defect"
    """Hadoop has lost count: of a user, of a node, or of an application that moved."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What both chose on a node. ``held``: the node was held for an application before; ``all_kept``: the core keeps all nodes that are."""

    core: Core
    chosen: Choice | None
    container: Container | None
    node: NodeManager
    held: bool
    all_kept: bool
    any_kept: bool
    lazy: bool
    memory_only: bool
    miscounted: frozenset[str]
    """Applications that moved, or whose user Hadoop has lost count of."""
    rounded: frozenset[str]
    """Applications whose users' limits are not the same by a step of rounding."""
    applications: Mapping[str, Any]

    def involved(self) -> list[Any]:
        """Return the applications that the core and Hadoop chose."""
        theirs = self.container.owner.name if self.container is not None else None
        names = dict.fromkeys(name for name in (self.chosen and self.chosen[0], theirs) if name is not None)
        return [self.applications[name] for name in names]

    def choices(self) -> list[tuple[Applicant, Key]]:
        """Return them with the keys that were chosen."""
        found = [(self.applications[self.chosen[0]], self.chosen[1])] if self.chosen is not None else []
        return found + ([(self.container.owner, self.container.key)] if self.container is not None else [])


def kind_of(difference: Difference) -> Kind | None:
    """Return the kind of a difference, None where it has none: then it is a defect of ours."""
    return next((kind for kind, applies in RULES if applies(difference)), None)


def _miscounted_node(difference: Difference) -> bool:
    """Whether less is free on a node than what runs there leaves."""
    nodes, node = difference.core.state.nodes, difference.node
    alike = nodes.free[nodes.row[node.name]][:2] == node.free[:2]
    return difference.container is None and not (difference.any_kept or difference.memory_only or alike)


def _reserved(difference: Difference) -> bool:
    return difference.held or difference.node.hold is not None or not difference.all_kept


def _smaller(difference: Difference) -> bool:
    """Whether a more urgent ask of the application that the core chose finds no room on the node."""
    if difference.chosen is None:
        return False
    name, key = difference.chosen
    return any(each < key for each in _without_room(difference.applications[name], difference.node))


def _without_room(application: Applicant, node: NodeManager) -> list[Key]:
    asks = {key: application.requests.ask(key, ANY) for key in application.requests.in_order()}
    return [key for key, ask in asks.items() if ask is not None and not fits(ask.demand, node.free)]


def _local(difference: Difference) -> bool:
    return any(len(application.requests.places.get(key, ())) > 1 for application, key in difference.choices())


def _master(difference: Difference) -> bool:
    return any(application.managed for application in difference.involved())


def _promised(difference: Difference) -> bool:
    return bool(difference.node.promised) or difference.lazy


def _weightless(difference: Difference) -> bool:
    known = [difference.core.state.applications.get(f"ns/{one.name}") for one in difference.involved()]
    return any(queue.weight == 0 for application in known if application is not None for queue in application.chain)


def _tie(difference: Difference) -> bool:
    """Whether two applications are below siblings whose usage differs by no more than single precision can tell."""
    state, involved = difference.core.state, difference.involved()
    if capacities_in(state) is None or len(involved) < 2:
        return False
    chains = [list(reversed(state.applications[f"ns/{one.name}"].chain)) for one in involved]
    siblings = next((pair for pair in zip(*chains, strict=False) if pair[0] is not pair[1]), None)
    if siblings is None or siblings[0].parent is None:
        return False
    ratios = [siblings[0].parent.rank(child)[1] for child in siblings]
    return bool(abs(ratios[0] - ratios[1]) <= 1e-6 * max(ratios))


def _sized(difference: Difference) -> bool:
    return any(one.leaf.spec.size_based_weight for one in difference.involved() if hasattr(one, "leaf"))


def rounded(core: Core, applications: Mapping[str, Any]) -> frozenset[str]:
    """Return the applications whose users' limits differ by no more than a step: Hadoop adds and subtracts parts of the cluster in single precision."""
    return frozenset(name for name, one in applications.items() if hasattr(one, "leaf") and _by_a_step(core, one))


def _by_a_step(core: Core, application: Any) -> bool:
    live, leaf = core.state.applications.get(f"ns/{application.name}"), application.leaf
    if live is None or live.quota is None:
        return False
    ours, theirs = limit_of(quota_of(live).leaf, application.user), leaf.users.limit(application.user, "")
    apart = [abs(ours[at] - theirs[at]) for at in leaf.context.calculator.deciding]
    return any(apart) and all(gap <= max(step, 1) for gap, step in zip(apart, leaf.context.least, strict=False))


def miscounted(applications: Mapping[str, Any]) -> frozenset[str]:
    """Return the applications for whose user Hadoop counts something else than what the user's applications have, before it decides."""
    return frozenset(name for name, one in applications.items() if hasattr(one, "leaf") and _forgot(applications, one))


def _forgot(applications: Mapping[str, Any], application: Any) -> bool:
    name, known = application.user, application.leaf.users
    theirs = [one.usage.see("") for one in applications.values() if one.leaf is application.leaf and one.user == name]
    total = [sum(column) for column in zip(*[each for one in theirs for each in (one.used, one.reserved)], strict=True)]
    active = [known.users[one].usage.used("") for one in known.active if one in known.users]
    of_active = [sum(column) for column in zip(*active, strict=True)]
    return (
        name not in known.users
        or known.users[name].usage.used("") != total
        or (bool(active) and known.active_usage.used("") != of_active)
        or _refused_for_good(application, total)
    )


def _refused_for_good(application: Any, used: list[int]) -> bool:
    """Whether Hadoop remembers a refusal of a user who is within the limit by now."""
    leaf, name = application.leaf, application.user
    known = leaf.users.findings("", within=True).get(name)
    more = leaf.context.calculator.more(leaf.context.total, used, leaf.users.limit(name, ""))
    return known is not None and not known.allowed and not more


def _draining(difference: Difference) -> bool:
    state = difference.core.state
    known = [state.applications.get(f"ns/{one.name}") for one in difference.involved()]
    return any(
        queue.path in state.tree.problems for application in known if application is not None for queue in application.chain
    )


def _managed(difference: Difference) -> bool:
    return any(one.leaf.entitled for one in difference.involved() if hasattr(one, "leaf"))


def _overtaken(difference: Difference) -> bool:
    return difference.container is None and any(_without_room(one, difference.node) for one in difference.applications.values())


RULES: list[tuple[Kind, Callable[[Difference], bool]]] = [
    (Kind.DEFECT, _miscounted_node),
    (Kind.RESERVATION, _reserved),
    (Kind.SMALLER, _smaller),
    (Kind.LOCALITY, _local),
    (Kind.MASTERS, _master),
    (Kind.PROMISED, _promised),
    (Kind.WEIGHTLESS, _weightless),
    (Kind.ROUNDING, _tie),
    (Kind.ROUNDING, lambda difference: any(one.name in difference.rounded for one in difference.involved())),
    (Kind.SIZES, _sized),
    (Kind.RESERVATION, lambda difference: difference.any_kept),
    (Kind.DEFECT, lambda difference: any(one.name in difference.miscounted for one in difference.involved())),
    (Kind.MANAGED, _managed),
    (Kind.DRAINING, _draining),
    (Kind.OVERTAKEN, _overtaken),
]
"""In this order: the first that applies is the kind."""
