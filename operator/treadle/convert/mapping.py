"""Mapping rules of capacity-scheduler.xml: the legacy lists and the JSON form, read and refused as Hadoop does.

``CapacitySchedulerConfiguration.getMappingRules``, ``CapacityScheduler.updatePlacementRules`` and ``MappingRuleCreator``. A field
of a rule that has no effect is no error, but nothing is guessed: values are case-sensitive.
"""

from collections.abc import Mapping
from typing import Any, Final

from treadle.convert.errors import MappingError
from treadle.convert.mapping_json import JSON_TEXT, TYPES, rules_of
from treadle.core.model.mapping import Fallback, MappingRule, Match
from treadle.core.rules.placement.mapping import APPLICATION, TARGETS, USER, place_of

_PREFIX: Final = "yarn.scheduler.capacity."
FORMAT: Final = f"{_PREFIX}mapping-rule-format"
LEGACY: Final = f"{_PREFIX}queue-mappings"
OVERRIDE: Final = f"{_PREFIX}queue-mappings-override.enable"
CHAIN: Final = "yarn.scheduler.queue-placement-rules"
BY_APPLICATION: Final = f"{CHAIN}.app-name"
_CLASSES: Final = "org.apache.hadoop.yarn.server.resourcemanager.placement."
KNOWN_CHAINS: Final = frozenset({"user-group", "app-name", f"{_CLASSES}CSMappingPlacementRule"})
"""What may be listed: all of them mean the mapping rules."""
_OF_FAIR: Final = frozenset(
    f"{_CLASSES}{name}PlacementRule"
    for name in ("User", "PrimaryGroup", "SecondaryGroupExisting", "Specified", "Default", "Reject")
)

_ARGUMENT: Final = "IllegalArgumentException"
_KINDS: Final = {"u": Match.USER, "g": Match.GROUP}


def read_rules(site: Mapping[str, str]) -> list[MappingRule]:
    """Return the mapping rules that a configuration names, in the order in which they are tried. Raises ``MappingError``."""
    _check_chain(site.get(CHAIN, ""))
    written = form(site)
    if written == "json":
        text = site.get(JSON_TEXT, "")
        return from_json(text) if text else []
    rules = [_legacy(text) for text in _listed(site.get(LEGACY, ""))]
    return rules + [_by_application(text) for text in _listed(site.get(BY_APPLICATION, ""))]


def form(site: Mapping[str, str]) -> str:
    """Return the form of the rules, legacy or json. Raises ``MappingError`` for any other."""
    found = site.get(FORMAT, "legacy")
    if found not in {"legacy", "json"}:
        raise MappingError(f"{FORMAT}: {found!r} is not known; allowed are legacy and json", _ARGUMENT)
    return found


def _check_chain(text: str) -> None:
    """Refuse placement rules that Hadoop refuses; blanks belong to the names."""
    names = [name for name in text.split(",") if name]
    known = ", ".join(sorted(KNOWN_CHAINS))
    if len(names) > len(set(names)):
        raise MappingError(f"{CHAIN}: {text!r} names a rule twice", "IOException")
    for name in names:
        if name in _OF_FAIR:
            raise MappingError(f"{CHAIN}: {name} is a rule of the FairScheduler; allowed are {known}", "IOException")
        if name not in KNOWN_CHAINS:
            raise MappingError(f"{CHAIN}: {name!r} is not known; allowed are {known}", "IOException/ClassNotFoundException")


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
    return [_rule(f"{JSON_TEXT}: rules[{number}]", rule) for number, rule in enumerate(rules_of(text))]


def _rule(where: str, rule: Mapping[str, Any]) -> MappingRule:
    kind, policy, matches = rule.get("type"), rule.get("policy"), rule.get("matches")
    if kind is None or policy is None or not matches:
        missing = "policy" if policy is None else "type" if kind is None else "matches"
        raise MappingError(f"{where}.{missing}: is required", _ARGUMENT)
    if kind == "group" and matches == "*":
        raise MappingError(f"{where}.matches: '*' cannot stand for groups; name one", _ARGUMENT)
    match = Match.ANY if kind == "user" and matches == "*" else TYPES[kind]
    return _placing(where, rule, MappingRule(match, matches, fallback=Fallback(rule.get("fallbackResult") or "skip")), policy)


def _placing(where: str, rule: Mapping[str, Any], matching: MappingRule, policy: str) -> MappingRule:
    place = default = None
    create = rule.get("create") is not False
    if policy in TARGETS:
        place = place_of(policy, rule.get("parentQueue"))
        create = create and policy != "defaultQueue"
    elif policy == "custom":
        place = _required(where, rule, "customPlacement", policy)
    elif policy == "setDefaultQueue":
        default = _required(where, rule, "value", policy)
    return MappingRule(matching.match, matching.value, place, default, create, matching.fallback)


def _required(where: str, rule: Mapping[str, Any], name: str, policy: str) -> str:
    value: str | None = rule.get(name)
    if value is None:
        raise MappingError(f"{where}.{name}: is required with the policy {policy}", _ARGUMENT)
    return value
