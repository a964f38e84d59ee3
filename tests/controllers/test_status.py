"""What is written into the status of our kinds: every condition with its reason, and the smallest patch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.bodies import Json
from controllers.clusters import LATER, NOW, Cluster, condition
from core.builders import a_node
from core.kernel.together.sets import Answering
from treadle.api import crds
from treadle.api.application import ApplicationPods
from treadle.api.identity import Source
from treadle.api.objects import parse
from treadle.controllers.status import merge_patch, percentage
from treadle.core.effects import Evict
from treadle.core.events import NodeSeen, PodGone, SchedulerSeen
from treadle.core.kernel.together.placing import LARGEST
from treadle.core.model import FairSettings, SchedulerSpec


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


# -- queues


@pytest.mark.parametrize(
    ("minimum", "maximum", "words"),
    [
        ({"cpu": "4", "memory": "1Gi"}, {"cpu": "3500m", "memory": "1Gi"}, "cpu 4 over 3500m"),
        ({"cpu": "70%"}, {"cpu": "60.5%"}, "cpu 70% over 60.5%"),
        ({"cpu": "6"}, {"cpu": "50%"}, "cpu 6 over 50%"),
    ],
)
def test_a_minimum_over_the_maximum_holds_for_both_and_the_queue_says_so(
    cluster: Cluster, minimum: Json, maximum: Json, words: str
) -> None:
    cluster.create("Queue", "root.a", {"fair": {"minResources": minimum, "maxResources": maximum}})
    cluster.plan()
    said = f"spec.fair: minResources is over maxResources, so the minimum is the maximum too: {words}"
    assert cluster.ready("Queue", "root.a") == ("False", "MaximumRaised", said)
    status = cluster.status("Queue", "root.a")
    assert status["maximum"]["cpu"] == status["guaranteed"]["cpu"]
    cluster.edit("root.a", {"fair": {"minResources": minimum, "maxResources": minimum}})
    assert cluster.ready("Queue", "root.a") == ("True", "InForce", "")


@pytest.mark.parametrize("maximum", [{"cpu": "4"}, {"cpu": "50%"}, {"memory": "1Gi"}, None])
def test_a_minimum_that_is_not_over_the_maximum_is_in_force_as_written(cluster: Cluster, maximum: Json | None) -> None:
    cluster.create("Queue", "root.a", {"fair": {"minResources": {"cpu": "4"}, "maxResources": maximum}})
    assert cluster.ready("Queue", "root.a") == ("True", "InForce", "")


def test_a_queue_in_force_is_ready_at_its_generation(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a")
    status = cluster.status("Queue", "root.a")

    assert condition(status, "Ready") == ("True", "InForce", "")
    assert condition(status, "NotActedOn") == ("False", "AllActedOn", "")
    assert (status["observedGeneration"], {one["observedGeneration"] for one in status["conditions"]}) == (1, {1})


def test_a_queue_without_its_parent_says_so_and_is_ready_when_it_comes(cluster: Cluster) -> None:
    cluster.create("Queue", "root.dev.eng")
    assert cluster.ready("Queue", "root.dev.eng") == ("False", "NoParent", "the parent queue root.dev does not exist")
    cluster.create("Queue", "root.dev")
    assert cluster.ready("Queue", "root.dev.eng")[:2] == ("True", "InForce")


def test_a_parent_in_use_as_a_leaf_cannot_have_children_yet(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a")
    cluster.pod("p", queue="root.a")
    cluster.create("Queue", "root.a.b")
    status, reason, message = cluster.ready("Queue", "root.a.b")

    assert (status, reason) == ("False", "ParentHasPods")
    assert "root.a is a leaf with 1 application" in message


def test_a_policy_that_the_parent_does_not_allow_is_refused_with_what_it_allows(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"fair": {"schedulingPolicy": "fair"}})
    cluster.create("Queue", "root.a.b", {"fair": {"schedulingPolicy": "drf"}})
    status, reason, message = cluster.ready("Queue", "root.a.b")

    assert (status, reason) == ("False", "ParentPolicy")
    assert "'drf' is not allowed under root.a, whose policy is fair; allowed are" in message


def test_an_edit_into_an_invalid_state_says_what_is_wrong_and_that_the_last_good_version_stays(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"fair": {"weight": "2"}})
    cluster.edit("root.a", {"fair": {"weight": "-1"}})
    status, reason, message = cluster.ready("Queue", "root.a")

    assert (status, reason) == ("False", "LastGoodInForce")
    assert "weight" in message
    assert message.endswith("; the last good version stays in force")
    assert cluster.core.state.tree.queues["root.a"].weight == 2.0


def test_a_queue_that_was_never_valid_says_what_is_wrong(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"fair": {"maxResources": {"cpu": "lots"}}})
    status, reason, message = cluster.ready("Queue", "root.a")

    assert (status, reason) == ("False", "Invalid")
    assert "lots" in message


def test_a_queue_deleted_while_in_use_drains_and_its_parent_says_so(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a")
    cluster.create("Queue", "root.a.b")
    cluster.create("Queue", "root.a.c")
    cluster.pod("p", queue="root.a.b")
    cluster.delete("Queue", "root.a.b")
    status, reason, message = cluster.ready("Queue", "root.a")

    assert (status, reason) == ("True", "InForce")
    assert "root.a.b was deleted while it has 1 application" in message


def test_the_numbers_of_a_queue_are_quantities(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"fair": {"minResources": {"cpu": "2"}}})
    for name in "xyz":
        cluster.pod(name, queue="root.a", cpu=4, memory=8)
    cluster.plan()
    status = cluster.status("Queue", "root.a")

    assert status["used"] == {"cpu": "8", "memory": "16Gi", "pods": "2"}
    assert status["pending"] == {"cpu": "4", "memory": "8Gi", "pods": "1"}
    assert status["guaranteed"] == {"cpu": "2"}
    assert (status["state"], status["applications"]) == ("Running", {"running": 1, "pending": 0})


def test_fields_that_are_accepted_and_not_acted_on_are_named(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle", {"fair": {"localityThresholdNode": "0.5"}})

    assert condition(cluster.status("Scheduler", "treadle"), "NotActedOn") == (
        "True",
        "FieldsNotActedOn",
        "accepted but not acted on yet: spec.fair.localityThresholdNode",
    )


def test_a_refused_move_is_a_condition_of_the_application_until_it_is_over(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a")
    cluster.create("Queue", "root.b", {"maxRunningApplications": 0})
    cluster.create("Application", "app", {"queue": "root.a"}, namespace="ns")
    cluster.pod("p")
    cluster.plan()
    assert all(one["type"] != "Moved" for one in cluster.status("Application", "app", "ns")["conditions"])

    cluster.edit("app", {"queue": "root.b"})
    status = cluster.status("Application", "app", "ns")
    assert condition(status, "Moved") == (
        "False",
        "MoveRefused",
        "queue: ns/app cannot move to root.b: root.b has 0 running applications, which is its limit",
    )
    assert (status["queue"], condition(status, "Ready")[0]) == ("root.a", "True")

    cluster.ledger.entries["Application", "ns", "app"].status = status
    cluster.edit("app", {"queue": "root.a"})
    cluster.ledger.entries["Application", "ns", "app"].status = status
    assert condition(cluster.status("Application", "app", "ns"), "Moved") == ("True", "AsAsked", "")


def test_an_application_that_may_not_run_yet_is_accepted_and_says_which_limit_holds_it(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"maxRunningApplications": 1})
    cluster.create("Application", "late", {"queue": "root.a"}, namespace="ns")
    cluster.pod("p", queue="root.a", created=1.0)
    cluster.pod("q", application="late", created=2.0)
    cluster.plan()
    status = cluster.status("Application", "late", "ns")
    assert (status["phase"], status["waiting"]["reason"]) == ("Accepted", "TooManyApplications")
    assert cluster.status("Queue", "root.a")["applications"] == {"running": 1, "pending": 1}


# -- schedulers


def test_the_scheduler_that_is_served_names_what_it_serves(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle", {"aliases": ["yunikorn"]})

    assert cluster.ready("Scheduler", "treadle")[:2] == ("True", "InForce")
    assert cluster.status("Scheduler", "treadle")["schedulerNames"] == ["treadle", "yunikorn"]


def test_the_scheduler_that_is_served_says_what_its_process_cannot_do_and_no_other_object_does(cluster: Cluster) -> None:
    for name in ("treadle", "other"):
        cluster.create("Scheduler", name, {})
    cluster.create("Queue", "root.a", {})
    said = lambda kind, name: condition(cluster.status(kind, name, failing="the history cannot be written: full"), "Ready")  # noqa: E731
    assert said("Scheduler", "treadle") == ("True", "InForce", "the history cannot be written: full")
    assert "history" not in said("Scheduler", "other")[2] + said("Queue", "root.a")[2]


def test_a_solver_that_is_asked_for_and_not_there_is_a_condition_of_the_scheduler(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle", {"placeTogether": {"solver": "HiGHS"}})

    assert cluster.ready("Scheduler", "treadle") == (
        "False",
        "SolverMissing",
        "spec.placeTogether.solver: no solver is there; sets are placed by the walk over the nodes alone",
    )
    cluster.edit("treadle", {"placeTogether": {"solver": "None"}})
    assert cluster.ready("Scheduler", "treadle")[:2] == ("True", "InForce")


def test_a_solver_that_breaks_is_told_of_at_the_scheduler(cluster: Cluster) -> None:
    cluster.core.state.settings.solver = Answering(RuntimeError("broken"))
    cluster.create("Scheduler", "treadle", {"placeTogether": {"solver": "HiGHS"}})
    cluster.create("Application", "app", {"placeTogether": "Serial"}, namespace="ns")
    cluster.pod("p", cpu=1)
    cluster.pod("q", cpu=20)
    cluster.plan()

    assert cluster.ready("Scheduler", "treadle") == (
        "True",
        "InForce",
        "spec.placeTogether.solver: failures so far: 1, the last one: RuntimeError: broken; the walk's answers stand",
    )


def test_a_set_that_was_too_large_for_one_is_told_of_at_its_application(cluster: Cluster) -> None:
    cluster.create("Application", "app", {"placeTogether": "Serial"}, namespace="ns")
    cluster.core.validate = False
    for number in range(LARGEST + 1):
        cluster.pod(f"p{number}")
    cluster.plan()
    status, reason, message = cluster.ready("Application", "app", "ns")

    assert (status, reason) == ("True", "InForce")
    assert f"{LARGEST + 1} pods waited at once, and a set has {LARGEST} at the most" in message


def test_a_name_that_another_one_has_is_named_with_its_owner(cluster: Cluster) -> None:
    cluster.create("Scheduler", "elder", {"aliases": ["yunikorn"]})
    cluster.create("Scheduler", "treadle", {"aliases": ["yunikorn"]})

    assert cluster.ready("Scheduler", "treadle") == (
        "False",
        "NameTaken",
        "spec.aliases: yunikorn is served by Scheduler elder; the other names are served",
    )


def test_a_scheduler_that_nobody_runs_says_how_to_run_it(cluster: Cluster) -> None:
    cluster.create("Scheduler", "other")
    status, reason, message = cluster.ready("Scheduler", "other")

    assert (status, reason) == ("False", "NotServed")
    assert "--name other" in message


# -- applications and reservations


def test_an_application_without_pods_is_accepted(cluster: Cluster) -> None:
    cluster.create("Application", "app", namespace="ns")
    status = cluster.status("Application", "app", "ns")

    assert (status["phase"], status["pods"]) == ("Accepted", {"running": 0, "pending": 0})


def test_a_running_application_says_where_and_how_much(cluster: Cluster) -> None:
    cluster.create("Application", "app", namespace="ns")
    cluster.pod("p", cpu=4, memory=8)
    cluster.plan()
    status = cluster.status("Application", "app", "ns")

    assert (status["phase"], status["queue"], status["pods"]) == ("Running", "root.default", {"running": 1, "pending": 0})
    assert status["pods"].keys() == ApplicationPods.model_fields.keys(), "nothing stands there that nobody counts"
    assert status["used"] == {"cpu": "4", "memory": "8Gi", "pods": "1"}
    assert status["waiting"] is None


def test_a_waiting_application_says_why_and_who_is_ahead(cluster: Cluster) -> None:
    cluster.create("Application", "app", namespace="ns")
    cluster.pod("big", cpu=50)
    cluster.plan()
    waiting = cluster.status("Application", "app", "ns")["waiting"]

    assert waiting["reason"] == "Unschedulable"
    assert waiting["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert waiting["ahead"] == []


def test_an_application_whose_queue_does_not_exist_says_so(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a")
    cluster.create("Application", "app", {"queue": "root.nowhere"}, namespace="ns")
    cluster.pod("p")
    cluster.plan()
    status, reason, message = cluster.ready("Application", "app", "ns")

    assert (status, reason) == ("False", "QueueNotFound")
    assert "queue root.nowhere does not exist" in message


def test_a_reservation_whose_queue_takes_none_says_that_it_waits_for_one_that_does(cluster: Cluster) -> None:
    spec = {
        "queue": "root.a",
        "arrival": "2026-12-01T01:00:00Z",
        "deadline": "2026-12-01T05:00:00Z",
        "expression": {
            "interpreter": "All",
            "requests": [{"demand": {"cpu": "4"}, "count": 2, "concurrency": 1, "duration": "1h"}],
        },
    }
    cluster.create("Reservation", "r", spec, namespace="ns")

    assert cluster.ready("Reservation", "r", "ns")[:2] == ("False", "NotDecided")
    cluster.plan()
    assert cluster.ready("Reservation", "r", "ns") == (
        "False",
        "QueueNotReservable",
        "spec.queue: root.a does not exist; the reservation is planned when it takes some",
    )


# -- times, and what the schema keeps


def test_a_condition_keeps_its_time_until_its_status_changes(cluster: Cluster) -> None:
    cluster.create("Queue", "root.dev.eng")
    entry = cluster.ledger.entries["Queue", "", "root.dev.eng"]
    entry.status = cluster.status("Queue", "root.dev.eng")
    assert merge_patch(entry.status, cluster.status("Queue", "root.dev.eng", now=LATER)) == {}
    cluster.create("Queue", "root.dev")
    times = {one["type"]: one["lastTransitionTime"] for one in cluster.status("Queue", "root.dev.eng", now=LATER)["conditions"]}

    assert times == {"Ready": LATER, "NotActedOn": NOW}


def test_a_message_is_cut_to_what_the_schema_takes(cluster: Cluster) -> None:
    cluster.create("Queue", "root.a", {"x" * 5000: 1})

    assert len(cluster.ready("Queue", "root.a")[2]) <= 1024


def full(cluster: Cluster) -> list[tuple[str, str, str]]:
    cluster.create("Queue", "root.a", {"capacity": {"guaranteed": "60%"}, "fair": {"minResources": {"cpu": "1"}}})
    cluster.create("Scheduler", "treadle", {"aliases": ["yunikorn"]})
    cluster.create("Application", "app", {"queue": "root.a"}, namespace="ns")
    for name in ("p", "q", "r"):
        cluster.pod(name, queue="root.a", cpu=4)
    cluster.plan()
    return [("Queue", "", "root.a"), ("Scheduler", "", "treadle"), ("Application", "ns", "app")]


def test_everything_that_is_written_is_in_the_schema_or_it_would_be_pruned_and_written_for_ever(cluster: Cluster) -> None:
    for kind, namespace, name in full(cluster):
        (version,) = crds.crd(kind)["spec"]["versions"]
        schema = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        assert pruned(cluster.status(kind, name, namespace), schema) == []


def test_what_is_written_can_be_read_back(cluster: Cluster) -> None:
    for kind, namespace, name in full(cluster):
        body = {**cluster.bodies[name], "status": cluster.status(kind, name, namespace)}
        assert parse(kind, body).status is not None


def pruned(value: Any, schema: Json, path: str = "status") -> list[str]:
    """The paths of a value that its schema does not know."""
    if isinstance(value, list):
        return [found for item in value for found in pruned(item, schema.get("items", {}), f"{path}[]")]
    if not isinstance(value, dict):
        return []
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    return [
        found
        for key, item in value.items()
        for found in (
            [f"{path}.{key}"] if key not in known and others is None else pruned(item, known.get(key, others), f"{path}.{key}")
        )
    ]


# -- the patch


scalars = st.none() | st.integers(0, 2) | st.text("ab", max_size=2) | st.lists(st.integers(0, 2), max_size=2)
trees = st.recursive(
    st.dictionaries(st.sampled_from("abc"), scalars, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), scalars | inner, max_size=3),
    max_leaves=8,
)


def apply(old: Any, patch: Any) -> Any:
    """JSON merge patch as RFC 7386 writes it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply(result.get(key), value)
    return result


