"""What a client may rely on, asserted alike on the embedded API server and on a real one, so that the embedded one stays honest."""

from __future__ import annotations

import pytest

from cluster.api_server import JSON, MERGE, STRATEGIC, Server, budget, evict, running

QUEUES = "/apis/treadle.dev/v1alpha1/queues"
END = {"k8s.io/initial-events-end": "true"}


# -- create and get


async def test_a_created_object_comes_back_completed(server: Server) -> None:
    pod = await server.pod("a")
    assert pod["metadata"]["uid"]
    assert int(pod["metadata"]["resourceVersion"]) > 0
    assert pod["metadata"]["creationTimestamp"].endswith("Z")
    assert (pod["metadata"]["generation"], pod["metadata"]["namespace"]) == (1, server.namespace)
    assert (pod["status"]["phase"], pod["spec"]["schedulerName"], pod["spec"]["priority"]) == ("Pending", "default-scheduler", 0)
    assert await server.get("a") == pod


async def test_a_second_object_of_the_same_name_is_a_conflict(server: Server) -> None:
    await server.pod("a")
    status, answer = await server.call(
        "POST", server.pods, {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    assert (status, answer["reason"], answer["message"]) == (409, "AlreadyExists", 'pods "a" already exists')


async def test_a_name_is_generated_from_its_prefix(server: Server) -> None:
    body = {"metadata": {"generateName": "run-"}, "data": {}}
    path = f"/api/v1/namespaces/{server.namespace}/configmaps"
    names = {(await server.ok("POST", path, body))["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("run-") and len(name) == 9 for name in names)


@pytest.mark.parametrize(
    ("namespace", "metadata", "code", "reason"),
    [
        ("nowhere", {"name": "a"}, 404, "NotFound"),
        ("default", {}, 422, "Invalid"),
        ("default", {"name": "Not_A_Name"}, 422, "Invalid"),
        ("default", {"name": "a", "labels": {"x": "y" * 64}}, 422, "Invalid"),
        ("default", {"name": "a", "namespace": "other"}, 400, "BadRequest"),
    ],
)
async def test_what_cannot_be_created_is_refused(server: Server, namespace: str, metadata: dict, code: int, reason: str) -> None:
    body = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    status, answer = await server.call("POST", f"/api/v1/namespaces/{namespace}/pods", body)
    assert (status, answer["kind"], answer["reason"], answer["code"]) == (code, "Status", reason, code)


async def test_requests_default_to_limits(server: Server) -> None:
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    pod = await server.pod("a", containers=[{"name": "c", "image": "i", "resources": resources}])
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


async def test_a_priority_class_gives_the_priority_and_an_unknown_one_is_forbidden(server: Server) -> None:
    name = f"{server.namespace}-high"
    await server.ok("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": 1000})
    assert (await server.pod("a", priorityClassName=name))["spec"]["priority"] == 1000
    body = {"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "image": "i"}], "priorityClassName": "unknown"}}
    status, answer = await server.call("POST", server.pods, body)
    assert (status, answer["reason"]) == (403, "Forbidden")


async def test_a_dry_run_stores_nothing(server: Server) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await server.ok("POST", server.pods, body, dryRun="All")
    assert (await server.call("GET", f"{server.pods}/a"))[0] == 404


async def test_what_is_not_there_is_not_found(server: Server) -> None:
    status, answer = await server.call("GET", f"{server.pods}/missing")
    assert (status, answer["reason"], answer["message"]) == (404, "NotFound", 'pods "missing" not found')
    assert (await server.call("GET", "/apis/nothing.example/v1/things"))[0] == 404


# -- lists


async def test_a_list_comes_in_pages_of_one_version(server: Server) -> None:
    for name in "abcde":
        await server.pod(name)
    names, versions, token = [], set(), ""
    while True:
        page = await server.ok("GET", server.pods, limit="2", **({"continue": token} if token else {}))
        names.append([item["metadata"]["name"] for item in page["items"]])
        versions.add(page["metadata"]["resourceVersion"])
        token = page["metadata"].get("continue", "")
        if not token:
            break
        await server.pod(f"a{len(names)}")  # a write between the pages does not move the version
    assert names[0] == ["a", "b"]
    assert names[-1][-1] == "e"
    assert len(versions) == 1


async def test_labels_and_fields_select(server: Server) -> None:
    await server.pod("a", labels={"app": "x", "tier": "1"})
    await server.pod("b", labels={"app": "y", "tier": "2"}, schedulerName="treadle")
    await server.pod("c", labels={"other": "z"})
    await server.bind("b", "n1")

    async def names(**params: str) -> str:
        return "".join(item["metadata"]["name"] for item in (await server.ok("GET", server.pods, **params))["items"])

    by_label = {
        "app=x": "a",
        "app==x": "a",
        "app!=x": "bc",
        "app in (x, y),tier notin (1)": "b",
        "!app": "c",
        "app": "ab",
        "tier=2,app": "b",
    }
    for selector, wanted in by_label.items():
        assert await names(labelSelector=selector) == wanted, selector
    by_field = {
        "metadata.name=c": "c",
        "spec.nodeName=": "ac",
        "spec.nodeName=n1": "b",
        "spec.nodeName!=": "b",
        "spec.schedulerName=treadle": "b",
        "status.phase!=Succeeded,status.phase!=Failed": "abc",
        "status.phase=Running": "",
    }
    for selector, wanted in by_field.items():
        assert await names(fieldSelector=selector) == wanted, selector
    assert await names(fieldSelector="spec.nodeName=", labelSelector="app") == "a"


@pytest.mark.parametrize("params", [{"fieldSelector": "spec.nonsense=1"}, {"labelSelector": "a in (b"}])
async def test_a_selector_that_cannot_be_read_is_a_bad_request(server: Server, params: dict) -> None:
    status, answer = await server.call("GET", server.pods, **params)
    assert (status, answer["reason"]) == (400, "BadRequest")


# -- watches


async def test_a_watch_tells_what_came_after_its_version(server: Server) -> None:
    await server.pod("before")
    version = await server.version()
    await server.pod("a")
    await server.bind("a")
    async with server.watch(resourceVersion=version) as watch:
        assert await watch.take(2) == [("ADDED", "a"), ("MODIFIED", "a")]
        await server.pod("b")
        await server.ok("DELETE", f"{server.pods}/b")
        assert await watch.take(3) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")]


async def test_versions_of_events_rise(server: Server) -> None:
    version = await server.version()
    for name in "abc":
        await server.pod(name)
    async with server.watch(resourceVersion=version) as watch:
        versions = [int((await watch.next())["object"]["metadata"]["resourceVersion"]) for _ in range(3)]
    assert versions == sorted(set(versions))
    assert versions[0] > int(version)


async def test_a_watch_from_no_version_begins_with_what_is_there(server: Server) -> None:
    await server.pod("a")
    await server.pod("b")
    for version in ({}, {"resourceVersion": "0"}):
        async with server.watch(**version) as watch:
            assert sorted(await watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_ends_cleanly_when_its_time_is_up(server: Server) -> None:
    async with server.watch(resourceVersion=await server.version(), timeoutSeconds="1") as watch:
        assert await watch.ended()


async def test_a_bookmark_tells_a_watch_how_far_it_is_though_nothing_was_for_it(server: Server) -> None:
    params = {"allowWatchBookmarks": "true", "timeoutSeconds": "6", "labelSelector": "app=x"}
    async with server.watch(resourceVersion=await server.version(), **params) as watch:
        pod = await server.pod("a")
        event = await watch.next()
    assert event["type"] == "BOOKMARK"
    assert (event["object"]["kind"], event["object"]["spec"]) == ("Pod", {"containers": None})
    assert int(event["object"]["metadata"]["resourceVersion"]) >= int(pod["metadata"]["resourceVersion"])


async def test_a_streaming_list_ends_with_an_annotated_bookmark_and_goes_on_as_a_watch(server: Server) -> None:
    await server.pod("b")
    await server.pod("a")
    params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with server.watch(**params) as watch:
        assert await watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        end = await watch.next()
        assert (end["type"], end["object"]["metadata"]["annotations"]) == ("BOOKMARK", END)
        assert int(end["object"]["metadata"]["resourceVersion"]) >= int((await server.get("a"))["metadata"]["resourceVersion"])
        await server.pod("c")
        event = await watch.next()
        while event["type"] == "BOOKMARK":
            event = await watch.next()
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "c")


async def test_a_streaming_list_needs_its_match_parameter(server: Server) -> None:
    status, answer = await server.call("GET", server.pods, watch="1", sendInitialEvents="true", allowWatchBookmarks="true")
    assert (status, answer["reason"]) == (422, "Invalid")


async def test_a_version_too_old_is_an_event_and_not_a_status_code(server: Server) -> None:
    async with server.watch(QUEUES, resourceVersion="1") as watch:
        event = await watch.next()
        assert (event["type"], event["object"]["kind"], event["object"]["reason"]) == ("ERROR", "Status", "Expired")
        assert event["object"]["code"] == 410
        assert await watch.ended()


async def test_a_pod_that_finishes_leaves_the_selection_with_its_old_state_and_the_new_version(server: Server) -> None:
    await server.pod("a")
    version = await server.version()
    async with server.watch(resourceVersion=version, fieldSelector="status.phase!=Succeeded,status.phase!=Failed") as watch:
        done = await server.set_status(f"{server.pods}/a", {"phase": "Succeeded"})
        event = await watch.next()
    assert event["type"] == "DELETED"
    assert event["object"]["status"]["phase"] == "Pending"
    assert event["object"]["metadata"]["resourceVersion"] == done["metadata"]["resourceVersion"]


async def test_a_change_of_labels_enters_and_leaves_a_selection(server: Server) -> None:
    await server.pod("a")
    async with server.watch(resourceVersion=await server.version(), labelSelector="app=x") as watch:
        for value in ("x", "y"):
            await server.ok("PATCH", f"{server.pods}/a", {"metadata": {"labels": {"app": value}}}, MERGE)
        assert await watch.take(2) == [("ADDED", "a"), ("DELETED", "a")]


# -- bind


async def test_a_bind_places_the_pod_and_merges_annotations_and_labels(server: Server) -> None:
    before = await server.pod("a", annotations={"keep": "1", "change": "1"}, labels={"app": "x"})
    status, answer = await server.bind(
        "a", "n1", annotations={"change": "2", "new": "3"}, labels={"queue": "q"}, uid=before["metadata"]["uid"]
    )
    assert (status, answer["kind"], answer["status"]) == (201, "Status", "Success")
    pod = await server.get("a")
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["metadata"]["annotations"] == {"keep": "1", "change": "2", "new": "3"}
    assert pod["metadata"]["labels"] == {"app": "x", "queue": "q"}
    assert pod["metadata"]["generation"] == before["metadata"]["generation"]
    assert [(item["type"], item["status"]) for item in pod["status"]["conditions"]] == [("PodScheduled", "True")]


@pytest.mark.parametrize("node", ["n1", "n2"])
async def test_a_second_bind_is_a_conflict_even_to_the_same_node(server: Server, node: str) -> None:
    await server.pod("a")
    await server.bind("a", "n1")
    status, answer = await server.bind("a", node)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert 'pod a is already assigned to node "n1"' in answer["message"]


async def test_a_bind_with_another_uid_is_a_conflict(server: Server) -> None:
    await server.pod("a")
    status, answer = await server.bind("a", uid="11111111-2222-3333-4444-555555555555")
    assert status == 409
    assert "Precondition failed: UID in precondition: 11111111-2222-3333-4444-555555555555" in answer["message"]
    assert "nodeName" not in (await server.get("a"))["spec"]


async def test_a_gated_pod_says_so_and_cannot_be_bound_until_its_gates_are_gone(server: Server) -> None:
    pod = await server.pod("a", schedulingGates=[{"name": "example.com/wait"}])
    assert [(item["status"], item["reason"]) for item in pod["status"]["conditions"]] == [("False", "SchedulingGated")]
    status, answer = await server.bind("a")
    assert status == 409
    assert "pod a has non-empty .spec.schedulingGates" in answer["message"]
    await server.ok("PATCH", f"{server.pods}/a", {"spec": {"schedulingGates": None}}, MERGE)
    assert (await server.bind("a"))[0] == 201


async def test_a_pod_being_deleted_cannot_be_bound(server: Server) -> None:
    await server.pod("a")
    await server.ok("PATCH", f"{server.pods}/a", {"metadata": {"finalizers": ["example.com/hold"]}}, MERGE)
    await server.ok("DELETE", f"{server.pods}/a")
    status, answer = await server.bind("a")
    assert status == 409
    assert "pod a is being deleted, cannot be assigned to a host" in answer["message"]


async def test_binds_that_make_no_sense_are_refused(server: Server) -> None:
    await server.pod("a")
    assert (await server.bind("missing"))[0] == 404
    assert (await server.bind("a", ""))[0] == 500
    body = {"metadata": {"name": "b"}, "target": {"kind": "Node", "name": "n1"}}
    assert (await server.call("POST", f"{server.pods}/a/binding", body))[0] == 400


async def test_a_bind_to_a_node_that_is_not_there_is_accepted(server: Server) -> None:
    await server.pod("a")
    assert (await server.bind("a", "nowhere"))[0] == 201


# -- change


async def test_spec_and_status_are_written_apart(server: Server) -> None:
    await server.pod("a")
    await server.ok("PATCH", f"{server.pods}/a", {"status": {"message": "lost"}, "metadata": {"labels": {"x": "1"}}}, MERGE)
    body = {"status": {"message": "kept"}, "spec": {"activeDeadlineSeconds": 5}}
    await server.ok("PATCH", f"{server.pods}/a/status", body, MERGE)
    pod = await server.get("a")
    assert (pod["status"]["message"], pod["metadata"]["labels"]) == ("kept", {"x": "1"})
    assert "activeDeadlineSeconds" not in pod["spec"]
    assert pod["metadata"]["generation"] == 1


async def test_a_put_with_an_old_version_is_a_conflict(server: Server) -> None:
    pod = await server.pod("a")
    await server.ok("PATCH", f"{server.pods}/a", {"metadata": {"labels": {"x": "1"}}}, MERGE)
    status, answer = await server.call("PUT", f"{server.pods}/a", pod)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert "the object has been modified" in answer["message"]
    fresh = await server.get("a")
    fresh["metadata"]["labels"] = {"x": "2"}
    assert (await server.ok("PUT", f"{server.pods}/a", fresh))["metadata"]["labels"] == {"x": "2"}


async def test_a_write_that_changes_nothing_keeps_the_version(server: Server) -> None:
    pod = await server.pod("a", labels={"x": "1"})
    again = await server.ok("PATCH", f"{server.pods}/a", {"metadata": {"labels": {"x": "1"}}}, MERGE)
    assert again["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]


async def test_a_lease_must_be_updated_from_a_known_version(server: Server) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{server.namespace}/leases"
    body = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a", "renewTime": "2026-01-01T00:00:00.000000Z"}}
    lease = await server.ok("POST", leases, body)
    status, answer = await server.call("PUT", f"{leases}/leader", body)
    assert (status, answer["reason"]) == (422, "Invalid")
    lease["spec"]["holderIdentity"] = "b"
    await server.ok("PUT", f"{leases}/leader", lease)
    assert (await server.call("PUT", f"{leases}/leader", lease))[0] == 409


async def test_a_merge_patch_merges_objects_replaces_lists_and_removes_nulls(server: Server) -> None:
    await server.pod("a", labels={"x": "1", "y": "2"})
    await server.set_status(
        f"{server.pods}/a", {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}
    )
    await server.set_status(f"{server.pods}/a", {"conditions": [{"type": "C", "status": "True"}]})
    await server.ok("PATCH", f"{server.pods}/a", {"metadata": {"labels": {"x": None, "z": "3"}}}, MERGE)
    pod = await server.get("a")
    assert pod["metadata"]["labels"] == {"y": "2", "z": "3"}
    assert [item["type"] for item in pod["status"]["conditions"]] == ["C"]


async def test_a_strategic_patch_merges_conditions_by_type(server: Server) -> None:
    await server.pod("a")
    for kind, reason in (("A", "one"), ("B", "two"), ("A", "three")):
        body = {"status": {"conditions": [{"type": kind, "status": "True", "reason": reason}]}}
        await server.ok("PATCH", f"{server.pods}/a/status", body, STRATEGIC)
    conditions = (await server.get("a"))["status"]["conditions"]
    assert sorted((item["type"], item["reason"]) for item in conditions) == [("A", "three"), ("B", "two")]
    await server.ok(
        "PATCH", f"{server.pods}/a/status", {"status": {"conditions": [{"type": "A", "$patch": "delete"}]}}, STRATEGIC
    )
    assert [item["type"] for item in (await server.get("a"))["status"]["conditions"]] == ["B"]


async def test_a_strategic_patch_merges_the_taints_of_a_node_by_key(server: Server) -> None:
    name = f"{server.namespace}-node"
    await server.ok(
        "POST", "/api/v1/nodes", {"metadata": {"name": name}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    )
    body = {
        "spec": {
            "unschedulable": True,
            "taints": [{"key": "b", "effect": "NoExecute"}, {"key": "a", "effect": "PreferNoSchedule"}],
        }
    }
    node = await server.ok("PATCH", f"/api/v1/nodes/{name}", body, STRATEGIC)
    assert sorted((taint["key"], taint["effect"]) for taint in node["spec"]["taints"]) == [
        ("a", "PreferNoSchedule"),
        ("b", "NoExecute"),
    ]
    assert node["spec"]["unschedulable"] is True
    await server.ok("DELETE", f"/api/v1/nodes/{name}")


async def test_a_json_patch_may_test_the_version_before_it_writes(server: Server) -> None:
    pod = await server.pod("a", labels={"x": "1"})
    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": pod["metadata"]["resourceVersion"]},
        {"op": "add", "path": "/metadata/labels/example.com~1y", "value": "2"},
        {"op": "replace", "path": "/metadata/labels/x", "value": "3"},
        {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]
    changed = await server.ok("PATCH", f"{server.pods}/a", operations, JSON)
    assert changed["metadata"]["labels"] == {"x": "3", "example.com/y": "2"}
    assert changed["metadata"]["finalizers"] == ["example.com/b"]
    assert (await server.call("PATCH", f"{server.pods}/a", operations, JSON))[0] == 422
    assert (await server.call("PATCH", f"{server.pods}/a", [{"op": "remove", "path": "/metadata/labels/none"}], JSON))[0] == 422


async def test_a_patch_of_the_uid_is_invalid(server: Server) -> None:
    await server.pod("a")
    body = {"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}, "status": {"message": "m"}}
    status, answer = await server.call("PATCH", f"{server.pods}/a/status", body, MERGE)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert "metadata.uid" in answer["message"]


async def test_the_size_of_a_pod_is_changed_by_resize_only(server: Server) -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}}
    await server.pod("a", containers=[{"name": "main", "image": "none", "resources": resources}])
    body = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
    assert (await server.call("PATCH", f"{server.pods}/a", body, STRATEGIC))[0] == 422
    pod = await server.ok("PATCH", f"{server.pods}/a/resize", body, STRATEGIC)
    assert pod["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}
    assert pod["metadata"]["generation"] == 2


async def test_a_pod_cannot_be_moved_by_an_update(server: Server) -> None:
    await server.pod("a")
    status, answer = await server.call("PATCH", f"{server.pods}/a", {"spec": {"nodeName": "n1"}}, MERGE)
    assert (status, answer["reason"]) == (422, "Invalid")


# -- our own kinds


async def queue(server: Server, **spec: object) -> dict:
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": f"root.{server.namespace}"}, "spec": spec}
    return await server.ok("POST", QUEUES, body)


async def test_a_custom_object_gets_the_defaults_of_its_schema(server: Server) -> None:
    made = await queue(server)
    assert made["spec"] == {"state": "Running", "fair": {"weight": "1", "schedulingPolicy": "drf"}}


@pytest.mark.parametrize(
    ("name", "spec", "word"),
    [
        ("root.a", {"fair": {"weight": "-1"}}, "spec.fair.weight"),
        ("root.a", {"fair": {"schedulingPolicy": "of chance"}}, "spec.fair.schedulingPolicy"),
        ("elsewhere.a", {}, "root"),
    ],
)
async def test_a_custom_object_that_makes_no_sense_is_refused_with_the_field(
    server: Server, name: str, spec: dict, word: str
) -> None:
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    status, answer = await server.call("POST", QUEUES, body)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert word in answer["message"]


async def test_the_status_of_a_custom_object_is_written_apart_and_does_not_count_as_a_change_of_it(server: Server) -> None:
    made = await queue(server)
    path = f"{QUEUES}/{made['metadata']['name']}"
    body = {"status": {"state": "Running"}, "spec": {"state": "Stopped"}, "metadata": {"labels": {"x": "1"}}}
    after = await server.ok("PATCH", f"{path}/status", body, MERGE)
    assert (after["status"]["state"], after["spec"], after["metadata"]["generation"]) == ("Running", made["spec"], 1)
    assert "labels" not in after["metadata"]
    after = await server.ok("PATCH", path, {"status": {"state": "Draining"}, "spec": {"state": "Stopped"}}, MERGE)
    assert (after["status"]["state"], after["spec"]["state"], after["metadata"]["generation"]) == ("Running", "Stopped", 2)
    assert (await server.call("PATCH", path, {"spec": {}}, STRATEGIC))[0] == 415
    await server.ok("DELETE", path)


async def test_a_custom_object_is_updated_from_a_known_version_only(server: Server) -> None:
    made = await queue(server)
    del made["metadata"]["resourceVersion"]
    status, answer = await server.call("PUT", f"{QUEUES}/{made['metadata']['name']}", made)
    assert (status, answer["reason"]) == (422, "Invalid")


# -- delete and evict


async def test_an_unbound_pod_goes_at_once(server: Server) -> None:
    await server.pod("a")
    await server.ok("DELETE", f"{server.pods}/a")
    assert (await server.call("GET", f"{server.pods}/a"))[0] == 404


async def test_a_bound_pod_is_deleted_with_grace_and_goes_when_that_is_cut_short(server: Server) -> None:
    await server.pod("a", terminationGracePeriodSeconds=7)
    await server.bind("a")
    answer = await server.ok("DELETE", f"{server.pods}/a")
    assert answer["kind"] == "Pod"
    pod = await server.get("a")
    assert pod["metadata"]["deletionTimestamp"]
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 7
    await server.ok("DELETE", f"{server.pods}/a", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
    assert (await server.call("GET", f"{server.pods}/a"))[0] == 404


async def test_a_deletion_of_another_uid_is_a_conflict(server: Server) -> None:
    pod = await server.pod("a")
    for uid, code in (("11111111-2222-3333-4444-555555555555", 409), (pod["metadata"]["uid"], 200)):
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        assert (await server.call("DELETE", f"{server.pods}/a", options))[0] == code


async def test_a_finalizer_holds_an_object_until_it_is_taken_off(server: Server) -> None:
    path = f"/api/v1/namespaces/{server.namespace}/configmaps"
    await server.ok("POST", path, {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
    held = await server.ok("DELETE", f"{path}/a")
    assert held["metadata"]["deletionTimestamp"]
    await server.ok("PATCH", f"{path}/a", {"metadata": {"finalizers": None}}, MERGE)
    assert (await server.call("GET", f"{path}/a"))[0] == 404


async def test_an_evicted_pod_is_deleted_with_a_condition_that_says_why(server: Server) -> None:
    await running(server, "a", {})
    status, answer = await evict(server, "a", gracePeriodSeconds=3)
    assert (status, answer["status"]) == (201, "Success")
    pod = await server.get("a")
    assert (bool(pod["metadata"]["deletionTimestamp"]), pod["metadata"]["deletionGracePeriodSeconds"]) == (True, 3)
    assert ("DisruptionTarget", "EvictionByEvictionAPI") in [
        (item["type"], item.get("reason")) for item in pod["status"]["conditions"]
    ]


async def test_a_disruption_budget_stops_an_eviction_and_says_so_in_its_causes(server: Server) -> None:
    await running(server, "a", {"app": "x"})
    await budget(server, 0)
    status, answer = await evict(server, "a")
    assert (status, answer["reason"]) == (429, "TooManyRequests")
    cause = {"reason": "DisruptionBudget", "message": "The disruption budget pdb needs 2 healthy pods and has 2 currently"}
    assert answer["details"]["causes"] == [cause]
    assert "deletionTimestamp" not in (await server.get("a"))["metadata"]


async def test_a_disruption_budget_that_was_not_looked_at_yet_asks_to_wait(server: Server) -> None:
    await running(server, "a", {"app": "x"})
    await budget(server, 5, observed=0)
    status, answer = await evict(server, "a")
    assert status == 429
    assert "still being processed" in answer["details"]["causes"][0]["message"]


async def test_an_eviction_is_charged_to_the_budget(server: Server) -> None:
    await running(server, "a", {"app": "x"})
    await running(server, "b", {"app": "x"})
    path = await budget(server, 1)
    assert (await evict(server, "a"))[0] == 201
    assert (await server.ok("GET", path))["status"]["disruptionsAllowed"] == 0
    assert (await evict(server, "b"))[0] == 429


async def test_an_unbound_pod_is_evicted_whatever_the_budget(server: Server) -> None:
    await server.pod("a", labels={"app": "x"})
    await budget(server, 0)
    assert (await evict(server, "a"))[0] == 201
    assert (await server.call("GET", f"{server.pods}/a"))[0] == 404


async def test_an_eviction_of_another_uid_is_a_conflict(server: Server) -> None:
    await running(server, "a", {})
    status, _ = await evict(server, "a", preconditions={"uid": "11111111-2222-3333-4444-555555555555"})
    assert status == 409
