"""What pods only prefer decides among the nodes that can take them, and never keeps them from one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from core.builders import Scenario, a_pod
from treadle.core.events import PodSeen
from treadle.core.model import Constraints, PodRules, PodTerm, Requirement, SpreadTerm, Taint, Toleration, Wish
from treadle.core.model.scheduler import Weights

HOST = "kubernetes.io/hostname"
MB = 1 << 20


def term(app: str, topology: str = "zone") -> PodTerm:
    return PodTerm(topology, (Requirement("app", "In", (app,)),), ("ns",))


def spread(app: str, topology: str = "zone", skew: int = 1) -> SpreadTerm:
    return SpreadTerm(topology, skew, (Requirement("app", "In", (app,)),))


def liking(
    at: Scenario, name: str, app: str = "web", application: str = "", constraints: Constraints | None = None, **rules: Any
) -> Scenario:
    """A pod with a label that prefers something."""
    found = constraints or Constraints(pods=PodRules("ns", **rules) if rules else None)
    return at.tell(PodSeen(a_pod(name, application=application or app, labels=(("app", app),), constraints=found)))


def zones(count: int = 3, nodes: int = 2, cpu: int = 4, **settings: Any) -> Scenario:
    at = Scenario().scheduler(**settings)
    for zone in range(count):
        for number in range(nodes):
            name = f"z{zone}-{number}"
            at.node(name, cpu=cpu, labels={"zone": f"z{zone}", HOST: name})
    return at


def placed(at: Scenario) -> dict[str, str]:
    binds = at.plan()
    at.confirm(binds)
    return {bind.name: bind.node for bind in binds}


def by_zone(found: dict[str, str]) -> Counter[str]:
    return Counter(node.partition("-")[0] for node in found.values())


def test_pods_that_would_rather_be_spread_are_over_zones_though_pack_would_fill_one() -> None:
    at = zones()
    for number in range(6):
        liking(at, f"p-{number}", preferred_spread=(spread("web"),))
    assert by_zone(placed(at)) == {"z0": 2, "z1": 2, "z2": 2}


def test_and_over_hosts() -> None:
    at = zones()
    for number in range(6):
        liking(at, f"p-{number}", preferred_spread=(spread("web", HOST),))
    assert set(Counter(placed(at).values()).values()) == {1}


def test_what_is_preferred_keeps_no_pod_from_the_only_room() -> None:
    at = zones(1, 1)
    for number in range(4):
        liking(at, f"p-{number}", preferred_spread=(spread("web", HOST),), preferred=((-100, term("web", HOST)),))
    assert len(placed(at)) == 4


def test_pods_go_to_those_that_they_like_and_away_from_those_that_they_do_not() -> None:
    at = zones()
    liking(at, "db", "db", constraints=Constraints(selector=(("zone", "z1"),)))
    liking(at, "noise", "noise", constraints=Constraints(selector=(("zone", "z0"),)))
    placed(at)
    liking(at, "near", preferred=((100, term("db")),))
    liking(at, "far", preferred=((-100, term("noise")), (-50, term("db"))))
    found = placed(at)
    assert found["near"].startswith("z1")
    assert found["far"].startswith("z2")


def test_the_preferences_of_pods_that_are_there_count_for_pods_without_any() -> None:
    at = zones()
    liking(
        at,
        "shy",
        "shy",
        constraints=Constraints(selector=(("zone", "z0"),), pods=PodRules("ns", preferred=((-100, term("web")),))),
    )
    liking(
        at,
        "fond",
        "fond",
        constraints=Constraints(selector=(("zone", "z2"),), pods=PodRules("ns", preferred=((10, term("web")),))),
    )
    placed(at)
    liking(at, "web")
    assert placed(at)["web"].startswith("z2")


def test_a_pod_that_waits_hears_of_preferences_that_come_up_meanwhile() -> None:
    at = zones(2, 1, cpu=1)
    liking(at, "a", "a").pod("b", application="b")
    placed(at)
    liking(at, "web")
    assert at.plan() == []
    fond = Constraints(pods=PodRules("ns", preferred=((100, term("web")),)))
    at.tell(PodSeen(a_pod("fond", application="f", cpu=0, node="z1-0", constraints=fond)))
    at.gone("a", "b")
    assert placed(at)["web"] == "z1-0"


def test_a_pod_that_must_be_with_others_draws_them_a_little() -> None:
    def zone_of(weights: Weights) -> str:
        at = zones(scoring="Spread", weights=weights)
        must = PodRules("ns", affinity=(term("web"),), labels=(("app", "web"),))
        at.tell(
            PodSeen(
                a_pod("there", application="x", node="z2-0", cpu=0, labels=(("app", "web"),), constraints=Constraints(pods=must))
            )
        )
        liking(at, "web")
        return placed(at)["web"]

    assert zone_of(Weights()).startswith("z2")
    assert zone_of(Weights(required_affinity=0)) == "z0-0"


def test_a_taint_with_prefer_no_schedule_is_a_last_resort_for_pods_that_do_not_tolerate_it() -> None:
    at = Scenario().node("slow", taints=(Taint("slow", "", "PreferNoSchedule"),)).node("usual")
    tolerant = Constraints(tolerations=(Toleration("slow", "Exists"),))
    at.pod("tolerant", application="t", constraints=tolerant)
    assert placed(at) == {"tolerant": "slow"}, "for it they are equal, and the first is taken"
    at.pods(5, "p")
    assert Counter(placed(at).values()) == {"usual": 4, "slow": 1}


def test_such_a_taint_that_comes_or_goes_is_heeded_from_the_next_pass_on() -> None:
    at = Scenario().node("first").node("second").pod("a")
    assert placed(at) == {"a": "first"}
    at.node("first", taints=(Taint("slow", "", "PreferNoSchedule"),)).pod("b", application="b")
    assert placed(at) == {"b": "second"}
    at.node("first").gone("b").pod("c", application="c")
    assert placed(at) == {"c": "first"}
    assert not at.core.state.nodes.disliked


def test_images_count_only_where_it_is_asked_for() -> None:
    def node_of(weights: Weights) -> str:
        at = Scenario().scheduler(weights=weights).node("without").node("with", images=((("app:1",), 900 * MB),))
        return placed(at.pod("a", images=("app:1",)))["a"]

    assert node_of(Weights()) == "without"
    assert node_of(Weights(images=1)) == "with"


def test_an_image_that_comes_is_no_edit_of_the_node_and_counts_all_the_same() -> None:
    at = Scenario().scheduler(weights=Weights(images=1)).node("a").node("b")
    assert placed(at.pod("one", images=("app:1",))) == {"one": "a"}
    edits = at.core.state.nodes.edited.end
    at.node("b", images=((("app:1",), 900 * MB),))
    assert at.core.state.nodes.edited.end == edits
    assert placed(at.pod("two", images=("app:1",))) == {"two": "b"}


def test_weights_that_change_count_for_pods_that_wait() -> None:
    at = zones(2, 1, cpu=2)
    at.pods(4, "full", application="full")
    placed(at)
    liking(at, "web", preferred_spread=(spread("web"),))
    assert at.plan() == []
    at.scheduler(weights=Weights(spread=0))
    at.gone("full-0", "full-1", "full-2", "full-3")
    assert len(placed(at)) == 1


def test_preferred_nodes_are_weighed_with_the_rest_where_pods_prefer_more_than_nodes() -> None:
    at = zones(3, 1)
    wish = Wish(terms=((50, (Requirement("zone", "In", ("z1",)),)),))
    for number in range(2):
        liking(at, f"w-{number}", constraints=Constraints(wish=wish, pods=PodRules("ns", preferred_spread=(spread("web"),))))
    assert by_zone(placed(at)) == {"z1": 2}, "200 points for the node, 200 for the zone, and pack"
    at = zones(3, 1, weights=Weights(spread=5))
    for number in range(2):
        liking(at, f"w-{number}", constraints=Constraints(wish=wish, pods=PodRules("ns", preferred_spread=(spread("web"),))))
    assert by_zone(placed(at))["z1"] == 1


def test_hard_rules_and_gangs_stay_hard_for_pods_with_preferences() -> None:
    at = zones(2, 1)
    rules = PodRules("ns", anti_affinity=(term("web", HOST),), preferred=((100, term("web", "zone")),))
    for number in range(3):
        at.tell(
            PodSeen(
                a_pod(
                    f"g-{number}",
                    gang="g",
                    gang_minimums=(("g", 3),),
                    labels=(("app", "web"),),
                    constraints=Constraints(pods=rules),
                )
            )
        )
    assert at.plan() == []
    at.node("more", labels={"zone": "z9", HOST: "more"})
    assert len(set(placed(at).values())) == 3


def test_shapes_that_nobody_has_leave_no_counts_behind() -> None:
    from treadle.core.kernel.tidy import prune

    at = zones()
    liking(at, "a", preferred=((10, term("db")),), preferred_spread=(spread("web"),))
    placed(at)
    at.gone("a")
    prune(at.core.state)
    assert not at.core.state.shapes.kinds.tallies()
    assert not at.core.state.nodes.topologies["zone"].followers
