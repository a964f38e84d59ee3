"""Leaves of a capacity-scheduler.xml that say the same are read and checked once, and become what each alone becomes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from convert.command import PREFIX, capacity
from treadle.convert import capacity_file
from treadle.convert.capacity_file import CapacityFileError
from treadle.convert.capacity_objects import Sources, convert
from treadle.convert.errors import MappingError
from treadle.convert.names import NameRefused
from treadle.core.rules.capacity.tree import CapacityTree

LARGE = capacity(
    root={"queues": "a,b,c"},
    root__a={"capacity": "50", "queues": "x,y,z,w", "maximum-am-resource-percent": "0.2"},
    root__b={"capacity": "30", "queues": "x,y", "acl_submit_applications": "ann"},
    root__c={"capacity": "20"},
    root__a__x={"capacity": "25", "user-limit-factor": "2"},
    root__a__y={"capacity": "25", "user-limit-factor": "2"},
    root__a__z={"capacity": "25", "user-limit-factor": "2", "state": "STOPPED"},
    root__a__w={"capacity": "25", "user-limit-factor": "2"},
    root__b__x={"capacity": "50", "user-limit-factor": "2", "acl_administer_queue": " ops"},
    root__b__y={"capacity": "50", "user-limit-factor": "2", "acl_administer_queue": " ops"},
)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {f"{PREFIX}root.a.{name}.capacity": "26" for name in "xyzw"},
        {f"{PREFIX}root.a.{name}.accessible-node-labels": "gpu" for name in "xyzw"},
        {f"{PREFIX}root.a.{name}.user-limit-factor": "two" for name in "xyzw"},
        {f"{PREFIX}root.a.{name}.ordering-policy": "none-such" for name in "xy"},
        {f"{PREFIX}root.a.{name}.unheard-of": "1" for name in "xy"},
        {f"{PREFIX}root.a.{name}.reservable": "true" for name in "xy"},
        {f"{PREFIX}root.{name}.auto-queue-creation-v2.enabled": "true" for name in "ab"},
        {f"{PREFIX}root.{name}.auto-queue-creation-v2.leaf-template.capacity": "5w" for name in "ab"},
        {f"{PREFIX}root.a.{name}.auto-create-child-queue.enabled": "true" for name in "xy"},
        {f"{PREFIX}root.a.queues": "x,y,x,y"},
        {f"{PREFIX}root.a.queues": "x,Y_1,z,Y-1"},
    ],
    ids=lambda changed: next(iter(changed), "as it is"),
)
def test_leaves_that_say_the_same_become_what_each_of_them_alone_becomes(
    changed: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcome() -> object:
        try:
            found = convert(Sources({**LARGE, **changed}))
        except (CapacityFileError, MappingError, NameRefused) as error:
            return str(error)
        return found.objects, found.notes

    together = outcome()
    monkeypatch.setattr(capacity_file, "_said", lambda *_: None)
    assert together == outcome()


def test_leaves_that_say_the_same_are_read_and_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"q{number}" for number in range(50)]
    values = capacity(
        root={"queues": "a"},
        root__a={"capacity": "100", "queues": ",".join(names)},
        **{f"root__a__{name}": {"capacity": "2", "user-limit-factor": "2"} for name in names},
    )
    read, defined = list[str](), list[str]()
    own, define = capacity_file._queue, CapacityTree._define
    monkeypatch.setattr(capacity_file, "_queue", lambda *given: read.append(given[1]) or own(*given))
    monkeypatch.setattr(CapacityTree, "_define", lambda tree, queue: defined.append(queue.path) or define(tree, queue))
    assert len(convert(Sources(values)).objects) == 53
    assert read == defined == ["root", "root.a", "root.a.q0"]
