"""The CEL rules that the CRDs carry, as the dictionaries of ``x-kubernetes-validations``.

The API server refuses what these say, with their words. Each was tried on a real server; what shapes them:

* a rule at the root of an object runs on every write, also of its status or finalizers, so a rule on the name looks at
  creation only (``optionalOldSelf``): otherwise an old object with a bad name could not even be deleted;
* the server estimates a rule's cost before it accepts the CRD, so whatever a rule walks over must be bounded;
* ``string()`` makes the integer and the string of an int-or-string alike;
* a rule that would fail to evaluate guards itself, so that one mistake is one message.
"""

from typing import Any, Final, TypeAlias

from treadle.api import profiles, quantities
from treadle.core.units.resources import UNBOUNDED

Rule: TypeAlias = dict[str, Any]

RULES: Final = "x-kubernetes-validations"
_IS_PERCENT: Final = "matches('^[0-9]{1,9}([.][0-9]{1,6})?%$')"
_IS_QUANTITY: Final = f"isQuantity(self) && !self.matches('{quantities.LONG_EXPONENT}')"
_IS_DECIMAL: Final = "matches('^-?[0-9]{1,9}([.][0-9]{1,6})?$')"


def rule(text: str, message: str, *, field_path: str | None = None, create_only: bool = False) -> Rule:
    """One rule; ``create_only`` marks a rule that speaks of ``oldSelf`` as an optional value."""
    made: Rule = {"rule": text, "message": message}
    if field_path:
        made["fieldPath"] = field_path
    if create_only:
        made["optionalOldSelf"] = True
    return made


def escaped(pattern: str) -> str:
    """A regular expression inside a CEL string in single quotes."""
    return pattern.replace("\\", "\\\\").replace("'", "\\'")


def quantity_rules(*, percent: bool) -> list[Rule]:
    """Rules for one int-or-string: well formed, not negative and, where percentages are allowed, none over 100."""
    if not percent:
        return [
            rule(f"type(self) == int || {_IS_QUANTITY}", quantities.QUANTITY_TEXT),
            rule("type(self) == int ? self >= 0 : !self.startsWith('-')", quantities.NEGATIVE_TEXT),
        ]
    return [
        rule(
            f"type(self) == int || self.startsWith('-') || (self.endsWith('%') ? self.{_IS_PERCENT} : {_IS_QUANTITY})",
            quantities.QUANTITY_OR_PERCENT_TEXT,
        ),
        rule("type(self) == int ? self >= 0 : !self.startsWith('-')", quantities.NEGATIVE_TEXT),
        rule(f"type(self) == int || !self.{_IS_PERCENT} || double(self.replace('%', '')) <= 100.0", quantities.PERCENT_TEXT),
    ]


def amounts_rules(names: str) -> list[Rule]:
    """Rules for a map of amounts: its keys are names of resources, by the pattern ``names``, and no amount is over what the core can count."""
    most = f"quantity(r == 'cpu' ? '{UNBOUNDED}m' : '{UNBOUNDED}')"
    profile = f"!r.startsWith('{profiles.PREFIX}')"
    return [
        rule(f"self.all(r, r.matches('^({escaped(names)})$'))", quantities.NAME_TEXT),
        rule(
            f"self.all(r, !isQuantity(string(self[r])) || quantity(string(self[r])).compareTo({most}) <= 0)",
            quantities.RANGE_TEXT,
        ),
        rule(f"self.all(r, {profile} || string(self[r]).matches('^{profiles.COUNT}$'))", profiles.COUNT_TEXT),
    ]


def profile_rules(name: str) -> list[Rule]:
    """Rules for a map of profiles, whose names are of the form ``name``."""
    reserved = " && ".join(f"n != '{one}'" for one in profiles.RESERVED)
    return [rule(f"self.all(n, n.size() <= 63 && n.matches('^({escaped(name)})$') && {reserved})", profiles.NAMES_TEXT)]


def decimal_rules(lowest: int | None, highest: int | None, extra: int | None = None) -> list[Rule]:
    """Rules for a decimal written as int-or-string: well formed and within bounds; ``extra`` is one further value allowed."""
    rules = [
        rule(f"string(self).{_IS_DECIMAL}", "must be a decimal number such as 1 or 2.5, with at most six digits after the point")
    ]
    exception = f"double(string(self)) == {extra}.0 || " if extra is not None else ""
    guard = f"!string(self).{_IS_DECIMAL} || {exception}"
    if highest is None:
        if lowest is not None:
            rules.append(rule(f"{guard}double(string(self)) >= {lowest}.0", quantities.NEGATIVE_TEXT))
    else:
        words = f"must be between {lowest} and {highest}" + (f", or {extra}" if extra is not None else "")
        text = f"{guard}(double(string(self)) >= {lowest}.0 && double(string(self)) <= {highest}.0)"
        rules.append(rule(text, words))
    return rules
