"""A new version of our kinds comes and goes while a scheduler works, by the steps of docs/upgrade.md."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod, queue

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = "v1alpha1", "v1beta1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS = ("schedulers", "queues", "applications", "reservations")
MERGE = "application/merge-patch+json"
MIGRATIONS = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "upgrade.md").read_text(), re.DOTALL)[1]
"""Those that docs/upgrade.md has people apply."""


def versions(plane: ControlPlane, stored: str, *, served: tuple[str, ...] = (OLD, NEW)) -> None:
    """Give our kinds these versions, the new one with the schema of the old one."""
    for path in sorted((ROOT / "crds").glob("*.yaml")):
        made: dict[str, Any] = yaml.safe_load(path.read_text())
        if made["spec"]["names"]["plural"] not in PLURALS:
            continue
        (old,) = made["spec"]["versions"]
        assert old["name"] == OLD
        made["spec"]["versions"] = [{**copy.deepcopy(old), "name": name, "storage": name == stored} for name in served]
        made["spec"]["conversion"] = {"strategy": "None"}
        there = f"{DEFINITIONS}/{made['metadata']['name']}"
        made["metadata"]["resourceVersion"] = plane.api("GET", there)[1]["metadata"]["resourceVersion"]
        status, answer = plane.api("PUT", there, made)
        assert status == 200, answer
    for plural in PLURALS:
        for name in served:
            eventually(
                lambda at=f"/apis/treadle.dev/{name}/{plural}": plane.api("GET", at)[0] == 200, 60, f"{plural} {name} served"
            )


def stored_versions(plane: ControlPlane) -> set[tuple[str, ...]]:
    return {tuple(plane.api("GET", f"{DEFINITIONS}/{plural}.treadle.dev")[1]["status"]["storedVersions"]) for plural in PLURALS}


def listed(plane: ControlPlane, version: str, plural: str) -> list[dict[str, Any]]:
    """All objects of a kind. For a moment after an edit of its definition the API server may not list it."""
    found = eventually(lambda: (said := plane.api("GET", f"/apis/treadle.dev/{version}/{plural}"))[0] == 200 and said[1], 60)
    return list(found["items"])


def migrate(plane: ControlPlane, to: str) -> None:
    """Write every object as it is, so that it is stored anew, and say that no other version is stored."""
    for plural in PLURALS:
        for one in listed(plane, to, plural):
            space = one["metadata"].get("namespace")
            where = f"/apis/treadle.dev/{to}{f'/namespaces/{space}' if space else ''}/{plural}/{one['metadata']['name']}"

            def written(where: str = where) -> bool:
                found = plane.api("GET", where)[1]
                return plane.api("PUT", where, found)[0] == 200  # a conflict: somebody wrote its status meanwhile

            eventually(written, 30, f"{where} written")
        status, answer = plane.api(
            "PATCH", f"{DEFINITIONS}/{plural}.treadle.dev/status", {"status": {"storedVersions": [to]}}, content_type=MERGE
        )
        assert status == 200, answer


def specs(plane: ControlPlane, version: str) -> dict[tuple[str, str], Any]:
    """The uid, the spec and the annotations of every object of ours, as a version shows them."""
    found = {}
    for plural in PLURALS:
        for one in listed(plane, version, plural):
            meta = one["metadata"]
            found[plural, meta["name"]] = (meta["uid"], one.get("spec"), meta.get("annotations"))
    return found


def test_a_version_comes_is_stored_and_goes_back_while_pods_are_placed_and_nothing_is_lost(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(4, "8", "16Gi")
    plane = cluster.plane
    cluster.queues(queue("root.etl", weight="2", maxResources={"cpu": "20"}), queue("root.lab", weight="1"))
    application = {
        "apiVersion": f"treadle.dev/{OLD}",
        "kind": "Application",
        "metadata": {"name": "nightly", "annotations": {"team": "etl"}},
        "spec": {"queue": "root.etl", "priority": 3},
    }
    assert plane.api("POST", f"/apis/treadle.dev/{OLD}/namespaces/default/applications", application)[0] == 201
    before = specs(plane, OLD)
    counted = iter(range(100))

    def place(what: str) -> None:
        """Queues are acted on: one that is new takes a pod, and its status says so."""
        number = next(counted)
        cluster.queues(queue(f"root.made-{number}", weight="1"))
        cluster.pods(
            [pod(f"p{number}-{one}", name, f"app-{number}") for one, name in enumerate(("root.etl", f"root.made-{number}"))]
        )
        cluster.wait_bound(2 * (number + 1), 60)
        eventually(
            lambda: cluster.condition("queues", f"root.made-{number}", "Ready").get("status") == "True",
            30,
            f"told of while {what}",
        )

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        place("there is one version")

        versions(plane, OLD)
        place("both are served")
        ours = {key: one for key, one in specs(plane, NEW).items() if "made-" not in key[1]}
        assert ours == before, "an object is the same by both"

        versions(plane, NEW)
        assert stored_versions(plane) == {(OLD, NEW)}
        place("the new one is stored")
        migrate(plane, NEW)
        assert stored_versions(plane) == {(NEW,)}
        place("all are stored by the new one")

        treadle.terminate()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        place("a scheduler has started that reads the old one")
        assert {key: one for key, one in specs(plane, OLD).items() if "made-" not in key[1]} == before

        versions(plane, OLD)
        migrate(plane, OLD)
        versions(plane, OLD, served=(OLD,))
        eventually(lambda: plane.api("GET", f"/apis/treadle.dev/{NEW}/queues")[0] == 404, 30, "the new one gone")
        place("it was taken back")
        assert {key: one for key, one in specs(plane, OLD).items() if "made-" not in key[1]} == before
        assert treadle.ready() is not None


def test_a_version_that_is_still_stored_cannot_be_taken_away(fresh_cluster: Callable[..., Cluster]) -> None:
    plane = fresh_cluster(1).plane
    versions(plane, NEW)
    made = plane.api("GET", f"{DEFINITIONS}/queues.treadle.dev")[1]
    made["spec"]["versions"] = [one for one in made["spec"]["versions"] if one["name"] == NEW]
    status, answer = plane.api("PUT", f"{DEFINITIONS}/queues.treadle.dev", made)
    assert status == 422
    assert "status.storedVersions[0]" in answer["message"], answer


def test_a_storage_version_migration_writes_every_object_and_leaves_the_list_of_stored_versions_to_us(
    fresh_control_plane: Callable[..., ControlPlane],
) -> None:
    group, gate = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations", "--feature-gates=StorageVersionMigrator=true"
    plane = fresh_control_plane(arguments=["--runtime-config=storagemigration.k8s.io/v1beta1=true", gate])
    plane.apply_crds()
    Cluster(plane).queues(queue("root.etl", weight="2"), queue("root.lab", weight="1"))
    before = specs(plane, OLD)
    versions(plane, NEW)

    def written() -> set[str]:
        return {one["metadata"]["resourceVersion"] for one in plane.api("GET", f"/apis/treadle.dev/{NEW}/queues")[1]["items"]}

    old = written()
    (migration,) = (
        one for one in yaml.safe_load_all(MIGRATIONS) if one["spec"]["resource"] == {"group": "treadle.dev", "resource": "queues"}
    )
    assert plane.api("POST", group, migration)[0] == 201
    plane.start_controller_manager("storage-version-migrator-controller,garbage-collector-controller", gate)
    name = migration["metadata"]["name"]

    def conditions() -> dict[str, str]:
        status = plane.api("GET", f"{group}/{name}")[1].get("status") or {}
        return {one["type"]: one["status"] for one in status.get("conditions", [])}

    eventually(lambda: conditions().get("Succeeded") == "True", 180, "the migration")
    assert not written() & old, "each was written"
    assert specs(plane, NEW) == before
    assert stored_versions(plane) == {(OLD, NEW)}
    for plural in PLURALS:
        struck = {"status": {"storedVersions": [NEW]}}
        assert plane.api("PATCH", f"{DEFINITIONS}/{plural}.treadle.dev/status", struck, content_type=MERGE)[0] == 200
    versions(plane, NEW, served=(NEW,))
    assert specs(plane, NEW) == before
