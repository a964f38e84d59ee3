"""A page that is open while another copy of the scheduler comes to lead: on a real API server, in a real Chromium, behind what stands for a Service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import pytest

from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue
from embedded import browser


@asynccontextmanager
async def service(ports: Sequence[int]) -> AsyncIterator[int]:
    """Pass connections on to the ports in turn, as kube-proxy does, and to the next one where nobody listens; gives its own port."""
    turn = cycle(ports)
    passing: set[asyncio.Task[None]] = set()

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                target.write(data)
                await target.drain()
        except ConnectionError:
            pass
        finally:
            target.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in ports:
            try:
                there = await asyncio.open_connection("127.0.0.1", next(turn))
            except ConnectionError:
                continue
            for one in (copy(reader, there[1]), copy(there[0], writer)):
                passing.add(task := asyncio.create_task(one))
                task.add_done_callback(passing.discard)
            return
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for one in passing:
            one.cancel()
        await asyncio.gather(*passing, return_exceptions=True)


@browser.needed
@pytest.mark.parametrize("told", [(), ("--advertise-address=127.0.0.1",)], ids=["leader-asked", "passed-on"])
async def test_a_page_goes_on_with_the_next_leader_where_it_was(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path, told: tuple[str, ...]
) -> None:
    cluster = fresh_cluster(1, "1", "16Gi")
    plane = cluster.plane
    cluster.queues(queue("root.etl"))
    arguments = ("--leader-elect", "--namespace", "default", "--page", *told)
    copies = [Treadle(plane.scheduler_kubeconfig(), tmp_path, *arguments).start() for _ in range(2)]
    try:
        leads = await asyncio.to_thread(
            eventually, lambda: next((one for one in copies if one.metric("treadle_leader") == 1), None), 60, "a leader"
        )
        heir = next(one for one in copies if one is not leads)
        await asyncio.to_thread(eventually, heir.ready, 60, "the other one is ready")
        cluster.pods([pod(name, "root.etl", name, cpu="1") for name in ("first", "second")])
        async with (
            service([one.port for one in copies]) as port,
            browser.opened(f"http://127.0.0.1:{port}/#/queue/root.etl", tmp_path / "browser") as page,
        ):
            await page.until("!document.getElementById('sign-in').hidden")
            await page.ask(f"document.getElementById('token').value = {plane.token!r}")
            await page.ask("document.querySelector('#sign-in button').click()")
            shown = "document.getElementById('view-queue').innerText"
            await page.until(f"{shown}.includes('second') && {shown}.includes('Insufficient cpu')", 60)
            await page.ask("window.before = true")
            leads.kill()
            cluster.pods([pod("third", "root.etl", "third", cpu="1")])
            await page.until(f"{shown}.includes('third')", 90)
            assert await page.ask("window.before") is True, "the page is the same, and was not loaded again"
            assert await page.ask("location.hash") == "#/queue/root.etl"
    finally:
        for one in copies:
            one.__exit__()
