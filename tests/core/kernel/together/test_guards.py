"""With a solver, what an earlier set has asked for holds for later sets of the same application."""

from __future__ import annotations

import pytest

from core.builders import Scenario
from core.kernel.together.sets import HIGHS, a_cluster, tagged
from core.ruled import placed
from treadle.core.events import PodGone, PodSeen
from treadle.core.model import PodSpec
from treadle.core.model.scheduler import TogetherSettings


def on(at: Scenario, *pods: PodSpec) -> dict[str, str]:
    at.tell(*(PodSeen(pod) for pod in pods))
    return placed(at)


SHY = "notin,node,loud"


def test_a_later_set_does_not_come_beside_what_keeps_away_from_it() -> None:
    at = a_cluster(1, solver=HIGHS)
    assert on(at, tagged("shy", "shy", constraint=SHY)) == {"shy": "n0"}

    assert on(at, tagged("loud", "loud")) == {}
    assert "1 of 1 nodes would take the pod alone, but not beside the others of its set" in at.why("loud")[1]


def test_it_does_once_that_has_gone() -> None:
    at = a_cluster(1, solver=HIGHS)
    on(at, tagged("shy", "shy", constraint=SHY))
    on(at, tagged("loud", "loud"))
    at.tell(PodGone("shy"))

    assert placed(at) == {"loud": "n0"}


def test_without_a_solver_it_does_as_in_yarn() -> None:
    at = a_cluster(1)
    on(at, tagged("shy", "shy", constraint=SHY))

    assert on(at, tagged("loud", "loud")) == {"loud": "n0"}


@pytest.mark.parametrize(
    ("constraint", "more"),
    [
        ("cardinality,node,loud,0,2", 2),
        ("cardinality,rack,loud,0,1", 1),
        ("and(notin,node,quiet:cardinality,node,loud,0,1)", 1),
        ("or(in,node,shy:cardinality,node,loud,0,3)", 3),
        ("or(os!=linux:cardinality,node,loud,0,1)", 4),
        ("in,node,loud", 0),
    ],
)
def test_as_many_come_as_all_that_is_placed_allows(constraint: str, more: int) -> None:
    at = a_cluster(1, solver=HIGHS, cpu=5)
    on(at, tagged("one", "shy", constraint=constraint))
    found = on(at, *(tagged(f"l{number}", "loud") for number in range(4)))

    assert len([pod for pod in found if pod != "one"]) == (4 if constraint == "in,node,loud" else more)


def test_what_is_broken_already_keeps_nobody_back() -> None:
    at = a_cluster(1)
    on(at, tagged("shy", "shy", constraint=SHY))
    on(at, tagged("loud", "loud"))
    at.core.state.settings.solver = HIGHS

    at.scheduler(together=TogetherSettings(solver=True))

    assert on(at, tagged("louder", "loud")) == {"louder": "n0"}
