"""Two drivers, one brain: on one node, an offer and a cycle decide the same in the same order."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from core.builders import Scenario, limits

QUEUES = ["root.a", "root.b", "root.b.x", "root.b.y"]

queues = st.lists(
    st.tuples(
        st.sampled_from(QUEUES),
        st.sampled_from([0.5, 1.0, 2.0]),
        st.sampled_from(["drf", "fair"]),
        st.sampled_from([{}, limits(cpu="4"), limits(memory="60%")]),
    ),
    max_size=6,
)
pods = st.lists(
    st.tuples(st.sampled_from(QUEUES), st.integers(0, 3), st.integers(0, 3), st.integers(1, 4), st.integers(0, 1)),
    min_size=1,
    max_size=40,
)


def told(
    policy: str, cpu: int, defined: list[tuple[str, float, str, dict[str, object]]], asked: list[tuple[str, int, int, int, int]]
) -> Scenario:
    scenario = Scenario().node("only", cpu=cpu, memory=20).queue("root", policy=policy).queue("root.default", policy="fair")
    for path, weight, child_policy, maximum in defined:
        scenario.queue(path, weight=weight, policy=child_policy, maximum=maximum)
    for number, (queue, application, cpus, memory, priority) in enumerate(asked):
        scenario.pod(
            f"pod-{number}",
            queue,
            f"app-{queue}-{application}",
            cpu=cpus,
            memory=memory,
            priority=priority,
            created=float(application),
        )
    return scenario


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["drf", "fair"]), st.integers(1, 20), queues, pods)
def test_an_offer_and_a_cycle_decide_the_same_on_one_node(policy, cpu, defined, asked) -> None:
    by_cycle = told(policy, cpu, defined, asked)
    by_offer = told(policy, cpu, defined, asked)

    assert [bind.uid for bind in by_cycle.plan()] == [bind.uid for bind in by_offer.core.offer("only", 0.0)]
    assert by_cycle.core.state.tree.root.usage == by_offer.core.state.tree.root.usage
