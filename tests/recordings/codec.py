"""Events and effects as JSON, by the names of their classes: where a class lives does not matter."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from treadle.core import effects, events, model
from treadle.core.model import capacity, mapping, opportunistic, reservations

MODULES = (events, effects, model, capacity, mapping, opportunistic, reservations)
CLASSES: dict[str, type] = {
    name: found for module in MODULES for name, found in vars(module).items() if isinstance(found, type) and name[0].isupper()
}
SEQUENCES: dict[str, type] = {"tuple": tuple, "list": list, "frozenset": frozenset}


def encode(value: Any) -> Any:
    """Return what JSON can hold of a value. A dataclass keeps the fields that differ from its defaults."""
    kind = type(value).__name__
    if value is None or isinstance(value, bool | int | float | str):
        return [kind, value.value] if isinstance(value, enum.Enum) else value
    if isinstance(value, enum.Enum):
        return [kind, value.value]
    if dataclasses.is_dataclass(value):
        return [
            kind,
            {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value) if _said(value, field)},
        ]
    if hasattr(value, "_asdict"):
        return [kind, {name: encode(each) for name, each in value._asdict().items()}]
    if isinstance(value, dict):
        return ["dict", [[encode(key), encode(each)] for key, each in value.items()]]
    if isinstance(value, frozenset):
        return [kind, [encode(each) for each in sorted(value, key=repr)]]
    return [kind, [encode(each) for each in value]]


def _said(value: Any, field: dataclasses.Field[Any]) -> bool:
    here = getattr(value, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return bool(here != field.default_factory())
    return field.default is dataclasses.MISSING or type(here) is not type(field.default) or bool(here != field.default)


def decode(data: Any) -> Any:
    """Return the value that ``encode`` was given."""
    if not isinstance(data, list):
        return data
    kind, held = data
    if kind == "dict":
        return {decode(key): decode(each) for key, each in held}
    if kind in SEQUENCES:
        return SEQUENCES[kind](decode(each) for each in held)
    made = CLASSES[kind]
    return made(**{name: decode(each) for name, each in held.items()}) if isinstance(held, dict) else made(held)
