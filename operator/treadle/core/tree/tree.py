"""The queue tree: from the definitions that users wrote to the queues that are in force.

Definitions arrive in any order and may be wrong together: a child before its parent, a leaf in use that gets children, a
policy that its parent does not allow. ``settle`` derives the tree in force from all of them at once; a definition that cannot
be used keeps its last good version, or stays out, and ``problems`` says why. Nothing else stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.core.errors import InvalidSpec
from treadle.core.fair.policies import policy_named
from treadle.core.model import DEFAULT_QUEUE, QueueSpec
from treadle.core.tree.application import Wait
from treadle.core.tree.queue import Queue

if TYPE_CHECKING:
    from treadle.core.resources import ResourceTypes
    from treadle.core.tree.application import Application

ROOT = "root"


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


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


class QueueTree:
    """The queues in force, by path, below ``root``.

    Without any definition but the root's there is one leaf, ``root.default``; as soon as queues are defined there is a default
    queue only if one of that name is among them.
    """

    def __init__(self, types: ResourceTypes) -> None:
        self._types = types
        self.defined: dict[str, QueueSpec] = {}
        self.problems: dict[str, Problem] = {}
        self.root = Queue(QueueSpec(ROOT), None, policy_named("drf"), len(types))
        self.queues: dict[str, Queue] = {ROOT: self.root}
        self.unsettled = True

    def define(self, spec: QueueSpec) -> None:
        """Take note of a definition; ``settle`` puts it in force."""
        if self.defined.get(spec.path) != spec:
            self.defined[spec.path] = spec
            self.unsettled = True

    def undefine(self, path: str) -> None:
        """Take note that a definition is gone."""
        if self.defined.pop(path, None) is not None:
            self.unsettled = True

    def settle(self) -> bool:
        """Bring the tree in force up to the definitions; returns whether there was anything to do."""
        if not self.unsettled:
            return False
        self.unsettled = False
        self.problems = {}
        wanted = dict(self.defined)
        root = wanted.setdefault(ROOT, QueueSpec(ROOT))
        if len(wanted) == 1:
            wanted[DEFAULT_QUEUE] = QueueSpec(DEFAULT_QUEUE, policy="fair" if root.policy == "fair" else "drf")
        parents = {spec.parent for spec in wanted.values()}
        for path in sorted(wanted, key=lambda path: (path.count("."), path)):
            try:
                self._enforce(wanted[path], has_children=path in parents)
            except InvalidSpec as error:
                kept = path in self.queues
                words = f"{error}; the last good version stays in force" if kept else str(error)
                self.problems[path] = Problem(error.reason if isinstance(error, _Refused) else "Invalid", words, kept)
        for queue in reversed(self.root.walk()):
            self._retire(queue, wanted)
        return True

    def _enforce(self, spec: QueueSpec, *, has_children: bool) -> None:
        policy = policy_named(spec.policy)
        parent = self.queues.get(spec.parent)
        if has_children and policy.children is None:
            raise InvalidSpec(
                f"schedulingPolicy: {spec.policy!r} is for leaf queues, and {spec.path} has child queues; allowed are drf, fair"
            )
        for resource, limit in spec.minimum.items():
            most = spec.maximum.get(resource)
            if most is not None and most.percent is None and limit.percent is None and limit.value > most.value:
                raise InvalidSpec(f"minResources: {resource} is {limit.value}, over maxResources, which allows {most.value}")
        if spec.path != ROOT:
            if parent is None:
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
        queue = self.queues.get(spec.path)
        if queue is None:
            queue = self.queues[spec.path] = Queue(spec, parent, policy, len(self._types))
            assert parent is not None
            parent.children[spec.path] = queue
        else:
            if any(
                policy.children is None or child.policy.name not in policy.children
                for child in queue.children.values()
                if child.path in self.defined and self.defined[child.path].policy == child.policy.name
            ):
                raise InvalidSpec(
                    f"schedulingPolicy: {spec.policy!r} does not allow the policies of the child queues of {spec.path}"
                )
            queue.redefine(spec, policy)
        queue.defined = True

    def _retire(self, queue: Queue, wanted: dict[str, QueueSpec]) -> None:
        """Remove a queue that is no longer defined, or let it drain while applications or children are left in it."""
        if queue.path in wanted or queue.parent is None:
            return
        if queue.applications or queue.children:
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
            del queue.parent.children[queue.path]
            del self.queues[queue.path]

    def drained(self, queue: Queue) -> None:
        """Take note that an application left: a queue that was deleted may go now, a child that waits for its parent may come."""
        below = queue.path + "."
        if not queue.defined or any(path.startswith(below) for path in self.problems):
            self.unsettled = True

    def place(self, application: Application, namespace_queue: str) -> Queue | Wait:
        """Return the leaf for an application, or why there is none.

        In order: the Application object's queue, the pods' label, the namespace's queue, the default queue. A queue that does not
        exist falls back to the default queue if there is one.
        """
        wanted = application.requested or application.wanted or namespace_queue
        path = wanted if not wanted or wanted == ROOT or wanted.startswith(ROOT + ".") else f"{ROOT}.{wanted}"
        queue = self.queues.get(path) if path else None
        if queue is not None and (queue.children or queue.parent is None):
            return Wait(
                "QueueIsParent", path, f"queue {path} has child queues or is the root; applications live in leaf queues only"
            )
        here = queue is not None and application.queue is queue
        if queue is not None and (queue.defined or here):
            return self._open(queue, application)
        fallback = self.queues.get(DEFAULT_QUEUE)
        if fallback is None or not fallback.leaf or not fallback.defined:
            what = f"queue {path} does not exist" if path else "no queue is named"
            return Wait("QueueNotFound", path, f"{what} and there is no default queue ({DEFAULT_QUEUE})")
        return self._open(fallback, application)

    @staticmethod
    def _open(queue: Queue, application: Application) -> Queue | Wait:
        closed = next((above for above in queue.chain if not above.spec.running), None)
        if closed is not None and application.queue is not queue and not application.allocated:
            return Wait("QueueStopped", closed.path, f"queue {closed.path} is stopped and takes no new applications")
        return queue
