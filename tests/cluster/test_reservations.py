"""Reservations on a real API server: accepted or refused at once, and kept in their status."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.control_plane import ControlPlane
from cluster.faulty_proxy import FaultyProxy
from cluster.pair import Pair
from cluster.treadle_process import Cluster, Treadle, capacity_queue, eventually, pod
from treadle.history.recurring import digest
from treadle.history.runs import SUCCEEDED, Run, Step
from treadle.history.store import Store

QUEUES = "/apis/treadle.dev/v1alpha1/queues/root.plan"
RESERVATIONS = "/apis/treadle.dev/v1alpha1/namespaces/default/reservations"


def at(hours: float) -> str:
    """A time so many hours from now."""
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def plan_queue(name: str = "root.plan", **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"reservations": {"policy": "NoOverCommit", **fields}},
    }


def reservation(name: str, cpu: str, hours: int = 2, start: float = 1, end: float = 3, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Reservation",
        "metadata": {"name": name},
        "spec": {
            "queue": "root.plan",
            "arrival": at(start),
            "deadline": at(end + 0.1),
            "expression": {"requests": [{"demand": {"cpu": cpu}, "count": 1, "duration": f"{hours}h"}]},
            **fields,
        },
    }


def make(plane: ControlPlane, body: dict[str, Any]) -> None:
    code, answer = plane.api("POST", RESERVATIONS, body)
    assert code == 201, answer


def status(plane: ControlPlane, name: str) -> dict[str, Any]:
    found: dict[str, Any] = plane.api("GET", f"{RESERVATIONS}/{name}")[1].get("status", {})
    return found


def ready(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = status(plane, name).get("conditions", [])
    return next(((one["reason"], one["message"]) for one in conditions if one["type"] == "Ready"), ("", ""))


def test_reservations_are_accepted_or_refused_at_once_and_outlast_the_scheduler(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    cluster.queues(plan_queue())
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        make(plane, reservation("first", "6"))
        eventually(lambda: status(plane, "first").get("phase") == "Accepted", 2, "the first reservation accepted")
        make(plane, reservation("second", "6"))
        eventually(lambda: status(plane, "second").get("phase") == "Rejected", 2, "the second one refused")
        reason, words = ready(plane, "second")
        assert reason == "NoRoom"
        assert "queue root.plan, which has cpu 8, has no room for it from" in words
        promised = status(plane, "first")
        assert [one["demand"] for one in promised["allocations"]] == [{"cpu": "6"}]
        eventually(
            lambda: any(
                one["reason"] == "ReservationRefused" and one["regarding"]["name"] == "second"
                for one in plane.api("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
            ),
            10,
            "an event for the owner",
        )
        treadle.kill()
    cluster.queues(plan_queue("root.later"))
    make(plane, reservation("third", "6"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: status(plane, "third").get("phase") == "Rejected", 5, "the third one refused")
    kept = status(plane, "first")
    assert {key: kept[key] for key in ("accepted", "allocations", "phase")} == {
        key: promised[key] for key in ("accepted", "allocations", "phase")
    }


def test_times_of_a_calendar_outlast_the_scheduler_and_an_edit_that_is_refused(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    cluster.queues(plan_queue(maximumPeriod="168h"))
    body = reservation("workdays", "6", hours=1, recurrence="0 3 * * 1-5", timeZone="Europe/Berlin")
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        make(plane, body)
        eventually(lambda: status(plane, "workdays").get("phase") in {"Accepted", "Active"}, 5, "the reservation accepted")
        kept = {key: status(plane, "workdays")[key] for key in ("accepted", "allocations")}
        assert (kept["accepted"]["period"], len(kept["accepted"]["starts"])) == ("168h", 10)
        length = sum((moment(one["end"]) - moment(one["start"]) for one in kept["allocations"]), timedelta())
        assert length == timedelta(hours=10)  # of each workday, at both offsets of the zone from UTC
        make(plane, reservation("sundays", "6", hours=1, recurrence="0 3 * * 0", timeZone="Europe/Berlin"))
        make(plane, reservation("daily", "6", hours=2, recurrence="0 3 * * *", timeZone="Europe/Berlin"))
        make(plane, reservation("monthly", "6", hours=1, recurrence="0 3 1 * *"))
        make(plane, reservation("mars", "6", hours=1, recurrence="0 3 * * *", timeZone="Mars/Olympus"))
        eventually(lambda: status(plane, "sundays").get("phase") in {"Accepted", "Active"}, 5, "room on Sundays")
        eventually(lambda: status(plane, "daily").get("phase") == "Rejected", 5, "no room on all days")
        eventually(lambda: ready(plane, "monthly")[0] == "Invalid", 5, "days of the month refused")
        eventually(lambda: "spec.timeZone: 'Mars/Olympus'" in ready(plane, "mars")[1], 5, "an unknown zone refused")
        edit = {"spec": {"recurrence": "0 3 * * *"}}
        plane.api("PATCH", f"{RESERVATIONS}/workdays", edit, content_type="application/merge-patch+json")
        eventually(lambda: ready(plane, "workdays")[0] == "NoRoom", 5, "the edit refused")
        treadle.kill()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        make(plane, reservation("again", "6", hours=2, recurrence="0 3 * * 3", timeZone="Europe/Berlin"))
        eventually(lambda: status(plane, "again").get("phase") == "Rejected", 5, "what was promised is in the way")
    assert {key: status(plane, "workdays")[key] for key in ("accepted", "allocations")} == kept


def command(plane: ControlPlane, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "treadle", *arguments, "--kubeconfig", str(plane.kubeconfig)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_commands_ask_make_and_print(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    cluster.queues(plan_queue())
    file = tmp_path / "reservation.yaml"
    file.write_text(yaml.safe_dump(reservation("nightly", "6")))
    large = tmp_path / "large.yaml"
    large.write_text(yaml.safe_dump(reservation("large", "60")))
    assert command(plane, "reserve", str(file))[1].startswith("nothing is decided: no scheduler has looked at it")
    plane.api("DELETE", f"{RESERVATIONS}/nightly")
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        code, said = command(plane, "reserve", str(file), "--dry-run")
        assert (
            code,
            said.startswith("it would be accepted: nothing is promised, since it only asks; it would have cpu 6 from"),
        ) == (0, True), said
        assert plane.api("GET", RESERVATIONS)[1]["items"] == []
        code, said = command(plane, "reserve", str(file))
        assert (code, said.splitlines()[0]) == (0, "accepted:"), said
        assert said.splitlines()[1].endswith(": cpu 6")
        code, said = command(plane, "reserve", str(large))
        assert (code, said.startswith("refused: GangTooLarge: ")) == (1, True), said
        code, said = command(plane, "reserve", str(large))
        assert (code, "already exists" in said) == (1, True), said
        code, said = command(plane, "plan", "root.plan", "--ahead", "6h")
        assert (code, said.splitlines()[0]) == (0, "queue root.plan has cpu 8, ephemeral-storage 2Ti, memory 32Gi"), said
        assert "default/nightly" in said
        code, said = command(plane, "plan", "root")
        assert code == 1
        assert 'treadle_reservations{phase="Accepted"} 1.0' in treadle.get("/metrics")[1]
        assert 'treadle_plan_resource{kind="has",partition="",queue="root.plan",resource="cpu"} 8.0' in treadle.get("/metrics")[1]


def test_what_is_proposed_from_the_history_is_taken(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    cluster.queues(plan_queue())
    kept, now = f"sqlite:///{tmp_path}/history.db", datetime.now(UTC).timestamp()
    begun = [now - day * 86_400 - 3_600 for day in range(9, 0, -1)]
    used = {"cpu": 3000, "memory": 6 << 30}
    runs = [
        Run("default/etl", "root.plan.plan-default", "ann", at, at, at, at + 1800, 3, 3, 0, 0, SUCCEEDED, [Step(at, used, 3)])
        for at in begun
    ]
    store = Store(kept)
    store.write(runs, [], [], now)
    store.close()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        code, said = command(plane, "reserve", "--from-history", "default/etl", "--store", kept)
        assert code == 0, said
        assert plane.api("GET", RESERVATIONS)[1]["items"] == [], "it only prints"
        file = tmp_path / "etl.yaml"
        file.write_text(said)
        code, said = command(plane, "reserve", str(file))
        assert (code, said.splitlines()[0]) == (0, "accepted:"), said
        assert said.splitlines()[1].endswith(": cpu 3, memory 6Gi")
        assert status(plane, "etl")["phase"] == "Accepted"


def seconds(count: float) -> float:
    return count / 3600


def test_pods_of_a_reservation_wait_for_it_run_in_its_queue_and_go_on_beside_it(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    cluster.queues(plan_queue(leadTime="0s"))
    application = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "report"},
        "spec": {"reservation": "nightly"},
    }
    assert plane.api("POST", "/apis/treadle.dev/v1alpha1/namespaces/default/applications", application)[0] == 201
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        wanted = reservation("nightly", "6", start=seconds(12))
        wanted["spec"]["deadline"] = at(seconds(24))
        wanted["spec"]["expression"]["requests"][0]["duration"] = "8s"
        make(plane, wanted)
        cluster.pods([pod(f"report-{number}", application="report", cpu="2", memory="1Gi") for number in range(3)])

        def told() -> str:
            conditions = plane.api("GET", "/api/v1/namespaces/default/pods/report-0")[1]["status"].get("conditions", [])
            return next((one["message"] for one in conditions if one["type"] == "PodScheduled" and "message" in one), "")

        eventually(lambda: "reservation default/nightly begins at" in told(), 8, "the pod told when its reservation begins")
        assert not cluster.bound()
        bound = cluster.wait_bound(3)
        assert datetime.now(UTC) >= datetime.fromisoformat(wanted["spec"]["arrival"])
        queues = {one["metadata"]["annotations"]["treadle.dev/allocated-queue"] for one in bound}
        (queue,) = queues
        assert queue.startswith("root.plan.nightly-")
        eventually(lambda: status(plane, "nightly").get("queue") == queue, 4, "the reservation says its queue")
        assert status(plane, "nightly")["phase"] == "Active"
        path = "/apis/treadle.dev/v1alpha1/namespaces/default/applications/report"
        eventually(
            lambda: plane.api("GET", path)[1]["status"].get("queue") == "root.plan.plan-default",
            30,
            "the application in the queue for all else",
        )
        eventually(lambda: status(plane, "nightly")["phase"] == "Completed", 8, "the reservation said to be over")


def test_runs_are_in_the_reservation_that_claims_their_names(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    cluster.queues(plan_queue(leadTime="0s"))
    wanted = reservation("nightly", "4", start=seconds(3), applications=["nightly-*"])
    bad = {**wanted, "spec": {**wanted["spec"], "applications": ["nightly *"]}}
    code, answer = plane.api("POST", RESERVATIONS, bad)
    assert (code, "spec.applications[0]" in answer["message"]) == (422, True)

    def queues() -> dict[str, str]:
        found = {one["metadata"]["name"]: one["metadata"].get("annotations", {}) for one in cluster.bound()}
        return {name: said["treadle.dev/allocated-queue"] for name, said in found.items()}

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        make(plane, wanted)
        eventually(lambda: status(plane, "nightly").get("phase") == "Active", 20, "the reservation is active")
        asks = {"queue": "root.plan", "cpu": "1", "memory": "1Gi"}
        cluster.pods([pod("run", application="nightly-29", **asks), pod("other", application="weekly-3", **asks)])
        cluster.wait_bound(2)
        assert queues() == {"run": status(plane, "nightly")["queue"], "other": "root.plan.plan-default"}
        patch = {"spec": {"applications": ["weekly-*"]}}
        plane.api("PATCH", f"{RESERVATIONS}/nightly", patch, content_type="application/merge-patch+json")
        cluster.pods([pod("late", application="weekly-4", **asks)])
        cluster.wait_bound(3)
        eventually(lambda: queues()["late"] == status(plane, "nightly")["queue"], 5, "the new name is claimed")
        conditions = {one["type"]: one["status"] for one in status(plane, "nightly")["conditions"]}
        assert conditions == {"Ready": "True", "NotActedOn": "False"}


def test_what_runs_again_and_again_is_reserved_by_itself_where_the_queue_allows_it(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    history = f"sqlite:///{tmp_path / 'history.db'}"
    store, now = Store(history), datetime.now(UTC).timestamp()
    for hour in range(1, 13):
        begun = now - 3600 * hour + 600
        steps = [Step(begun, {"cpu": 2000, "memory": 2 << 30, "pods": 2}, 2, (0, 0, 0))]
        over = Run(f"default/hourly-{hour}", "root.plan", "ann", begun, begun, begun, begun + 300, 2, 2, 0, 0, SUCCEEDED, steps)
        store.write([over], [], [], begun + 300)
    store.close()
    cluster.queues(plan_queue(fromHistory={"exclude": ["default/else-*"]}))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--history", history, "--user-source=stamps") as treadle:
        treadle.wait_ready()
        eventually(lambda: plane.api("GET", f"{RESERVATIONS}/hourly")[0] == 200, 120, "it was made")
        eventually(lambda: status(plane, "hourly").get("phase") in {"Accepted", "Active"}, 10, "it was accepted")
        raw = plane.api("GET", f"{RESERVATIONS}/hourly")[1]
        assert (raw["spec"]["applications"], raw["spec"]["recurrence"]) == (["hourly-*"], "1h")
        assert raw["status"]["accepted"]["user"] == "ann"
        assert raw["metadata"]["annotations"]["treadle.dev/made-from-history"] == digest(raw["spec"]), "no default is added to it"
        conditions = {one["type"]: one["status"] for one in plane.api("GET", QUEUES)[1]["status"]["conditions"]}
        assert conditions["NotActedOn"] == "False"


def of_the_documentation() -> list[dict[str, Any]]:
    text = (Path(__file__).parents[2] / "docs/reservations.md").read_text()
    return [yaml.safe_load(block.partition("```")[0]) for block in text.split("```yaml\n")[1:]]


def documented(name: str) -> dict[str, Any]:
    return next(one for one in of_the_documentation() if one["metadata"]["name"] == name)


def test_the_examples_of_the_documentation_are_taken_and_acted_on(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    assert [one["kind"] for one in of_the_documentation()] == [
        "Queue",
        "Reservation",
        "Reservation",
        "Reservation",
        "Application",
        "Reservation",
    ]
    objects = [one for one in of_the_documentation() if one["metadata"]["name"] != "training"]
    cluster = fresh_cluster(4, "8", "32Gi")
    plane = cluster.plane
    assert plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": "etl"}})[0] == 201
    group, paths = "/apis/treadle.dev/v1alpha1", list[str]()
    for one in objects:
        namespace = one["metadata"].get("namespace")
        where = f"namespaces/{namespace}/" if namespace else ""
        path = f"{group}/{where}{one['kind'].lower()}s"
        code, answer = plane.api("POST", path, one)
        assert code == 201, answer
        paths.append(f"{path}/{one['metadata']['name']}")

    def acted_on(path: str) -> bool:
        conditions = {one["type"]: one["status"] for one in plane.api("GET", path)[1].get("status", {}).get("conditions", [])}
        return conditions == {"Ready": "True", "NotActedOn": "False"}

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        for path in paths:
            eventually(lambda path=path: acted_on(path), 20, f"{path} in force as it is written")
        found = plane.api("GET", paths[1])[1]["status"]
    assert (found["phase"], found["accepted"]["period"]) == ("Accepted", "24h")
    assert plane.api("GET", paths[-1])[1]["status"]["phase"] == "Accepted"
    assert plane.api("GET", paths[0])[1]["status"]["dynamicQueues"] == ["root.nightly.nightly-default"]


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Callable[[ControlPlane, str], FaultyProxy]]:
    with ExitStack() as stack:
        yield lambda plane, name: stack.enter_context(FaultyProxy(plane, tmp_path, name))


def test_who_leads_next_keeps_what_was_promised_and_decides_the_rest(
    fresh_cluster: Callable[..., Cluster], proxied: Callable[[ControlPlane, str], FaultyProxy], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane
    cluster.queues(plan_queue())
    with Pair(cluster, lambda name: proxied(plane, name), tmp_path) as pair:
        make(plane, reservation("first", "6"))
        eventually(lambda: status(plane, "first").get("phase") == "Accepted", 5, "the first reservation accepted")
        promised = status(plane, "first")
        pair.treadles[0].kill()
        make(plane, reservation("second", "6"))
        pair.wait_leader(1)
        eventually(lambda: status(plane, "second").get("phase") == "Rejected", 20, "the second one refused by the other")
        kept = status(plane, "first")
        assert (kept["accepted"], kept["allocations"]) == (promised["accepted"], promised["allocations"])
        assert plane.api("DELETE", f"{RESERVATIONS}/first")[0] == 200
        make(plane, reservation("third", "6"))
        eventually(lambda: status(plane, "third").get("phase") == "Accepted", 10, "room for the third one")


@pytest.mark.parametrize("discipline", ["Fair", "Capacity"])
def test_borrowed_room_is_there_at_the_start(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path, discipline: str
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(2, "4", "64Gi")
    plane.start_controller_manager()
    plane.start_kwok()
    cluster = Cluster(plane)
    preemption = {
        "enabled": True,
        "monitoringInterval": "1s",
        "maxWaitBeforeKill": "2s",
        "totalPreemptionPerRound": "1",
        "naturalTerminationFactor": "1",
    }
    settings = {"discipline": discipline, "fair": {"preemption": True}, "capacity": {"preemption": preemption}}
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": settings}
    assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", scheduler)[0] == 201
    half, other = capacity_queue("root.plan", "50%"), capacity_queue("root.rest", "50%")
    half["spec"]["reservations"] = {"policy": "NoOverCommit", "leadTime": "20s"}
    cluster.queues(half, other)
    application = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "report"},
        "spec": {"reservation": "nightly"},
    }
    assert plane.api("POST", "/apis/treadle.dev/v1alpha1/namespaces/default/applications", application)[0] == 201
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod(f"borrower-{number}", "root.rest", "borrower", cpu="1", memory="1Gi") for number in range(7)])
        cluster.wait_bound(7)
        wanted = reservation("nightly", "1", start=seconds(35))
        wanted["spec"]["deadline"] = at(seconds(120))
        wanted["spec"]["expression"]["requests"] = [
            {"demand": {"cpu": "1", "memory": "1Gi"}, "count": 3, "concurrency": 3, "duration": "80s"}
        ]
        make(plane, wanted)
        eventually(lambda: status(plane, "nightly").get("phase") == "Accepted", 5, "the reservation accepted")
        cluster.pods([pod(f"report-{number}", application="report", cpu="1", memory="1Gi") for number in range(3)])
        start = datetime.fromisoformat(wanted["spec"]["arrival"])

        def running() -> int:
            return sum(one["metadata"]["name"].startswith("report-") for one in cluster.bound())

        eventually(lambda: running() == 3, 60, "all pods of the reservation bound")
        bound = datetime.now(UTC)
        assert start - timedelta(seconds=21) <= bound <= start + timedelta(seconds=3), (start, bound)


def test_the_documentation_of_partitions_is_planned_on_them_and_runs_there(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(2, "8", "64Gi")
    gpus = {"labels": {"treadle.dev/partition": "gpu"}, "prefix": "gpu-", "resources": {"nvidia.com/gpu": "4"}}
    plane.create_nodes(2, "8", "64Gi", **gpus)
    plane.start_controller_manager()
    plane.start_kwok()
    preemption = {
        "enabled": True,
        "monitoringInterval": "1s",
        "maxWaitBeforeKill": "2s",
        "totalPreemptionPerRound": "1",
        "naturalTerminationFactor": "1",
    }
    settings = {
        "discipline": "Capacity",
        "capacity": {"preemption": preemption},
        "nodes": {"partitions": [{"name": "gpu", "exclusive": True}]},
    }
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": settings}
    assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", scheduler)[0] == 201
    cluster = Cluster(plane)
    half = capacity_queue("root.nightly", "50%", partitions={"gpu": {"guaranteed": "50%"}})
    half["spec"]["reservations"] = {"policy": "NoOverCommit", "leadTime": "10s"}
    cluster.queues(half, capacity_queue("root.rest", "50%", partitions={"gpu": {"guaranteed": "50%"}}))
    training = documented("training")
    training["metadata"].pop("namespace")
    large = documented("training")
    large["metadata"] = {"name": "large"}
    large["spec"]["expression"]["requests"][1] |= {"count": 8, "concurrency": 8}
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        make(plane, training)
        eventually(lambda: status(plane, "training").get("phase") == "Accepted", 20, "the one of the documentation accepted")
        promised = status(plane, "training")["allocations"]
        assert [(one.get("partition", ""), one["demand"]) for one in promised] == [
            ("", {"cpu": "8", "memory": "32Gi"}),
            ("gpu", {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"}),
        ]
        make(plane, large)
        eventually(lambda: ready(plane, "large")[0] == "GangTooLarge", 20, "eight GPUs of the queue's four refused")
        make(plane, reservation("elsewhere", "1", **on("fpga")))
        eventually(
            lambda: ready(plane, "elsewhere")[0] == "NoSuchPartition", 20, "a partition that the queue has nothing of refused"
        )

        flood = [pod(f"flood-{number}", "root.rest", "flood", cpu="2", memory="1Gi") for number in range(8)]
        for one in flood:
            one["metadata"]["labels"]["treadle.dev/partition"] = "gpu"
        cluster.pods(flood)
        cluster.wait_bound(8)
        soon = reservation("soon", "2", start=seconds(15), **on("gpu"))
        soon["spec"] |= {"queue": "root.nightly", "deadline": at(seconds(120)), "applications": ["batch"]}
        soon["spec"]["expression"]["requests"][0] |= {"count": 4, "concurrency": 4, "duration": "90s"}
        make(plane, soon)
        eventually(
            lambda: status(plane, "soon").get("phase") in {"Accepted", "Active"}, 5, "the one of a flooded partition accepted"
        )
        batch = [pod(f"batch-{number}", "root.nightly", "batch", cpu="2", memory="1Gi") for number in range(4)]
        for one in batch:
            one["metadata"]["labels"]["treadle.dev/partition"] = "gpu"
        cluster.pods(batch)

        def running() -> list[str]:
            return [one["spec"]["nodeName"] for one in cluster.bound() if one["metadata"]["name"].startswith("batch-")]

        eventually(lambda: len(running()) == 4, 60, "all its pods bound")
        assert {name.rpartition("-")[0] for name in running()} == {"gpu"}
        eventually(lambda: status(plane, "soon").get("queue", "").startswith("root.nightly.soon-"), 10, "its queue told")
        promise_of_gpu = 'treadle_plan_resource{kind="promised",partition="gpu",queue="root.nightly",resource="cpu"} 8.0'
        eventually(lambda: promise_of_gpu in treadle.get("/metrics")[1], 20, "its metric")
        code, said = command(plane, "plan", "root.nightly", "--ahead", "1m")
        assert code == 0
        assert said.splitlines()[0].endswith("; gpu: cpu 8, ephemeral-storage 1Ti, memory 64Gi, nvidia.com/gpu 4"), said
        assert " ".join(said.splitlines()[2].split()).endswith("gpu: cpu 8 gpu: cpu 0 default/soon"), said
        kept = status(plane, "soon")["allocations"], status(plane, "soon")["accepted"]
        treadle.kill()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as again:
        again.wait_ready()
        eventually(lambda: promise_of_gpu in again.get("/metrics")[1], 20, "the plan back")
        assert (status(plane, "soon")["allocations"], status(plane, "soon")["accepted"]) == kept
        assert status(plane, "training")["allocations"] == promised


def on(partition: str) -> dict[str, Any]:
    request = {"demand": {"cpu": "2"}, "count": 1, "duration": "1h", "partition": partition}
    return {"queue": "root.nightly", "expression": {"requests": [request]}}
