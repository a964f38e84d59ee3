"""Placement rules: which queue an application goes to (Hadoop's ``QueuePlacementPolicy`` and the rules of its ``FSPlacementRule``).

Rules are tried in order and the first that yields a name decides. They yield a name only: whether such a queue can be made is the
tree's business. Names are Hadoop's, without the bounds of Kubernetes; ``names`` has those. ``namespace`` and ``applicationName``
are Treadle's own and work as ``user`` does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from treadle.core.errors import CoreError, InvalidSpec
from treadle.core.model import DEFAULT_QUEUE, PlacementRule

ROOT: Final = "root"
NOTHING_ASKED: Final = "default"
"""The queue that YARN's clients name when their user names none."""
RULES: Final = (
    "user",
    "primaryGroup",
    "secondaryGroup",
    "nestedUserQueue",
    "specified",
    "namespace",
    "applicationName",
    "default",
    "reject",
)
_SYNONYMS: Final = {"secondaryGroupExistingQueue": "secondaryGroup"}
_NEVER_PARENTS: Final = frozenset({"reject", "nestedUserQueue"})
_WITHOUT_PARENT: Final = frozenset({"specified", "default", "reject"})
_NEVER_LAST: Final = frozenset({"specified", "secondaryGroup"})


class InvalidRules(InvalidSpec):
    """A list of rules that cannot be in force.

    ``index`` and ``depth`` (0: the rule, 1: its parent, ...) say which rule it is about.

    ``kind`` is unknown, parent, has-parent, same-type, no-parent, queue, unreachable, open-end or empty.
    """

    def __init__(self, kind: str, index: int, depth: int, message: str) -> None:
        self.kind, self.index, self.depth = kind, index, depth
        super().__init__(message)


class Refused(CoreError):
    """A rule that does not let the next one try: Hadoop throws, and the submission fails. ``rule`` is its name."""

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        super().__init__(message)


class Look(Protocol):
    """What the rules ask about the tree. Paths are full: ``root.a.b``."""

    def defined(self, path: str) -> bool:
        """Whether a queue of this path is in force and defined; one that a rule made does not count."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a queue of this path is in force."""
        ...

    def is_leaf(self, path: str) -> bool:
        """Whether a queue of this path is in force and a leaf."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of an application. ``queue`` is empty or ``default`` where none is asked for.

    ``groups`` are in the order of the directory that keeps them, the primary one first; None: the look-up of the groups fails. A
    user without groups is an error in Hadoop. With ``groups_optional`` it is not, and rules by group yield nothing: Kubernetes
    has no look-up.
    """

    queue: str
    user: str
    groups: tuple[str, ...] | None = ()
    namespace: str = ""
    application: str = ""
    groups_optional: bool = False


class _Outcome(NamedTuple):
    """The path that a rule yields, or None and why."""

    path: str | None
    why: str = ""


def clean(name: str) -> str:
    """Return a user's or group's name as a part of a path: without outer blanks (Unicode's), each dot as ``_dot_``."""
    return name.strip().replace(".", "_dot_")


def qualified(name: str) -> str:
    """Return a queue's full path: ``root.`` is put before a name that does not begin so."""
    return name if not name or name == ROOT or name.startswith(ROOT + ".") else f"{ROOT}.{name}"


def broken_name(path: str) -> str | None:
    """Say why a path cannot be one of Hadoop's: every part must be non-empty and without outer blanks. None if it can."""
    for part in path.split("."):
        if not part or part != part.strip():
            return f"queue name {path!r} has the part {part!r}; a part must not be empty nor begin or end with a blank"
    return None


def implied(undeclared: bool, user_as_default: bool) -> tuple[PlacementRule, ...]:
    """Return the rules of an allocation file without any: ``allow-undeclared-pools`` and ``user-as-default-queue`` choose them."""
    rules = [PlacementRule("specified", create=undeclared)]
    if user_as_default:
        rules.append(PlacementRule("user", create=undeclared))
    if not undeclared or not user_as_default:
        rules.append(PlacementRule("default"))
    return tuple(rules)


