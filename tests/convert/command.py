"""The command ``treadle convert`` in a process of its own, its objects by their names, and what they mean to the core."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.core.disciplines.capacity.definitions import check
from treadle.core.model import QueueSpec, SchedulerSpec

PREFIX = "yarn.scheduler.capacity."


def by_name(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one["spec"] for one in objects}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "treadle", "convert", *arguments], capture_output=True, text=True, check=False)


def in_force(found: list[dict[str, Any]]) -> tuple[SchedulerSpec, dict[str, QueueSpec]]:
    """Translate objects as the live scheduler does, and let the core check them as one set."""
    models = [parse(one["kind"], one) for one in found]
    queues = {model.metadata.name: translate.queue(model) for model in models if model.kind == "Queue"}
    (scheduler,) = (translate.scheduler(model, ()) for model in models if model.kind == "Scheduler")
    check(queues, scheduler.capacity)
    return scheduler, queues


def capacity(**of_queues: Mapping[str, str]) -> dict[str, str]:
    """Properties of queues; a double underscore in a name is a point in the path."""
    return {
        f"{PREFIX}{path.replace('__', '.')}.{name}": value
        for path, settings in of_queues.items()
        for name, value in settings.items()
    }