def without_nulls(value: Any) -> Any:
    return {key: without_nulls(item) for key, item in value.items() if item is not None} if isinstance(value, dict) else value


@given(trees, trees)
def test_applying_the_patch_to_the_old_gives_the_new(old: Json, new: Json) -> None:
    old = without_nulls(old)

    assert apply(old, merge_patch(old, new)) == without_nulls(new)


@given(trees)
def test_there_is_nothing_to_write_when_all_is_as_it_should_be(status: Json) -> None:
    assert merge_patch(without_nulls(status), status) == {}


def test_the_patch_names_only_what_changes() -> None:
    old = {"used": {"cpu": "1", "memory": "1Gi"}, "state": "Running", "waiting": {"reason": "x"}}
    new = {"used": {"cpu": "2", "memory": "1Gi"}, "state": "Running", "waiting": None}

    assert merge_patch(old, new) == {"used": {"cpu": "2"}, "waiting": None}


# -- placement


RULES = [{"rule": "specified", "create": False}, {"rule": "user"}]


def test_queues_that_rules_made_are_listed_by_the_nearest_queue_that_has_an_object(cluster: Cluster) -> None:
    nested = {"rule": "nestedUserQueue", "parent": {"rule": "default", "create": False, "queue": "root.users"}}
    cluster.create("Scheduler", "treadle", {"placementRules": [nested, {"rule": "reject"}]})
    cluster.create("Queue", "root")
    cluster.create("Queue", "root.users", {"holdsQueues": True})
    cluster.pod("p", application="one", user="bob")
    cluster.pod("q", application="two", user="ann")
    cluster.plan()

    assert cluster.status("Queue", "root.users")["dynamicQueues"] == ["root.users.ann", "root.users.bob"]
    assert cluster.status("Queue", "root")["dynamicQueues"] is None