def terminal(rule: PlacementRule) -> bool:
    """Whether a rule places or rejects every application, so that no rule after it is ever reached."""
    own = rule.name == "reject" or (rule.create and _canonical(rule.name) not in _NEVER_LAST)
    return own and (rule.parent is None or terminal(rule.parent))


def analyse(rules: Sequence[PlacementRule], field: str = "placementRules") -> None:
    """Raise ``InvalidRules`` for the first thing that Hadoop refuses in a list; ``field`` is its name in messages."""
    if not rules:
        raise InvalidRules("empty", 0, 0, f"{field}: the list is empty; without rules leave it out")
    for index, rule in enumerate(rules):
        _check(rule, index, 0, f"{field}[{index}]")
    for index, rule in enumerate(rules[:-1]):
        if terminal(rule):
            words = f"{field}[{index}]: the rule {rule.name!r} takes every application, so the rules after it are never reached"
            raise InvalidRules("unreachable", index, 0, words)
    last = len(rules) - 1
    if not terminal(rules[last]):
        words = (
            f"{field}[{last}]: the last rule, {rules[last].name!r}, may place nothing; "
            "end with one that always does (user, namespace or default with create), or with reject"
        )
        raise InvalidRules("open-end", last, 0, words)


def _check(rule: PlacementRule, index: int, depth: int, where: str) -> None:
    name = _canonical(rule.name)
    if name not in RULES:
        raise InvalidRules("unknown", index, depth, f"{where}.rule: {rule.name!r} is not a rule; allowed are {', '.join(RULES)}")
    if rule.queue and name != "default":
        raise InvalidRules("queue", index, depth, f"{where}.queue: only the rule default has a queue, and this is {rule.name!r}")
    parent = rule.parent
    if parent is None:
        if name == "nestedUserQueue":
            allowed = ", ".join(one for one in RULES if one not in _NEVER_PARENTS and _kind(one) != "user")
            raise InvalidRules(
                "no-parent", index, depth, f"{where}.parent: nestedUserQueue needs a parent rule; allowed are {allowed}"
            )
        return
    _check(parent, index, depth + 1, f"{where}.parent")
    if name in _WITHOUT_PARENT:
        raise InvalidRules(
            "has-parent", index, depth, f"{where}.parent: {rule.name!r} places below nothing and may not have a parent rule"
        )
    if parent.name in _NEVER_PARENTS:
        raise InvalidRules("parent", index, depth + 1, f"{where}.parent.rule: {parent.name!r} may not be a parent rule")
    if _kind(parent.name) == _kind(rule.name):
        raise InvalidRules(
            "same-type",
            index,
            depth + 1,
            f"{where}.parent.rule: {parent.name!r} may not be the parent of {rule.name!r}: they are of one type",
        )


def _canonical(name: str) -> str:
    return _SYNONYMS.get(name, name)


def _kind(name: str) -> str:
    """Return what Hadoop tells rules apart by: the class, which ``user`` and ``nestedUserQueue`` have in common."""
    return "user" if name == "nestedUserQueue" else _canonical(name)


@dataclass(frozen=True, slots=True)
class Rules:
    """A list of rules that passed the analysis."""

    rules: tuple[PlacementRule, ...]

    @staticmethod
    def of(rules: Sequence[PlacementRule], field: str = "placementRules") -> "Rules":
        """Return the rules if they can be in force.

        Raises ``InvalidRules``, whose message names the field and what is allowed.
        """
        analyse(rules, field)
        return Rules(tuple(rules))

    def place(self, request: Request, look: Look) -> str | None:
        """Return the full path of the queue, or None if no rule yields one. Raises ``Refused``."""
        for rule in self.rules:
            outcome = _apply(rule, request, look)
            if outcome.path is not None:
                return outcome.path
        return None

    def refusal(self, request: Request, look: Look) -> str:
        """Say which rule was the last to turn an application away, and what the ones before it said."""
        said = []
        for number, rule in enumerate(self.rules, 1):
            try:
                outcome = _apply(rule, request, look)
            except Refused as error:
                outcome = _Outcome(None, str(error))
                said.append((number, rule.name, outcome.why))
                break
            said.append((number, rule.name, outcome.why))
        number, name, why = said[-1]
        before = "; ".join(f"{name}: {why}" for _, name, why in said[:-1])
        return f"placement rule {number} ({name}) rejected it: {why}" + (f" (before it {before})" if before else "")


