"""What is pretended in the demo: Spark's operator, the Job controller, clearing away, and the work that is submitted."""

from __future__ import annotations

import pytest

from treadle.fakeapi import FakeApi
from treadle.runtime import demo_examples as examples
from treadle.runtime.demo import Counts
from treadle.runtime.demo_load import ClassicLoad, TraceLoad
from treadle.runtime.demo_operators import EXECUTOR_CPU, EXECUTORS, Collector, JobController, SparkOperator, serve_jobs

DRIVER = {
    "spark-role": "driver",
    "treadle.dev/queue": "root.prod",
    "treadle.dev/application": "etl",
    "demo.treadle.dev/example": "classic",
}


@pytest.fixture
def api() -> FakeApi:
    api = FakeApi()
    serve_jobs(api)
    api.create("nodes", examples.node("n1", "16", "64Gi"))
    return api


def pods(api: FakeApi) -> dict:
    return {(pod["metadata"]["namespace"], pod["metadata"]["name"]): pod for pod in api.list("pods")}


def names(api: FakeApi) -> list[str]:
    return sorted(name for _, name in pods(api))


def become(api: FakeApi, name: str, phase: str) -> None:
    pod = api.get("pods", name)
    if not pod["spec"].get("nodeName"):
        api.bind(name, {"target": {"kind": "Node", "name": "n1"}})
        pod = api.get("pods", name)
    api.update("pods", pod | {"status": pod["status"] | {"phase": phase}}, "status")


def driver(api: FakeApi, executors: str = "2", name: str = "etl-driver") -> None:
    pod = examples.Templates().driver()
    pod["metadata"] = {"name": name, "labels": DRIVER, "annotations": {EXECUTORS: executors, EXECUTOR_CPU: "3"}}
    api.create("pods", pod)


@pytest.fixture
def spark(api: FakeApi) -> SparkOperator:
    return SparkOperator(api, examples.Templates())


