"""Reservations that are accepted, as the API has them."""

from __future__ import annotations

from typing import Any

from rest.reviewing import NOW
from treadle.controllers.reservations import rfc3339

Json = dict[str, Any]
BEGINS = NOW // 60 * 60
"""The whole minute in which a plan is told, in seconds since 1970."""
HOUR = 3600


def reservation(name: str, start: float, end: float, path: str = "root.plan", cpu: str = "4", period: str = "") -> Json:
    """An accepted Reservation that has cpu from hours after now until others."""
    times = {"arrival": rfc3339(round((BEGINS + start * HOUR) * 1000)), "deadline": rfc3339(round((BEGINS + end * HOUR) * 1000))}
    accepted = {
        "generation": 1,
        "time": rfc3339(0),
        "queue": path,
        "user": "ann",
        **times,
        **({"period": period} if period else {}),
    }
    demand = {"start": times["arrival"], "end": times["deadline"], "demand": {"cpu": cpu}}
    metadata = {"name": name, "namespace": "ns", "uid": name, "generation": 1, "resourceVersion": "1"}
    request = {"count": 4, "duration": "1h", "demand": {"cpu": "1"}}
    spec = {"queue": path, "arrival": times["arrival"], "deadline": times["deadline"], "requests": [request]}
    status = {"plannedGeneration": 1, "accepted": accepted, "allocations": [demand], "phase": "Accepted"}
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", "metadata": metadata, "spec": spec, "status": status}
