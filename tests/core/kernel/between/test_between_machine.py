"""Whatever happens, the rules between pods say what a naive reading of them says, and placements keep to it."""

from hypothesis import HealthCheck, settings

from core.between_machine import BetweenMachine
from examples import examples


class TestBetween(BetweenMachine.TestCase):
    settings = settings(
        max_examples=examples(60), stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
