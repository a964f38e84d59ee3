"""The status of PodGroups is written where it differs, seldom, and only of groups whose pods are ours."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.core.model.gangs import KUBERNETES, PLUGINS, VOLCANO
from treadle.core.views.pod_groups import PodGroupFigures
from treadle.kube import wire
from treadle.kube.patcher import Write
from treadle.runtime import group_statuses as module
from treadle.runtime.group_statuses import GroupStatuses

ROOM = ("Unschedulable", "0/1 nodes are available")


class View:
    def __init__(self) -> None:
        self.names = ["treadle"]
        self.groups: list[PodGroupFigures] = []

    def pod_groups(self) -> list[PodGroupFigures]:
        return self.groups


class Patcher:
    def __init__(self) -> None:
        self.writes: dict[str, Write] = {}

    def submit(self, key: str, write: Write) -> None:
        self.writes[key] = write


class At:
    def __init__(self) -> None:
        self.view, self.patcher, self.clock = View(), Patcher(), 100.0
        self.statuses = GroupStatuses(lambda: self.view, self.patcher, clock=lambda: self.clock)  # type: ignore[arg-type, return-value]
        self.version = 1

    def seen(self, source: str = PLUGINS, status: dict[str, Any] | None = None, *, apart: bool = True, name: str = "g") -> None:
        self.version += 1
        meta = wire.Metadata(name=name, namespace="ns", uid=f"u-{name}", resource_version=str(self.version), generation=1)
        self.statuses.see(source, "x.io/v1", apart, wire.PodGroup(meta, {}, status))

    def figures(self, source: str = PLUGINS, *, pods: int = 2, bound: int = 0, waits: Any = None, name: str = "g") -> None:
        found = PodGroupFigures(source, f"ns/{name}", 2, pods, tuple(f"{name}-{n}" for n in range(bound)), waits)
        self.view.groups = [one for one in self.view.groups if one.id != found.id] + [found]

    def written(self) -> list[Write]:
        self.patcher.writes.clear()
        self.statuses.write()
        return list(self.patcher.writes.values())


@pytest.fixture
def at() -> At:
    return At()


def test_a_status_is_written_at_the_version_that_was_read(at: At) -> None:
    at.seen()
    at.figures()
    (write,) = at.written()
    assert write.path == "/apis/x.io/v1/namespaces/ns/podgroups/g/status"
    assert write.body == {"metadata": {"resourceVersion": "2"}, "status": {"phase": "Pending"}}


def test_a_kind_without_a_status_of_its_own_is_written_to_itself(at: At) -> None:
    at.seen(VOLCANO, apart=False)
    at.figures(VOLCANO)
    (write,) = at.written()
    assert write.path == "/apis/x.io/v1/namespaces/ns/podgroups/g"


def test_it_is_written_once_though_the_watch_is_late(at: At) -> None:
    at.seen()
    at.figures()
    assert len(at.written()) == 1
    assert at.written() == []
    at.seen(status={"phase": "Pending"})
    assert at.written() == []


def test_a_write_that_met_another_is_made_again(at: At) -> None:
    at.seen()
    at.figures()
    (write,) = at.written()
    assert write.done is not None
    write.done(409)
    at.seen()
    assert len(at.written()) == 1


def test_another_writer_is_not_fought_often(at: At) -> None:
    at.seen()
    at.figures()
    assert len(at.written()) == 1
    for _ in range(4):
        at.seen(status={"phase": "Unknown"})
        assert at.written() == []
        at.clock += module.APART / 5
    at.clock += module.APART
    assert len(at.written()) == 1


def test_a_phase_is_written_at_once_and_a_number_after_a_while(at: At) -> None:
    at.seen()
    at.figures()
    at.written()
    at.seen(status={"phase": "Pending"})
    at.figures(bound=2)
    (write,) = at.written()
    assert write.body["status"] == {"phase": "Scheduling"}
    at.seen(status={"phase": "Scheduling"})
    at.statuses.pod("g-0", (PLUGINS, "ns/g"), runs=True)
    assert at.written() == []
    at.clock += module.APART
    (write,) = at.written()
    assert write.body["status"] == {"running": 1}
    at.statuses.pod("g-1", (PLUGINS, "ns/g"), runs=True)
    at.seen(status={"phase": "Scheduling", "running": 1})
    (write,) = at.written()
    assert write.body["status"] == {"phase": "Running", "running": 2}


def test_groups_whose_pods_are_not_ours_are_left_alone(at: At) -> None:
    for source in (KUBERNETES, VOLCANO, PLUGINS):
        at.seen(source)
        at.figures(source, pods=0)
        assert at.written() == []


def test_volcano_groups_without_pods_are_let_in_where_volcano_is_one_of_our_names(at: At) -> None:
    at.view.names.append("volcano")
    at.seen(VOLCANO)
    at.figures(VOLCANO, pods=0)
    (write,) = at.written()
    assert write.body["status"] == {"phase": "Inqueue"}


def test_no_more_than_so_many_are_written_at_a_time_and_all_have_their_turn(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PER_LOOK", 2)
    for number in range(5):
        at.seen(name=f"g{number}")
        at.figures(name=f"g{number}")
    paths = [write.path for _ in range(3) for write in at.written()]
    assert len(set(paths)) == 5


def test_what_is_gone_is_forgotten(at: At) -> None:
    at.seen()
    at.figures()
    at.statuses.gone(PLUGINS, "ns/g")
    assert at.written() == []
    at.seen()
    at.statuses.forget(PLUGINS)
    assert at.written() == []


def ended(at: At, name: str, source: str = VOLCANO, *, succeeded: bool = True, scheduler: str = "treadle") -> None:
    at.statuses.left(name)
    at.statuses.ended(name, (source, "ns/g"), scheduler, succeeded=succeeded)
    at.clock += module.SETTLED


def test_pods_that_have_ended_are_told_of_and_others_of_other_schedulers_are_not(at: At) -> None:
    at.seen(VOLCANO)
    at.figures(VOLCANO, bound=2)
    at.written()
    ended(at, "g-0")
    ended(at, "g-9", succeeded=False)
    ended(at, "theirs", scheduler="volcano")
    at.seen(VOLCANO, {"phase": "Running"})
    at.figures(VOLCANO, pods=1, bound=1)
    at.clock += module.APART
    (write,) = at.written()
    assert {name: write.body["status"].get(name) for name in ("succeeded", "failed")} == {"succeeded": 1, "failed": 1}
    at.seen(VOLCANO, {"phase": "Running"})
    at.figures(VOLCANO, pods=0)
    (write,) = at.written()
    assert write.body["status"]["phase"] == "Completed"


def test_a_pod_that_left_is_waited_for_until_it_is_known_what_became_of_it(at: At) -> None:
    at.seen(VOLCANO, {"phase": "Running"})
    for number in range(2):
        at.statuses.pod(f"g-{number}", (VOLCANO, "ns/g"), runs=True)
        at.statuses.left(f"g-{number}")
    at.figures(VOLCANO, pods=0)
    assert at.written() == [], "it may have succeeded"
    for number in range(2):
        at.statuses.ended(f"g-{number}", (VOLCANO, "ns/g"), "treadle", succeeded=True)
    at.clock += module.SETTLED
    (write,) = at.written()
    assert write.body["status"]["phase"] == "Completed"
    assert write.body["status"]["succeeded"] == 2


def test_nothing_is_told_of_groups_before_all_pods_that_have_ended_are_known(at: At) -> None:
    known = False
    at.statuses.ends_known = lambda: known
    at.seen()
    at.figures()
    assert at.written() == []
    known = True
    assert len(at.written()) == 1


def test_pods_that_had_ended_and_are_gone_count_no_more(at: At) -> None:
    at.seen(VOLCANO, {"phase": "Running"})
    ended(at, "g-0")
    at.statuses.removed("g-0", (VOLCANO, "ns/g"))
    at.figures(VOLCANO, pods=1)
    (write,) = at.written()
    assert write.body["status"] == {"phase": "Inqueue"}