def test_a_rejected_application_is_not_accepted_and_says_which_rule_rejected_it(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle", {"placementRules": [{"rule": "specified", "create": False}, {"rule": "reject"}]})
    cluster.create("Application", "app", {"queue": "root.nowhere"}, namespace="ns")
    cluster.pod("p")
    cluster.plan()
    status = cluster.status("Application", "app", "ns")

    assert (status["phase"], status.get("queue")) == ("Submitted", None)
    assert condition(status, "Ready")[:2] == ("False", "PlacementRejected")
    assert condition(status, "Ready")[2].startswith("placement rule 2 (reject) rejected it")
    assert status["waiting"]["reason"] == "PlacementRejected"


def test_a_denied_application_says_who_may_not_submit_where() -> None:
    cluster = Cluster(Source.CLAIMS)
    cluster.create("Queue", "root", {"submitAcl": {}, "administerAcl": {"users": ["admin"]}})
    cluster.create("Queue", "root.a", {"submitAcl": {"users": ["ann"]}})
    cluster.create("Application", "app", {"queue": "root.a", "user": "bob"}, namespace="ns")
    cluster.pod("p")
    cluster.plan()

    assert cluster.ready("Application", "app", "ns")[:2] == ("False", "AccessDenied")
    assert cluster.status("Application", "app", "ns")["user"] == "bob"


def test_an_application_whose_user_is_not_believed_says_so(cluster: Cluster) -> None:
    cluster.create("Application", "app", {"user": "bob"}, namespace="ns")
    cluster.pod("p")
    cluster.plan()
    status = cluster.status("Application", "app", "ns")
    assert status["user"] == "ns"
    assert condition(status, "NotActedOn") == ("True", "FieldsNotActedOn", "accepted but not acted on yet: spec.user")


def test_an_invalid_list_of_rules_leaves_the_last_good_settings_in_force(cluster: Cluster) -> None:
    cluster.create("Scheduler", "treadle", {"placementRules": RULES})
    cluster.edit("treadle", {"placementRules": [{"rule": "user"}, {"rule": "specified"}], "nodes": {"scoring": "Spread"}})
    status, reason, message = cluster.ready("Scheduler", "treadle")
    cluster.pod("p", user="ann")
    cluster.plan()

    assert (status, reason) == ("False", "LastGoodInForce")
    assert message.startswith("spec.placementRules[0]: the rule 'user' takes every application")
    assert cluster.core.state.scheduler.scoring == "Pack"
    assert cluster.core.state.applications["ns/app"].chain[0].path == "root.ann"

    cluster.edit("treadle", {"placementRules": RULES})
    assert cluster.ready("Scheduler", "treadle")[:2] == ("True", "InForce")


def test_room_that_is_held_for_a_queue_is_shown_as_reserved_until_it_is_used(cluster: Cluster) -> None:
    settings = FairSettings(preemption=True, fair_share_timeout=0.0, fair_share_threshold=1.0)
    cluster.core.handle(SchedulerSeen(SchedulerSpec(fair=settings)), 0.0)
    cluster.create("Queue", "root")
    cluster.create("Queue", "root.a")
    cluster.create("Queue", "root.b")
    for number in range(5):
        cluster.pod(f"a-{number}", queue="root.a", cpu=2, memory=20)
    cluster.plan()
    assert cluster.status("Queue", "root.b")["reserved"] is None

    cluster.pod("b-0", queue="root.b", application="b", cpu=2, memory=20)
    evictions = [effect for at in (2.0, 3.0, 4.0) for effect in cluster.core.plan(at) if isinstance(effect, Evict)]
    assert len(evictions) == 1
    assert cluster.status("Queue", "root.b")["reserved"] == {"cpu": "2", "memory": "20Gi", "pods": "1"}
    assert cluster.status("Queue", "root")["reserved"] == {"cpu": "2", "memory": "20Gi", "pods": "1"}

    cluster.core.handle(PodGone(evictions[0].uid), 5.0)
    cluster.core.plan(5.0)
    assert cluster.status("Queue", "root.b")["reserved"] is None


# -- the capacity discipline


def under_capacity(cluster: Cluster, **nodes: Any) -> None:
    cluster.create("Scheduler", "treadle", {"discipline": "Capacity", **({"nodes": nodes} if nodes else {})})


def test_a_discipline_that_the_queues_do_not_allow_is_a_condition_of_the_scheduler(cluster: Cluster) -> None:
    under_capacity(cluster)
    cluster.create("Queue", "root.a", {"capacity": {"guaranteed": "50%"}})
    cluster.create("Queue", "root.b")
    cluster.plan()
    status, reason, message = cluster.ready("Scheduler", "treadle")

    assert (status, reason) == ("False", "DisciplineRefused")
    assert message.startswith("spec.discipline: Capacity cannot be in force: root.b: spec.capacity is missing")
    assert cluster.status("Scheduler", "treadle")["discipline"] == "Fair"

    cluster.edit("root.b", {"capacity": {"guaranteed": "50%"}})
    cluster.plan()
    assert cluster.ready("Scheduler", "treadle")[:2] == ("True", "InForce")
    assert cluster.status("Scheduler", "treadle")["discipline"] == "Capacity"


def test_capacities_that_do_not_go_together_leave_the_last_good_set_in_force(cluster: Cluster) -> None:
    under_capacity(cluster)
    cluster.create("Queue", "root.a", {"capacity": {"guaranteed": "50%"}})
    cluster.create("Queue", "root.b", {"capacity": {"guaranteed": "50%"}})
    cluster.plan()
    cluster.edit("root.a", {"capacity": {"guaranteed": "60%"}})
    cluster.plan()
    status, reason, message = cluster.ready("Queue", "root.a")

    assert (status, reason) == ("False", "LastGoodInForce")
    assert "the children's sum is 110%" in message
    assert cluster.ready("Queue", "root.b")[0] == "True"
    assert cluster.status("Queue", "root.a")["guaranteed"]["cpu"] == "5"


@pytest.mark.parametrize(
    ("part", "text"), [(1.5, "150.0%"), (999_999.0, "99999900.0%"), (1e6, "over 100000000%"), (3e38, "over 100000000%")]
)
def test_a_part_of_next_to_nothing_stays_a_status_that_the_api_server_takes(part: float, text: str) -> None:
    assert percentage(part) == text


def test_the_numbers_of_a_queue_are_those_of_its_capacity_and_of_each_partition(cluster: Cluster) -> None:
    under_capacity(cluster, partitions=[{"name": "gpu"}])
    gpu = {"partitions": {"gpu": {"guaranteed": "100%"}}}
    cluster.create("Queue", "root.a", {"capacity": {"guaranteed": "40%", "maximum": "80%", "userLimitFactor": "-1", **gpu}})
    cluster.create("Queue", "root.b", {"capacity": {"guaranteed": "60%"}})
    cluster.core.handle(NodeSeen(a_node("g", cpu=4, memory=40, labels={"treadle.dev/partition": "gpu"})), 0.0)
    for name in "xy":
        cluster.pod(name, queue="root.a", cpu=3, memory=8)
    cluster.pod("z", queue="root.a", application="other", cpu=1, memory=1, partition="gpu")
    cluster.plan()
    cluster.plan()
    status = cluster.status("Queue", "root.a")

    assert (status["guaranteed"]["cpu"], status["maximum"]["cpu"]) == ("4", "8")
    assert (status["used"]["cpu"], status["usedCapacity"]) == ("7", "150.0%")
    assert status["partitions"]["gpu"]["used"] == {"cpu": "1", "memory": "1Gi", "pods": "1"}
    assert status["partitions"]["gpu"]["guaranteed"]["cpu"] == "4"
    assert (status["fairShare"], status["steadyFairShare"]) == (None, None)


def test_an_application_shows_what_its_user_may_expect_to_get_more(cluster: Cluster) -> None:
    under_capacity(cluster)
    cluster.create("Queue", "root.a", {"capacity": {"guaranteed": "100%", "userLimitFactor": "1"}})
    cluster.create("Application", "app", {"queue": "root.a"}, namespace="ns")
    cluster.pod("x", cpu=3, memory=8)
    cluster.plan()

    assert cluster.status("Application", "app", "ns")["headroom"] == {"cpu": "7", "memory": "92Gi"}
