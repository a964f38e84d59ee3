"""Gangs of opportunistic pods start together or not at all, and go one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from core.builders import Scenario
from core.kernel.opportunistic.idle_pods import bound, evicted, idle, seen
from treadle.core.effects import Evict, Withhold
from treadle.core.events import ApplicationSeen, BindFailed, PodSeen
from treadle.core.model import ApplicationSpec, Constraints, GangSettings, GangSpec, HostPort, Limit, PodSpec
from treadle.core.model.opportunistic import NodeWord

PORT = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))


def gang(name: str, count: int, least: int, cpu: int = 1, **fields: Any) -> list[PodSpec]:
    """Pods of a gang of the application of its name."""
    return [
        idle(f"{name}{at}", application=name, cpu=cpu, gang="g", gang_minimums=(("g", least),), **fields) for at in range(count)
    ]


def test_a_gang_starts_when_there_is_room_for_as_many_as_it_starts_with() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), *gang("a", 3, 3))
    assert bound(scenario) == {}
    reason, message = scenario.why("a0")
    assert reason == "NoIdleRoom"
    assert message.startswith(
        'gang "g" needs room for 3 pods at once, and at most 2 fit now; opportunistic pods get what no pod requests'
    )
    assert set(bound(scenario.node("more", cpu=1).wait(1))) == {"a0", "a1", "a2"}


def test_pods_beyond_the_minimum_come_one_by_one() -> None:
    scenario = seen(Scenario().nodes(1, cpu=3), *gang("a", 5, 2))
    assert len(bound(scenario)) == 3
    assert len(bound(scenario.node("more", cpu=1).wait(1))) == 1


def test_one_that_finds_no_room_leaves_it_to_others() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), *gang("a", 3, 3), *gang("b", 2, 2), idle("o", application="c"))
    assert set(bound(scenario)) <= {"b0", "b1"}
    assert scenario.core.state.opportunistic.by_application == {"ns/b": [2 * (1 << 30), 2000]}


def test_a_gang_waits_until_all_that_it_starts_with_are_there() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), *gang("a", 2, 3))
    assert bound(scenario) == {}
    words = 'gang "g" starts with 3 pods: 0 are placed and 2 wait, the others are not there yet'
    assert scenario.why("a0") == ("GangIncomplete", words)
    seen(scenario, replace(gang("a", 1, 3)[0], uid="late", name="late"))
    assert len(bound(scenario.wait(1))) == 3


def test_the_word_of_its_application_counts() -> None:
    scenario = Scenario().nodes(1, cpu=8)
    scenario.tell(ApplicationSeen(ApplicationSpec("ns/a", gangs=(GangSpec("g", 3),))))
    assert bound(seen(scenario, *gang("a", 2, 2))) == {}
    assert scenario.why("a0")[0] == "GangIncomplete"


def test_one_that_nobody_says_the_minimum_of_waits_for_it() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), *(replace(one, gang_minimums=()) for one in gang("a", 2, 2)))
    assert bound(scenario) == {}
    assert scenario.why("a0")[0] == "GangIncomplete"


def test_rules_between_its_pods_hold_while_they_are_tried() -> None:
    scenario = seen(Scenario().nodes(1, cpu=8), *gang("a", 2, 2, constraints=PORT))
    assert bound(scenario) == {}, "both want the same port"
    assert scenario.core.state.opportunistic.of == {}
    assert set(bound(scenario.node("more", cpu=8).wait(1)).values()) == {"node-0", "more"}


def test_a_gang_that_lost_a_pod_is_completed_by_the_one_that_comes() -> None:
    scenario = seen(Scenario().queue("root.a").nodes(1, cpu=2), *gang("a", 2, 2, queue="root.a"))
    assert len(bound(scenario)) == 2
    scenario.pod("g", "root.a", cpu=1)
    bound(scenario.wait(5))
    (lost,) = evicted(scenario)
    scenario.gone(lost)
    seen(scenario.node("more", cpu=1).wait(1000), replace(gang("a", 1, 2, queue="root.a")[0], uid="again", name="again"))
    assert bound(scenario.wait(1)) == {"again": "more"}


def test_the_maximum_of_its_queue_counts_for_all_of_it() -> None:
    scenario = Scenario().queue("root.a", max_opportunistic={"cpu": Limit(2000)}).nodes(1, cpu=8)
    seen(scenario, *(replace(one, queue="root.a") for one in gang("a", 3, 3)))
    assert bound(scenario) == {}
    scenario.queue("root.a", max_opportunistic={"cpu": Limit(3000)})
    assert len(bound(scenario.wait(1))) == 3


def test_one_whose_bind_fails_takes_back_the_others_that_were_not_sent() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), *gang("a", 2, 2))
    first, second = scenario.plan()
    scenario.tell(BindFailed(first.uid, "transient", "no"))
    scenario.plan()
    assert [one.uids for one in scenario.effects if isinstance(one, Withhold)] == [(second.uid,)]
    scenario.tell(BindFailed(second.uid, "transient", "not sent"))
    assert len(bound(scenario.wait(60))) == 2


def test_one_that_no_node_could_ever_have_does_not_keep_back_as_many_as_the_gang_starts_with() -> None:
    big = replace(gang("a", 1, 2, cpu=9)[0], uid="big", name="big")
    scenario = seen(Scenario().nodes(2, cpu=2), big, *gang("a", 3, 2))
    assert set(bound(scenario)) == {"a0", "a1", "a2"}
    reason, message = scenario.why("big")
    assert reason == "NoIdleRoom"
    assert "no node has cpu=9, memory=1Gi idle for it now" in message


def test_where_the_minimum_needs_one_that_no_node_could_have_nothing_starts_until_one_can() -> None:
    big = replace(gang("a", 1, 3, cpu=9)[0], uid="big", name="big")
    scenario = seen(Scenario().nodes(2, cpu=2), big, *gang("a", 2, 3))
    assert bound(scenario) == {}
    assert scenario.why("a0")[1].startswith('gang "g" needs room for 3 pods at once, and at most 2 fit now; ')
    assert set(bound(scenario.node("huge", cpu=9).wait(1))) == {"big", "a0", "a1"}


def test_a_node_that_gives_opportunistic_pods_a_part_only_could_not_have_more() -> None:
    big = replace(gang("a", 1, 2, cpu=3)[0], uid="big", name="big")
    half = NodeWord(most=500)
    scenario = seen(Scenario().node("half", cpu=4, over_allocation=half), big, *gang("a", 2, 2))
    assert set(bound(scenario)) == {"a0", "a1"}


def zones(**cpus: int) -> Scenario:
    """Two nodes in each zone, with so many cores each."""
    scenario = Scenario()
    for zone, cpu in cpus.items():
        for at in range(2):
            scenario.node(f"{zone}{at}", cpu=cpu, labels={"zone": zone})
    return scenario


def zones_of(nodes: dict[str, str]) -> set[str]:
    return {node[0] for node in nodes.values()}


def test_a_gang_that_is_to_have_one_value_of_a_label_goes_to_the_domain_that_it_fills_best() -> None:
    scenario = seen(zones(a=4, b=2, c=1), *gang("a", 3, 3, gang_topology=("zone", True)))
    assert zones_of(bound(scenario)) == {"b"}


def test_one_that_no_domain_has_room_for_waits_whole_and_is_told_where_it_is_to_be() -> None:
    scenario = seen(zones(a=1, b=1), *gang("a", 3, 3, gang_topology=("zone", True)))
    assert bound(scenario) == {}
    assert scenario.core.state.opportunistic.of == {}
    reason, message = scenario.why("a0")
    assert reason == "NoIdleRoom"
    assert message.startswith('gang "g" needs room for 3 pods at once, on nodes with one value of zone, and at most 2 fit now; ')
    assert zones_of(bound(scenario.node("a2", cpu=1, labels={"zone": "a"}).wait(1))) == {"a"}


def test_what_a_gang_is_told_does_not_deny_the_room_that_one_of_it_would_have() -> None:
    scenario = seen(zones(a=1, b=1), *gang("a", 3, 3, gang_topology=("zone", True)))
    assert bound(scenario) == {}
    message = scenario.why("a0")[1]
    assert "no node has" not in message
    assert "4 nodes have cpu=1, memory=1Gi idle now, but there is not enough for all of them; 4/4 nodes admit it" in message


def test_one_that_is_to_go_to_the_full_domain_of_the_others_is_told_so() -> None:
    scenario = seen(zones(b=1), *gang("a", 2, 2, gang_topology=("zone", True)))
    assert zones_of(bound(scenario)) == {"b"}
    late = replace(gang("a", 1, 2, gang_topology=("zone", True))[0], uid="late", name="late")
    assert bound(seen(scenario.node("a0", cpu=3, labels={"zone": "a"}), late).wait(1)) == {}
    message = scenario.why("late")[1]
    assert "1 node has cpu=1, memory=1Gi idle now, but it is to go where the others of its gang are, by zone; " in message


def test_one_that_a_port_keeps_from_a_node_with_room_is_not_told_that_none_has_room() -> None:
    scenario = seen(Scenario().nodes(1, cpu=8), idle("o", constraints=PORT), idle("p", constraints=PORT))
    assert len(bound(scenario)) == 1
    assert "1 node has cpu=1, memory=1Gi idle now, but it cannot go there; " in scenario.why("p")[1]


def test_one_that_only_prefers_a_domain_goes_to_several_where_none_has_room() -> None:
    scenario = seen(zones(a=1, b=1), *gang("a", 3, 3, gang_topology=("zone", False)))
    assert zones_of(bound(scenario)) == {"a", "b"}
    assert zones_of(bound(seen(zones(a=3, b=2), *gang("a", 3, 3, gang_topology=("zone", False))))) == {"b"}


def test_a_domain_that_would_do_by_its_amounts_and_does_not_by_rules_is_passed_over() -> None:
    asked: dict[str, Any] = {"gang_topology": ("zone", True)}
    nodes = zones(b=4).node("a0", cpu=2, labels={"zone": "a"})
    assert zones_of(bound(seen(nodes, *gang("a", 2, 2, **asked)))) == {"a"}
    nodes = zones(b=4).node("a0", cpu=2, labels={"zone": "a"})
    assert zones_of(bound(seen(nodes, *gang("a", 2, 2, constraints=PORT, **asked)))) == {"b"}, "both want the same port"


def placed(scenario: Scenario, application: str) -> dict[str, str]:
    state = scenario.core.state
    return {uid: state.nodes.names[one.row] for uid, one in state.opportunistic.of.items() if one.application == application}


def test_pods_beyond_the_minimum_and_those_that_come_again_go_to_the_domain_of_the_others() -> None:
    scenario = seen(zones(a=8, b=2), *gang("a", 4, 2, gang_topology=("zone", True)))
    assert zones_of(bound(scenario)) == {"b"}
    late = [
        replace(one, uid=f"late{at}", name=f"late{at}") for at, one in enumerate(gang("a", 2, 2, gang_topology=("zone", True)))
    ]
    assert bound(seen(scenario, *late).wait(1)) == {}, "the zone is full"
    scenario.gone("a0")
    assert zones_of(bound(scenario.wait(1))) == {"b"}


def test_those_beyond_what_is_preferred_go_elsewhere_where_the_domain_is_full() -> None:
    scenario = seen(zones(a=2, b=1), *gang("a", 3, 2, gang_topology=("zone", False)))
    assert zones_of(bound(scenario)) == {"a", "b"}


def partial(scenario: Scenario) -> Scenario:
    """A gang of two of which one had to go for a guaranteed pod, and whose new pod finds no room."""
    bound(
        seen(
            scenario.scheduler(gangs=GangSettings(partial_timeout=60.0)).queue("root.a").nodes(1, cpu=2),
            *gang("a", 2, 2, queue="root.a"),
        )
    )
    scenario.pod("g", "root.a", cpu=1)
    bound(scenario.wait(5))
    (lost,) = evicted(scenario)
    scenario.gone(lost)
    seen(scenario, replace(gang("a", 1, 2, queue="root.a")[0], uid="again", name="again"))
    assert bound(scenario.wait(1000)) == {}
    return scenario


def test_what_is_left_of_a_gang_is_given_up_when_the_others_find_no_room_for_too_long() -> None:
    scenario = partial(Scenario())
    (left,) = placed(scenario, "ns/a")
    scenario.wait(59).plan()
    assert evicted(scenario) == []
    scenario.wait(1).plan()
    assert evicted(scenario) == [left]
    why = next(one.why for one in scenario.effects if isinstance(one, Evict))
    assert (
        why == 'gang "g" of application ns/a starts with 2 pods, 1 are left, and for the others there has been no room for 60 s'
    )
    assert scenario.core.view.is_victim(left)
    scenario.gone(left)
    assert bound(scenario.wait(1)) == {}, "it waits for its others"
    seen(scenario.node("more", cpu=1), replace(gang("a", 1, 2, queue="root.a")[0], uid="both", name="both"))
    assert set(bound(scenario.wait(1000))) == {"again", "both"}


def test_what_is_left_in_a_domain_is_given_up_though_others_have_room() -> None:
    scenario = zones(b=1).scheduler(gangs=GangSettings(partial_timeout=60.0)).queue("root.a")
    asked: dict[str, Any] = {"queue": "root.a", "gang_topology": ("zone", True)}
    assert zones_of(bound(seen(scenario, *gang("a", 2, 2, **asked)))) == {"b"}
    scenario.node("a0", cpu=4, labels={"zone": "a"}).pod("g", "root.a", cpu=1, constraints=Constraints(selector=(("zone", "b"),)))
    bound(scenario.wait(5))
    (lost,) = evicted(scenario)
    seen(scenario.gone(lost), replace(gang("a", 1, 2, **asked)[0], uid="again", name="again"))
    assert bound(scenario.wait(1000)) == {}, "its zone is full"
    scenario.wait(60).plan()
    assert len(evicted(scenario)) == 1
    scenario.gone(*evicted(scenario))
    seen(scenario, replace(gang("a", 1, 2, **asked)[0], uid="both", name="both"))
    assert zones_of(bound(scenario.wait(1000))) == {"a"}


def test_what_is_left_stays_where_the_others_find_room_in_time_or_do_not_come() -> None:
    scenario = partial(Scenario())
    assert bound(scenario.wait(30).node("more", cpu=1).wait(1)) == {"again": "more"}
    scenario.wait(60).plan()
    assert evicted(scenario) == []
    scenario = partial(Scenario()).gone("again")
    scenario.wait(100).plan()
    assert evicted(scenario) == []


@settings(max_examples=100, deadline=None)
@given(
    nodes=st.lists(st.integers(1, 4), max_size=4),
    gangs=st.lists(
        st.tuples(
            st.integers(1, 4),
            st.integers(1, 4),
            st.integers(1, 3),
            st.booleans(),
            st.sampled_from([None, ("zone", True), ("zone", False)]),
        ),
        max_size=5,
    ),
    more=st.lists(st.integers(1, 4), max_size=3),
)
def test_no_gang_ever_has_fewer_than_it_starts_with_nor_is_in_two_zones_if_it_is_to_be_in_one(
    nodes: list[int], gangs: list[tuple[int, int, int, bool, tuple[str, bool] | None]], more: list[int]
) -> None:
    scenario = Scenario()
    for number, cpu in enumerate(nodes):
        scenario.node(f"{'ab'[number % 2]}{number}", cpu=cpu, labels={"zone": "ab"[number % 2]})
    least, in_one = {}, set()
    for number, (count, minimum, cpu, port, topology) in enumerate(gangs):
        least[f"a{number}x"] = minimum
        if topology is not None and topology[1]:
            in_one.add(f"a{number}x")
        rules = PORT if port else Constraints()
        seen(scenario, *gang(f"a{number}x", count, minimum, cpu, constraints=rules, gang_topology=topology))
    for number, cpu in enumerate([0, *more]):
        if cpu:
            scenario.node(f"{'ab'[number % 2]}more", cpu=cpu, labels={"zone": "ab"[number % 2]})
        binds = scenario.wait(2).plan()
        running = Counter(one.application.partition("/")[2] for one in scenario.core.state.opportunistic.of.values())
        assert all(count >= least[name] for name, count in running.items())
        assert all(len(zones_of(placed(scenario, f"ns/{name}"))) <= 1 for name in in_one)
        for bind in binds:
            scenario.tell(PodSeen(replace(scenario.core.state.pods[bind.uid].spec, node=bind.node)))
