"""A metrics page as plain data, and the names of metrics that texts speak of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parents[2]
SERIES = ("_bucket", "_count", "_sum")
NAME = re.compile(r"\b(?:treadle|scheduler|process)_[a-z0-9_]*[a-z0-9]\b")


def families(text: str) -> list[Metric]:
    return list(text_string_to_metric_families(text))


def exposed(found: Iterable[Metric]) -> dict[str, tuple[str, set[frozenset[str]]]]:
    """The type of each family by the name that is asked for, and the sets of names of labels that its series have."""
    return {
        family.name + ("_total" if family.type == "counter" else ""): (
            family.type,
            {frozenset(sample.labels) - {"le"} for sample in family.samples},
        )
        for family in found
    }


def named(text: str) -> set[str]:
    """The metrics that a text names; of histograms by the names of their series too."""
    return set(NAME.findall(text))
