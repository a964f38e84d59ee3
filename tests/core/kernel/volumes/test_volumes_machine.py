"""Whatever happens to storage, the rules about volumes follow it, and no pod is bound before its claims are."""

from hypothesis import HealthCheck, settings

from core.volumes_machine import VolumesMachine
from examples import examples


class TestVolumes(VolumesMachine.TestCase):
    settings = settings(
        max_examples=examples(400), stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