def _apply(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    return _APPLY[_canonical(rule.name)](rule, request, look)


def _allowed(rule: PlacementRule, path: str, look: Look) -> _Outcome:
    """Yield a path that may be made, or that is defined."""
    if rule.create or look.defined(path):
        return _Outcome(path)
    made = "was made by a rule and" if look.exists(path) else "does not exist and"
    return _Outcome(None, f"queue {path} {made} is not defined, and the rule makes none")


def _above(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    """Yield the path that the rule places below, the root's without a parent rule."""
    if rule.parent is None:
        return _Outcome(ROOT)
    above = _apply(rule.parent, request, look)
    if above.path is None:
        return _Outcome(None, f"its parent rule {rule.parent.name}: {above.why}")
    if look.is_leaf(above.path):
        return _Outcome(None, f"queue {above.path} of its parent rule {rule.parent.name} is a leaf")
    return above


def _below(rule: PlacementRule, name: str, above: _Outcome) -> str:
    """Return the path of a cleaned name; without a parent rule a name may itself begin with the root."""
    return qualified(name) if rule.parent is None else f"{above.path}.{name}"


def _named(rule: PlacementRule, name: str, request: Request, look: Look) -> _Outcome:
    above = _above(rule, request, look)
    return above if above.path is None else _allowed(rule, _below(rule, clean(name), above), look)


def _user(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    return _named(rule, request.user, request, look)


def _namespace(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    return _named(rule, request.namespace, request, look)


def _application_name(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    return _named(rule, request.application, request, look)


def _groups(rule: PlacementRule, request: Request) -> tuple[str, ...]:
    if request.groups is None:
        raise Refused(rule.name, f"the groups of user {request.user} cannot be looked up")
    return request.groups


def _primary_group(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    groups = _groups(rule, request)
    if not groups and request.groups_optional:
        return _Outcome(None, f"no groups of user {request.user} are known")
    if not groups:
        raise Refused(rule.name, f"user {request.user} has no groups")
    return _named(rule, groups[0], request, look)


def _secondary_group(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    groups = _groups(rule, request)
    above = _above(rule, request, look)
    if above.path is None:
        return above
    for group in groups[1:]:
        path = _below(rule, clean(group), above)
        if look.defined(path):
            return _Outcome(path)
    return _Outcome(None, f"no queue is defined for any of the {len(groups[1:])} further groups of user {request.user}")


def _specified(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    name = request.queue
    if name != name.strip() or name.startswith(".") or name.endswith("."):
        raise Refused(rule.name, f"queue name {name!r} begins or ends with a blank or a dot")
    if name in {"", NOTHING_ASKED}:
        return _Outcome(None, "no queue is asked for")
    return _allowed(rule, qualified(name), look)


def _default(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    del request
    name = rule.queue
    legal = name and name == name.strip() and not name.startswith(".") and not name.endswith(".")
    return _allowed(rule, qualified(name) if legal else DEFAULT_QUEUE, look)


def _reject(rule: PlacementRule, request: Request, look: Look) -> _Outcome:
    del rule, request, look
    return _Outcome(None, "it takes no application")


_APPLY: Final[dict[str, Callable[[PlacementRule, Request, Look], _Outcome]]] = {
    "user": _user,
    "nestedUserQueue": _user,
    "primaryGroup": _primary_group,
    "secondaryGroup": _secondary_group,
    "specified": _specified,
    "namespace": _namespace,
    "applicationName": _application_name,
    "default": _default,
    "reject": _reject,
}
