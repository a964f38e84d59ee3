"""YuniKorn's placement rules as ours."""

from __future__ import annotations

from typing import Any, Final

from treadle.convert.names import Renames
from treadle.convert.peers import NO_COUNTERPART, Json, PeerRefused, mapping, rest, truth, word
from treadle.core.model import PlacementRule
from treadle.core.rules.placement.names import path_problem
from treadle.core.rules.placement.rules import InvalidRules, analyse, terminal

_KEYS: Final = ("name", "create", "parent", "filter", "value")
_REJECT: Final = {"rule": "reject"}


def rules_of(found: list[Json], renamed: Renames, notes: list[str]) -> list[Json]:
    """Return the rules, empty where there are none. What cannot be a rule here is left out with a line; whom no rule places is rejected, as there."""
    if not found:
        return []
    kept: list[Json] = []
    for number, one in enumerate(found):
        where = f"placementrules[{number}]"
        rule = _rule(where, one, renamed, notes)
        if rule is None:
            continue
        if kept and terminal(_model(kept[-1])):
            notes.append(f"{where}: is never reached, since {kept[-1]['rule']} before it takes every application; it is left out")
            continue
        try:
            analyse([_model(rule), *([] if terminal(_model(rule)) else [PlacementRule("reject")])])
        except InvalidRules as error:
            notes.append(f"{where}: is left out: {error}")
            continue
        kept.append(rule)
    if not kept or not terminal(_model(kept[-1])):
        kept.append(dict(_REJECT))
    return kept


def _model(rule: Json) -> PlacementRule:
    parent = rule.get("parent")
    return PlacementRule(
        rule["rule"], create=rule.get("create", True), queue=rule.get("queue", ""), parent=_model(parent) if parent else None
    )


def _rule(where: str, found: Json, renamed: Renames, notes: list[str]) -> Json | None:
    """Return one rule, None for one that is left out with a line."""
    rest(where, found, _KEYS, notes)
    name = word(f"{where}.name", found.get("name")).lower()
    made = truth(f"{where}.create", found.get("create"))
    value = str(found.get("value") or "").strip()
    if not _filtered(where, name, mapping(f"{where}.filter", found.get("filter")), notes):
        return None
    above = mapping(f"{where}.parent", found.get("parent"))
    parent = _rule(f"{where}.parent", above, renamed, notes) if above else None
    if above and parent is None:
        notes.append(f"{where}: is left out with its parent")
        return None
    match name:
        case "provided" if parent is not None:
            notes.append(
                f"{where}: is left out: {NO_COUNTERPART} for provided below a parent; queues that are asked for are named by their whole path"
            )
            return None
        case "provided":
            return {"rule": "specified", "create": made}
        case "user":
            rule: Json = {"rule": "user", "create": made}
        case "tag" if value == "namespace":
            rule = {"rule": "namespace", "create": made}
        case "tag":
            notes.append(f"{where}: is left out: tag {value!r} {NO_COUNTERPART}; allowed is namespace")
            return None
        case "fixed":
            return _fixed(where, value, made, parent, renamed, notes)
        case _:
            notes.append(f"{where}: is left out: rule {name!r} {NO_COUNTERPART}")
            return None
    return rule | ({"parent": parent} if parent is not None else {})


def _fixed(where: str, value: str, made: bool, parent: Json | None, renamed: Renames, notes: list[str]) -> Json | None:
    if not value:
        raise PeerRefused(f"{where}.value: there is none; the rule fixed needs a queue")
    path = value.lower()
    if path != "root" and not path.startswith("root."):
        above = parent.get("queue", "") if parent is not None and parent["rule"] == "default" else "root"
        path = f"{above}.{path}" if above else ""
        if not path:
            notes.append(f"{where}: is left out: {NO_COUNTERPART} for fixed below another rule than fixed")
            return None
    ours = renamed.of(path)
    if problem := path_problem(ours):
        notes.append(f"{where}: is left out: queue {value!r} cannot be: {problem}")
        return None
    return {"rule": "default", "queue": ours, "create": made}


def _filtered(where: str, name: str, found: dict[str, Any], notes: list[str]) -> bool:
    """Return whether a rule is kept: one for some only would here be for everybody."""
    if not found or not (found.get("users") or found.get("groups")):
        return True
    if str(found.get("type") or "allow").lower() == "deny":
        notes.append(f"{where}.filter: {NO_COUNTERPART}; the rule {name} is for everybody, those too whom it leaves out there")
        return True
    notes.append(f"{where}: is left out: {NO_COUNTERPART} for its filter, and without it the rule {name} would be for everybody")
    return False
