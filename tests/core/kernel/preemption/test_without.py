"""A node is freed only if the pod would pass every rule there then."""

from __future__ import annotations

from typing import Any

from core.builders import Scenario, a_node, a_pod, replaced
from treadle.core.effects import Evict
from treadle.core.events import NodeSeen, PodSeen
from treadle.core.model import Constraints, FairSettings, HostPort, PodRules, PodTerm, Requirement

ON = FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0)


def about(app: str) -> tuple[PodTerm, ...]:
    return (PodTerm("host", (Requirement("app", "In", (app,)),), ("ns",)),)


def ruled(app: str, **rules: Any) -> dict[str, Any]:
    return {"labels": (("app", app),), "constraints": Constraints(pods=PodRules("ns", **rules))}


def cluster(nodes: int, cpu: int = 4) -> Scenario:
    at = Scenario().scheduler(fair=ON).queue("root.hog").queue("root.starved")
    for number in range(nodes):
        at.tell(NodeSeen(a_node(f"n{number}", cpu=cpu, labels={"host": f"n{number}"})))
    return at


def on(at: Scenario, node: str, *names: str, **fields: Any) -> None:
    for name in names:
        at.tell(PodSeen(replaced(a_pod(name, "root.hog", application="hog", **fields), node=node)))


def victims(at: Scenario, seconds: int = 30) -> set[str]:
    found: set[str] = set()
    for _ in range(seconds):
        at.wait(1.0)
        at.confirm(at.plan())
        found |= {effect.uid for effect in at.effects if isinstance(effect, Evict)}
    return found


def test_who_avoids_the_pod_goes_beside_those_who_have_its_room() -> None:
    at = cluster(1)
    on(at, "n0", "shy", **ruled("hog", anti_affinity=about("x")))
    on(at, "n0", "a", "b", "c", priority=-5)
    at.tell(PodSeen(a_pod("p", "root.starved", application="p", labels=(("app", "x"),))))
    assert "shy" in victims(at)


def test_whom_the_pod_avoids_goes_though_there_is_room() -> None:
    at = cluster(1, cpu=8)
    on(at, "n0", "y0", labels=(("app", "y"),))
    on(at, "n0", *(f"h{number}" for number in range(6)))
    at.tell(PodSeen(a_pod("p", "root.starved", application="p", **ruled("x", anti_affinity=about("y")))))
    assert victims(at) == {"y0"}


def test_whom_the_pod_must_be_near_stays() -> None:
    at = cluster(1)
    on(at, "n0", "friend", labels=(("app", "y"),), priority=-10)
    on(at, "n0", "a", "b", "c")
    at.tell(PodSeen(a_pod("p", "root.starved", application="p", **ruled("x", affinity=about("y")))))
    found = victims(at)
    assert len(found) == 1
    assert "friend" not in found


def test_nobody_goes_where_whom_the_pod_must_be_near_would_be_the_victim() -> None:
    at = cluster(1)
    on(at, "n0", "friend", labels=(("app", "y"),), cpu=4)
    at.tell(PodSeen(a_pod("p", "root.starved", application="p", **ruled("x", affinity=about("y")))))
    assert victims(at) == set()


def test_who_has_the_port_goes() -> None:
    at = cluster(1, cpu=8)
    port = (HostPort("0.0.0.0", "TCP", 80),)
    on(at, "n0", "web", constraints=Constraints(host_ports=port))
    on(at, "n0", *(f"h{number}" for number in range(6)))
    at.tell(PodSeen(a_pod("p", "root.starved", application="p", constraints=Constraints(host_ports=port))))
    assert victims(at) == {"web"}
