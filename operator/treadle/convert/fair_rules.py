"""Placement rules of the FairScheduler as mapping rules, as Hadoop's fs2cs makes them (``QueuePlacementConverter``).

Every rule is for all users and, where it cannot place, passes on to the next. Rules name the root as the parent, which fs2cs
leaves out with percentages: then a short name would find a queue anywhere. A nested rule creates if it or its parent does, since
a mapping rule has one switch for both. With percentages nothing is made, and no rule says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

DEFAULT: Final = "root.default"
_PLAIN: Final = {
    "user": "user",
    "primaryGroup": "primaryGroup",
    "secondaryGroup": "secondaryGroup",
    "applicationName": "applicationName",
}
_NESTED: Final = {"primaryGroup": "primaryGroupUser", "secondaryGroup": "secondaryGroupUser"}


def mapping_rules(rules: Sequence[Mapping[str, Any]], notes: list[str], *, percentages: bool) -> list[dict[str, Any]]:
    """Return the mapping rules for a list of placement rules, and note what of them does not carry over."""
    found = []
    for number, rule in enumerate(rules):
        made = _rule(f"placementRules[{number}]", rule, notes, percentages=percentages)
        if made is not None:
            found.append(made)
    return found


def _rule(where: str, rule: Mapping[str, Any], notes: list[str], *, percentages: bool) -> dict[str, Any] | None:
    name, create, parent = rule["rule"], rule.get("create") is not False, rule.get("parent")
    found: dict[str, Any] = {"type": "user", "matches": "*", "fallbackResult": "skip"}
    if name in {"user", "nestedUserQueue"} and parent is not None and parent["rule"] in _NESTED:
        found["policy"] = _NESTED[parent["rule"]]
    elif name == "nestedUserQueue":
        found["policy"] = "user"
    elif name in _PLAIN:
        found["policy"] = _PLAIN[name]
    elif name in {"specified", "reject"}:
        found["policy"] = name
    elif name == "default":
        queue = rule.get("queue") or DEFAULT
        found |= {"policy": "defaultQueue"} if queue == DEFAULT else {"policy": "custom", "customPlacement": queue}
    else:
        notes.append(f"{where}: the rule {name} has no counterpart among mapping rules and is left out")
        return None
    if name == "reject":
        return found
    if parent is not None and found["policy"] not in _NESTED.values():
        if parent["rule"] != "default":
            notes.append(f"{where}: {name} below {parent['rule']} has no counterpart among mapping rules and is left out")
            return None
        found["parentQueue"] = parent.get("queue") or DEFAULT
    elif found["policy"] in {*_PLAIN.values(), *_NESTED.values()}:
        found["parentQueue"] = "root"
    if parent is not None:
        above = parent.get("create") is not False
        if above != create and not percentages:
            notes.append(f"{where}: create is said once for {name} and its parent; it is true, since one of them is")
        create = create or above
    if percentages and create and name != "default":
        create = False
        notes.append(f"{where}: create: queues are made below queues with weights only; without --percentages they would be")
    return found | {"create": create}
