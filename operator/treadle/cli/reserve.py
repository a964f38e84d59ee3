"""``treadle reserve``: ask for a reservation and say at once what became of it, or what would."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Annotated, Any

import yaml
from cyclopts import Parameter

from treadle.api.labels import DRY_RUN
from treadle.api.objects import InvalidObject, parse
from treadle.cli.asking import API, asked, read, refuse
from treadle.controllers.plans import in_partitions
from treadle.controllers.reservations import decision_of, rfc3339
from treadle.core.model.reservations import WOULD_BE_ACCEPTED
from treadle.kube.transport import Client

PATIENCE, PAUSE = 10.0, 0.1
"""Seconds that a decision is waited for, and between two looks."""


def reserve(
    file: Path | None = None,
    /,
    *,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    from_history: str = "",
    store: Annotated[str, Parameter(env_var="TREADLE_HISTORY")] = "",
    days: float = 30.0,
    name: str = "",
    queue: str = "",
    time_zone: str = "",
    reprovision: Annotated[bool, Parameter(negative="")] = False,
    namespace: str = "",
    kubeconfig: Path | None = None,
    context: str | None = None,
) -> None:
    """Make a Reservation and print what it is promised, or why it is refused and what would be accepted; the exit status is 1 then.

    With `--from-history` a Reservation is printed that was made from past runs of an application, and nothing else is done.

    Parameters
    ----------
    file:
        The Reservation, as YAML.
    dry_run:
        Only ask what would be decided: the object is made under another name with the annotation treadle.dev/dry-run, and deleted again.
    from_history:
        Propose one for this application, NAMESPACE/NAME: * stands for any letters, where each of its runs has another name.
    store:
        Where the history is: sqlite:////FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE.
    days:
        How many days of the history to look at.
    name:
        The name of what is proposed; the application's if absent.
    queue:
        The queue of what is proposed; that of the newest run if absent.
    time_zone:
        By the clock of which zone it is the same each day, such as Europe/Berlin; UTC if absent.
    reprovision:
        Let runs that lag be promised more, as far as there is room, in what is proposed.
    namespace:
        Its namespace; that of the file, or of the application, or else "default", if absent.
    kubeconfig:
        A kubeconfig file.
    context:
        The context in it; the current one if absent.
    """
    if from_history:
        if file is not None or dry_run:
            refuse(
                "--from-history: prints a Reservation, and takes neither a file nor --dry-run: write it to a file and ask again"
            )
        if not store:
            refuse("--from-history: --store says where the history is")
        from treadle.cli.from_history import proposed

        fields = {"name": name, "namespace": namespace, "queue": queue, "time_zone": time_zone}
        print(proposed(from_history, store, days=days, reprovision=reprovision, **fields))
        return
    if file is None:
        refuse("name the file of a Reservation, or an application with --from-history")
    unused = [
        option
        for option, given in (("--name", name), ("--queue", queue), ("--time-zone", time_zone), ("--reprovision", reprovision))
        if given
    ]
    if unused:
        refuse(f"{unused[0]}: belongs to --from-history; a file says it itself")
    body = _read(file, namespace, dry_run=dry_run)
    status = asked(kubeconfig, context, lambda client: _decided(client, body, dry_run=dry_run))
    words, accepted = _outcome(status)
    print(words)
    if not accepted:
        raise SystemExit(1)


def _read(file: Path, namespace: str, *, dry_run: bool) -> dict[str, Any]:
    try:
        body = yaml.safe_load(file.read_bytes())
        if not isinstance(body, dict) or body.get("kind") != "Reservation":
            refuse(f"{file}: is no Reservation")
        given = body.get("metadata") or {}
        if not isinstance(given, dict):
            refuse(f"{file}: metadata: {given!r} is no mapping")
        meta = body["metadata"] = dict(given)
        meta["namespace"] = namespace or meta.get("namespace") or "default"
        parse("Reservation", body)
    except (OSError, yaml.YAMLError, InvalidObject) as error:
        refuse(f"{file}: {error}")
    if dry_run:
        meta["name"] = f"{meta['name'][:46].rstrip('-')}-{secrets.token_hex(4)}"
        meta["annotations"] = {**(meta.get("annotations") or {}), DRY_RUN: "true"}
    return body


async def _decided(client: Client, body: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
    """Make the object and return its status once it is decided, or what it says when patience is at its end. Raises ``KubeError``."""
    where = f"namespaces/{body['metadata']['namespace']}/reservations"
    answer = await client.request("POST", f"{API}/{where}", body)
    if answer.status >= 400:
        raise answer.error()
    name, status = body["metadata"]["name"], dict[str, Any]()
    try:
        for _ in range(round(PATIENCE / PAUSE)):
            status = (await read(client, f"{where}/{name}")).get("status") or {}
            if "plannedGeneration" in status:
                break
            await asyncio.sleep(PAUSE)
    finally:
        if dry_run:
            await client.request("DELETE", f"{API}/{where}/{name}")
    return status


def _outcome(status: dict[str, Any]) -> tuple[str, bool]:
    """Return what is to be said, and whether it is, or would be, accepted."""
    ready = next((one for one in status.get("conditions") or () if one["type"] == "Ready"), None)
    decided = decision_of(status)
    if decided is not None and decided.promise is not None and decided.accepted:
        lines = [
            f"  {rfc3339(start)} until {rfc3339(end)}: {in_partitions(named)}" for start, end, named in decided.promise.steps
        ]
        return "\n".join(["accepted:", *lines]), True
    if ready is None:
        return "nothing is decided: no scheduler has looked at it; is one running?", False
    if ready["reason"] == WOULD_BE_ACCEPTED:
        return f"it would be accepted: {ready['message']}", True
    what = "refused" if decided is not None else "nothing is decided"
    return f"{what}: {ready['reason']}: {ready['message']}", False
