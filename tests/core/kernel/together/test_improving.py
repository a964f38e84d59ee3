"""Sets with a solver: its answer is used where it is better and the rules accept it, and whatever goes wrong the walk's answer stands."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import Scenario, limits
from core.kernel.together.sets import HIGHS, Answering, a_cluster, discontent, tagged
from core.ruled import placed
from examples import examples
from treadle.core.events import ApplicationSeen, PodSeen, SchedulerSeen
from treadle.core.kernel.together.improving import (
    BETTER,
    FAILED,
    MISSING,
    NO_ANSWER,
    NO_BETTER,
    NO_TIME,
    NOT_ACCEPTED,
    NOT_ASKED,
    NOTHING_TO_GAIN,
    TIMED_OUT,
    TOO_LARGE,
    UNSAYABLE,
)
from treadle.core.model import ApplicationSpec, Constraints, PodRules, PodSpec, PodTerm, Requirement, SchedulerSpec, Taint
from treadle.core.model.programs import Solution
from treadle.core.model.scheduler import TogetherSettings
from treadle.core.rules.constraints.processor import POPULAR_TAGS, SERIAL


def on(at: Scenario, *pods: PodSpec) -> dict[str, str]:
    at.tell(*(PodSeen(pod) for pod in pods))
    return placed(at)


def solved(at: Scenario) -> dict[str, int]:
    return at.core.view.sets


def greedy_is_short() -> list[PodSpec]:
    """On two nodes the walk puts the small one beside nothing, so that the two that need a whole rack for themselves find one only."""
    pods = [tagged(f"b{number}", "b", constraint="notin,rack,a", cpu=1) for number in range(2)]
    return [tagged("a0", "a", cpu=1), tagged("a1", "a", cpu=1), *pods]


def test_the_walk_places_fewer_where_it_spreads_what_others_keep_away_from() -> None:
    assert len(on(a_cluster(2), *greedy_is_short())) < 4


def test_the_solver_places_all_of_them() -> None:
    at = a_cluster(2, solver=HIGHS)
    pods = greedy_is_short()
    found = on(at, *pods)

    assert len(found) == 4
    assert not discontent(at, pods, found)
    assert solved(at) == {BETTER: 1}


def test_two_that_each_need_the_other_are_placed_together_by_the_solver() -> None:
    at = a_cluster(solver=HIGHS)
    found = on(at, tagged("a", "a", constraint="in,node,b"), tagged("b", "b", constraint="in,node,a"))

    assert found["a"] == found["b"]


def test_what_the_solver_finds_no_place_for_says_so() -> None:
    at = a_cluster(2, solver=HIGHS)
    found = on(at, *(tagged(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(3)))
    (left,) = {"p0", "p1", "p2"} - found.keys()

    assert len(found) == 2
    assert at.why(left)[1].endswith("constraint notin,node,hbase; the solver finds no place for more")
    assert solved(at)[NO_BETTER] == 1


def test_pods_of_one_set_are_kept_from_breaking_up_the_room_for_large_ones() -> None:
    """The walk takes the first nodes in turn; the solver those on which no large pod fits any more."""
    at = a_cluster(1, solver=HIGHS, cpu=1)
    for number in range(3):
        at.node(f"large{number}", cpu=4)
    at.node("end", cpu=1)
    found = on(at, tagged("large", "l", cpu=4), tagged("one", "s"), tagged("two", "s"))

    assert sorted([found["one"], found["two"]]) == ["end", "n0"]


def test_wishes_for_nodes_are_heeded_by_the_solver() -> None:
    at = a_cluster(0, solver=HIGHS)
    at.node("slow", taints=(Taint("slow", "", "PreferNoSchedule"),)).node("good")

    assert on(at, tagged("p", "x")) == {"p": "good"}


def test_where_there_is_nothing_to_gain_the_solver_is_not_asked() -> None:
    solver = Answering(Solution("best"))
    at = a_cluster(1, solver=solver, cpu=1)

    assert on(at, tagged("p", "x")) == {"p": "n0"} or solver.asked
    at = a_cluster(1)
    on(at, tagged("p", "x"))
    assert solved(at) == {NOT_ASKED: 1}


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        (Solution("stopped", words="no time"), TIMED_OUT),
        (Solution("infeasible"), NO_ANSWER),
        (Solution("failed", words="bad"), FAILED),
        (RuntimeError("broken"), FAILED),
        (Solution("best", (1,)), FAILED),
    ],
)
def test_whatever_the_solver_does_the_answer_of_the_walk_stands(answer: Solution | Exception, came: str) -> None:
    plain, at = a_cluster(2), a_cluster(2, solver=Answering(answer))

    assert on(at, *greedy_is_short()) == on(plain, *greedy_is_short())
    assert came in solved(at)


def test_an_answer_that_the_rules_do_not_accept_is_not_used() -> None:
    class Lying(Answering):
        def solve(self, program, seconds):  # type: ignore[no-untyped-def]
            """As much of everything as there can be, whatever the rows say."""
            super().solve(program, seconds)
            return Solution("best", program.highest)

    solver = Lying(Solution("best"))
    at = a_cluster(2, solver=solver)
    pods = [tagged("shy", "shy", constraint="in,rack,nobody"), *greedy_is_short()]
    found = on(at, *pods)

    assert solver.asked
    assert not discontent(at, pods, found)
    assert not solved(at).keys() & {BETTER}


def test_a_missing_solver_is_said_and_the_walk_goes_on() -> None:
    class Absent(Answering):
        problem = "it is not installed"

    at = a_cluster(2, solver=Absent(Solution("best")))
    assert at.core.view.solver_problem == "it is not installed"
    found = on(at, *greedy_is_short())
    assert found == on(a_cluster(2), *greedy_is_short())
    left = next(iter({"b0", "b1", "a0", "a1"} - found.keys()))
    assert "no solver is installed" in at.why(left)[1]
    assert MISSING in solved(at)


def test_a_solver_that_breaks_is_told_of() -> None:
    at = a_cluster(2, solver=Answering(RuntimeError("broken")))
    on(at, *greedy_is_short())

    assert "RuntimeError: broken" in at.core.view.solver_failures


def test_rules_that_a_program_cannot_state_leave_the_set_to_the_walk() -> None:
    at = a_cluster(2, solver=HIGHS)
    near = PodTerm("zone", (Requirement("app", "In", ("web",)),), ("ns",))
    pod = tagged("p", "x", constraint="notin,node,x")
    assert pod.constraints.pods is not None
    both = PodRules("ns", affinity=(near,), placement=pod.constraints.pods.placement, application="ns/app")
    on(at, tagged("q", "x", constraint="notin,node,x"), tagged("p", "x"), PodSpec(**{**fields(pod), "uid": "r", "name": "r", "constraints": Constraints(pods=both)}))  # fmt: skip

    assert UNSAYABLE in solved(at)
    assert "program cannot state it" in at.why("r")[1]


def fields(pod: PodSpec) -> dict[str, object]:
    return {name: getattr(pod, name) for name in pod.__slots__}


def test_a_set_with_too_many_ways_is_left_to_the_walk() -> None:
    at = a_cluster(2, solver=HIGHS, cpu=200, memory=800)
    on(
        at,
        *(tagged(f"{tag}{number}", tag, constraint="notin,node,nobody") for tag in "abcd" for number in range(8)),
        tagged("huge", "h", cpu=900),
    )

    assert TOO_LARGE in solved(at)


def test_a_set_of_too_many_kinds_is_left_to_the_walk() -> None:
    at = a_cluster(2, solver=HIGHS)
    on(at, *(tagged(f"p{number}", "x", constraint="notin,node,x", memory=1 + number % 70) for number in range(70)))

    assert TOO_LARGE in solved(at)


def test_the_solver_has_a_tenth_of_the_time_in_the_long_run() -> None:
    solver = Answering(Solution("stopped", seconds=0.5))
    at = a_cluster(2, solver=solver)
    pods = greedy_is_short()
    on(at, *pods)
    first = len(solver.asked)
    at.node("n2")
    placed(at)
    assert len(solver.asked) == first == 1, "it has had its time"
    assert NO_TIME in solved(at)
    at.now += 10
    at.node("n2", cpu=5)
    at.tell(*(PodSeen(tagged(f"c{number}", "c", constraint="notin,node,c")) for number in range(5)))
    placed(at)
    assert len(solver.asked) == 2


def test_a_set_for_which_there_was_no_time_is_tried_again_when_there_is() -> None:
    at = a_cluster(2, solver=HIGHS)
    at.core.state.together.credit = -0.05
    assert len(on(at, tagged("a", "a", constraint="in,node,b"), tagged("b", "b", constraint="in,node,a"))) == 0
    assert "has had its time for now" in at.why("a")[1]
    when = at.core.next_timer()
    assert when is not None
    assert when <= 0.61
    at.now = 0.7

    assert set(placed(at)) == {"a", "b"}


def test_a_node_that_comes_lets_sets_be_tried_of_which_no_pod_would_go_there_alone() -> None:
    at = a_cluster(0, solver=HIGHS)
    at.node("small", cpu=1)
    assert on(at, tagged("a", "a", constraint="in,node,b"), tagged("b", "b", constraint="in,node,a")) == {}
    at.node("new", cpu=2)

    assert placed(at) == {"a": "new", "b": "new"}


def test_a_solver_that_is_asked_for_later_is_used_at_once() -> None:
    at = a_cluster(1)
    assert on(at, tagged("a", "a", constraint="in,node,b"), tagged("b", "b", constraint="in,node,a")) == {}
    at.core.state.settings.solver = HIGHS
    at.scheduler(together=TogetherSettings(solver=True))

    assert placed(at) == {"a": "n0", "b": "n0"}


def test_the_solver_keeps_to_the_maximum_of_a_queue() -> None:
    at = a_cluster(4, solver=HIGHS)
    at.queue("root.small", maximum=limits(cpu=3))
    pods = [tagged(f"p{number}", "hbase", constraint="notin,node,hbase", queue="root.small") for number in range(4)]

    assert len(on(at, *pods)) == 3


def test_higher_priority_is_not_given_up_for_more_pods() -> None:
    """One large pod of high priority, or two small ones: the one stays."""
    at = a_cluster(1, solver=HIGHS, cpu=2)
    found = on(at, tagged("s0", "s"), tagged("s1", "s"), tagged("large", "l", cpu=2, priority=5))

    assert set(found) == {"large"}


def test_an_edit_of_the_scheduler_turns_the_solver_off() -> None:
    at = a_cluster(2, solver=HIGHS)
    at.tell(SchedulerSeen(SchedulerSpec()))
    on(at, *greedy_is_short())

    assert set(solved(at)) == {NOT_ASKED}


TAGS = ["a", "b", "c"]
SINGLE = st.builds(
    lambda kind, scope, tag: f"{kind},{scope},{tag}",
    st.sampled_from(["in", "notin", "notin"]),
    st.sampled_from(["node", "rack"]),
    st.sampled_from(TAGS),
) | st.builds(
    lambda scope, tag, least, more: f"cardinality,{scope},{tag},{least},{least + more}",
    st.sampled_from(["node", "rack"]),
    st.sampled_from(TAGS),
    st.integers(0, 1),
    st.integers(0, 2),
)
CONSTRAINT = (
    st.just("")
    | SINGLE
    | st.builds(lambda kind, one, other: f"{kind}({one}:{other})", st.sampled_from(["and", "or"]), SINGLE, SINGLE)
)
KINDS = st.lists(
    st.tuples(st.sets(st.sampled_from(TAGS), max_size=2), CONSTRAINT, st.integers(1, 4), st.integers(1, 2), st.booleans()),
    min_size=1,
    max_size=5,
)


def a_set(kinds: list[tuple[set[str], str, int, int, bool]]) -> list[PodSpec]:
    return [
        tagged(
            f"p{number}-{each}",
            *sorted(tags),
            constraint=constraint,
            cpu=size,
            labels=(("each", str(each)),) if labelled else (),
        )
        for number, (tags, constraint, count, size, labelled) in enumerate(kinds)
        for each in range(count)
    ]


def first_pass(pods: list[PodSpec], solver: object, nodes: int, cpu: int, iterator: str) -> tuple[Scenario, dict[str, str]]:
    at = a_cluster(nodes, iterator, solver, cpu=cpu)
    at.tell(*(PodSeen(pod) for pod in pods))
    binds = at.plan()
    return at, {bind.uid: bind.node for bind in binds}


@settings(max_examples=examples(100), deadline=None)
@given(KINDS, st.integers(1, 5), st.integers(1, 4), st.sampled_from([SERIAL, POPULAR_TAGS]))
def test_the_solver_places_no_fewer_breaks_nothing_and_says_the_same_each_time(
    kinds: list[tuple[set[str], str, int, int, bool]], nodes: int, cpu: int, iterator: str
) -> None:
    pods = a_set(kinds)
    _, walked = first_pass(pods, None, nodes, cpu, iterator)
    at, found = first_pass(pods, HIGHS, nodes, cpu, iterator)

    assert len(found) >= len(walked)
    assert not discontent(at, pods, found)
    assert all(count <= cpu for count in Counter(found.values()).values())
    assert first_pass(pods, HIGHS, nodes, cpu, iterator)[1] == found
    assert NOT_ACCEPTED not in at.core.view.sets
    assert FAILED not in at.core.view.sets
    at.everybody_says_why()


def test_an_application_that_is_not_placed_together_is_not_solved() -> None:
    at = a_cluster(2, solver=HIGHS)
    at.tell(ApplicationSeen(ApplicationSpec("ns/app")))
    on(at, *greedy_is_short())

    assert solved(at) == {}
    assert NOTHING_TO_GAIN not in solved(at)
