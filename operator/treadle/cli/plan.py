"""``treadle plan``: what is promised of a queue, over time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from treadle.api.quantities import seconds
from treadle.cli.asking import asked, read, refuse
from treadle.controllers.plan_picture import NotPromised, plan_picture
from treadle.controllers.plans import plan_text
from treadle.kube.transport import Client


def plan(
    queue: str,
    /,
    *,
    ahead: str = "24h",
    svg: Path | None = None,
    resource: str = "",
    partition: str = "",
    kubeconfig: Path | None = None,
    context: str | None = None,
) -> None:
    """Print the plan of a queue that takes reservations: from when until when how much is promised to whom, and what is left; or draw it.

    Parameters
    ----------
    queue:
        The path of the queue, such as root.nightly.
    ahead:
        How far ahead, such as 24h; at most 2400h.
    svg:
        Draw it instead: the file for a picture of what is promised of one resource to whom, against what the queue has.
    resource:
        The resource that is drawn, such as memory; that of which the largest part is promised if absent.
    partition:
        The partition of nodes of which it is drawn; the default one if absent, or, without a resource, that of which the largest part is promised.
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

    for option, said in (("--resource", resource), ("--partition", partition)):
        if said and svg is None:
            refuse(f"{option}: {said!r} is what is drawn, and --svg names no file to draw into")

    async def ask(client: Client) -> tuple[Any, list[Any]]:
        return await read(client, f"queues/{queue}"), (await read(client, "reservations"))["items"]

    found, reservations = asked(kubeconfig, context, ask)
    if "reservations" not in (found.get("spec") or {}):
        refuse(f"queue {queue} takes no reservations (spec.reservations)")
    now = int(time.time()) * 1000
    until = now + round(far * 1000)
    if svg is None:
        print(plan_text(found, reservations, now, until), end="")
        return
    try:
        svg.write_text(plan_picture(found, reservations, now, until, resource, partition), encoding="utf-8")
    except NotPromised as error:
        refuse(f"{'--partition' if partition else '--resource'}: {error}")
    except OSError as error:
        refuse(f"--svg: {error}")
    print(svg)
