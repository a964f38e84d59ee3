"""What is read from the pods that Spark, Flink, KubeRay, JobSet, the MPI operator and Argo make."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
import yaml

from kube.manifests import wired
from treadle.core.model import PodSpec
from treadle.core.model.gangs import PLUGINS, VOLCANO
from treadle.kube import pod_groups, translate, wire
from workloads.runs import ALIASES, FOLDER, RUNS, Run, manifests

SOURCES = {pod_groups.VERSIONS[source][0]: source for source in (VOLCANO, PLUGINS)}
each_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.namespace)


def pods(run: Run) -> list[PodSpec]:
    return [translate.pod(wired(one)) for one in manifests(run, "Pod")]


def minimums(run: Run) -> dict[str, int]:
    """How many pods of each gang start together, if more than one."""
    found = {name: count for one in pods(run) for name, count in one.gang_minimums}
    for one in manifests(run, "PodGroup"):
        seen = msgspec.json.decode(msgspec.json.encode(one), type=wire.PodGroup)
        group = pod_groups.pod_group(SOURCES[one["apiVersion"]], seen)
        if group.minimum is not None:
            found[one["metadata"]["name"]] = group.minimum
    return {name: count for name, count in found.items() if count > 1}


def test_every_namespace_of_every_file_is_a_run_that_is_tried() -> None:
    found = {
        (path.stem, one["metadata"]["namespace"])
        for path in FOLDER.glob("*.yaml")
        for one in yaml.safe_load_all(path.read_text())
    }
    assert found == {(run.project, run.namespace) for run in RUNS}


@each_run
def test_all_pods_of_a_run_are_one_application(run: Run) -> None:
    assert {one.application for one in pods(run)} == {f"{run.namespace}/{run.application}"}


@each_run
def test_the_master_of_a_run_is_told_from_its_workers(run: Run) -> None:
    roles = Counter(one.role for one in pods(run))
    assert (roles["master"], roles["worker"]) == (run.masters, run.workers)


@each_run
def test_the_pods_of_a_run_name_its_queue(run: Run) -> None:
    groups = {one["spec"].get("queue", "") for one in manifests(run, "PodGroup")}
    assert ({one.queue for one in pods(run)} | groups) - {""} == {run.queue}


@each_run
def test_the_pods_of_a_run_start_together_as_its_controller_says(run: Run) -> None:
    assert minimums(run) == dict(run.gangs)
    named = Counter(one.gang for one in pods(run))
    assert all(named[name] >= count for name, count in run.gangs)


@each_run
def test_nothing_of_a_run_is_not_understood(run: Run) -> None:
    for one in pods(run):
        assert one.problem == ""
        assert one.constraints.unsupported == ()
        assert one.scheduler in {"treadle", *ALIASES}
        assert one.demand
