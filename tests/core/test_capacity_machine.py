"""Whatever happens in whatever order under the capacity discipline: the sums agree in every partition, users are counted right, nobody is forgotten.

The core checks its own invariants after every step; here the order of steps is random, switches of the discipline and edits that
make no sense together included.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from core.capacity_machine import CapacityMachine
from examples import examples

TestCapacity = CapacityMachine.TestCase
TestCapacity.settings = settings(
    max_examples=examples(60),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
