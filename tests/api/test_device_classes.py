"""What classes of devices count as: what may be said, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.api.objects import InvalidObject, parse
from treadle.controllers.translate import scheduler as translated

COUNTED = "must be the name of an extended resource, such as nvidia.com/gpu, and not that of a profile"
NAMED = "names must be those of DeviceClasses, such as gpu.example.com"


def scheduler(**spec: Any) -> Any:
    return parse("Scheduler", {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec})


def test_classes_count_as_extended_resources() -> None:
    said = {"gpu.example.com": "nvidia.com/gpu", "nic": "example.com/nic"}
    assert translated(scheduler(deviceClasses=said), ()).device_classes == said
    assert translated(scheduler(), ()).device_classes == {}


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ({"gpu": "cpu"}, COUNTED),
        ({"gpu": "gpu"}, COUNTED),
        ({"gpu": ""}, COUNTED),
        ({"gpu": "nvidia.com/"}, COUNTED),
        ({"gpu": "profile.treadle.dev/large"}, COUNTED),
        ({"GPU": "nvidia.com/gpu"}, NAMED),
        ({"": "nvidia.com/gpu"}, NAMED),
        ({f"gpu-{number}": "nvidia.com/gpu" for number in range(65)}, "at most 64"),
    ],
)
def test_anything_else_is_refused_by_field_and_value(classes: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        scheduler(deviceClasses=classes)
    assert "spec.deviceClasses" in str(caught.value)
    assert words in str(caught.value)
