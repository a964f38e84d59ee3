"""Mapping rules of the CapacityScheduler: where an application lands by its user, groups, name and wish.

Hadoop's ``CSMappingPlacementRule`` and what it is made of. Rules are tried in order. A rule that matches may place, reject, or
set the variable ``%default`` and pass on; where it cannot place its fallback decides. Variables stand for whole parts of a path.
A path is checked against the queues that exist, and those that may be made below a parent that allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from treadle.core.errors import InvalidSpec
from treadle.core.model.mapping import Fallback, Known, MappingRule, Match
from treadle.core.rules.placement.rules import clean

DEFAULT = "default"
"""What an application asks for that asks for nothing; ``root.default`` is a wish."""
USER, PRIMARY, SECONDARY, APPLICATION, SPECIFIED = "%user", "%primary_group", "%secondary_group", "%application", "%specified"
DEFAULT_QUEUE = "%default"
FIXED = frozenset({USER, PRIMARY, SECONDARY, APPLICATION, SPECIFIED})
"""Variables that no rule may set."""
VARIABLES = FIXED | {DEFAULT_QUEUE}
TARGETS = {
    "specified": SPECIFIED,
    "user": USER,
    "primaryGroup": PRIMARY,
    "secondaryGroup": SECONDARY,
    "primaryGroupUser": f"{PRIMARY}.{USER}",
    "secondaryGroupUser": f"{SECONDARY}.{USER}",
    "applicationName": APPLICATION,
    "defaultQueue": DEFAULT_QUEUE,
}
"""The queues that policies of rules give, by the names that the JSON form and Schedulers use."""
RULING = ("custom", "setDefaultQueue", "reject")
"""The policies that name their queue themselves, or none."""


def place_of(policy: str, above: str | None) -> str:
    """Return the path that one of ``TARGETS`` gives, below the queue ``above`` if the rule names one; a queue asked for, or the default one, is nowhere else."""
    target = TARGETS[policy]
    return target if above is None or target in {SPECIFIED, DEFAULT_QUEUE} else f"{above}.{target}"


class InvalidMapping(InvalidSpec):
    """A rule that can never work: its target does not exist and cannot be made."""


class MappingRejected(InvalidSpec):
    """The application is refused by a rule; the message says by which."""


class _Unplaceable(Exception):
    """The path that a rule gave is no queue that may take the application."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What is known of an application.

    ``groups`` in their order, None where they cannot be looked up; ``queue`` as it was asked for.
    """

    user: str
    groups: tuple[str, ...] | None = None
    application: str = ""
    queue: str = DEFAULT
    recovering: bool = False
    """It was placed before a restart, in a queue whose last part is ``queue``."""


class Queues(Protocol):
    """The queues in force. A name is a full path, or the last part of one where only one queue is called so."""

    def find(self, name: str) -> Known | None:
        """Return the queue of a name, None if there is none or several."""
        ...

    def ambiguous(self, name: str) -> bool:
        """Whether several queues are called so."""
        ...


@dataclass(slots=True)
class QueueNames:
    """Queues by full path, and by their last part."""

    by_path: dict[str, Known] = field(default_factory=dict)
    by_name: dict[str, list[Known]] = field(default_factory=dict)

    def add(self, queue: Known) -> None:
        """Take in a queue."""
        self.by_path[queue.path] = queue
        self.by_name.setdefault(queue.path.rpartition(".")[2], []).append(queue)

    def find(self, name: str) -> Known | None:
        """Return the queue of a full path, or the only one whose last part is ``name``."""
        known = self.by_path.get(name)
        if known is None:
            called = self.by_name.get(name, [])
            known = called[0] if len(called) == 1 else None
        return known

    def ambiguous(self, name: str) -> bool:
        """Whether several queues end in ``name``."""
        return name not in self.by_path and len(self.by_name.get(name, ())) > 1


@dataclass(frozen=True, slots=True)
class Names:
    """How names become parts of paths: of users and groups, and of applications, whose dots Hadoop takes for levels.

    ``problem`` says why there can be no queue of a path whatever the tree is like. ``literal``: a variable without a value stands
    for itself, as in Hadoop; otherwise a rule that has one does not match.
    """

    of_user: Callable[[str], str] = clean
    of_application: Callable[[str], str] = str
    problem: Callable[[str], str | None] = lambda _: None
    literal: bool = True


class _Variables:
    """The values of one application's variables. A variable that has no value stays as it is written."""

    def __init__(self, submission: Submission, queues: Queues, names: Names) -> None:
        self._queues = queues
        self.user, self.application = submission.user, submission.application
        self.groups = submission.groups or ()
        self._values = {
            USER: names.of_user(submission.user),
            SPECIFIED: "" if submission.queue == DEFAULT else submission.queue,
            APPLICATION: names.of_application(submission.application),
            DEFAULT_QUEUE: "root.default",
        }
        self._others: list[str] | None = None
        if self.groups:
            self._values[PRIMARY] = names.of_user(self.groups[0])
            self._others = [names.of_user(group) for group in self.groups[1:]]

    def set(self, name: str, value: str) -> None:
        self._values[name] = value

    def in_text(self, text: str) -> str:
        """Replace every variable wherever it stands, longer names first."""
        for name in sorted(self._values, key=len, reverse=True):
            text = text.replace(name, self._values[name])
        return text

    def in_path(self, path: str) -> str:
        """Replace the parts of a path that are variables."""
        parts = _split(path)
        for number, part in enumerate(parts):
            if part == SECONDARY and self._others is not None:
                parts[number] = self._secondary(".".join(parts[:number]))
            else:
                parts[number] = self._values.get(part, part)
        return ".".join(parts)

    def _secondary(self, above: str) -> str:
        """Return the first further group that has a queue at this place; empty if none has."""
        names = ((group, f"{above}.{group}" if above else group) for group in self._others or ())
        return next((group for group, name in names if self._queues.find(name) is not None), "")

    def matches(self, rule: MappingRule) -> bool:
        if rule.match is Match.ANY:
            return True
        wanted = self.in_text(rule.value)
        if rule.match is Match.USER:
            return wanted == self.user
        if rule.match is Match.GROUP:
            return wanted in self.groups
        return wanted == self.application


