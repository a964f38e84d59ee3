"""What single pods use: what a pod gives back when it goes, and what is predicted by what pods have used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import GIB, Scenario, a_pod
from treadle.core.effects import Evict
from treadle.core.events import NodeSampled, NodeSeen, PodSampled, PodSeen, SchedulerSeen
from treadle.core.kernel.opportunistic.room import idle_room
from treadle.core.model import PodSpec
from treadle.core.model.opportunistic import (
    LARGEST,
    METRICS,
    NEWEST,
    PERCENTILE,
    PROMETHEUS,
    RESERVATION,
    SIGMA,
    NodePolicy,
    OpportunisticSettings,
    PredictionSettings,
    Threshold,
)

HALF_AND_80 = NodePolicy((("cpu", Threshold(500, 800)), ("memory", Threshold(500, 800))))


def scene(size: int = 10, **fields: Any) -> Scenario:
    settings = OpportunisticSettings(**{"source": METRICS, "policy": HALF_AND_80, **fields})
    return Scenario().wait(1000).scheduler(opportunistic=settings).nodes(1, cpu=size, memory=size)


def idle(name: str, memory: int = 1, application: str = "batch", **fields: Any) -> PodSpec:
    return a_pod(name, "", application, 0, 0, opportunistic=(("cpu", 100), ("memory", memory * GIB)), **fields)


def sample(scenario: Scenario, memory: float, window: float = 0.0) -> Scenario:
    return scenario.tell(NodeSampled("node-0", (("cpu", 100), ("memory", int(memory * GIB))), scenario.now, window))


def uses(scenario: Scenario, uid: str, memory: float, ago: float = 0.0, cpu: int = 10) -> Scenario:
    return scenario.tell(PodSampled(uid, (("cpu", cpu), ("memory", int(memory * GIB))), scenario.now - ago, 1.0))


def runs(scenario: Scenario, *pods: PodSpec) -> Scenario:
    """Let pods run on the node, one after the other."""
    for one in pods:
        sample(scenario.tell(PodSeen(one)).wait(5), 1)
        (bind,) = scenario.plan()
        scenario.tell(PodSeen(replace(scenario.core.state.pods[bind.uid].spec, node=bind.node, held_in=bind.queue)))
    return scenario


def evicted(scenario: Scenario) -> list[str]:
    return [effect.uid for effect in scenario.effects if isinstance(effect, Evict)]


def test_as_many_go_as_are_measured_to_use_what_is_too_much() -> None:
    scenario = runs(scene(order=NEWEST), *(idle(f"o{at}") for at in range(4))).wait(1)
    for at, memory in enumerate((3, 2, 0.5, 0.25)):
        uses(scenario, f"o{at}", memory)
    sample(scenario, 9).plan()
    assert evicted(scenario) == ["o3", "o2", "o1"], "of 9 of 10 GiB one is too much: 0.25 + 0.5 are not enough"


def test_by_cost_the_pod_that_uses_it_goes_and_one_that_uses_nothing_stays() -> None:
    scenario = runs(scene(), *(idle(f"o{at}") for at in range(3))).wait(1)
    for at, memory in enumerate((0, 3, 0)):
        uses(scenario, f"o{at}", memory)
    sample(scenario, 9).plan()
    assert evicted(scenario) == ["o1"]


def test_without_samples_of_pods_each_is_taken_to_use_its_part_of_what_is_asked_for() -> None:
    scenario = runs(scene(order=NEWEST), *(idle(f"o{at}") for at in range(4)))
    sample(scenario.wait(1), 9).plan()
    assert evicted(scenario) == ["o3"]


def test_a_sample_of_a_pod_that_is_older_than_that_of_its_node_says_nothing_of_what_it_gives_back() -> None:
    scenario = runs(scene(order=NEWEST), *(idle(f"o{at}") for at in range(4)))
    for at in range(4):
        uses(scenario.wait(1), f"o{at}", 0.01)
    sample(scenario.wait(30), 9, window=15.0).plan()
    assert evicted(scenario) == ["o3"]


def test_what_goes_already_counts_as_gone_by_what_it_was_measured_to_use() -> None:
    scenario = runs(scene(order=NEWEST), *(idle(f"o{at}") for at in range(3))).wait(1)
    for at, memory in enumerate((1, 1, 2)):
        uses(scenario, f"o{at}", memory)
    sample(scenario, 9).plan()
    assert evicted(scenario) == ["o2"]
    scenario.wait(1)
    for at, memory in enumerate((1, 1, 2)):
        uses(scenario, f"o{at}", memory)
    sample(scenario, 10).plan()
    assert evicted(scenario) == [], "the two GiB that it uses will be enough"
    scenario.wait(1)
    for at, memory in enumerate((1, 1, 0.5)):
        uses(scenario, f"o{at}", memory)
    sample(scenario, 10).plan()
    assert evicted(scenario) == ["o1", "o0"]


@pytest.mark.parametrize("usage", [(("memory", -5),), (("memory", 1 << 80),), (("gpu", 7),), ()])
def test_what_makes_no_sense_harms_nobody(usage: Any) -> None:
    scenario = runs(scene(), idle("o"))
    scenario.tell(PodSampled("o", usage, scenario.now + 100.0, -1.0))
    sample(scenario, 9).plan()
    assert set(evicted(scenario)) <= {"o"}
    scenario.tell(PodSampled("nobody", (("memory", 1),), scenario.now))


def test_of_guaranteed_pods_nothing_is_kept_unless_a_prediction_wants_it() -> None:
    scenario = scene().pod("g", memory=1)
    scenario.plan()
    sample(uses(scenario.wait(1), "g", 1), 1)
    assert scenario.core.state.opportunistic.usage.pods == {}
    assert scenario.core.view.usage_wanted().pods == {}


def test_pods_are_asked_for_by_name_where_it_matters_what_they_use() -> None:
    scenario = runs(scene(), idle("o")).pod("g", memory=1)
    scenario.plan()
    assert list(scenario.core.view.usage_wanted().pods.values()) == ["o"]
    scenario.scheduler(opportunistic=OpportunisticSettings(METRICS, prediction=PredictionSettings(PERCENTILE)))
    assert set(scenario.core.view.usage_wanted().pods.values()) == {"o", "g"}
    scenario.scheduler(opportunistic=OpportunisticSettings(PROMETHEUS, prediction=PredictionSettings(PERCENTILE)))
    assert scenario.core.view.usage_wanted().pods == {}, "a Prometheus tells of no pods"


def test_a_pod_that_is_gone_is_forgotten_with_the_next_sample_of_its_node() -> None:
    scenario = uses(runs(scene(), idle("o"), idle("p")), "o", 1)
    assert list(scenario.core.state.opportunistic.usage.pods["node-0"]) == ["o"]
    sample(scenario.gone("o").wait(1), 1)
    assert scenario.core.state.opportunistic.usage.pods == {}


def test_a_sample_of_another_pod_of_that_name_is_not_taken_for_it() -> None:
    scenario = runs(scene(), idle("o"))
    spec = scenario.core.state.pods["o"].spec
    scenario.tell(PodSeen(replace(spec, created=scenario.core.state.settings.epoch + scenario.now)))
    uses(scenario.wait(1), "o", 1, ago=5.0)
    assert scenario.core.state.opportunistic.usage.pods == {}


def test_a_new_core_knows_what_pods_use() -> None:
    scenario = sample(uses(runs(scene(), idle("o")), "o", 2), 5)
    fresh = scenario.core.fresh()
    for event in scenario.core.facts():
        fresh.handle(event, scenario.now)
    assert fresh.state.opportunistic.usage.pods == scenario.core.state.opportunistic.usage.pods


def predicting(method: str, **fields: Any) -> Scenario:
    """A node of 100 GiB of which half may be used, and a guaranteed pod of 40 that has been there for long."""
    found = scene(size=100, prediction=PredictionSettings(method, **fields)).pod("g", cpu=0, memory=40)
    (bind,) = found.plan()
    spec = found.core.state.pods["g"].spec
    return found.tell(PodSeen(replace(spec, node=bind.node, held_in=bind.queue))).wait(400)


def idle_memory(scenario: Scenario) -> float:
    return int(idle_room(scenario.core.state)[0, 0]) / GIB


def for_a_while(scenario: Scenario, *memory: float, times: int = 12) -> None:
    for number in range(times):
        sample(uses(scenario.wait(15), "g", memory[number % len(memory)]), 5)


def test_the_percentile_of_what_pods_have_used_is_the_peak_once_enough_is_known() -> None:
    scenario = predicting(PERCENTILE, parts=980, margin=100)
    for_a_while(scenario, 5, 10, times=6)
    assert idle_memory(scenario) == 10, "all that it asks for, of 50"
    for_a_while(scenario, 5, 10)
    assert 50 - 10 * 1.1 * 1.05 <= idle_memory(scenario) <= 50 - 10 * 1.1


def test_a_new_pod_of_a_kind_is_known_by_those_before_it() -> None:
    scenario = predicting(PERCENTILE)
    for_a_while(scenario, 10)
    before = idle_memory(scenario)
    spec = scenario.core.state.pods["g"].spec
    scenario.gone("g").tell(PodSeen(replace(spec, uid="g2", name="g2"))).wait(400)
    sample(uses(scenario, "g2", 10), 5)
    assert idle_memory(scenario) == before


def test_a_pod_that_nobody_tells_of_counts_for_all_that_it_asks_for() -> None:
    scenario = predicting(PERCENTILE)
    for_a_while(scenario, 10)
    before = idle_memory(scenario)
    scenario.pod("h", cpu=0, memory=20)
    (bind,) = scenario.plan()
    scenario.tell(PodSeen(replace(scenario.core.state.pods["h"].spec, node=bind.node, held_in=bind.queue)))
    assert idle_memory(scenario) == before - 20, "while the sample of the node does not tell of it"
    for_a_while(scenario, 10, times=2)
    assert idle_memory(scenario) == before - 20, "and afterwards, until it has been sampled"


def test_what_is_reserved_sinks_towards_what_a_pod_uses_and_rises_at_once() -> None:
    scenario = predicting(RESERVATION)
    for_a_while(scenario, 10, times=1)
    first = idle_memory(scenario)
    assert 10 <= first < 20
    for_a_while(scenario, 10, times=200)
    assert 37 <= idle_memory(scenario) <= 38, "50 less 10 and a fifth of it"
    for_a_while(scenario, 30, times=1)
    assert 13.9 <= idle_memory(scenario) <= 14.1


def test_the_largest_is_that_of_the_pods_and_that_of_the_node() -> None:
    scenario = predicting(LARGEST)
    for_a_while(scenario, 10)
    assert 50 - 10 * 1.1 * 1.05 <= idle_memory(scenario) <= 50 - 10 * 1.1
    for number in range(12):
        sample(uses(scenario.wait(15), "g", 10), 20 + 10 * (number % 2))
    assert idle_memory(scenario) == 0, "the node itself went up and down by more"


def test_how_far_predictions_by_pods_are_off_is_counted() -> None:
    scenario = predicting(PERCENTILE, horizon=60.0)
    for_a_while(scenario, 10, times=20)
    found = scenario.core.view.opportunistic().predictions["memory"]
    assert found.made >= 3
    assert found.below == 0
    assert found.wasted > 0


def test_what_kinds_of_pods_have_used_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.core.kernel.opportunistic.measured.MOST_KINDS", 3)
    scenario = scene(size=100, prediction=PredictionSettings(PERCENTILE))
    runs(scenario, *(idle(f"o{at}", application=f"a{at}") for at in range(5)))
    for at in range(5):
        uses(scenario, f"o{at}", 1)
    assert [kind[0] for kind in scenario.core.state.opportunistic.usage.kinds] == ["ns/a2", "ns/a3", "ns/a4"]


def restarted(scenario: Scenario) -> Scenario:
    """Another process, which reads what the API server has: samples and what was made of them are not there."""
    found = Scenario().wait(scenario.now).tell(SchedulerSeen(scenario.core.state.scheduler))
    state = scenario.core.state
    found.tell(*(NodeSeen(spec) for spec in state.nodes.specs if spec is not None))
    return found.tell(*(PodSeen(record.spec) for record in state.pods.values()))


@pytest.mark.parametrize("method", [PERCENTILE, LARGEST, RESERVATION, SIGMA])
def test_after_a_restart_no_more_is_given_than_what_pods_do_not_ask_for_until_enough_is_known(method: str) -> None:
    before = predicting(method)
    for_a_while(before, 10, times=80)
    known = idle_memory(before)
    assert known > 30
    scenario = restarted(before)
    assert idle_memory(scenario) == 0, "nothing is known of the node"
    for_a_while(scenario, 10, times=1)
    assert idle_memory(scenario) == 10, "of 50, all that is asked for is taken to be used"
    seen = []
    for _ in range(80):
        for_a_while(scenario, 10, times=1)
        seen.append(idle_memory(scenario))
    assert seen == sorted(seen)
    assert seen[1] < 15
    assert seen[-1] == pytest.approx(known, abs=1), "it comes back"


@pytest.mark.parametrize("method", [PERCENTILE, LARGEST])
def test_many_pods_that_were_sampled_once_after_a_restart_predict_nothing(method: str) -> None:
    scenario = scene(size=100, prediction=PredictionSettings(method))
    for at in range(20):
        spec = a_pod(f"g{at}", cpu=0, memory=2)
        scenario.tell(PodSeen(replace(spec, node="node-0")))
    scenario.wait(400)
    found = []
    for _ in range(8):
        scenario.wait(10)
        for at in range(20):
            uses(scenario, f"g{at}", 0.1)
        sample(scenario, 2)
        found.append(idle_memory(scenario))
    assert found[:6] == [10] * 6, "one moment, and the next ones, tell nothing of a peak"
    assert method == LARGEST or found[-1] > 40
