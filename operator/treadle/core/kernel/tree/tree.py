"""The queue tree: from the definitions that users wrote to the queues that are in force.

Definitions arrive in any order and may be wrong together: a child before its parent, a leaf in use that gets children, a
policy that its parent does not allow. ``settle`` derives the tree in force from all of them at once; a definition that cannot
be used keeps its last good version, or stays out, and ``problems`` says why. Nothing else stops.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.errors import InvalidSpec
from treadle.core.kernel.tree.members import Queue
from treadle.core.kernel.tree.planned import Planned
from treadle.core.model import DEFAULT_QUEUE, QueueSpec, SchedulerSpec, Wait
from treadle.core.rules.placement.rules import Rules
from treadle.core.rules.policies import policy_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from treadle.core.kernel.tree.members import Application
    from treadle.core.units.resources import ResourceTypes

ROOT = "root"
UNSAID = QueueSpec(ROOT)
"""The definition of the root while no Queue object defines it."""
UNSAID_DEFAULT = {policy: QueueSpec(DEFAULT_QUEUE, policy=policy) for policy in ("drf", "fair")}
"""Those of the default queue, by policy."""
IDLE = 10.0
"""Seconds after which a queue that a placement rule made is removed if nothing is in it (the FairScheduler's reload thread)."""

MANY_PLACES = 1000
"""Paths that are kept of where applications may belong elsewhere; with more of them all are asked for again."""


class Problem(NamedTuple):
    """Why a definition is not in force as written: a CamelCase reason, a sentence, and whether an earlier version still holds."""

    reason: str
    message: str
    kept: bool = False


class _Refused(InvalidSpec):
    """A definition that the tree cannot take as it is now, with the reason for its condition."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(slots=True)
class Settled:
    """What a settling changed in the tree in force.

    ``whole``: everything was looked at, so anything may be different, and the rest is empty.
    """

    whole: bool
    all_applications: bool = False
    """Whether every application is to be asked for again where it belongs."""
    made: list[Queue] = field(default_factory=list)
    gone: list[Queue] = field(default_factory=list)
    edited: dict[Queue, QueueSpec] = field(default_factory=dict)
    """Queues that have another definition, or go on without one, and the definition before."""
    places: set[str] = field(default_factory=set)
    """Paths at or below which applications may belong elsewhere now."""

    def parents(self) -> list[Queue]:
        """Return the queues that got child queues or lost some."""
        return list(dict.fromkeys(queue.parent for queue in (*self.made, *self.gone) if queue.parent is not None))


def makes(spec: QueueSpec) -> bool:
    """Whether a definition says that queues are made below it, under the capacity discipline."""
    return spec.capacity is not None and (spec.capacity.flexible.enabled or spec.capacity.managed is not None)


def _placing(spec: QueueSpec) -> tuple[object, ...]:
    """Return what of a definition has a say in which applications may be where."""
    creation = (None, None) if spec.capacity is None else (spec.capacity.flexible, spec.capacity.managed)
    return (spec.policy, spec.running, spec.holds_queues, spec.submit, spec.administer, spec.priorities, *creation)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


class QueueTree:
    """The queues in force, by path, below ``root``.

    Without any definition but the root's, and without placement rules, there is one leaf, ``root.default``; else there is a
    default queue only if one of that name is defined, or made by a rule. ``idle`` holds the queues that rules made and that are
    empty, and since when.
    """

    def __init__(self, types: ResourceTypes) -> None:
        self._types = types
        self.defined: dict[str, QueueSpec] = {}
        self.aside: frozenset[str] = frozenset()
        self.problems: dict[str, Problem] = {}
        self.root = Queue(UNSAID, None, policy_named("drf"), types.width)
        self.queues: dict[str, Queue] = {ROOT: self.root}
        self.dynamic: dict[Queue, None] = {}
        """The queues in force that were made: no Queue object defines them."""
        self.roots: dict[str, Queue] = {}
        """What the root is in partitions other than the default one, by partition."""
        self.rules: Rules | None = None
        self.default_policy = "drf"
        self.idle: dict[Queue, float] = {}
        self.unsettled = True
        self.whole = True
        """Whether the next settling looks at everything, not only at what differs: what is said of all queues has changed."""
        self.all_applications = False
        """Whether after the next settling every application is asked for again where it belongs."""
        self._places: set[str] = set()
        """Paths at or below which applications may belong elsewhere since the last settling."""
        self._adopted: list[Queue] = []
        """Queues that go on as dynamic ones since the last settling."""
        self._makers: dict[str, None] = {}
        """Paths of definitions that make queues and do not say that they hold any."""
        self.planned = Planned()
        """The queues below those that take reservations, as plans want them to be."""
        self._holding: dict[str, tuple[QueueSpec, QueueSpec]] = {}
        """Definitions that hold queues since they make some, as they were written and as they count."""
        self.check: Callable[[dict[str, QueueSpec]], None] | None = None
        """Refuses a set of definitions as a whole, by raising ``InvalidSpec``; the last good set stays in force."""
        self._accepted: dict[str, QueueSpec] = {}
        self.templates = False
        """Whether templates of definitions say which queues are made (the capacity discipline): those that have any hold queues."""
        self.bounded = False
        """Whether a definition has ever said who may ask for which priority."""
        self.edition = 0
        """Changes with the set of queues in force."""

    def govern(self, scheduler: SchedulerSpec) -> None:
        """Take over the placement rules and the defaults for queues. Raises ``InvalidSpec``; nothing is changed then."""
        rules = Rules.of(scheduler.rules) if scheduler.rules is not None else None
        default = scheduler.fair.default_policy
        if policy_named(default).children is None:
            raise InvalidSpec(f"defaultQueueSchedulingPolicy: {default!r} is for leaf queues only; allowed are drf, fair")
        if rules != self.rules or scheduler.fair.default_policy != self.default_policy:
            self.rules, self.default_policy = rules, scheduler.fair.default_policy
            self.unsettled = self.whole = True

    def define(self, spec: QueueSpec) -> None:
        """Take note of a definition; ``settle`` puts it in force."""
        if self.defined.get(spec.path) != spec:
            self.defined[spec.path] = spec
            self._note_maker(spec)
            self.unsettled = True

    def _note_maker(self, spec: QueueSpec) -> None:
        """Take note of whether a definition makes queues without saying that it holds them, bounds priorities, or takes reservations."""
        self.bounded = self.bounded or bool(spec.priorities)
        if makes(spec) and not spec.holds_queues:
            self._makers[spec.path] = None
        else:
            self._makers.pop(spec.path, None)
        self.planned.note(spec)

    def plan(self, specs: Iterable[QueueSpec]) -> None:
        """Take note of the queues below those that take reservations; all that were there before and are not among them go."""
        if self.planned.want(specs):
            self.unsettled = True

    def set_aside(self, paths: Iterable[str]) -> None:
        """Take note of all definitions that could not be taken over without an error: applications that ask for these queues wait."""
        aside = frozenset(paths)
        if aside != self.aside:
            self.aside = aside
            self.unsettled = self.whole = True

    def undefine(self, path: str) -> None:
        """Take note that a definition is gone."""
        if self.defined.pop(path, None) is not None:
            self._makers.pop(path, None)
            self.planned.taking.pop(path, None)
            self.unsettled = True

    def restore(self, specs: Iterable[QueueSpec], *, templates: bool) -> None:
        """Put definitions in force, parents first, that were so before, whether or not they would be accepted now; others drain.

        ``settle`` looks again.
        """
        specs = list(specs)
        self.defined = {spec.path: spec for spec in specs if spec.path not in self.planned.specs}
        self.templates, self.check = templates, None
        self._accepted = dict(self.defined)
        self._makers.clear()
        self.planned.taking.clear()
        for spec in specs:
            if spec.path in self.defined:
                self._note_maker(spec)
            known, parent = self.queues.get(spec.path), self.queues.get(spec.parent)
            if known is not None:
                known.redefine(spec, policy_named(spec.policy))
            elif parent is not None:
                self._add(spec, parent)
        for queue in reversed(self.root.walk()):
            told = queue.path in self.defined or queue.path in self.planned.specs
            if not told and not queue.dynamic and queue.parent is not None:
                queue.defined = False
                if not queue.applications and not queue.children:
                    self._remove(queue)
        self.unsettled = self.whole = True

    def settle(self) -> Settled | None:
        """Bring the tree in force up to the definitions; returns what that changed, None if there was nothing to do.

        Only what differs from what is in force is looked at, and what has a problem, unless ``whole`` asks for more.
        """
        if not self.unsettled:
            return None
        self.unsettled = False
        settled = Settled(self.whole)
        self.whole = False
        before, self.problems = self.problems, {}
        wanted = self.planned.merged(self._checked(self.wanted()))
        paths = list(wanted) if settled.whole else self._differing(wanted, before)
        parents = {wanted[path].parent for path in paths}
        for path in sorted(paths, key=lambda path: (path.count("."), path)):
            known = self.queues.get(path)
            has_children = path in parents or (known is not None and any(child in wanted for child in known.children))
            try:
                self._enforce(wanted[path], settled, has_children=has_children)
            except InvalidSpec as error:
                kept = path in self.queues and not self.queues[path].dynamic
                words = f"{error}; the last good version stays in force" if kept else str(error)
                self.problems[path] = Problem(error.reason if isinstance(error, _Refused) else "Invalid", words, kept)
        for path in self.planned.shadowed(self.defined):
            words = f"a queue above {path} takes reservations, and the queues below that are made for these: it has no others"
            self.problems[path] = Problem("ParentReservable", words)
        left = [self.queues[path] for path in self.queues.keys() - wanted.keys()]
        for queue in sorted(left, key=lambda queue: (queue.path.count("."), queue.path), reverse=True):
            self._retire(queue, settled)
        for queue in self.root.walk() if settled.whole else settled.edited:
            for part in queue.parts.values():
                part.redefine(queue.spec, queue.policy)
        settled.places, self._places = self._places, set()
        settled.all_applications, self.all_applications = self.all_applications, False
        adopted, self._adopted = self._adopted, []
        if settled.whole:
            self._follow_policy(self.root)
            return Settled(whole=True, all_applications=True)
        for queue, spec in list(settled.edited.items()):
            if spec.policy != queue.spec.policy:
                self._follow_policy(queue, settled)
        for queue in adopted:
            if self.queues.get(queue.path) is queue:
                self._follow_policy(queue, settled)
        return settled

    def _differing(self, wanted: Mapping[str, QueueSpec], problems: Iterable[str]) -> list[str]:
        """Return the paths of the definitions that are not in force as they are, of those with problems, and of parents of new queues."""
        queues = self.queues
        found = dict.fromkeys(path for path in problems if path in wanted)
        for path, spec in wanted.items():
            known = queues.get(path)
            if known is None or known.spec is not spec or known.dynamic or not known.defined:
                found[path] = None
                if known is None and spec.parent in wanted:
                    found[spec.parent] = None
        return list(found)

    def _follow_policy(self, queue: Queue, settled: Settled | None = None) -> None:
        """Let a queue, and those below it, have the policy that is for dynamic queues, if they are such."""
        for below in queue.walk():
            if below.dynamic:
                policy = policy_named(self.policy_below(below.parent) or below.policy.name)
                if policy is not below.policy:
                    if settled is not None:
                        settled.edited.setdefault(below, below.spec)
                    below.redefine(replace(below.spec, policy=policy.name), policy)

    def everywhere(self) -> list[Queue]:
        """Return all queues in force and their parts in further partitions."""
        return [one for queue in self.queues.values() for one in (queue, *queue.parts.values())]

    def wanted(self) -> dict[str, QueueSpec]:
        """Return the definitions by path, with those of the queues that exist without being defined."""
        wanted = dict(self.defined)
        root = wanted.setdefault(ROOT, UNSAID)
        if self.templates:
            holding = {path: self._holding.get(path) for path in self._makers}
            self._holding = {
                path: known
                if known is not None and known[0] is wanted[path]
                else (wanted[path], replace(wanted[path], holds_queues=True))
                for path, known in holding.items()
            }
            wanted.update((path, held) for path, (_, held) in self._holding.items())
        for path in self.planned.shadowed(self.defined):
            del wanted[path]
        if len(wanted) == 1 and self.rules is None and not (self.templates and makes(root)):
            wanted[DEFAULT_QUEUE] = UNSAID_DEFAULT["fair" if root.policy == "fair" else "drf"]
        return wanted

    def _checked(self, wanted: dict[str, QueueSpec]) -> dict[str, QueueSpec]:
        """Return the definitions if they may be in force together, else the last good ones; what differs from those has a problem then."""
        if self.check is not None:
            try:
                self.check(wanted)
            except InvalidSpec as error:
                good = self._accepted or {ROOT: UNSAID}
                for path in self.defined:
                    if path in wanted and good.get(path) != wanted[path]:
                        words = f"the queues cannot be in force together: {error}; the last good set of queues stays in force"
                        self.problems[path] = Problem("CapacityRefused", words, path in good)
                return good
        self._accepted = wanted
        return wanted

    def _enforce(self, spec: QueueSpec, settled: Settled, *, has_children: bool) -> None:
        policy = policy_named(spec.policy)
        parent = self.queues.get(spec.parent)
        known = self.queues.get(spec.path)
        has_children |= known is not None and any(child.dynamic for child in known.children.values())
        self._check_kind(spec, known, has_children=has_children)
        if has_children and policy.children is None:
            raise InvalidSpec(
                f"schedulingPolicy: {spec.policy!r} is for leaf queues, and {spec.path} has child queues; allowed are drf, fair"
            )
        if spec.path != ROOT:
            if parent is None or (parent.dynamic and (known is None or known.dynamic)):
                raise _Refused("NoParent", f"the parent queue {spec.parent} does not exist")
            if parent.applications:
                held = _counted(len(parent.applications), "application")
                raise _Refused(
                    "ParentHasPods",
                    f"the parent queue {spec.parent} is a leaf with {held}; it can become a parent when they have left",
                )
            if parent.policy.children is None or spec.policy not in parent.policy.children:
                allowed = ", ".join(sorted(parent.policy.children or ())) or "none"
                words = f"schedulingPolicy: {spec.policy!r} is not allowed under {parent.path}, whose policy is {parent.policy.name}; allowed are {allowed}"
                raise _Refused("ParentPolicy", words)
        queue = known
        if queue is None:
            assert parent is not None
            queue = self._add(spec, parent)
            settled.made.append(queue)
        else:
            if any(
                policy.children is None or child.policy.name not in policy.children
                for child in queue.children.values()
                if child.path in self.defined and self.defined[child.path].policy == child.policy.name
            ):
                raise InvalidSpec(
                    f"schedulingPolicy: {spec.policy!r} does not allow the policies of the child queues of {spec.path}"
                )
            if queue.spec is not spec or queue.dynamic or not queue.defined:
                settled.edited[queue] = queue.spec
                if queue.dynamic or not queue.defined or _placing(spec) != _placing(queue.spec):
                    self._note(queue)
                queue.redefine(spec, policy)
        queue.defined, queue.dynamic = True, False
        self.dynamic.pop(queue, None)
        self.idle.pop(queue, None)

    @staticmethod
    def _check_kind(spec: QueueSpec, known: Queue | None, *, has_children: bool) -> None:
        """Refuse what does not go with being a leaf, or a parent. Raises ``InvalidSpec``."""
        if spec.max_master_share is not None and (has_children or spec.holds_queues):
            why = "has child queues" if has_children else "is declared to hold queues"
            raise InvalidSpec(f"maxAMShare: {spec.max_master_share:g} is for leaf queues, and {spec.path} {why}")
        if spec.holds_queues and known is not None and known.applications:
            held = _counted(len(known.applications), "application")
            raise _Refused(
                "HasApplications",
                f"holdsQueues: {spec.path} is a leaf with {held}; it can become a parent when they have left",
            )

    def _add(self, spec: QueueSpec, parent: Queue) -> Queue:
        self.edition += 1
        queue = self.queues[spec.path] = Queue(spec, parent, policy_named(spec.policy), self._types.width)
        parent.children[spec.path] = queue
        self._note(queue)
        if len(parent.children) == 1:
            self._note(parent)  # it is no leaf any more
        return queue

    def _note(self, queue: Queue) -> None:
        """Take note that applications may belong elsewhere than before, at a queue or below it."""
        if len(self._places) < MANY_PLACES:
            self._places.add(queue.path)
        else:
            self.all_applications = True

    def policy_below(self, parent: Queue | None) -> str | None:
        """Return the policy of a queue that a rule makes: the default if the parent allows it, else the parent's own, or None."""
        if parent is None or parent.policy.children is None:
            return None
        return next((name for name in (self.default_policy, parent.policy.name) if name in parent.policy.children), None)

    def nearest(self, path: str) -> Queue:
        """Return the queue of a path, or else the nearest ancestor that is in force; the root at last."""
        while path not in self.queues:
            path = path.rpartition(".")[0]
        return self.queues[path]

    def make(self, path: str, now: float) -> Queue | Wait:
        """Make the leaf of a path and the parents that are missing, or say why it cannot be (``FSQueueManager.createQueue``).

        No leaf becomes a parent for it. A queue that was deleted while in use goes on as one that a rule made.
        """
        found = self.nearest(path)
        if found.path != path:
            if found.leaf:
                words = f"queue {path} cannot be made: {found.path} is a leaf; a queue that is to hold others sets holdsQueues"
                return Wait("ParentIsLeaf", found.path, words)
            if self.policy_below(found) is None:
                words = f"queue {path} cannot be made: the policy of {found.path} is {found.policy.name}, which allows no child queues"
                return Wait("ParentPolicy", found.path, words)
        elif not found.leaf:
            return self.no_leaf(path)
        for above in found.chain:
            if not above.defined:
                self.adopt(above)
        while found.path != path:
            below = path[: (path + ".").index(".", len(found.path) + 1)]
            policy = self.policy_below(found)
            assert policy is not None
            found = self._add(QueueSpec(below, policy=policy), found)
            found.dynamic = True
            self.dynamic[found] = None
        if found.dynamic and not found.applications:
            self.idle[found] = now
        return found

    def adopt(self, queue: Queue) -> None:
        """Let a queue that drains go on as one that was made, without what its definition said."""
        queue.defined = queue.dynamic = True
        self.dynamic[queue] = None
        if not self.templates:  # what those say of it is looked up by its path
            queue.redefine(QueueSpec(queue.path, policy=queue.policy.name), queue.policy)
        self.problems.pop(queue.path, None)
        self._adopted.append(queue)
        self._note(queue)

    def sprout(self, path: str, *, holds_queues: bool) -> Queue:
        """Add a queue that was made, below one that exists: whether it may be is asked of templates, not here."""
        parent = self.queues[path.rpartition(".")[0]]
        queue = self._add(QueueSpec(path, policy=self.policy_below(parent) or "drf", holds_queues=holds_queues), parent)
        queue.dynamic = True
        self.dynamic[queue] = None
        return queue

    def prune(self, queue: Queue) -> None:
        """Remove an empty queue that was made."""
        self._remove(queue)
        self.idle.pop(queue, None)

    def sweep(self, now: float) -> bool:
        """Remove the queues that rules made and that have been empty for long enough, and their parents that are empty then.

        Returns whether any was removed.
        """
        removed = False
        for queue, since in list(self.idle.items()):
            if queue.applications or queue.children or not queue.dynamic:
                del self.idle[queue]
            elif now >= since + IDLE:
                del self.idle[queue]
                self._remove_empty(queue)
                removed = True
        return removed

    def _remove_empty(self, queue: Queue) -> None:
        gone: Queue | None = queue
        while gone is not None and gone.dynamic and not gone.applications and not gone.children:
            assert gone.parent is not None
            self._remove(gone)
            self.idle.pop(gone, None)
            gone = gone.parent

    def _remove(self, queue: Queue) -> None:
        self._note(queue)
        if queue.parent is not None and len(queue.parent.children) == 1:
            self._note(queue.parent)  # it may be a leaf again
        for one in (queue, *queue.parts.values()):
            if one.parent is not None:
                del one.parent.children[queue.path]
            one.whole = self.root  # not itself any more: it would be free only by a collection of garbage
        del self.queues[queue.path]
        self.dynamic.pop(queue, None)
        self.edition += 1

    def _retire(self, queue: Queue, settled: Settled) -> None:
        """Remove a queue that is no longer defined, or let it drain while applications or children are left in it."""
        if queue.parent is None or queue.dynamic:
            return
        if queue.applications or queue.children:
            if queue.defined:
                settled.edited.setdefault(queue, queue.spec)
                self._note(queue)
            queue.defined = False
            held = (
                _counted(len(queue.applications), "application")
                if queue.applications
                else _counted(len(queue.children), "child queue")
            )
            self.problems[queue.path] = Problem(
                "Draining",
                f"{queue.path} was deleted while it has {held}; it takes no new applications and goes when they have left",
            )
        else:
            self._remove(queue)
            settled.gone.append(queue)
            settled.edited.pop(queue, None)
            if queue.parent.dynamic and not queue.parent.children:
                self.idle[queue.parent] = float("-inf")

    def drained(self, queue: Queue) -> None:
        """Take note that an application left: a queue that was deleted may go now, a child that waits for its parent may come."""
        below = queue.path + "."
        if not queue.defined or any(path == queue.path or path.startswith(below) for path in self.problems):
            self.unsettled = True

    def left(self, queue: Queue, now: float) -> None:
        """Take note of the time at which an application left a queue that a rule made."""
        if queue.dynamic and not queue.applications:
            self.idle[queue] = now

    def place(self, application: Application, namespace_queue: str) -> Queue | Wait:
        """Return the leaf for an application, or why there is none.

        In order: the Application object's queue, the pods' label, the namespace's queue, the default queue. A queue that does not
        exist falls back to the default queue if there is one.
        """
        wanted = application.requested or application.wanted or namespace_queue
        path = wanted if not wanted or wanted == ROOT or wanted.startswith(ROOT + ".") else f"{ROOT}.{wanted}"
        queue = self.queues.get(path) if path else None
        if queue is not None and not queue.leaf:
            return self.no_leaf(path)
        here = queue is not None and application.queue is queue
        if queue is not None and ((queue.defined and not queue.dynamic) or here):
            return self.open(queue, application)
        if path in self.aside and queue is None:
            words = f"queue {path} is set aside: the scheduler cannot act on its definition, and its Ready condition says why"
            return Wait("QueueSetAside", path, words)
        fallback = self.queues.get(DEFAULT_QUEUE)
        if fallback is None or not fallback.leaf or not fallback.defined:
            what = f"queue {path} does not exist" if path else "no queue is named"
            return Wait("QueueNotFound", path, f"{what} and there is no default queue ({DEFAULT_QUEUE})")
        return self.open(fallback, application)

    def is_defined(self, path: str) -> bool:
        """Whether the queue of a path is in force and defined."""
        queue = self.queues.get(path)
        return queue is not None and queue.defined and not queue.dynamic

    def no_leaf(self, path: str) -> Wait:
        """Return the wait of an application whose queue holds queues."""
        queue = self.queues.get(path)
        if path == ROOT:
            why = "is the root"
        elif queue is not None and queue.children:
            why = "has child queues"
        else:
            why = "is to hold queues only"
        return Wait("QueueIsParent", path, f"queue {path} {why}; applications live in leaf queues only")

    @staticmethod
    def open(queue: Queue, application: Application) -> Queue | Wait:
        """Return the queue unless it, or one above, is stopped and the application is not in it yet."""
        closed: Queue | None = queue
        while closed is not None and closed.spec.running:
            closed = closed.parent
        if closed is not None and application.queue is not queue and not application.allocated:
            return Wait("QueueStopped", closed.path, f"queue {closed.path} is stopped and takes no new applications")
        return queue