class Mapper:
    """A list of mapping rules. ``override``: also applications that ask for a queue are mapped.

    Raises ``InvalidMapping`` if a rule can never work as the tree is now, unless it is made without ``check``: then such a rule
    goes by its fallback, and ``faults`` tells.
    """

    def __init__(
        self,
        rules: Sequence[MappingRule],
        queues: Queues,
        *,
        override: bool = False,
        check: bool = True,
        names: Names | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self.override = override
        self._queues = queues
        self._names = names or Names()
        if check:
            for number, fault in self.faults():
                raise InvalidMapping(f"mapping rule {number + 1}: {fault}")

    def faults(self) -> Iterator[tuple[int, str]]:
        """Return the rules that can not work as the tree is now, by index, and why: what is fixed in a target must exist, or may be made."""
        variables = {*FIXED, DEFAULT_QUEUE}
        for number, rule in enumerate(self.rules):
            if rule.place is None:
                continue
            try:
                self._check(rule.place, variables)
            except _Unplaceable as error:
                yield number, str(error)

    def place(self, submission: Submission) -> str | None:
        """Return the full path for an application, None if the queue that it asked for stands. Raises ``MappingRejected``."""
        if submission.recovering:
            path = self._map(submission)
            return path if path is not None and path.rpartition(".")[2] == submission.queue else None
        return self._map(submission) if self.override or submission.queue == DEFAULT else None

    def _map(self, submission: Submission) -> str | None:
        variables = _Variables(submission, self._queues, self._names)
        for number, rule in enumerate(self.rules):
            if not variables.matches(rule):
                continue
            if rule.default is not None:
                variables.set(DEFAULT_QUEUE, variables.in_text(rule.default))
                continue
            fallback, why = Fallback.REJECT, f"mapping rule {number + 1} rejects the application"
            if rule.place is not None:
                path = variables.in_path(rule.place)
                if not self._names.literal and not VARIABLES.isdisjoint(path.split(".")):
                    continue
                try:
                    return self._queue(path, create=rule.create)
                except _Unplaceable as error:
                    fallback, why = rule.fallback, f"mapping rule {number + 1}: {error}"
            if fallback is Fallback.REJECT:
                raise MappingRejected(why)
            if fallback is Fallback.PLACE_DEFAULT:
                try:
                    return self._queue(variables.in_path(DEFAULT_QUEUE), create=False)
                except _Unplaceable as error:
                    raise MappingRejected(f"{why}; nor can it be placed in the default queue: {error}") from None
        return None

    def _queue(self, path: str, *, create: bool) -> str:
        """Return the full path of the leaf that a path means, which may be made if ``create``."""
        path = _trimmed(path)
        if not all(path.split(".")):
            raise _Unplaceable(f"{path!r} has an empty part")
        full, exists = self._resolve(path)
        problem = self._names.problem(full)
        if problem:
            raise _Unplaceable(problem)
        if not exists and not create:
            raise _Unplaceable(f"queue {full} does not exist, and the rule makes none")
        known = self._queues.find(full)
        if known is not None and not known.leaf:
            raise _Unplaceable(f"queue {full} has child queues")
        return full

    def _resolve(self, path: str) -> tuple[str, bool]:
        """Return the full path, and whether the queue exists; else it may be made."""
        if "." not in path:
            return self._named(path).path, True
        full = self._full(path)
        if self._queues.find(full) is not None:
            return full, True
        parent = full.rpartition(".")[0]
        above = self._queues.find(parent)
        allowed = above is not None and above.makes
        if above is None:
            above = self._queues.find(parent.rpartition(".")[0])
            allowed = above is not None and above.deep
        if not allowed:
            raise _Unplaceable(f"queue {full} does not exist, and none may be made there")
        return full, False

    def _named(self, name: str) -> Known:
        known = self._queues.find(name)
        if known is None:
            what = "several queues are called" if self._queues.ambiguous(name) else "there is no queue"
            raise _Unplaceable(f"{what} {name}")
        return known

    def _full(self, path: str) -> str:
        """Return a path with its first part as the full path of the queue that is called so."""
        first, _, rest = path.partition(".")
        return f"{self._named(first).path}.{rest}" if rest else self._named(first).path

    def _check(self, path: str, variables: set[str]) -> None:
        """Check the part of a target that holds no variable (``MappingRuleValidationContextImpl``). Raises ``_Unplaceable``.

        Below a fixed part that may be made nothing more is checked: an application that cannot be placed there goes by the rule's
        fallback.
        """
        written = _split(path)
        fixed = written[: next((number for number, part in enumerate(written) if part in variables), len(written))]
        if not all(fixed) or not written:
            raise _Unplaceable(f"{path!r} has an empty part")
        if not fixed:
            return
        parts = _split(_trimmed(path))
        if len(fixed) == len(written):
            full, exists = self._resolve(".".join(parts))
            known = self._queues.find(full)
            if exists and known is not None and not known.leaf:
                raise _Unplaceable(f"queue {full} has child queues")
            return
        full = self._full(".".join(parts[: len(fixed)]))
        known = self._queues.find(full)
        if known is None:
            above = self._queues.find(full.rpartition(".")[0])
            if above is None or not above.makes:
                raise _Unplaceable(f"there is no queue {full} for {path} to be below, and none may be made there")
        elif known.leaf:
            raise _Unplaceable(f"queue {full} is a leaf, and {path} would be below it")


def _split(path: str) -> list[str]:
    """Return the parts of a path as Java splits them: empty ones at the end do not count."""
    parts = path.split(".")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _trimmed(path: str) -> str:
    """Return a path as Hadoop's ``QueuePath`` holds it: without blanks around its last part and around all that is above."""
    above, dot, leaf = path.rpartition(".")
    return f"{above.strip()}.{leaf.strip()}" if dot else path


def names_of(queues: Mapping[str, Known]) -> QueueNames:
    """Return the lookup for some queues."""
    names = QueueNames()
    for known in queues.values():
        names.add(known)
    return names
