"""Applications whose pods that wait are placed together, by the decisions of a core."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import Scenario, limits, replaced
from core.kernel.together.sets import a_cluster, discontent, tagged
from core.ruled import placed
from examples import examples
from treadle.core.events import ApplicationSeen, PodGone, PodSeen
from treadle.core.kernel.together.placing import LARGEST
from treadle.core.model import RACK_LABEL, ApplicationSpec, Constraints, PodRules, PodSpec, PodTerm, Requirement
from treadle.core.rules.constraints.processor import POPULAR_TAGS, SERIAL


def on(at: Scenario, *pods: PodSpec) -> dict[str, str]:
    at.tell(*(PodSeen(pod) for pod in pods))
    return placed(at)


def test_a_pod_that_needs_a_later_one_is_placed_in_the_same_pass() -> None:
    found = on(a_cluster(), tagged("web", "web", constraint="in,node,db"), tagged("db", "db"))

    assert found["web"] == found["db"]


def test_a_later_pod_does_not_break_what_an_earlier_one_demands() -> None:
    pods = [tagged("shy", "shy", constraint="notin,node,loud")]
    pods += [tagged(f"loud{number}", "loud", constraint="notin,node,loud") for number in range(3)]
    found = on(a_cluster(4), *pods)

    assert len(set(found.values())) == 4


def test_a_placement_that_a_later_one_breaks_is_taken_back_and_tried_elsewhere() -> None:
    """Both are tried on the first node; what was there first is looked at again and goes to the next one."""
    found = on(a_cluster(2), tagged("shy", "shy", constraint="notin,node,loud"), tagged("loud", "loud"))

    assert found == {"loud": "n0", "shy": "n1"}


def test_what_is_rejected_says_so_with_the_reason_and_the_constraint() -> None:
    at = a_cluster(2)
    found = on(at, *(tagged(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(3)))

    assert sorted(found.values()) == ["n0", "n1"]
    (left,) = {"p0", "p1", "p2"} - found.keys()
    reason, words = at.why(left)
    assert reason == "Unschedulable"
    assert "2 node(s) didn't satisfy placement constraints" in words
    assert "COULD_NOT_PLACE_ON_NODE" in words
    assert "notin,node,hbase" in words


def test_two_that_each_need_the_other_first_wait_both_as_in_yarn() -> None:
    at = a_cluster()

    assert on(at, tagged("a", "a", constraint="in,node,b"), tagged("b", "b", constraint="in,node,a")) == {}
    assert "in,node,b" in at.why("a")[1]
    assert "in,node,a" in at.why("b")[1]


def test_rejected_pods_are_placed_when_a_node_comes() -> None:
    at = a_cluster(1)
    first = on(at, *(tagged(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(2)))
    at.node("new", labels={RACK_LABEL: "r0"})

    assert [*first.values(), *placed(at).values()] == ["n0", "new"]


def test_a_full_queue_is_what_pods_wait_for_that_nodes_would_take() -> None:
    at = a_cluster(4)
    at.queue("root.small", maximum=limits(cpu=2))
    found = on(at, *(tagged(f"p{number}", "hbase", constraint="notin,node,hbase", queue="root.small") for number in range(3)))

    assert len(found) == 2
    (left,) = {"p0", "p1", "p2"} - found.keys()
    assert at.why(left)[0] == "QueueMaximum"


def test_nodes_hold_no_more_than_they_have_room_for() -> None:
    at = a_cluster(2, cpu=2)
    found = on(at, *(tagged(f"p{number}", "a") for number in range(6)))

    assert Counter(found.values()) == {"n0": 2, "n1": 2}


@pytest.mark.parametrize(("iterator", "first"), [(SERIAL, "single"), (POPULAR_TAGS, "pair0")])
def test_the_iterator_says_who_is_first(iterator: str, first: str) -> None:
    at = a_cluster(1, iterator, cpu=1)
    found = on(at, tagged("single", "x"), tagged("pair0", "a", "b"), tagged("pair1", "a", "c"))

    assert found == {first: "n0"}


def test_pods_of_one_ask_that_others_tell_apart_go_where_they_were_tried() -> None:
    """Two pods that are one ask differ in a label by which they are kept from a third: the one that may be beside it is."""
    at = a_cluster(2, cpu=2)
    away = PodTerm("\0node", (Requirement("colour", "In", ("red",)),), ("ns",))
    blue = tagged("blue", "x", labels=(("colour", "blue"),))
    red = tagged("red", "x", labels=(("colour", "red"),))
    shy = tagged("shy", "y", cpu=1)
    shy = replaced(shy, constraints=Constraints(pods=PodRules("ns", anti_affinity=(away,))))
    on(at, shy)
    found = on(at, red, blue)

    assert found["red"] != "n0"
    assert not discontent(at, [shy, red, blue], {"shy": "n0", **found})


def test_a_set_has_so_many_pods_and_the_rest_is_the_next_one() -> None:
    at = a_cluster(3, cpu=1_000, memory=4_000, pods=2_000)
    at.core.validate = False  # which takes as long as there are pods, after each of them
    found = on(at, *(tagged(f"p{number}", "x", constraint="cardinality,node,x,0,399") for number in range(LARGEST + 300)))

    assert len(found) == 1_200
    assert max(Counter(found.values()).values()) == 400
    assert f"a set has {LARGEST} at the most" in at.core.view.too_large("ns/app")
    left = next(iter({f"p{number}" for number in range(LARGEST + 300)} - found.keys()))
    assert at.why(left)[0] == "Unschedulable"


def test_a_set_that_was_too_large_is_told_of_until_the_application_is_edited() -> None:
    at = a_cluster(1, cpu=1)
    pods = [tagged(f"p{number}", "x") for number in range(LARGEST + 2)]
    on(at, *pods)
    at.tell(*(PodGone(pod.uid) for pod in pods[:5]))
    placed(at)
    assert f"{LARGEST + 2} pods waited at once" in at.core.view.too_large("ns/app")
    at.tell(ApplicationSeen(ApplicationSpec("ns/app", together=SERIAL)))
    assert at.core.view.too_large("ns/app"), "nothing was edited"
    at.tell(ApplicationSeen(ApplicationSpec("ns/app", together=POPULAR_TAGS)))

    assert not at.core.view.too_large("ns/app")


def test_an_edit_makes_pods_that_wait_be_placed_by_themselves() -> None:
    at = a_cluster(2)
    on(at, *(tagged(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(3)))
    at.tell(ApplicationSeen(ApplicationSpec("ns/app")))
    placed(at)

    assert "COULD_NOT_PLACE_ON_NODE" not in at.why("p2")[1]


TAGS = ["a", "b", "c"]
SINGLE = st.builds(
    lambda kind, scope, tag: f"{kind},{scope},{tag}",
    st.sampled_from(["in", "notin"]),
    st.sampled_from(["node", "rack"]),
    st.sampled_from(TAGS),
) | st.builds(lambda tag, most: f"cardinality,node,{tag},0,{most}", st.sampled_from(TAGS), st.integers(0, 2))
CONSTRAINT = st.just("") | SINGLE | st.builds(lambda one, other: f"or({one}:{other})", SINGLE, SINGLE)
KINDS = st.lists(
    st.tuples(st.sets(st.sampled_from(TAGS), max_size=2), CONSTRAINT, st.integers(1, 4), st.integers(1, 2)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=examples(150), deadline=None)
@given(KINDS, st.integers(1, 4), st.integers(1, 4), st.sampled_from([SERIAL, POPULAR_TAGS]))
def test_all_that_one_pass_places_satisfies_its_constraints_in_the_end(
    kinds: list[tuple[set[str], str, int, int]], nodes: int, cpu: int, iterator: str
) -> None:
    at = a_cluster(nodes, iterator, cpu=cpu)
    at.core.validate = True
    pods = {}
    for number, (tags, constraint, count, size) in enumerate(kinds):
        for each in range(count):
            one = tagged(f"p{number}-{each}", *sorted(tags), constraint=constraint, cpu=size)
            pods[one.uid] = one
            at.tell(PodSeen(one))
    before: dict[str, str] = {}
    while binds := at.plan():  # an end comes, since each placement is for good
        now = {bind.uid: bind.node for bind in binds}
        assert not now.keys() & set(discontent(at, pods.values(), before | now))
        at.confirm(binds)
        before |= now
    at.everybody_says_why()
    for uid in pods.keys() - before.keys():
        assert at.why(uid)[0] == "Unschedulable"
