"""How often a round of preemption is made, and how much it holds: few holds end at a time, and a round looks at all that wait."""

from __future__ import annotations

from itertools import pairwise

import pytest

from core.clusters import Preempting
from treadle.core.kernel.preemption import search
from treadle.core.kernel.preemption.search import MOST_HOLDS, RARELY


def crowded(high: int) -> Preempting:
    """A leaf that is full of one application, whose pods go, and in which a more urgent one asks for so many pods, one a node."""
    cluster = Preempting()
    cluster.preempting(intra_queue=True, intra_by_priority=True, intra_limit=1.0)
    cluster.share("root.a", "100%").nodes(high, cpu=1)
    for number in range(high):
        cluster.pod(f"low-{number}", "root.a", "low", created=float(number), node=f"node-{number}")
    cluster.pods(high, "high", "root.a", "high", created=1000.0, priority=10)
    return cluster


def rounds(cluster: Preempting, seconds: int) -> list[float]:
    """The times at which rounds are made, of passes every tenth of a second, while nobody goes."""
    preemption, found = cluster.core.state.preemption, []
    for _ in range(seconds * 10):
        cluster.wait(0.1).plan()
        if preemption.looked not in found:
            found.append(preemption.looked)
    return found


def test_a_round_is_made_every_interval_while_few_are_on_their_way_out() -> None:
    made = rounds(crowded(MOST_HOLDS // 4), 6)
    assert [later - before for before, later in pairwise(made[:4])] == pytest.approx([1.0] * 3, abs=0.11)


def test_a_round_is_made_rarely_while_many_are_on_their_way_out() -> None:
    made = rounds(crowded(MOST_HOLDS // 2), 12)
    assert made[1] - made[0] == pytest.approx(RARELY, abs=0.11)


def test_no_round_is_made_while_it_could_hold_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_HOLDS", 8)
    cluster = crowded(12)
    assert len(rounds(cluster, 5)) == 1
    preemption = cluster.core.state.preemption
    assert len(preemption.holds) == 8

    cluster.gone(*[uid for hold in list(preemption.holds)[:7] for uid in hold.victims])
    rounds(cluster, 1)
    assert len(preemption.marked) == 5, "one of before, and those for the four that are left"
