"""The commands that ask what there is, where their arguments, their output or whoever answers are odd."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from kube.access import served
from treadle.cli.apps import apps
from treadle.cli.events import events
from treadle.cli.leader import Where
from treadle.cli.move import move
from treadle.cli.nodes import nodes
from treadle.cli.queues import queues
from treadle.cli.reserve import reserve
from treadle.cli.top import top
from treadle.cli.validate import validate
from treadle.web.server import serve

PROGRAM = str(Path(sys.executable).with_name("treadle"))


@pytest.fixture
async def where(tmp_path: Path) -> AsyncIterator[Where]:
    """An API server whose queue root.users has a queue root.users.ann that rules made."""
    async with served() as server:
        made = server.create("queues", {"metadata": {"name": "root.users"}, "spec": {}})
        server.update("queues", {**made, "status": {"dynamicQueues": ["root.users.ann"]}}, "status")
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield Where(kubeconfig=tmp_path / "kubeconfig")


class Said:
    """What commands print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    async def by(self, command: Callable[..., None], *arguments: str, code: int = 0, **options: Any) -> str:
        """On the standard output, or on the standard error where it ends with another status than 0."""
        ended = 0
        try:
            await asyncio.to_thread(command, *arguments, **options)
        except SystemExit as error:
            ended = int(str(error.code))
        captured = self.capsys.readouterr()
        assert ended == code, captured
        return captured.err if code else captured.out


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return Said(capsys)


async def test_a_queue_that_rules_made_is_there_by_its_own_path(where: Where, said: Said) -> None:
    (line,) = (await said.by(queues, "root.users.ann", where=where)).splitlines()[1:]
    assert line.split() == ["root.users.ann", "-", "-", "-", "-", "-", "-", "-", "made", "by", "rules"]
    assert "name: root.users.ann" in await said.by(queues, "root.users.ann", where=where, output="yaml")
    refused = await said.by(queues, "root.users.bob", where=where, code=1)
    assert refused == "treadle: there is no queue root.users.bob; the queues are root.users, root.users.ann\n"


async def test_applications_of_a_queue_that_is_not_there_are_not_said_to_be_none(where: Where, said: Said) -> None:
    for queue in ("root", "root.users", "root.users.ann"):
        assert await said.by(apps, queue, where=where) == "no applications\n"
    assert "there is no queue root.people; the queues are root.users, " in await said.by(apps, "root.people", where=where, code=1)


async def test_partitions_are_not_passed_over_where_nobody_tells_them(where: Where, said: Said) -> None:
    assert await said.by(nodes, where=where) == "no nodes\n"
    assert "partition 'gpu' the scheduler knows alone" in await said.by(nodes, "gpu", where=where, code=1)


async def test_numbers_that_make_no_sense_are_refused(where: Where, said: Said) -> None:
    for most in (0, -1):
        assert await said.by(events, where=where, most=most, code=2) == f"treadle: --most: {most} is less than 1\n"
    for every in (0.0, float("nan"), float("inf")):
        assert "--every: " in await said.by(top, where=where, once=True, every=every, code=2)
    for wait in (-1.0, float("nan"), float("inf")):
        assert "--wait: " in await said.by(move, "default/a", "root.users", where=where, wait=wait, code=2)


async def test_a_server_that_is_no_scheduler_is_told_of(where: Where, said: Said) -> None:
    """As the API server itself is, which has nodes at the path of the scheduler's."""

    async def others(_: web.Request) -> web.Response:
        return web.json_response({"kind": "NodeList", "items": []})

    assert where.kubeconfig is not None
    known = yaml.safe_load(where.kubeconfig.read_bytes())
    known["users"][0]["user"] = {"token": "ann"}
    where.kubeconfig.write_text(yaml.safe_dump(known))
    async with serve("127.0.0.1", 0, [web.get("/api/v1/nodes", others)]) as url:
        asked = Where(kubeconfig=where.kubeconfig, server=url)
        await asyncio.to_thread(nodes, where=asked)
    captured = said.capsys.readouterr()
    assert "does not tell (it answers, and not as the scheduler's REST does)" in captured.err
    assert captured.out == "no nodes\n"


async def ran(where: Where, *arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    command = [PROGRAM, *arguments, "--kubeconfig", str(where.kubeconfig)]
    return await asyncio.to_thread(subprocess.run, command, stderr=subprocess.PIPE, check=False, timeout=60, **more)


async def test_who_reads_no_further_is_not_complained_of(where: Where) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = await ran(where, "queues", stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


async def test_a_terminal_without_unicode_is_written_to_as_well(where: Where) -> None:
    done = await ran(where, "queues", stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?? users" in done.stdout


async def test_what_top_draws_is_no_list_of_objects(where: Where) -> None:
    done = await ran(where, "top", "--once", "-o", "json", stdout=subprocess.PIPE)
    assert done.returncode == 2


@pytest.mark.parametrize("metadata", ["one", ["name"], 3])
async def test_a_reservation_whose_metadata_is_no_mapping_is_refused_by_name(
    where: Where, said: Said, tmp_path: Path, metadata: object
) -> None:
    file = tmp_path / "reservation.yaml"
    file.write_text(
        yaml.safe_dump({"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", "metadata": metadata, "spec": {}})
    )
    assert (
        await said.by(reserve, file, kubeconfig=where.kubeconfig, code=1)
        == f"treadle: {file}: metadata: {metadata!r} is no mapping\n"
    )


async def test_a_list_whose_items_are_no_list_is_refused_and_what_is_beside_it_is_judged(
    where: Where, said: Said, tmp_path: Path
) -> None:
    file = tmp_path / "objects.yaml"
    fine = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    file.write_text(yaml.safe_dump_all([{"apiVersion": "v1", "kind": "List", "items": 3}, fine]))
    with pytest.raises(SystemExit):
        await asyncio.to_thread(validate, file, kubeconfig=where.kubeconfig)
    printed = said.capsys.readouterr()
    assert f"{file}, document 1: REFUSED: items: has to be a list, not 3" in printed.out
    assert "Namespace team: is not of treadle.dev/v1alpha1, and not looked at" in printed.out
