"""Short words for pods with rules about other pods, and nodes in zones."""

from __future__ import annotations

from typing import Any

from core.builders import Scenario, a_pod
from treadle.core.model import Constraints, PodRules, PodSpec, PodTerm, Requirement

WEB = (Requirement("app", "In", ("web",)),)
NEAR_WEB = PodTerm("zone", WEB, ("ns",))
ALONE = PodTerm("host", WEB, ("ns",))


def a_ruled_pod(name: str, app: str = "web", **rules: Any) -> PodSpec:
    """A pod with a label; its own labels count for its affinity."""
    known = (("app", app),) if "affinity" in rules else ()
    constraints = Constraints(pods=PodRules("ns", labels=known, **rules)) if rules else Constraints()
    return a_pod(name, labels=(("app", app),), constraints=constraints)


def zones(count: int = 2, nodes: int = 2) -> Scenario:
    """Nodes ``z0-0``, ``z0-1``, …: so many in so many zones."""
    at = Scenario()
    for zone in range(count):
        for number in range(nodes):
            name = f"z{zone}-{number}"
            at.node(name, cpu=4, labels={"zone": f"z{zone}", "host": name})
    return at


def placed(at: Scenario) -> dict[str, str]:
    """Where pods are placed by passes until nothing is placed any more; what was placed is confirmed."""
    found: dict[str, str] = {}
    while binds := at.plan():
        found.update({bind.uid: bind.node for bind in binds})
        at.confirm(binds)
    return found
