"""Placement rules of an allocation file: read, checked for rules that can never be reached (Hadoop's ``QueuePlacementPolicy``)."""

from dataclasses import dataclass

from treadle.convert.errors import AllocationError
from treadle.convert.xml import Element

RULES = ("specified", "user", "primaryGroup", "secondaryGroupExistingQueue", "nestedUserQueue", "default", "reject")
_NOT_PARENTS = {"reject", "nestedUserQueue"}
_WITHOUT_PARENT = {"specified", "default"}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: may it create a queue, the queue of ``default``, and the rule for the parent if there is one."""

    name: str
    create: bool
    line: int
    queue: str = ""
    parent: "Rule | None" = None

    @property
    def terminal(self) -> bool:
        """Whether this rule places, or refuses, every application, so that no rule after it is ever reached."""
        own = self.name == "reject" or (self.create and self.name in {"user", "primaryGroup", "nestedUserQueue", "default"})
        return own and (self.parent is None or self.parent.terminal)


def read_policy(element: Element, warnings: list[str]) -> list[Rule] | None:
    """Return the rules of a queuePlacementPolicy element, None where it has no rule. Raises ``AllocationError``."""
    if not element.children and not element.text:
        raise AllocationError(element.line, "queuePlacementPolicy is empty")
    rules = [_rule(child, warnings) for child in element.children if child.tag == "rule"]
    if not rules:
        warnings.append(f"line {element.line}: queuePlacementPolicy has no rule and is ignored")
        return None
    for rule in rules[:-1]:
        if rule.terminal:
            raise AllocationError(
                rule.line, f"rule {rule.name!r} takes every application, so the rules after it are never reached"
            )
    if not rules[-1].terminal:
        raise AllocationError(
            rules[-1].line,
            f"the last rule, {rules[-1].name!r}, may place nothing; end with one that always does, or with 'reject'",
        )
    return rules


def _rule(element: Element, warnings: list[str]) -> Rule:
    name = element.attributes.get("name", "")
    if name not in RULES:
        raise AllocationError(element.line, f"rule {name!r} is not known; allowed are {', '.join(RULES)}")
    nested = [child for child in element.children if child.tag == "rule"]
    if len(nested) > 1:
        warnings.append(f"line {element.line}: rule {name!r} has {len(nested)} parent rules; the last one counts")
    parent = _rule(nested[-1], warnings) if nested else None
    if parent is not None:
        if name in _WITHOUT_PARENT:
            raise AllocationError(
                element.line, f"rule {name!r} may not have a parent rule", "AllocationConfigurationException/IOException"
            )
        if parent.name in _NOT_PARENTS:
            raise AllocationError(parent.line, f"rule {parent.name!r} may not be a parent rule")
        if parent.name == name or (name == "nestedUserQueue" and parent.name == "user"):
            raise AllocationError(parent.line, f"rule {parent.name!r} may not be the parent of {name!r}: they are of one type")
    elif name == "nestedUserQueue":
        raise AllocationError(element.line, "rule 'nestedUserQueue' needs a parent rule")
    create = element.attributes.get("create", "").strip().lower() in {"", "true"}
    return Rule(name, create, element.line, element.attributes.get("queue", "").strip(), parent)
