"""``treadle events``: what the scheduler said lately of pods and of our objects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from treadle.cli.asking import asked
from treadle.cli.leader import HERE, Where
from treadle.cli.tables import OutputOption, age, table, written
from treadle.kube.transport import Client

HEADS = ("LAST", "TIMES", "REASON", "ABOUT", "WORDS")
REPORTER: Final = "treadle.dev/treadle"
MOST: Final = 200
Json = Mapping[str, Any]


def events(
    namespace: str = "",
    /,
    *,
    reason: str = "",
    about: str = "",
    most: int = MOST,
    output: OutputOption = "table",
    where: Where = HERE,
) -> None:
    """Print the events that the scheduler wrote, the last one last. The API server keeps them for an hour.

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
    output:
        A table, or the events as JSON or YAML.
    """

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

    found = sorted(asked(where.kubeconfig, where.context, read), key=last_of)[-most:]
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
