"""``treadle events``: what the scheduler said lately of pods and of our objects."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from treadle.cli.asking import asked, refuse
from treadle.cli.leader import HERE, Where, answer
from treadle.cli.past import as_event
from treadle.cli.tables import Output, OutputOption, age, table, written
from treadle.kube.transport import Client

HEADS = ("LAST", "TIMES", "REASON", "ABOUT", "WORDS")
REPORTER: Final = "treadle.dev/treadle"
MOST: Final = 200
MOST_OF_HISTORY: Final = 500
Json = Mapping[str, Any]


def events(
    namespace: str = "",
    /,
    *,
    reason: str = "",
    about: str = "",
    most: int = MOST,
    days: float = 0.0,
    output: OutputOption = "table",
    where: Where = HERE,
) -> None:
    """Print the events that the scheduler wrote, the last one last. The API server keeps them for an hour, the history for longer.

    Parameters
    ----------
    namespace:
        Of pods and objects of this namespace; all if absent.
    reason:
        With this reason alone, such as FailedScheduling or Preempted.
    about:
        About the object of this name.
    most:
        So many at most, the last ones.
    days:
        Those of so many days, from the history of the scheduler that --server names; what it told of pods that were bound is not in it.
    output:
        A table, or the events as JSON or YAML.
    """
    if days:
        _of_history(namespace, reason, about, most, days, output, where)
        return

    if most < 1:
        refuse(f"--most: {most} is less than 1", 2)

    async def read(client: Client) -> list[Json]:
        path = f"/api/v1/namespaces/{namespace}/events" if namespace else "/api/v1/events"
        chosen = [f"reportingComponent={REPORTER}"]
        chosen += [f"reason={reason}"] if reason else []
        chosen += [f"involvedObject.name={about}"] if about else []
        answer = await client.request("GET", path, params={"fieldSelector": ",".join(chosen)})
        if answer.status >= 400:
            raise answer.error()
        found: list[Json] = answer.json()["items"]
        return found

    _print(sorted(asked(where.kubeconfig, where.context, read), key=last_of)[-most:], output)


def _of_history(namespace: str, reason: str, about: str, most: int, days: float, output: Output, where: Where) -> None:
    if not days > 0:
        refuse(f"--days: {days:g} is not more than 0", 2)
    if not 0 < most <= MOST_OF_HISTORY:
        refuse(f"--most: {most} is not a number from 1 to {MOST_OF_HISTORY}, of what the history tells", 2)
    if not where.server:
        refuse("--days: the API server keeps events for an hour; name the scheduler, which keeps a history, by --server", 2)
    asked_for = {"namespace": namespace, "reason": reason, "name": about}
    chosen = {name: text for name, text in asked_for.items() if text}
    said = answer(where, "history/events", **chosen, days=f"{days:g}", limit=str(most))
    if said is None:
        raise SystemExit(1)
    _print([as_event(one) for one in reversed(said["events"])], output)
    if said["more"]:
        print(f"treadle: these are the last {len(said['events'])} of more", file=sys.stderr)


def _print(found: list[Json], output: Output) -> None:
    if output in {"json", "yaml"}:
        print(written(output, found), end="")
        return
    now = datetime.now(UTC)
    print("\n".join(table([HEADS, *(row_of(one, now) for one in found)])) if found else "no events")


def last_of(one: Json) -> str:
    """Return when an event was written last, as RFC 3339 has it."""
    series: Json = one.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        one.get("lastTimestamp"),
        one.get("eventTime"),
        one["metadata"].get("creationTimestamp"),
    )
    return next((str(time) for time in times if time), "")


def row_of(one: Json, now: datetime) -> tuple[str, ...]:
    """Return an event as a row below ``HEADS``."""
    about = one.get("involvedObject") or {}
    at = f"{about['namespace']}/" if about.get("namespace") else ""
    series: Json = one.get("series") or {}
    return (
        age(last_of(one), now),
        str(series.get("count") or one.get("count") or 1),
        str(one.get("reason") or ""),
        f"{str(about.get('kind') or '').lower()} {at}{about.get('name', '')}",
        " ".join(str(one.get("message") or "").split()),
    )
