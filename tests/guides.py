"""The manifests of docs/guides.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides.md"


def manifests() -> list[dict[str, Any]]:
    """All objects of the page, in their order."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [one for block in blocks for one in yaml.safe_load_all(block)]


def pods(found: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """The scheduler and the labels of each pod, or template of pods, in an object, whatever its kind calls it."""
    if isinstance(found, list):
        for one in found:
            yield from pods(one)
    elif isinstance(found, dict):
        spec = found.get("spec")
        if isinstance(spec, dict) and "schedulerName" in spec:
            yield spec["schedulerName"], found.get("metadata", {}).get("labels", {})
        elif "schedulerName" in found and "labels" in found:
            yield found["schedulerName"], found["labels"]
        for one in found.values():
            yield from pods(one)
