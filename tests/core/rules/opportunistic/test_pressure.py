"""When tasks wait for too long: no more pods are placed, and one goes at a time."""

from __future__ import annotations

from treadle.core.model.opportunistic import FULL, SOME, PressureThreshold
from treadle.core.rules.opportunistic.pressure import Strain, shut

MEMORY = PressureThreshold("memory", SOME, 100, 300)
CPU = PressureThreshold("cpu", FULL, 200, 400, borne=1)


def waiting(memory: int = 0, cpu: int = 0) -> dict[tuple[str, str], int]:
    return {("memory", SOME): memory, ("memory", FULL): 0, ("cpu", SOME): 1000, ("cpu", FULL): cpu}


def test_a_node_is_shut_at_the_allocation_threshold_of_any_resource() -> None:
    assert shut([MEMORY, CPU], waiting(99, 199)) is None
    assert shut([MEMORY, CPU], waiting(100, 0)) == MEMORY
    assert shut([MEMORY, CPU], waiting(0, 200)) == CPU


def test_what_nobody_knows_is_too_much_to_place_and_nothing_to_go_for() -> None:
    assert shut([MEMORY], {}) == MEMORY
    assert Strain().look([MEMORY], {}, 0.0, going=False) is None


def test_somebody_goes_above_the_preemption_threshold_after_what_is_borne() -> None:
    strain = Strain()
    assert strain.look([MEMORY], waiting(300), 0.0, going=False) is None
    assert strain.look([MEMORY], waiting(301), 1.0, going=False) == MEMORY
    assert strain.look([CPU], waiting(cpu=401), 2.0, going=False) is None
    assert strain.look([CPU], waiting(cpu=401), 3.0, going=False) == CPU
    assert strain.look([CPU], waiting(cpu=400), 4.0, going=False) is None
    assert strain.look([CPU], waiting(cpu=401), 5.0, going=False) is None


def test_the_next_one_goes_when_the_mean_no_longer_tells_of_what_has_gone() -> None:
    strain = Strain()
    assert strain.look([MEMORY], waiting(500), 0.0, going=False) == MEMORY
    assert strain.look([MEMORY], waiting(500), 5.0, going=True) is None
    assert strain.look([MEMORY], waiting(500), 14.9, going=False) is None
    assert strain.look([MEMORY], waiting(500), 15.0, going=False) == MEMORY
