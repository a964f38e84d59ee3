"""What the PodGroups of each system come to."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.core.model import PodGroupSpec
from treadle.core.model.gangs import KUBERNETES, PLUGINS, VOLCANO
from treadle.kube import wire
from treadle.kube.pod_groups import pod_group

Json = dict[str, Any]


def read(source: str, spec: Json | None) -> PodGroupSpec:
    return pod_group(source, wire.PodGroup(wire.Metadata(name="g", namespace="ns"), spec))


@pytest.mark.parametrize(
    ("source", "spec", "minimum"),
    [
        (KUBERNETES, {"schedulingPolicy": {"gang": {"minCount": 4}}}, 4),
        (KUBERNETES, {"schedulingPolicy": {"basic": {}}}, None),
        (VOLCANO, {"minMember": 3, "queue": "default", "minResources": {"cpu": "3"}}, 3),
        (VOLCANO, {"minMember": 1}, None),
        (VOLCANO, {}, None),
        (PLUGINS, {"minMember": 2, "scheduleTimeoutSeconds": 10}, 2),
        (PLUGINS, {"minMember": 2_000_000_000}, 100_000),
    ],
)
def test_the_minimum_is_where_each_system_says_it(source: str, spec: Json, minimum: int | None) -> None:
    assert read(source, spec) == PodGroupSpec(source, "ns/g", minimum)


@pytest.mark.parametrize("source", [KUBERNETES, VOLCANO, PLUGINS])
@pytest.mark.parametrize("spec", [None, {}, {"minMember": "two"}, {"schedulingPolicy": 7}, {"minMember": True}])
def test_what_makes_no_sense_is_no_gang(source: str, spec: Json | None) -> None:
    assert read(source, spec).minimum is None


def test_kubernetes_topology_is_required() -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": {"topology": [{"key": "zone"}]}}
    found = read(KUBERNETES, spec)
    assert (found.topology, found.required, found.unheeded) == ("zone", True, ())


@pytest.mark.parametrize(
    ("source", "spec", "unheeded"),
    [
        (VOLCANO, {"minMember": 2, "minTaskMember": {"ps": 1}}, ("spec.minTaskMember",)),
        (VOLCANO, {"minMember": 2, "networkTopology": {"mode": "hard"}}, ("spec.networkTopology",)),
        (KUBERNETES, {"disruptionMode": "PodGroup"}, ("spec.disruptionMode",)),
        (KUBERNETES, {"disruptionMode": {"all": {}}}, ("spec.disruptionMode",)),
        (KUBERNETES, {"disruptionMode": "Pod"}, ()),
        (KUBERNETES, {"disruptionMode": {"single": {}}}, ()),
        (KUBERNETES, {"resourceClaims": [{"name": "x"}]}, ("spec.resourceClaims",)),
        (
            KUBERNETES,
            {"schedulingConstraints": {"topology": [{"key": "zone"}, {"key": "rack"}]}},
            ("spec.schedulingConstraints.topology beyond the first",),
        ),
    ],
)
def test_fields_that_are_not_acted_on_are_named(source: str, spec: Json, unheeded: tuple[str, ...]) -> None:
    assert read(source, spec).unheeded == unheeded
