"""The tables that ``kubectl get`` prints: the printer columns of a kind, and what is computed for pods and nodes (pkg/printers)."""

import calendar
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from treadle.fakeapi.errors import Json
from treadle.fakeapi.resources import Resource, lookup

_STEP = re.compile(r"""\.((?:\\.|[^.\[\\])+)|\[\?\(@\.(\w+)==["']([^"']+)["']\)]|\[(\d+)]""")


def table(resource: Resource, objects: Iterable[Json], now: float, metadata: Json, *, whole: bool = False) -> Json:
    """A meta.k8s.io/v1 Table; `whole` sends the objects along and not only their metadata."""
    computed = _COMPUTED.get(resource.name, ())
    columns = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
    columns += [
        {"name": name, "type": "string", "format": "", "description": "", "priority": priority} for name, priority, _ in computed
    ]
    shown = [column for column in resource.columns if not computed or column["name"] == "Age"]
    columns += [{"format": "", "description": "", "priority": 0} | column | {"type": "string"} for column in shown]
    rows = []
    for obj in objects:
        cells = [
            obj["metadata"]["name"],
            *(cell(obj) for _, _, cell in computed),
            *(_shown(column, obj, now) for column in shown),
        ]
        part = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
        rows.append({"cells": cells, "object": obj if whole else part})
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows}


def _shown(column: Json, obj: Json, now: float) -> str:
    value: Any = obj
    for name, key, wanted, index in _STEP.findall(column["jsonPath"]):
        if name:
            value = lookup(value, (name.replace("\\", ""),))
        else:
            items = value if isinstance(value, list) else []
            chosen = items[int(index) : int(index) + 1] if index else [item for item in items if item.get(key) == wanted]
            value = chosen[0] if chosen else None
    if value and (column["type"] == "date" or column["name"] == "Age"):
        return age(now - calendar.timegm(time.strptime(value[:19], "%Y-%m-%dT%H:%M:%S")))
    return "" if value is None else str(value)


def age(seconds: float) -> str:
    """A duration as kubectl writes it, shorter the longer it is."""
    for unit, size, most in (("s", 1, 120), ("m", 60, 180), ("h", 3600, 48)):
        if seconds < most * size:
            return f"{max(0, int(seconds)) // size}{unit}"
    return f"{int(seconds) // 86400}d"


def _ready(pod: Json) -> str:
    count = len(pod["spec"]["containers"])
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in pod["status"].get("conditions") or ())
    return f"{count if ready else 0}/{count}"


def _pod_status(pod: Json) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    reason = pod["status"].get("reason") or next(iter(c.get("reason") for c in pod["status"].get("conditions") or ()), None)
    gated = "SchedulingGated" if reason == "SchedulingGated" and not pod["spec"].get("nodeName") else None
    return str(
        pod["status"].get("reason") or gated or {"Succeeded": "Completed"}.get(phase := pod["status"].get("phase", ""), phase)
    )


def _node_status(node: Json) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ("Ready" if ready else "NotReady") + (",SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else "")


def _at(*path: str) -> Callable[[Json], str]:
    return lambda obj: str(lookup(obj, path) or "<none>")


_COMPUTED: dict[str, tuple[tuple[str, int, Callable[[Json], str]], ...]] = {
    "pods": (
        ("Ready", 0, _ready),
        ("Status", 0, _pod_status),
        ("Node", 1, _at("spec", "nodeName")),
        ("Scheduler", 1, _at("spec", "schedulerName")),
    ),
    "nodes": (
        ("Status", 0, _node_status),
        ("CPU", 0, _at("status", "allocatable", "cpu")),
        ("Memory", 0, _at("status", "allocatable", "memory")),
    ),
}
