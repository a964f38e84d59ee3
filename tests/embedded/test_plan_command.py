"""``treadle plan``: the plan of a queue as text, or as a picture in a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube.access import served
from treadle.cli.plan import plan
from treadle.fakeapi import FakeApi


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with served() as server:
        made = server.create("queues", {"metadata": {"name": "root.plan"}, "spec": {"reservations": {}}})
        server.update("queues", {**made, "status": {"steadyFairShare": {"cpu": "8"}}}, "status")
        server.create("queues", {"metadata": {"name": "root.other"}, "spec": {}})
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield server


async def refused(queue: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], **options: object) -> str:
    with pytest.raises(SystemExit) as ended:
        await asyncio.to_thread(plan, queue, kubeconfig=tmp_path / "kubeconfig", **options)  # type: ignore[arg-type]
    assert ended.value.code == 1
    return capsys.readouterr().err.strip()


@pytest.mark.usefixtures("api")
async def test_the_plan_is_printed_or_drawn_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = tmp_path / "kubeconfig"
    await asyncio.to_thread(plan, "root.plan", kubeconfig=where)
    assert capsys.readouterr().out.startswith("queue root.plan has cpu 8\n")
    await asyncio.to_thread(plan, "root.plan", svg=tmp_path / "plan.svg", kubeconfig=where)
    assert capsys.readouterr().out == f"{tmp_path / 'plan.svg'}\n"
    assert (tmp_path / "plan.svg").read_text().startswith("<svg ")


@pytest.mark.usefixtures("api")
async def test_what_cannot_be_drawn_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await refused("root.other", tmp_path, capsys) == "treadle: queue root.other takes no reservations (spec.reservations)"
    said = await refused("root.plan", tmp_path, capsys, svg=tmp_path / "p.svg", resource="gpu")
    assert said == "treadle: --resource: queue root.plan has no gpu; it has cpu"
    said = await refused("root.plan", tmp_path, capsys, resource="cpu")
    assert said == "treadle: --resource: 'cpu' is what is drawn, and --svg names no file to draw into"
    said = await refused("root.plan", tmp_path, capsys, svg=tmp_path / "no" / "p.svg")
    assert said.startswith("treadle: --svg: ")
