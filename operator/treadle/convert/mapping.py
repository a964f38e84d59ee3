"""Mapping rules of capacity-scheduler.xml: the legacy lists and the JSON form, read and refused as Hadoop does.

``CapacitySchedulerConfiguration.getMappingRules`` and ``MappingRuleCreator``. Unlike in Hadoop a field of a rule that has no effect is
not an error either, but nothing is guessed: values are case-sensitive.
"""

from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any, Final

import msgspec

from treadle.convert.errors import MappingError
from treadle.core.model.mapping import Fallback, MappingRule, Match
from treadle.core.rules.placement.mapping import APPLICATION, RULING, TARGETS, USER, place_of

_PREFIX: Final = "yarn.scheduler.capacity."
FORMAT: Final = f"{_PREFIX}mapping-rule-format"
JSON_TEXT: Final = f"{_PREFIX}mapping-rule-json"
LEGACY: Final = f"{_PREFIX}queue-mappings"
OVERRIDE: Final = f"{_PREFIX}queue-mappings-override.enable"
CHAIN: Final = "yarn.scheduler.queue-placement-rules"
BY_APPLICATION: Final = f"{CHAIN}.app-name"
KNOWN_CHAINS: Final = frozenset({"user-group", "app-name"})

_ARGUMENT: Final = "IllegalArgumentException"
_KINDS: Final = {"u": Match.USER, "g": Match.GROUP}
_MATCHES: Final = {"user": Match.USER, "group": Match.GROUP, "application": Match.APPLICATION}
_POLICIES: Final = (*TARGETS, *RULING)
_TEXTS: Final = ("type", "matches", "policy", "parentQueue", "fallbackResult", "value", "customPlacement")


def read_rules(site: Mapping[str, str]) -> list[MappingRule]:
    """Return the mapping rules that a configuration names, in the order in which they are tried. Raises ``MappingError``."""
    for name in _listed(site.get(CHAIN, "")):
        if name not in KNOWN_CHAINS:
            known = ", ".join(sorted(KNOWN_CHAINS))
            raise MappingError(f"{CHAIN}: {name!r} is not known; allowed are {known}", "IOException/ClassNotFoundException")
    if site.get(FORMAT, "legacy").strip() == "json":
        text = site.get(JSON_TEXT, "").strip()
        return from_json(text) if text else []
    rules = [_legacy(text) for text in _listed(site.get(LEGACY, ""))]
    return rules + [_by_application(text) for text in _listed(site.get(BY_APPLICATION, ""))]


def overrides(site: Mapping[str, str]) -> bool:
    """Whether applications that ask for a queue are mapped too."""
    return site.get(OVERRIDE, "false").strip().lower() == "true"


def _listed(text: str) -> list[str]:
    return [part for one in text.split(",") if (part := one.strip())]


def _parts(text: str) -> list[str]:
    return [part for one in text.split(":") if (part := one.strip())]


def _legacy(text: str) -> MappingRule:
    parts = _parts(text)
    if len(parts) != 3 or parts[0] not in _KINDS:
        raise MappingError(f"{LEGACY}: {text!r} is not u:USER:QUEUE or g:GROUP:QUEUE", _ARGUMENT)
    kind, who, where = parts
    match = Match.ANY if (kind, who) == ("u", USER) else _KINDS[kind]
    return MappingRule(match, who, where, fallback=Fallback.PLACE_DEFAULT)


def _by_application(text: str) -> MappingRule:
    parts = _parts(text)
    if len(parts) != 2:
        raise MappingError(f"{BY_APPLICATION}: {text!r} is not APPLICATION:QUEUE", _ARGUMENT)
    match = Match.ANY if parts[0] == APPLICATION else Match.APPLICATION
    return MappingRule(match, parts[0], parts[1], fallback=Fallback.PLACE_DEFAULT)


def from_json(text: str) -> list[MappingRule]:
    """Return the rules of a JSON document ``{"rules": [...]}``. Raises ``MappingError``, which names the rule and the field."""
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, JSONDecodeError) as error:
        cut = "truncated" in str(error)
        raise MappingError(
            f"{JSON_TEXT}: not JSON: {error}", "JsonMappingException/JsonEOFException" if cut else "JsonParseException"
        ) from None
    if not isinstance(document, dict):
        raise MappingError(f"{JSON_TEXT}: must be an object with the field rules", "MismatchedInputException")
    rules = document.get("rules", [])
    if not isinstance(rules, list):
        raise MappingError(f"{JSON_TEXT}: rules must be a list", "MismatchedInputException")
    return [_rule(number, rule) for number, rule in enumerate(rules)]


def _rule(number: int, rule: Any) -> MappingRule:
    where = f"{JSON_TEXT}: rules[{number}]"
    if not isinstance(rule, dict):
        raise MappingError(f"{where}: must be an object", "MismatchedInputException")
    for name in _TEXTS:
        if rule.get(name) is not None and not isinstance(rule[name], str | int | float):
            raise MappingError(f"{where}.{name}: must be a text", "MismatchedInputException")
    kind = _one_of(where, rule, "type", tuple(_MATCHES))
    policy = _one_of(where, rule, "policy", _POLICIES)
    fallback = _one_of(where, rule, "fallbackResult", tuple(one.value for one in Fallback))
    matches = rule.get("matches")
    if kind is None or policy is None or not matches:
        missing = "type" if kind is None else "policy" if policy is None else "matches"
        raise MappingError(f"{where}.{missing}: is required", _ARGUMENT)
    if kind == "group" and matches == "*":
        raise MappingError(f"{where}.matches: '*' cannot stand for groups; name one", _ARGUMENT)
    match = Match.ANY if kind == "user" and matches == "*" else _MATCHES[kind]
    return _placing(where, rule, MappingRule(match, str(matches), fallback=Fallback(fallback or "skip")), policy)


def _placing(where: str, rule: Mapping[str, Any], matching: MappingRule, policy: str) -> MappingRule:
    place = default = None
    create = rule.get("create") is not False
    if policy in TARGETS:
        above = rule.get("parentQueue")
        place = place_of(policy, None if above is None else str(above))
        create = create and policy != "defaultQueue"
    elif policy == "custom":
        place = _required(where, rule, "customPlacement", policy)
    elif policy == "setDefaultQueue":
        default = _required(where, rule, "value", policy)
    return MappingRule(matching.match, matching.value, place, default, create, matching.fallback)


def _required(where: str, rule: Mapping[str, Any], name: str, policy: str) -> str:
    value = rule.get(name)
    if value is None:
        raise MappingError(f"{where}.{name}: is required with the policy {policy}", _ARGUMENT)
    return str(value)


def _one_of(where: str, rule: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str | None:
    value = rule.get(name)
    if value is not None and value not in allowed:
        raise MappingError(
            f"{where}.{name}: {value!r} is not known; allowed are {', '.join(allowed)}",
            f"ValueInstantiationException/{_ARGUMENT}",
        )
    return value
