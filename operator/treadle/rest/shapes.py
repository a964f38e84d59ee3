"""YARN's definitions of reservations and our objects, one from the other and exactly: MiB and bytes, cores and thousandths, ms and times.

What one of them cannot say is refused with words. A list shows amounts that are no whole MiB or cores rounded up, and exactly beside that (``resourceInformations``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treadle.api import labels
from treadle.api.objects import InvalidObject, parse
from treadle.api.quantities import seconds
from treadle.api.reservation import Reservation
from treadle.controllers.reservations import duration, milliseconds, rfc3339
from treadle.core.errors import InvalidSpec
from treadle.core.model.reservations import Interpreter, Promise, partition_of
from treadle.core.units.resources import amount, format_amount
from treadle.rest import forms
from treadle.rest.answers import Refused
from treadle.rest.ids import id_of

MIB = 1 << 20
INTERPRETERS = (Interpreter.ANY, Interpreter.ALL, Interpreter.ORDER, Interpreter.ORDER_NO_GAP)
"""By YARN's numbers (R_ANY, R_ALL, R_ORDER, R_ORDER_NO_GAP)."""
NO_PRIORITY = -1
"""YARN's ``Priority.UNDEFINED``."""
_UNITS = frozenset({"", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"})
_NAMES = {"memory-mb": "memory", "vcores": "cpu"}
"""What YARN calls the resource types that both have."""
_YARN_NAMES = {ours: theirs for theirs, ours in _NAMES.items()}


def demand(said: forms.Capability, where: str) -> dict[str, int]:
    """Return what a capability asks for, by name in our units. Raises ``Refused``, also where it says two things of one type."""
    if said.memory < 0 or said.cores < 0:
        field, value = ("memory", said.memory) if said.memory < 0 else ("vCores", said.cores)
        raise Refused(400, f"{where}.{field}: {value} is below 0")
    found = {"memory": said.memory * MIB, "cpu": said.cores * 1000}
    for at, each in enumerate(said.named.each() if said.named is not None else ()):
        field = f"{where}.resourceInformations.resourceInformation[{at}]"
        name, value = _NAMES.get(each.name, each.name), _named(each, field)
        whole = {"memory": MIB, "cpu": 1000}.get(name, 0)
        if name in found and found[name] and (not whole or -(-value // whole) * whole != found[name]):
            raise Refused(
                400, f"{field}: {each.value}{each.units} of {each.name} is not what is said of it elsewhere in the capability"
            )
        found[name] = value
    return found


def _named(said: forms.Information, field: str) -> int:
    if said.units not in _UNITS:
        raise Refused(400, f"{field}.units: {said.units!r} is not one of {', '.join(sorted(_UNITS - {''}))}, or empty")
    if said.value < 0:
        raise Refused(400, f"{field}.value: {said.value} is below 0")
    try:
        return amount(_NAMES.get(said.name, said.name), f"{said.value}{said.units}")
    except InvalidSpec as error:
        raise Refused(400, f"{field}: {error}") from None


def recurrence(said: forms.Definition) -> str:
    """Return YARN's expression of a period, which is "0" where it is not given."""
    return "0" if said.recurrence_expression is None else str(said.recurrence_expression)


def interpreter(said: forms.Requests) -> Interpreter:
    """Return how requests belong together. Raises ``Refused`` for a number that means nothing."""
    number = said.reservation_request_interpreter
    if not 0 <= number < len(INTERPRETERS):
        allowed = "0 (any), 1 (all), 2 (in order), 3 (in order without gaps)"
        raise Refused(400, f"reservation-request-interpreter: {number} is not one of {allowed}")
    return INTERPRETERS[number]


def body(name: str, namespace: str, queue: str, said: forms.Definition) -> dict[str, Any]:
    """Return the object for a definition that has requests and a valid period. Raises ``Refused`` for what cannot be said in one."""
    requests = said.reservation_requests
    assert requests is not None
    spec: dict[str, Any] = {
        "queue": queue,
        "arrival": _time("arrival", said.arrival),
        "deadline": _time("deadline", said.deadline),
        "expression": {
            "interpreter": interpreter(requests).value,
            "requests": [_request(each, f"reservation-request[{at}]") for at, each in enumerate(requests.each())],
        },
    }
    if int(recurrence(said)):
        spec["recurrence"] = duration(int(recurrence(said)))
    if said.priority is not None and said.priority != NO_PRIORITY:
        spec["priority"] = said.priority
    notes = {labels.RESERVATION_NAME: said.reservation_name} if said.reservation_name else {}
    made = {
        "apiVersion": labels.API_VERSION,
        "kind": "Reservation",
        "metadata": {"name": name, "namespace": namespace, "annotations": notes},
        "spec": spec,
    }
    try:
        parse("Reservation", made)
    except InvalidObject as error:
        raise Refused(400, f"the definition cannot be promised: {'; '.join(error.problems)}") from None
    return made


def _request(said: forms.Request, where: str) -> dict[str, Any]:
    if said.duration <= 0:
        raise Refused(400, f"{where}.duration: {said.duration} is not above 0")
    amounts = demand(said.capability, f"{where}.capability")
    named = {name: format_amount(name, value) for name, value in amounts.items() if value}
    if not named:
        raise Refused(400, f"{where}.capability: asks for nothing; of one resource type at least it must be more than 0")
    return {
        "demand": named,
        "count": said.num_containers,
        "concurrency": said.min_concurrency,
        "duration": duration(said.duration),
    }


def _time(field: str, ms: int) -> str:
    try:
        return rfc3339(ms)
    except (ValueError, OverflowError, OSError):
        raise Refused(400, f"{field}: {ms} ms after 1970 is not a time before the year 10000") from None


def unsaid(model: Reservation) -> str:
    """Return which field of an object a definition of YARN's cannot say, empty if it can say all of them."""
    spec = model.spec
    if spec.recurrence is not None and period_of(model) is None:
        return "spec.recurrence with times of a calendar"
    if spec.time_zone is not None:
        return "spec.timeZone"
    if any(one.minimum_concurrency is not None for one in spec.expression.requests):
        return "spec.expression.requests.minimumConcurrency"
    if any(one.partition is not None for one in spec.expression.requests):
        return "spec.expression.requests.partition"
    return ""


def period_of(model: Reservation) -> int | None:
    """Return after how many ms a reservation comes again, 0 if it does not, None for times of a calendar."""
    try:
        return 0 if model.spec.recurrence is None else round(seconds(model.spec.recurrence) * 1000)
    except ValueError:
        return None


def definition(model: Reservation) -> dict[str, Any]:
    """Return an object in YARN's shape. Times of a calendar stand there as they are written, which is no number."""
    spec, period = model.spec, period_of(model)
    shown: dict[str, Any] = {
        "arrival": milliseconds(spec.arrival),
        "deadline": milliseconds(spec.deadline),
        "reservation-requests": {
            "reservation-request-interpreter": INTERPRETERS.index(Interpreter(spec.expression.interpreter)),
            "reservation-request": [
                {
                    "capability": capability((name, amount(name, text)) for name, text in one.demand.items()),
                    "min-concurrency": one.concurrency,
                    "num-containers": one.count,
                    "duration": round(seconds(one.duration) * 1000),
                }
                for one in spec.expression.requests
            ],
        },
        "reservation-name": (model.metadata.annotations or {}).get(labels.RESERVATION_NAME, ""),
        "recurrence-expression": spec.recurrence if period is None else str(period),
        "priority": NO_PRIORITY if spec.priority is None else spec.priority,
    }
    return shown


def capability(amounts: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """Return amounts in YARN's shape: memory and cores rounded up to whole ones, and all types exactly."""
    named = {"memory": 0, "cpu": 0, **dict(amounts)}
    exact = [
        _exact(name, value)
        for name, value in sorted(named.items(), key=lambda one: (one[0] not in {"memory", "cpu"}, one[0] == "cpu", one[0]))
    ]
    return {
        "memory": -(-named["memory"] // MIB),
        "vCores": -(-named["cpu"] // 1000),
        "resourceInformations": {"resourceInformation": exact},
    }


def _everywhere(named: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return amounts by type, of all partitions together: YARN's allocations know none."""
    found: dict[str, int] = {}
    for name, value in named:
        kind = partition_of(name)[1]
        found[kind] = found.get(kind, 0) + value
    return found


def _exact(name: str, value: int) -> dict[str, Any]:
    units = ""
    if name == "memory" and value % MIB == 0:
        value, units = value // MIB, "Mi"
    elif name == "cpu":
        value, units = (value, "m") if value % 1000 else (value // 1000, "")
    return {"name": _YARN_NAMES.get(name, name), "value": value, "units": units}


def item(model: Reservation, promise: Promise, said: Mapping[str, Any], *, allocations: bool) -> dict[str, Any]:
    """Return one entry of a list. ``said`` is what is ours of it, and stands apart."""
    found: dict[str, Any] = {
        "acceptance-time": promise.accepted,
        "user": promise.user,
        "reservation-id": id_of(model.metadata.name),
        "reservation-definition": definition(model),
    }
    if allocations:
        found["resource-allocations"] = [
            {"startTime": start, "endTime": end, "resource": capability(_everywhere(named).items())}
            for start, end, named in promise.steps
        ]
    return {**found, "treadle": dict(said)}
