"""How a ProvisioningRequest is written for a gang, and what its conditions come to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from treadle.core.model.gangs import Provisioning
from treadle.core.views.provisioning import Alike, Lack
from treadle.kube import provisioning as p
from treadle.kube import wire

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)
LACK = Lack(
    "ns/train",
    "workers",
    "app-uid",
    Provisioning("check-capacity.autoscaling.x-k8s.io", (("noRetry", "true"),)),
    (Alike(3, "w-0", "u-0", (("cpu", 1000),)), Alike(1, "m-0", "u-1", (("cpu", 2000),))),
    (),
    short=True,
    since=0.0,
)


def status(**conditions: str) -> wire.ProvisioningStatus:
    return wire.ProvisioningStatus(
        [wire.TimedCondition(kind, value, f"R{kind}", "words", NOW) for kind, value in conditions.items()]
    )


@pytest.mark.parametrize(
    ("conditions", "phase"),
    [
        ({}, "pending"),
        ({"Accepted": "True"}, "pending"),
        ({"Accepted": "True", "Provisioned": "False"}, "pending"),
        ({"Accepted": "True", "Provisioned": "True"}, "provisioned"),
        ({"Accepted": "True", "Provisioned": "True", "Failed": "False"}, "provisioned"),
        ({"Accepted": "True", "Failed": "True"}, "failed"),
        ({"Provisioned": "True", "CapacityRevoked": "True"}, "failed"),
        ({"Provisioned": "True", "BookingExpired": "True"}, "failed"),
        ({"SomethingNew": "True"}, "pending"),
    ],
)
def test_the_conditions_come_to_a_phase(conditions: dict[str, str], phase: str) -> None:
    assert p.standing(status(**conditions)).phase == phase


def test_no_status_is_pending() -> None:
    assert p.standing(None).phase == "pending"
    assert p.standing(wire.ProvisioningStatus()).phase == "pending"


def test_a_request_has_the_kinds_of_pods_and_goes_with_the_application() -> None:
    body = p.request(LACK, "treadle", 2, "autoscaling.x-k8s.io/v1", ["t-0", "t-1"])
    assert body["spec"] == {
        "provisioningClassName": "check-capacity.autoscaling.x-k8s.io",
        "parameters": {"noRetry": "true"},
        "podSets": [
            {"count": 3, "podTemplateRef": {"name": "t-0"}},
            {"count": 1, "podTemplateRef": {"name": "t-1"}},
        ],
    }
    meta = body["metadata"]
    assert meta["namespace"] == "ns"
    assert meta["ownerReferences"] == [
        {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "name": "train", "uid": "app-uid"}
    ]


def test_without_an_object_it_goes_with_the_first_pod() -> None:
    body = p.request(replace(LACK, object_uid=""), "treadle", 1, "autoscaling.x-k8s.io/v1", ["t-0", "t-1"])
    assert body["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Pod", "name": "w-0", "uid": "u-0"}]


def test_it_is_known_again_by_its_annotations_and_only_by_its_own_scheduler() -> None:
    body = p.request(LACK, "treadle", 2, "autoscaling.x-k8s.io/v1", ["t-0", "t-1"])
    meta = wire.Metadata(name=body["metadata"]["name"], namespace="ns", uid="r", annotations=body["metadata"]["annotations"])
    found = p.known(wire.ProvisioningRequest(meta, status(Accepted="True")), "treadle")
    assert found is not None
    assert (found.application, found.gang, found.attempt, found.content) == ("ns/train", "workers", 2, p.digest(LACK))
    assert p.known(wire.ProvisioningRequest(meta), "other") is None
    assert p.known(wire.ProvisioningRequest(wire.Metadata(name="x", namespace="ns")), "treadle") is None


@pytest.mark.parametrize("text", ["", "-1", "two", "9" * 400])
def test_an_attempt_that_makes_no_sense_is_the_first(text: str) -> None:
    notes = {p.SCHEDULER: "treadle", p.APPLICATION: "ns/a", p.ATTEMPT: text}
    found = p.known(wire.ProvisioningRequest(wire.Metadata(name="x", namespace="ns", annotations=notes)), "treadle")
    assert found is not None
    assert found.attempt == 1


def test_what_is_asked_for_makes_another_request_and_the_order_of_kinds_does_not() -> None:
    assert p.digest(replace(LACK, pods=LACK.pods[::-1])) == p.digest(LACK)
    assert p.digest(replace(LACK, pods=LACK.pods[:1])) != p.digest(LACK)
    assert p.digest(replace(LACK, asked=Provisioning("other"))) != p.digest(LACK)
    assert p.digest(replace(LACK, selector=(("a", "b"),))) != p.digest(LACK)


def test_names_are_the_same_whoever_makes_the_request_and_fit() -> None:
    assert p.name_of(LACK, "treadle", 1) == p.name_of(LACK, "treadle", 1)
    assert p.name_of(LACK, "treadle", 1) != p.name_of(LACK, "treadle", 2)
    long = p.name_of(LACK, "a." * 100 + "b", 1)
    assert len(long) < 80


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 60.0), (2, 120.0), (3, 240.0), (6, 1800.0), (99999, 1800.0)])
def test_the_pause_doubles_up_to_half_an_hour(attempt: int, seconds: float) -> None:
    assert p.pause(attempt) == seconds


def failed(attempt: int, ago: float) -> p.Known:
    at = p.Standing("failed", "R", "m", NOW - timedelta(seconds=ago))
    return p.Known("ns", "r", "u", "ns/a", "g", attempt, "", at, "c")


def test_what_was_in_vain_is_asked_for_again_after_its_pause() -> None:
    assert not p.may_retry(failed(1, 59), NOW)
    assert p.may_retry(failed(1, 60), NOW)
    assert not p.may_retry(failed(2, 60), NOW)
    assert p.may_retry(failed(1, 0)._replace(standing=p.Standing("failed", "R", "m", None)), NOW)


def test_the_words_name_the_request_and_what_the_autoscaler_says() -> None:
    assert p.words(failed(2, 0)) == "ProvisioningRequest r (c) was in vain, asked for again 120 s after that; it says R: m"
    pending = failed(1, 0)._replace(standing=p.Standing("pending", "", "", None))
    assert p.words(pending) == "Nodes for all of them are asked for by ProvisioningRequest r (c), which has no answer yet"
    long = failed(1, 0)._replace(standing=p.Standing("pending", "R", "m" * 40_000, None))
    assert len(p.words(long)) < 500


def test_a_template_is_the_pod_without_what_the_server_and_we_add() -> None:
    pod: dict[str, Any] = {
        "metadata": {"name": "w-0", "namespace": "ns", "uid": "u-0", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {
            "nodeName": "n",
            "schedulerName": "treadle",
            "nodeSelector": {"disk": "ssd"},
            "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "kube-api-access-x"}, {"name": "data"}]}],
            "volumes": [{"name": "kube-api-access-x"}, {"name": "data", "emptyDir": {}}],
        },
        "status": {"phase": "Pending"},
    }
    body = p.template(pod, "t-0", (("treadle.dev/partition", "gpu"),), ("autoscaling.x-k8s.io/v1", "r", "ru"))
    assert body["metadata"] == {
        "name": "t-0",
        "namespace": "ns",
        "ownerReferences": [{"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "name": "r", "uid": "ru"}],
    }
    assert body["template"] == {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "schedulerName": "treadle",
            "nodeSelector": {"disk": "ssd", "treadle.dev/partition": "gpu"},
            "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "data"}]}],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    }
    assert pod["spec"]["nodeName"] == "n", "the pod is as it was"


def test_a_pod_without_anything_makes_a_template_too() -> None:
    assert p.template({}, "t", (), ("v", "r", "u"))["template"]["spec"] == {"volumes": []}
