"""Whatever happens to devices and claims, no device is had twice, and pods go where devices are."""

from hypothesis import HealthCheck, settings

from core.devices_machine import DevicesMachine
from examples import examples


class TestDevices(DevicesMachine.TestCase):
    settings = settings(
        max_examples=examples(300), stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
