"""Reading an object of ours: a model, or what is wrong with it in words for its author.

The API server has refused most mistakes by schema; what passes it (an object older than a rule, a server without our CRDs, a
comparison that CEL cannot make) is found here and ends in a condition. It never stops the scheduler.
"""

import difflib
from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin, overload

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from treadle.api.application import Application
from treadle.api.queue import Queue
from treadle.api.reservation import Reservation
from treadle.api.scheduler import Scheduler

Kind: TypeAlias = Literal["Scheduler", "Queue", "Application", "Reservation"]
Object: TypeAlias = Scheduler | Queue | Application | Reservation

KINDS: Final[dict[str, type[Scheduler] | type[Queue] | type[Application] | type[Reservation]]] = {
    "Scheduler": Scheduler,
    "Queue": Queue,
    "Application": Application,
    "Reservation": Reservation,
}
PLURALS: Final = {"Scheduler": "schedulers", "Queue": "queues", "Application": "applications", "Reservation": "reservations"}
NAMESPACED: Final = frozenset({"Application", "Reservation"})

_MOST_PROBLEMS: Final = 20
_SHOWN: Final = 64


class InvalidObject(Exception):
    """An object of ours that cannot be acted on; ``problems`` has one sentence a mistake, each with field, value and what is allowed."""

    def __init__(self, kind: str, name: str, problems: list[str]) -> None:
        super().__init__(kind, name, problems)
        self.kind = kind
        self.name = name
        self.problems = problems

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: " + "; ".join(self.problems)


@overload
def parse(kind: Literal["Scheduler"], obj: Mapping[str, Any]) -> Scheduler: ...
@overload
def parse(kind: Literal["Queue"], obj: Mapping[str, Any]) -> Queue: ...
@overload
def parse(kind: Literal["Application"], obj: Mapping[str, Any]) -> Application: ...
@overload
def parse(kind: Literal["Reservation"], obj: Mapping[str, Any]) -> Reservation: ...
@overload
def parse(kind: str, obj: Mapping[str, Any]) -> Object: ...
def parse(kind: str, obj: Mapping[str, Any]) -> Object:
    """The model of an object as the API server gives it.

    A status that this version cannot read is dropped: it is ours to write again. Raises ``InvalidObject`` for anything else
    that is wrong, also a kind that is not ours.
    """
    name = _name(obj)
    model = KINDS.get(kind)
    if model is None:
        raise InvalidObject(kind, name, [f"kind: {kind!r} is not one of {', '.join(KINDS)}"])
    try:
        return model.model_validate(obj)
    except ValidationError as error:
        problems = [detail for detail in error.errors(include_url=False) if detail["loc"][:1] != ("status",)]
        if not problems:
            return model.model_validate({key: value for key, value in obj.items() if key != "status"})
        said = [_sentence(model, detail) for detail in problems[:_MOST_PROBLEMS]]
        if len(problems) > _MOST_PROBLEMS:
            said.append(f"and {len(problems) - _MOST_PROBLEMS} more")
        raise InvalidObject(kind, name, said) from None


def _name(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else "(without a name)"


def _sentence(model: type[BaseModel], detail: ErrorDetails) -> str:
    context = detail.get("ctx") or {}
    path = ".".join(str(part) for part in detail["loc"] if part != "[key]")
    if field := context.get("field"):
        path = f"{path}.{field}" if path else str(field)
    kind, shown = detail["type"], _shown(detail["input"])
    if kind == "extra_forbidden":
        return f"{path}: unknown field{_alternatives(model, detail)}"
    if kind == "missing":
        return f"{path}: is required"
    if kind == "literal_error":
        return f"{path}: {shown} is not one of {context['expected']}"
    if "field" in context:
        return f"{path}: {detail['msg']}"
    return f"{path}: {shown}: {detail['msg'].removeprefix('Value error, ')}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _alternatives(model: type[BaseModel], detail: ErrorDetails) -> str:
    """The fields that are allowed where an unknown one stands, the most alike first."""
    found: Any = model
    for part in detail["loc"][:-1]:
        found = _step(found, part)
        if found is None:
            return ""
    if not isinstance(found, type) or not issubclass(found, BaseModel):
        return ""
    names = sorted(field.alias or name for name, field in found.model_fields.items())
    alike = difflib.get_close_matches(str(detail["loc"][-1]), names, n=1)
    meant = f", did you mean {alike[0]}?" if alike else "."
    return f"{meant} Allowed: {', '.join(names)}"


def _step(annotation: Any, part: int | str) -> Any:
    """The type below a type at one element of an error's location; None where it cannot be told."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if part in {name, field.alias}:
                return _plain(field.annotation)
        return None
    arguments = get_args(annotation)
    if get_origin(annotation) is list and arguments:
        return _plain(arguments[0])
    if get_origin(annotation) is dict and len(arguments) == 2:
        return _plain(arguments[1])
    return None


def _plain(annotation: Any) -> Any:
    """A type without ``Annotated`` and ``None`` around it."""
    while True:
        if get_origin(annotation) in {Union, UnionType}:
            annotation = next(argument for argument in get_args(annotation) if argument is not type(None))
        elif hasattr(annotation, "__metadata__"):
            annotation = get_args(annotation)[0]
        else:
            return annotation
