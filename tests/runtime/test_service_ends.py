"""Treadle's end on an embedded API server: what is under way is finished, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kube.access import served, until
from runtime.services import add_nodes, add_pods, controllers_watch, node_of, options, treadle
from treadle.fakeapi import FakeApi
from treadle.kube.auth import Access
from treadle.runtime.doors import CannotListen
from treadle.runtime.service import running


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with served(bookmark_seconds=0.05) as server:
        yield server


def leftovers() -> list[str]:
    return [
        task.get_name()
        for task in asyncio.all_tasks()
        if task is not asyncio.current_task() and task.get_name().split("-")[0] in PARTS
    ]


PARTS = {"engine", "binder", "bind", "patcher", "status", "statuses", "begin", "watch", "lease", "lists"}


async def test_a_port_in_use_is_one_clear_error_and_leaves_nothing_running(api: FakeApi) -> None:
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    where = f"127.0.0.1:{taken.sockets[0].getsockname()[1]}"
    with pytest.raises(CannotListen, match=rf"cannot serve on {where}: "):
        async with running(Access(api.url), options(listen=where)):
            pytest.fail("it started")
    assert leftovers() == []
    taken.close()
    await taken.wait_closed()


async def test_an_end_leaves_no_task_and_no_thread_behind(api: FakeApi) -> None:
    async with treadle(api, controllers=True, leader_elect=True) as service:
        operator = await until(lambda: service.operator)
        await controllers_watch(api)
        assert leftovers() != []
    assert leftovers() == []
    assert not operator.alive


async def test_an_end_before_the_server_was_ever_reached_is_clean(api: FakeApi) -> None:
    await api.stop()
    async with running(Access(api.url), options(controllers=True)) as service:
        await until(lambda: "cannot be reached" in service.waiting_for)
    assert leftovers() == []
    assert service.operator is None


async def test_an_end_in_the_midst_of_the_beginning_starts_nothing_more(api: FakeApi) -> None:
    asked = asyncio.Event()
    gate = asyncio.Event()

    async def hold(_method: str, path: str) -> None:
        if path.endswith("/queues"):
            asked.set()
            await gate.wait()

    api.before = hold
    async with running(Access(api.url), options(controllers=True)) as service:
        await asked.wait()
    assert (leftovers(), service.operator) == ([], None)


async def test_binds_under_way_are_finished_and_their_events_written(api: FakeApi) -> None:
    add_nodes(api, 4)
    names = [f"p{number}" for number in range(24)]
    gate = asyncio.Event()
    asked: list[str] = []

    async def hold(_method: str, path: str) -> None:
        if path.endswith("/binding"):
            asked.append(path)
            await gate.wait()

    api.before = hold
    add_pods(api, *names, containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}])
    async with treadle(api) as service:
        await until(lambda: len(asked) >= 16)
        asyncio.get_running_loop().call_later(0.05, gate.set)
    assert service.binder.in_flight == 0
    assert sum(bool(node_of(api, name)) for name in names) == service.binder.bound >= 16
    assert service.core.state.decisions == service.binder.bound


async def test_an_end_gives_up_on_a_server_that_does_not_answer(api: FakeApi) -> None:
    async def hang(_method: str, path: str) -> None:
        if path.endswith("/binding"):
            await asyncio.Event().wait()

    add_nodes(api)
    async with treadle(api, grace=0.05) as service:
        api.before = hang
        add_pods(api, "a")
        await until(lambda: service.binder.in_flight == 1)
    assert leftovers() == []
