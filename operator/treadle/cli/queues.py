"""``treadle queues``: the tree of queues, and how much of its share each uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from treadle.cli.asking import asked, read, refuse
from treadle.cli.leader import HERE, Where, lines
from treadle.cli.tables import Output, OutputOption, bar, condition, table, written
from treadle.controllers.in_words import NONE, amounts, part
from treadle.core.rules.placement.names import is_below

HEADS = ("QUEUE", "STATE", "SHARE", "USED", "OF ITS SHARE", "PENDING", "RUNNING", "WAITING", "READY")
BY_RULES = "made by rules"
MADE: Final = {"leaf": True, "dynamic": True}
"""What objects say of a queue that rules made."""
MOST_NAMED: Final = 50
"""Queues that are named where one is not there."""
Json = Mapping[str, Any]


def queues(queue: str = "root", /, *, output: OutputOption = "table", where: Where = HERE) -> None:
    """Print the tree of queues: the share of each (fair, or guaranteed), what it uses of it, what waits, and why it is not in force.

    Numbers are the scheduler's own where it is asked, else those of the objects' statuses, which may be seconds old; queues that placement rules made have no object, and stand without numbers then.

    Parameters
    ----------
    queue:
        The queue at the top.
    output:
        A table, with what the queue may have at most and what was given to opportunistic pods too (wide), or the objects as JSON or YAML.
    """
    found = known(queue, where)
    if output in {"json", "yaml"}:
        print(written(output, [found[path] for path in sorted(found)]), end="")
        return
    print("\n".join(drawn(found, queue, output)))


def known(queue: str, where: Where) -> dict[str, Json]:
    """Return the queues in and below one by their paths; ends the command where there is none."""
    items: list[Json] = asked(where.kubeconfig, where.context, lambda client: read(client, "queues"))["items"]
    found = {one["metadata"]["name"]: one for one in items if is_below(one["metadata"]["name"], queue)}
    for row in lines(where, "queues", **({} if queue == "root" else {"queue": queue})) or ():
        one = found.get(row["name"]) or {"metadata": {"name": row["name"]}}
        found[row["name"]] = {**one, "status": {**(one.get("status") or {}), **row}}
    if not found and queue != "root":
        made = {path for one in items for path in (one.get("status") or {}).get("dynamicQueues") or ()}
        found = {path: {"metadata": {"name": path}, "status": MADE} for path in made if is_below(path, queue)}
        if not found:
            refuse(f"there is no queue {queue}; the queues are {_some({*made, *(one['metadata']['name'] for one in items)})}")
    return found


def check_queue(queue: str, where: Where) -> None:
    """End the command where a queue is named that is not there. Who may not list queues is told nothing."""
    none: list[Json] = []
    found = asked(where.kubeconfig, where.context, lambda client: read(client, "queues"), otherwise=lambda _: {"items": none})
    if found["items"]:
        known(queue, where)


def _some(paths: set[str]) -> str:
    """Name queues, not any number of them."""
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return (", ".join(sorted(paths)[:MOST_NAMED]) or "none") + more


def drawn(found: Mapping[str, Json], top: str, output: Output = "table") -> Iterable[str]:
    """Yield the tree line by line."""
    heads = (*HEADS, "MOST", "OPPORTUNISTIC") if output == "wide" else HEADS
    return table([heads, *rows_of(found, top, output)])


def rows_of(found: Mapping[str, Json], top: str, output: Output = "table") -> Iterator[tuple[str, ...]]:
    """Yield a row for each queue, from the top down. Queues above others that have no object, and those that rules made, have rows too."""
    paths = {top} if any(path != top for path in found) or top == "root" else set()
    for path, one in found.items():
        paths.add(path)
        paths.update(made for made in (one.get("status") or {}).get("dynamicQueues") or () if is_below(made, top))
    for path in list(paths):
        parts = path.split(".")
        above = (".".join(parts[:depth]) for depth in range(1, len(parts)))
        paths.update(one for one in above if is_below(one, top))
    children: dict[str, list[str]] = {}
    for path in sorted(paths - {top}):
        children.setdefault(path.rpartition(".")[0], []).append(path)

    def walk(path: str, before: str, branch: str) -> Iterator[tuple[str, ...]]:
        name = path if path == top else path.rpartition(".")[2]
        yield _row(f"{before}{branch}{name}", found.get(path), output)
        below = children.get(path, [])
        deeper = before + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for child in below:
            yield from walk(child, deeper, "└─ " if child == below[-1] else "├─ ")

    return walk(top, "", "")


def _row(name: str, one: Json | None, output: Output) -> tuple[str, ...]:
    if one is None or one.get("status") == MADE:
        more = (NONE, NONE) if output == "wide" else ()
        return (name, *(NONE,) * (len(HEADS) - 2), BY_RULES if name != "root" else NONE, *more)
    status = one.get("status") or {}
    share = status.get("fairShare") or status.get("guaranteed")
    count = status.get("applications") or {}
    return (
        name,
        status.get("state") or NONE,
        amounts(share),
        amounts(status.get("used")),
        bar(part(status.get("used"), share)),
        amounts(status.get("pending")),
        str(count.get("running", 0)),
        str(count.get("pending", 0)),
        ready_of(one),
        *((amounts(status.get("maximum")), amounts(status.get("opportunistic"))) if output == "wide" else ()),
    )


def ready_of(one: Json) -> str:
    """Say whether an object is in force as it is written, and with which reason it is not; a queue that has none was made by rules, or is the root."""
    status = one.get("status") or {}
    if "leaf" in status and "conditions" not in status:  # the scheduler told of it, and it has no object
        return BY_RULES if status.get("dynamic") else NONE
    ready = condition(one, "Ready")
    if not ready or ready.get("observedGeneration") not in {None, one["metadata"].get("generation")}:
        return "not seen yet"
    return "True" if ready.get("status") == "True" else str(ready.get("reason") or "False")
