"""``treadle plan``: what is promised of a queue, over time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from treadle.api.quantities import seconds
from treadle.cli.asking import asked, read, refuse
from treadle.controllers.plans import plan_text
from treadle.kube.transport import Client


def plan(queue: str, /, *, ahead: str = "24h", kubeconfig: Path | None = None, context: str | None = None) -> None:
    """Print the plan of a queue that takes reservations: from when until when how much is promised to whom, and what is left.

    Parameters
    ----------
    queue:
        The path of the queue, such as root.nightly.
    ahead:
        How far ahead, such as 24h; at most 2400h.
    kubeconfig:
        A kubeconfig file.
    context:
        The context in it; the current one if absent.
    """
    try:
        far = seconds(ahead)
    except ValueError as error:
        refuse(f"--ahead: {ahead!r}: {error}")
    if not 0 < far <= seconds("2400h"):
        refuse(f"--ahead: {ahead!r} is not between 1ms and 2400h")

    async def ask(client: Client) -> tuple[Any, list[Any]]:
        return await read(client, f"queues/{queue}"), (await read(client, "reservations"))["items"]

    found, reservations = asked(kubeconfig, context, ask)
    if "reservations" not in (found.get("spec") or {}):
        refuse(f"queue {queue} takes no reservations (spec.reservations)")
    now = int(time.time()) * 1000
    print(plan_text(found, reservations, now, now + round(far * 1000)), end="")
