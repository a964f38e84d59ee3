"""What the guides give people to apply."""

from __future__ import annotations

from guides import manifests, pods
from treadle.api.known_labels import unknown_of
from treadle.api.objects import KINDS, parse

OBJECTS = manifests()


def test_every_pod_asks_for_treadle_and_for_a_queue_of_the_page() -> None:
    queues = {one["metadata"]["name"] for one in OBJECTS if one["kind"] == "Queue"}
    assert len(queues) == 2
    for one in OBJECTS:
        if one["kind"] in KINDS:
            continue
        found = list(pods(one))
        assert found, one["kind"]
        for scheduler, labels in found:
            assert scheduler == "treadle", one["kind"]
            assert labels["treadle.dev/queue"] in queues, one["kind"]
            assert unknown_of(labels, {}) == ""


def test_our_own_objects_are_such() -> None:
    for one in OBJECTS:
        if one["kind"] in KINDS:
            parse(one["kind"], one)


def test_there_is_one_for_each_system() -> None:
    kinds = {one["kind"] for one in OBJECTS}
    assert kinds >= {"Queue", "Job", "CronJob", "SparkApplication", "FlinkDeployment", "RayCluster", "Pod", "Deployment"}