def test_a_driver_gets_its_executors_once_it_runs_and_only_once(api, spark):
    driver(api)
    spark.step(pods(api))
    assert names(api) == ["etl-driver"]

    become(api, "etl-driver", "Running")
    spark.step(pods(api))
    spark.step(pods(api))

    assert names(api) == ["etl-driver", "etl-exec-1", "etl-exec-2"]
    executor = api.get("pods", "etl-exec-1")
    assert (
        executor["metadata"]["labels"].items()
        >= {"spark-role": "executor", "treadle.dev/queue": "root.prod", "treadle.dev/application": "etl"}.items()
    )
    assert executor["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"
    assert executor["spec"]["schedulerName"] == "treadle"


def test_a_driver_succeeds_when_its_last_executor_has_ended(api, spark):
    driver(api)
    become(api, "etl-driver", "Running")
    spark.step(pods(api))
    become(api, "etl-exec-1", "Succeeded")
    spark.step(pods(api))
    assert api.get("pods", "etl-driver")["status"]["phase"] == "Running"

    api.delete("pods", "etl-exec-2")
    spark.step(pods(api))

    assert api.get("pods", "etl-driver")["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize("executors", ["none", "-1", "", "0"])
def test_a_number_of_executors_that_is_none_ends_the_driver_without_any(api, spark, executors):
    driver(api, executors)
    become(api, "etl-driver", "Running")
    spark.step(pods(api))

    assert names(api) == ["etl-driver"]
    assert api.get("pods", "etl-driver")["status"]["phase"] == "Succeeded"


def test_what_a_deleted_driver_leaves_behind_is_collected(api, spark):
    driver(api)
    become(api, "etl-driver", "Running")
    spark.step(pods(api))
    api.delete("pods", "etl-driver", options={"gracePeriodSeconds": 0})
    Collector(api, 10, keep=True).step(pods(api), 0)
    spark.step(pods(api))

    assert names(api) == []


def test_a_job_runs_as_many_pods_at_a_time_as_it_says_until_enough_have_succeeded(api):
    job = examples.Templates().job()
    job["spec"] |= {"completions": 3, "parallelism": 2}
    api.create("jobs", job)
    controller = JobController(api)
    seen = []
    for _ in range(4):
        controller.step(pods(api))
        active = [name for (_, name), pod in pods(api).items() if pod["status"]["phase"] not in {"Succeeded", "Failed"}]
        seen.append(len(active))
        for name in active[:1]:
            become(api, name, "Failed" if len(seen) == 1 else "Succeeded")
    controller.step(pods(api))

    status = api.get("jobs", "pi")["status"]
    assert seen == [2, 2, 2, 1]
    assert (status["succeeded"], status["failed"], status["active"]) == (3, 1, 0)
    assert status["conditions"][0]["type"] == "Complete"
    assert {pod["metadata"]["labels"]["treadle.dev/queue"] for pod in pods(api).values()} == {"root.dev.science"}


def test_a_job_fails_after_more_failures_than_its_backoff_limit(api):
    api.create("jobs", examples.Templates().job())
    controller = JobController(api)
    for _ in range(3):
        controller.step(pods(api))
        for _, name in pods(api):
            become(api, name, "Failed")
    controller.step(pods(api))

    assert api.get("jobs", "pi")["status"]["conditions"][0]["type"] == "Failed"


def test_the_users_own_finished_pods_stay_while_those_of_the_demo_are_cleared_away(api):
    driver(api, name="ours")
    pod = examples.Templates().pod()
    api.create("pods", pod)
    for name in ("ours", "hello"):
        become(api, name, "Succeeded")
    collector = Collector(api, 10, keep=False)
    collector.step(pods(api), 0)
    collector.step(pods(api), 9)
    assert names(api) == ["hello", "ours"]
    collector.step(pods(api), 10)

    assert names(api) == ["hello"]


def test_a_pod_that_must_end_by_itself_and_does_not_say_when_gets_a_time(api):
    api.create("pods", examples.Templates().pod())
    service = examples.Templates().pod()
    service["metadata"]["name"] = "service"
    service["spec"]["restartPolicy"] = "Always"
    api.create("pods", service)
    Collector(api, 10, keep=False).step(pods(api), 0)

    assert api.get("pods", "hello")["metadata"]["annotations"] == {"demo.treadle.dev/run-seconds": "20"}
    assert "annotations" not in api.get("pods", "service")["metadata"]


def submitted(seed: int) -> list[tuple]:
    api = FakeApi()
    serve_jobs(api)
    ClassicLoad(api, examples.Templates(), seed).step({}, 0.0)
    made = [*api.list("pods"), *api.list("jobs")]
    return [(one["metadata"]["name"], one["metadata"].get("annotations"), str(one["spec"])) for one in made]


def test_what_is_submitted_is_the_same_for_the_same_seed_and_another_for_another():
    assert submitted(1) == submitted(1)
    assert submitted(1) != submitted(2)


def test_the_classic_load_gives_every_leaf_queue_work_and_every_pod_to_treadle(api):
    ClassicLoad(api, examples.Templates(), 1).step({}, 0.0)

    queues = {pod["metadata"]["labels"].get("treadle.dev/queue") for pod in api.list("pods")}
    assert queues == {None, "root.prod", "root.dev.eng"}
    assert {job["spec"]["template"]["metadata"]["labels"]["treadle.dev/queue"] for job in api.list("jobs")} == {
        "root.dev.science"
    }
    assert {pod["spec"]["schedulerName"] for pod in api.list("pods")} == {"treadle"}


def test_production_rests_in_the_middle_of_a_round(api):
    ClassicLoad(api, examples.Templates(), 1).step({}, 60.0)

    assert "root.prod" not in {pod["metadata"]["labels"].get("treadle.dev/queue") for pod in api.list("pods")}


def test_the_trace_is_replayed_in_proportion_with_whole_gpus_and_constraints_on_their_model(api):
    load = TraceLoad(api, examples.Templates())
    load.step({}, 30.0)
    half = len(api.list("pods"))
    load.step({}, 59.9999)
    made = api.list("pods")

    assert 0 < half < len(made) <= 1800
    asked = [pod["spec"]["containers"][0]["resources"]["requests"] for pod in made]
    assert {amounts.get("nvidia.com/gpu", "0") for amounts in asked} == {"0", "1", "2", "4", "8"}
    assert {pod["metadata"]["labels"]["treadle.dev/queue"] for pod in made} == {
        "root.ls",
        "root.be",
        "root.burstable",
        "root.guaranteed",
    }
    chosen = [pod for pod in made if "affinity" in pod["spec"]]
    assert len(chosen) > 100


def test_the_trace_waits_when_too_many_pods_wait_already(api):
    waiting = {("default", str(number)): {"spec": {}, "status": {"phase": "Pending"}} for number in range(1000)}
    load = TraceLoad(api, examples.Templates())
    load.step(waiting, 60.0)
    assert api.list("pods") == []

    load.step({}, 60.1)
    assert 0 < len(api.list("pods")) < 1000


def test_bound_counts_what_was_ever_bound_and_waiting_what_waits_now(api):
    counts = Counts()
    api.store.collections["pods"].listeners.append(counts.see)
    for name in ("a", "b", "c", "d"):
        driver(api, name=name)
    other = examples.Templates().pod()
    other["spec"]["schedulerName"] = "default-scheduler"
    api.create("pods", other)
    become(api, "a", "Running")
    become(api, "b", "Running")
    become(api, "b", "Succeeded")
    api.delete("pods", "b")
    api.delete("pods", "c")

    assert counts.all() == {"created": 4, "bound": 2, "finished": 1, "waiting": 1}
