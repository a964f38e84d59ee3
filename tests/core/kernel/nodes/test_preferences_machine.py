"""Whatever happens, nodes have the points that a naive reading of the preferences gives them, and the best one is chosen."""

from hypothesis import HealthCheck, settings

from core.preferences_machine import PreferencesMachine
from examples import examples


class TestPreferences(PreferencesMachine.TestCase):
    settings = settings(
        max_examples=examples(100), stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
