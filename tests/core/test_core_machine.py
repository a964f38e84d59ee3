"""Whatever happens in whatever order: the sums agree, no node and no queue is over what it may hold, nobody is forgotten.

The core checks its own invariants after every step. Here a second, naive reading of the rules checks its decisions: by brute
force over all nodes and queues, without any of the core's orders, caches or parked lists.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from core.core_machine import CoreMachine
from examples import examples

TestCore = CoreMachine.TestCase
TestCore.settings = settings(
    max_examples=examples(60),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
