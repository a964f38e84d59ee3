"""Nodes are kept for large pods that are owed room and never find enough of it at once, where the scheduler is told so."""

from __future__ import annotations

from core.builders import Scenario
from treadle.core.effects import Evict
from treadle.core.model import Constraints, FairSettings

KEEPING = FairSettings(keep_nodes=True, reservable_nodes=0.5, hold_timeout=600.0)


class Churn(Scenario):
    """A cluster full of small pods that end one after the other, and are made again at once."""

    def __init__(self, fair: FairSettings = KEEPING, nodes: int = 1) -> None:
        super().__init__()
        self.made = 0
        self.running: list[str] = []
        self.scheduler(fair=fair).queue("root.small").queue("root.large").nodes(nodes)
        for _ in range(4 * nodes + 2):
            self.small()
        self.pass_()

    def small(self) -> None:
        self.made += 1
        self.pod(f"small-{self.made}", "root.small", "small")

    def pass_(self) -> None:
        binds = self.plan()
        self.confirm(binds)
        self.running += [bind.uid for bind in binds if bind.uid.startswith("small")]

    def churn(self, seconds: int) -> None:
        """Every second the oldest small pod ends and another comes."""
        for _ in range(seconds):
            self.wait(1.0)
            self.gone(self.running.pop(0))
            self.small()
            self.pass_()

    def bound(self, prefix: str) -> int:
        return sum(record.spec.name.startswith(prefix) and bool(record.spec.node) for record in self.core.state.pods.values())

    def kept(self) -> int:
        return len(self.core.state.preemption.holds)


def test_without_being_told_so_small_pods_take_every_gap() -> None:
    at = Churn(FairSettings())
    at.pod("large", "root.large", "large", cpu=3)
    at.churn(60)
    assert at.bound("large") == 0
    assert at.kept() == 0


def test_a_node_is_kept_until_the_large_pod_fits() -> None:
    at = Churn()
    at.pod("large", "root.large", "large", cpu=3)
    at.churn(9)
    assert at.kept() == 0, "not at once: most room comes by itself"
    at.churn(3)
    assert at.kept() == 1
    assert "Kept for these pods until enough is free: node-0." in at.why("large")[1]
    at.churn(3)
    assert at.bound("large") == 1
    assert not any(hold.application.id == "ns/large" for hold in at.core.state.preemption.holds)


def test_nobody_is_asked_to_go_for_it() -> None:
    at = Churn()
    at.pod("large", "root.large", "large", cpu=3)
    at.churn(12)
    assert not any(isinstance(effect, Evict) for effect in at.effects)


def test_who_has_its_share_has_no_node_kept() -> None:
    at = Churn(nodes=2)
    at.nodes(1, "own", cpu=8, memory=32, labels={"for": "large"})
    at.pods(2, "large", "root.large", "large", cpu=4, constraints=Constraints(selector=(("for", "large"),)))
    at.pass_()
    assert at.bound("large") == 2
    at.pod("larger", "root.large", "large", cpu=4)
    at.churn(20)
    assert at.kept() == 0, "8 of 16 cores are its half already"


def test_no_more_nodes_are_kept_than_may_be() -> None:
    at = Churn(FairSettings(keep_nodes=True, reservable_nodes=0.3), nodes=4)
    at.pods(4, "large", "root.large", "large", cpu=4)
    at.wait(11.0)
    for _ in range(5):
        at.wait(0.5).plan()
    assert at.kept() == 2, "the next whole number of three tenths of four"


def test_what_is_kept_for_a_pod_is_still_owed_and_may_be_preempted_for() -> None:
    fair = FairSettings(keep_nodes=True, preemption=True, fair_share_timeout=15.0, fair_share_threshold=1.0)
    at = Churn(fair)
    at.pod("large", "root.large", "large", cpu=2)
    at.wait(11.0).plan()
    assert at.kept() == 1
    asked = 0
    for _ in range(40):
        at.wait(0.5).plan()
        asked += sum(isinstance(effect, Evict) for effect in at.effects)
    assert asked == 2


def test_a_node_is_given_up_when_its_pod_is_gone_or_its_time_is_up() -> None:
    at = Churn(FairSettings(keep_nodes=True, hold_timeout=30.0))
    at.pod("large", "root.large", "large", cpu=3)
    at.wait(11.0).plan()
    assert at.kept() == 1
    (before,) = at.core.state.preemption.holds
    at.wait(30.0).plan()
    assert before not in at.core.state.preemption.holds
    at.gone("large").plan()
    assert at.kept() == 0
