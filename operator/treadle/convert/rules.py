"""Placement rules of an allocation file: read here, with lines, and checked by the core's analysis (Hadoop's ``QueuePlacementPolicy``)."""

from dataclasses import dataclass

from treadle.convert.errors import AllocationError
from treadle.convert.xml import Element
from treadle.core.model import PlacementRule
from treadle.core.rules.placement.rules import InvalidRules, analyse

RULES = ("specified", "user", "primaryGroup", "secondaryGroupExistingQueue", "nestedUserQueue", "default", "reject")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: may it create a queue, the queue of ``default``, and the rule for the parent if there is one."""

    name: str
    create: bool
    line: int
    queue: str = ""
    parent: "Rule | None" = None

    @property
    def meant(self) -> PlacementRule:
        """The rule as the core has it."""
        above = self.parent.meant if self.parent is not None else None
        return PlacementRule(self.name, self.create, self.queue if self.name == "default" else "", above)


def read_policy(element: Element, warnings: list[str]) -> list[Rule] | None:
    """Return the rules of a queuePlacementPolicy element, None where it has no rule. Raises ``AllocationError``."""
    if not element.children and not element.text:
        raise AllocationError(element.line, "queuePlacementPolicy is empty")
    rules = [_rule(child, warnings) for child in element.children if child.tag == "rule"]
    if not rules:
        warnings.append(f"line {element.line}: queuePlacementPolicy has no rule and is ignored")
        return None
    try:
        analyse([rule.meant for rule in rules], "queuePlacementPolicy")
    except InvalidRules as error:
        hadoop = "AllocationConfigurationException" + ("/IOException" if error.kind in {"has-parent", "same-type"} else "")
        raise AllocationError(_line(rules[error.index], error.depth), str(error), hadoop) from None
    return rules


def _line(rule: Rule, depth: int) -> int:
    for _ in range(depth):
        assert rule.parent is not None
        rule = rule.parent
    return rule.line


def _rule(element: Element, warnings: list[str], *, above: bool = False) -> Rule:
    """Read a rule and, unless it is one itself, its parent rule: Hadoop ignores the parent rule of a parent rule."""
    name = element.attributes.get("name", "")
    if name not in RULES:
        raise AllocationError(element.line, f"rule {name!r} is not known; allowed are {', '.join(RULES)}")
    nested = [child for child in element.children if child.tag == "rule"]
    if len(nested) > 1:
        warnings.append(f"line {element.line}: rule {name!r} has {len(nested)} parent rules; the last one counts")
    if nested and above:
        warnings.append(f"line {element.line}: rule {name!r} is a parent rule; its own parent rule is ignored")
    parent = _rule(nested[-1], warnings, above=True) if nested and not above else None
    create = element.attributes.get("create", "").strip().lower() in {"", "true"}
    return Rule(name, create, element.line, element.attributes.get("queue", "").strip(), parent)
