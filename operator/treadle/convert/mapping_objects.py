"""Mapping rules of the CapacityScheduler as the Scheduler has them: the JSON form as it is, the lists of old as text.

Queues in them are called as the converted Queues are. The rules have been read and checked before (``convert.mapping``).
"""

from collections.abc import Mapping
from typing import Any, Final

from treadle.convert.mapping import BY_APPLICATION, LEGACY, OVERRIDE, form
from treadle.convert.mapping_json import JSON_TEXT, rules_of
from treadle.convert.names import Renames
from treadle.core.rules.placement.mapping import APPLICATION, USER

_FIELDS: Final = (
    "type",
    "matches",
    "policy",
    "parentQueue",
    "customPlacement",
    "value",
    "create",
    "fallbackResult",
)
_PATHS: Final = frozenset({"parentQueue", "value"})
_TYPES: Final = {"u": "user", "g": "group"}


def mapping(values: Mapping[str, str], renamed: Renames, notes: list[str]) -> dict[str, Any]:
    """Return the fields of the Scheduler's ``capacity`` that say where applications go."""
    found: dict[str, Any] = {}
    if form(values) == "json":
        text = values.get(JSON_TEXT, "")
        rules = rules_of(text) if text else []
        found["mappingRules"] = [_rule(number, rule, renamed, notes) for number, rule in enumerate(rules)]
    elif values.get(BY_APPLICATION, "").strip():
        found["mappingRules"] = [
            *(_legacy(one, renamed) for one in _listed(values.get(LEGACY, ""))),
            *(_by_application(one, renamed) for one in _listed(values[BY_APPLICATION])),
        ]
    elif listed := _listed(values.get(LEGACY, "")):
        found["queueMappings"] = ",".join(_renamed(one, renamed) for one in listed)
    found = {name: value for name, value in found.items() if value}
    if OVERRIDE in values:
        found["queueMappingsOverride"] = values[OVERRIDE].strip().lower() == "true"
    return found


def _listed(text: str) -> list[str]:
    return [part for one in text.split(",") if (part := one.strip())]


def _parts(text: str) -> list[str]:
    return [part for one in text.split(":") if (part := one.strip())]


def _renamed(text: str, renamed: Renames) -> str:
    kind, who, where = _parts(text)
    return f"{kind}:{who}:{_target(where, renamed)}"


def _target(where: str, renamed: Renames) -> str:
    """Return a target under our names; dots at its end mean nothing to Hadoop."""
    return renamed.of(where.rstrip("."))


def _legacy(text: str, renamed: Renames) -> dict[str, Any]:
    kind, who, where = _parts(text)
    everybody = (kind, who) == ("u", USER)
    return _custom(_TYPES[kind], "*" if everybody else who, _target(where, renamed))


def _by_application(text: str, renamed: Renames) -> dict[str, Any]:
    who, where = _parts(text)
    kind, matches = ("user", "*") if who == APPLICATION else ("application", who)
    return _custom(kind, matches, _target(where, renamed))


def _custom(kind: str, matches: str, where: str) -> dict[str, Any]:
    return {
        "type": kind,
        "matches": matches,
        "policy": "custom",
        "customPlacement": where,
        "fallbackResult": "placeDefault",
    }


def _rule(number: int, rule: Mapping[str, Any], renamed: Renames, notes: list[str]) -> dict[str, Any]:
    notes += [f"{JSON_TEXT}: rules[{number}].{name}: is not known and left out" for name in rule if name not in _FIELDS]
    found: dict[str, Any] = {}
    for name in _FIELDS:
        value = rule.get(name)
        if value is not None:
            found[name] = _target(value, renamed) if name == "customPlacement" else renamed.of(value) if name in _PATHS else value
    return found
