"""What the page shows, as rows of JSON: one for each queue, application and node. Amounts are by resource type, cpu in milli-units and others in base units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from treadle.core.views.nodes import SCHEDULABLE

if TYPE_CHECKING:
    from treadle.core.views.figures import PartitionFigures
    from treadle.core.views.view import View

Row = dict[str, Any]
Forecast = Callable[[str], Mapping[str, Any] | None]
QUEUES, APPLICATIONS, NODES = "queues", "applications", "nodes"
TOPICS: Final = (QUEUES, APPLICATIONS, NODES)
ROOT: Final = "root"
MOST_AHEAD: Final = 3
"""Applications in front of one that are named; how many they are is said of all."""
MOST_WORDS: Final = 1000
"""Characters of a message."""


def keys(view: View, topic: str) -> list[str]:
    """Return what there is of a topic: paths of queues, ids of applications, names of nodes."""
    match topic:
        case "queues":
            return list(view.paths())
        case "applications":
            return list(view.applications())
    return view.node_names()


def queue_row(view: View, path: str) -> Row | None:
    """Return the row of a queue, None for one that is not there. Figures that mean nothing under the discipline in force are left out, as are those that are nothing."""
    one = view.queue(path)
    if one is None:
        return None
    problem = view.problem(path)
    row: Row = {
        "name": path,
        "leaf": one.leaf,
        "state": one.state,
        "policy": one.policy,
        "weight": one.weight,
        "running": one.running,
        "accepted": one.accepted,
        "waiting": one.waiting_pods,
        "used": one.used,
        "pending": one.pending,
        "guaranteed": one.here.guaranteed,
        "maximum": one.here.maximum,
        "fair": one.fair_share if one.shows_shares else {},
        "steady": one.steady_share if one.shows_shares else {},
        "partitions": {name: _partition(part) for name, part in one.partitions.items()},
        "held": one.held or {},
        "opportunistic": view.opportunistic_of(path) or {},
        "usedCapacity": one.used_capacity,
        "dynamic": one.dynamic,
        "plan": view.takes_reservations(path),
        "problem": "" if problem is None else problem.message[:MOST_WORDS],
        "remark": view.remark(path)[:MOST_WORDS],
    }
    return _something(row)


def _partition(part: PartitionFigures) -> Row:
    return _something(
        {"used": part.used, "pending": part.pending, "guaranteed": part.guaranteed, "maximum": part.maximum},
    )


class Lines:
    """The places of applications in the lines of their leaves, each leaf sorted once."""

    def __init__(self) -> None:
        """Know none yet."""
        self._places: dict[str, dict[str, int]] = {}
        self._orders: dict[str, list[str]] = {}

    def of(self, view: View, leaf: str, identity: str) -> Row:
        """Return where an application stands, of how many, and who is in front; nothing for one that does not wait."""
        if leaf not in self._orders:
            order = self._orders[leaf] = view.order_of(leaf)
            self._places[leaf] = {name: number for number, name in enumerate(order)}
        place, order = self._places[leaf].get(identity, -1), self._orders[leaf]
        return {} if place < 0 else {"place": place + 1, "line": len(order), "ahead": order[: min(place, MOST_AHEAD)]}


def application_row(view: View, identity: str, lines: Lines, forecast: Forecast) -> Row | None:
    """Return the row of an application, None for one that is not there."""
    one = view.application(identity)
    if one is None:
        return None
    why = (one.obstacle.reason, one.obstacle.message) if one.obstacle is not None else one.waiting
    row: Row = {
        "name": identity,
        "queue": one.queue,
        "user": one.user,
        "phase": one.phase,
        "running": one.bound_pods,
        "waiting": one.waiting_pods,
        "used": one.used,
        "pending": one.pending,
        "eta": _undated(forecast(identity)),
    }
    if why is not None:
        row |= {"reason": why[0], "message": why[1][:MOST_WORDS]}
        row |= lines.of(view, one.queue, identity) if one.queue else {}
    return _something(row) | ({} if one.headroom is None else {"headroom": one.headroom})


def _undated(forecast: Mapping[str, Any] | None) -> Row:
    """Return a forecast without when it was made, which alone would make every row another one."""
    return {name: value for name, value in (forecast or {}).items() if name != "asOf" and value is not None}


def node_row(view: View, name: str) -> Row | None:
    """Return the row of a node, None for one that is not there."""
    one = view.node_line(name)
    if one is None:
        return None
    row: Row = {
        "name": name,
        "partition": one.partition,
        "state": one.state if one.state != SCHEDULABLE else "",
        "has": one.allocatable,
        "used": one.used,
        "opportunistic": one.opportunistic,
        "problem": one.problem[:MOST_WORDS],
    }
    return _something(row)


def _something(row: Row) -> Row:
    """Return a row without what is nothing: the page takes what is absent for that."""
    return {name: value for name, value in row.items() if value}


def where(row: Row, topic: str) -> str:
    """Return the queue by which it is decided who sees a row, empty for one that is in none."""
    match topic:
        case "queues":
            return str(row["name"])
        case "applications":
            return str(row.get("queue", ""))
    return ""


def cluster(view: View) -> Row:
    """Return what there is of everything."""
    counts = view.counts()
    attempts, _ = view.preemptions
    root = view.queue(ROOT)
    return {
        "discipline": view.discipline,
        "total": view.total,
        "nodes": counts.nodes,
        "used": {} if root is None else root.used,
        "pods": {"waiting": counts.waiting, "assumed": counts.assumed, "bound": counts.bound, "decided": counts.decisions},
        "preemptions": attempts,
    }
