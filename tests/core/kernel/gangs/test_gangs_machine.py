"""Whatever comes and goes, no gang starts in part, and none waits that could start."""

from hypothesis import HealthCheck, settings

from core.gangs_machine import GangsMachine
from examples import examples


class TestGangs(GangsMachine.TestCase):
    settings = settings(
        max_examples=examples(150), stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
