"""Whatever comes and goes, what is placed together may be where it is."""

from hypothesis import HealthCheck, settings

from core.together_machine import TogetherMachine
from examples import examples


class TestTogether(TogetherMachine.TestCase):
    settings = settings(
        max_examples=examples(100), stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
