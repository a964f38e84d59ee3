"""What older Hadoops understood otherwise than 3.4, so that their files mean here what they meant there.

Sources: QueuePlacementPolicy and QueuePlacementRule of Hadoop 2.7 to 3.2 (YARN-8967 rewrote them for 3.3), CapacitySchedulerConfiguration
before parents had ordering policies (YARN-5864), and before labels were read that a queue does not list (YARN-9698).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from treadle.convert.capacity_file import LABELS, PREFIX
from treadle.convert.xml import Element

Version = Literal["2.7", "3.1", "3.4"]
NEWEST: Final[Version] = "3.4"
_FOR_PARENTS: Final = ("utilization", "priority-utilization")
_NEVER: Final = ("specified", "secondaryGroupExistingQueue")
"""Rules that may always yield nothing."""


def fair(document: Element, version: Version) -> list[str]:
    """Change an allocation file's elements to what they meant, and return a line for each change.

    Before 3.3 nestedUserQueue never counted as the end of the rules, so others could follow it. They were asked only where the queue of its parent rule is a leaf.
    """
    if version == NEWEST:
        return []
    notes = []
    for policy in (one for one in document.children if one.tag == "queuePlacementPolicy"):
        rules = [one for one in policy.children if one.tag == "rule"]
        ends = next((number for number, one in enumerate(rules) if _is_nested(one) and _always(one)), len(rules))
        for one in rules[ends + 1 :]:
            policy.children.remove(one)
            notes.append(
                f"line {one.line}: rule {one.attributes.get('name')} is left out: it follows nestedUserQueue on line {rules[ends].line}, "
                f"which Hadoop {version} passed on from where the queue of its parent rule is a leaf; those applications are rejected"
            )
    return notes


def _is_nested(rule: Element) -> bool:
    return rule.attributes.get("name") == "nestedUserQueue"


def _always(rule: Element) -> bool:
    """Whether Hadoop 3.4 takes a rule for one that places everybody."""
    own = rule.attributes.get("create", "true").lower() != "false" and rule.attributes.get("name") not in _NEVER
    return own and all(_always(one) for one in rule.children if one.tag == "rule")


def capacity(values: dict[str, str], version: Version) -> list[str]:
    """Change a CapacityScheduler's properties to what they meant, and return a line for each change."""
    if version != "2.7":
        return []
    notes = []
    for name in list(values):
        if not name.startswith(PREFIX):
            continue
        path, _, field = name.removeprefix(PREFIX).rpartition(".")
        if (
            field == "ordering-policy"
            and values.get(f"{PREFIX}{path}.queues", "").strip()
            and values[name].strip() not in _FOR_PARENTS
        ):
            notes.append(f"{name}: {values.pop(name)} is left out: Hadoop {version} has an order of applications in leaves alone")
    for label, names in _unlisted(values):
        why = f"no queue lists label {label!r}, and Hadoop {version} read those of listed ones alone"
        notes += [f"{name}: {values.pop(name)} is left out: {why}" for name in names]
    return notes


def _unlisted(values: dict[str, str]) -> Iterable[tuple[str, list[str]]]:
    """Yield labels that queues say something of and none lists by its name, with the properties, if one of them is negative: nothing that can be meant."""
    mark = f".{LABELS}."
    listed = {
        one.strip()
        for name, text in values.items()
        if name.startswith(PREFIX) and name.endswith(f".{LABELS}")
        for one in text.split(",")
    }
    found: dict[str, list[str]] = {}
    for name in values:
        if name.startswith(PREFIX) and mark in name:
            label = name.partition(mark)[2].rpartition(".")[0]
            if label and label not in listed:
                found.setdefault(label, []).append(name)
    for label, names in found.items():
        if any(values[name].strip().startswith("-") for name in names):
            yield label, names
