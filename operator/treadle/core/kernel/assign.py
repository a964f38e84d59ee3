"""Which queue an application is in: the placement rules at work on the tree, or the plain order where there are no rules.

Placement is decided as in YARN when an application comes; what waits is decided again when queues, rules or access lists change.
What runs stays where it is, until another queue is asked for. After a restart, what runs is put back where its pods were bound,
also into a queue that only a rule had made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel import tenants
from treadle.core.kernel.reservations.claims import claimed
from treadle.core.kernel.reservations.following import default_path
from treadle.core.kernel.reservations.places import place_of, unreserved
from treadle.core.kernel.tree.members import Queue
from treadle.core.model import DEFAULT_QUEUE, Asker, DefaultAccess, Wait
from treadle.core.rules.placement.access import bound_of, is_open, may_submit, own_queue
from treadle.core.rules.placement.names import path_problem, tidy
from treadle.core.rules.placement.rules import NOTHING_ASKED, Refused, Request, Rules, qualified

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.kernel.tree.tree import QueueTree, Settled

REJECTED = "PlacementRejected"
DENIED = "AccessDenied"
PRIORITY_DENIED = "PriorityDenied"


class InForce:
    """The tree in force as the rules see it."""

    def __init__(self, tree: QueueTree) -> None:
        self._queues = tree.queues

    def defined(self, path: str) -> bool:
        """Whether the queue is defined and was not deleted."""
        queue = self._queues.get(path)
        return queue is not None and queue.defined and not queue.dynamic

    def exists(self, path: str) -> bool:
        """Whether the queue is in force."""
        return path in self._queues

    def is_leaf(self, path: str) -> bool:
        """Whether the queue is in force and a leaf."""
        queue = self._queues.get(path)
        return queue is not None and queue.leaf


def assign(state: State, application: Application, namespace: str) -> Queue | Wait:
    """Return the queue that an application belongs to now, made if a rule says so, or why there is none."""
    held = tenants.holds_off(state, application, namespace)
    if held is not None:
        return held
    if not state.plans.of and not state.plans.members:
        return _assign(state, application, namespace)
    explicit = state.explicit.get(application.id)
    if explicit is not None and explicit.reservation:
        return place_of(state, application, explicit.reservation)
    return unreserved(state, application, _assign(state, application, namespace))


def comes_back(application: Application, place: Queue | Wait) -> bool:
    """Whether an application is to go where it was bound while a restart is not over: nobody need allow that once more."""
    return isinstance(place, Queue) and not application.counted and place.path == _held(application)


def _assign(state: State, application: Application, namespace: str) -> Queue | Wait:
    placement = state.discipline.placement
    asked = application.requested or application.wanted or state.namespaces.get(namespace, "")
    if not placement.asks():
        runs = application.allocated > 0
        state.assignment.asked.pop(application.id, None)
        if runs and application.queue is not None and application.queue.dynamic:
            _note(state, application, runs=True)
            return application.queue
        place = state.tree.place(application, state.namespaces.get(namespace, ""))
        _note(state, application, runs=runs)
        if isinstance(place, Wait):
            return place
        return goes_on(state, application, place) if runs else allowed(state, application, place, place.path)
    request = _request(state, application, asked, namespace)
    held = _held(application)
    runs = application.allocated > 0 or bool(held)
    _note(state, application, runs=runs)
    if runs:
        stays = _stays(state, application, request, held)
        if stays is not None:
            state.assignment.asked[application.id] = request
            return stays
    place = placement.place(application, request, namespace, runs=runs)
    if runs and isinstance(place, Wait):
        restored = _restored(state, held) if application.queue is None or not application.counted else None
        current = restored or application.queue
        return current if current is not None else place
    if isinstance(place, Queue) and runs:
        place = goes_on(state, application, place)
    if isinstance(place, Queue):
        state.assignment.asked[application.id] = request
        if place is not application.queue:
            placement.used(place)
    return place


def concerned(state: State, settled: Settled) -> list[Application]:
    """Return the applications that may belong elsewhere after a settling.

    Those without a queue, those that may not move, those that run and were never counted as running (a restart is not over), and those that ran when they were last asked for and do so no longer, always
    are. Rules and mapping rules may look at any queue, so all that wait are asked for again; what runs stays under them unless
    its own queue changed.
    """
    if settled.all_applications:
        return list(state.applications.values())
    stopped = [application for application in state.assignment.asked_running if not application.allocated]
    always = {*state.assignment.unplaced, *state.assignment.refused, *stopped}
    if not settled.places:
        return [application for application in state.applications.values() if application in always] if always else []
    tree, paths, below = state.tree, settled.places, tuple(f"{path}." for path in settled.places)
    names = {path.rpartition(".")[2] for path in paths}
    by_rules = tree.rules is not None or bool(state.scheduler.mapping)
    for path in paths:
        for below_it in tree.queues[path].walk() if path in tree.queues else ():
            always.update(below_it.applications.values())
    found, queues = [], tree.queues
    for application in state.applications.values():
        queue, asked = application.queue, application.requested or application.wanted
        unsettled = application.allocated and not application.counted
        if queue is None or unsettled or application in always or (by_rules and not application.allocated):
            found.append(application)
        elif asked == (path := queue.path):
            if path in paths or queues.get(path) is not queue:
                found.append(application)
        else:
            asked = asked or state.namespaces.get(application.id.partition("/")[0], "")
            wish = qualified(asked)
            if path in paths or asked in names or wish in paths or wish.startswith(below):
                found.append(application)
    return found


def _note(state: State, application: Application, *, runs: bool) -> None:
    """Take note of whether an application ran when it was asked where it belongs: what runs may be where others are not let in."""
    if runs:
        state.assignment.asked_running[application] = None
    else:
        state.assignment.asked_running.pop(application, None)


def asked_for(state: State, application: Application, namespace: str) -> str:
    """Return the path of the queue that is asked for by name, empty if none is, or a reservation; of one that takes reservations the one below that claims the application, or that for all else."""
    explicit = state.explicit.get(application.id)
    wanted = application.requested or application.wanted or state.namespaces.get(namespace, "")
    if not wanted or (explicit is not None and explicit.reservation):
        return ""
    path = qualified(wanted)
    above = path.rpartition(".")[0]
    one = state.plans.of.get(above if above in state.plans.of and path == default_path(above) else path)
    return path if one is None else claimed(one, application) or default_path(one.path)


def in_force(state: State, queue: Queue) -> bool:
    """Whether a queue is still in the tree, and a leaf."""
    return state.tree.queues.get(queue.path) is queue and queue.leaf


def _held(application: Application) -> str:
    """Return the queue that the first of an application's bound pods was bound in, empty if none is known."""
    return next((record.spec.held_in for record in application.pods.values() if record.spec.node and record.spec.held_in), "")


def _request(state: State, application: Application, asked: str, namespace: str) -> Request:
    name = application.id.partition("/")[2]
    groups = tuple(tidy(group) for group in state.assignment.groups.get(application.id, ()))
    user = tidy(application.user or namespace)
    return Request(asked, user, groups, tidy(namespace), tidy(name), groups_optional=True)


def _stays(state: State, application: Application, request: Request, held: str) -> Queue | None:
    """Return where an application that runs stays, or is put back after a restart; None if the rules are to be asked.

    Pods may be seen before the rules: who was placed without them is put back where it was bound.
    """
    current = application.queue
    if current is not None and (not in_force(state, current) or not application.counted):
        current = None
    before = state.assignment.asked.get(application.id)
    if before is not None and before.queue != request.queue and application.allocated:
        return None
    if current is not None and held in {"", current.path}:
        return current
    if before is not None and current is not None and application.allocated:
        return current
    return None if application.requested else _restored(state, held) or current


def _restored(state: State, held: str) -> Queue | None:
    return state.discipline.placement.restore(held) if held and not path_problem(held) else None


def make(state: State, path: str) -> Queue | Wait:
    """Make the queue that a placement rule gives, as a leaf without limits of its own; or say why it cannot be.

    Below one that takes reservations none is made: what is meant for it is in its queue for all else.
    """
    nearest = state.tree.nearest(path)
    if nearest.path != path and nearest.path in state.plans.of:
        return state.tree.queues.get(default_path(nearest.path)) or state.tree.no_leaf(nearest.path)
    made = state.tree.make(path, state.now)
    if isinstance(made, Queue):
        state.discipline.limits.made(made)
    return made


def by_rules(state: State, rules: Rules, application: Application, request: Request, *, runs: bool) -> Queue | Wait:
    """Place an application by placement rules, in a queue that is made if it is not there."""
    tree = state.tree
    look = InForce(tree)
    try:
        path = rules.place(request, look)
    except Refused as error:
        return Wait(REJECTED, "", f"placement rule {error.rule} rejected it: {error}")
    if path is None:
        return Wait(REJECTED, "", rules.refusal(request, look))
    if path_problem(path):
        asked = "" if request.queue in {"", NOTHING_ASKED} else f", queue {qualified(request.queue)} is asked for"
        words = f"the placement rules give no queue that can be: {path_problem(path)} (user {application.user}{asked})"
        return Wait(REJECTED, path, words)
    nearest = tree.nearest(path)
    if nearest.path == path and not nearest.leaf:
        return tree.no_leaf(path)
    if not runs:
        let_in = allowed(state, application, nearest, path)
        if isinstance(let_in, Wait):
            return let_in
    opened = tree.open(nearest, application)
    if isinstance(opened, Wait):
        return opened
    if nearest.path == path and nearest.defined:
        return nearest
    return tenants.make(state, application, path, lambda: state.discipline.placement.make(path), runs=runs)


def allowed(state: State, application: Application, queue: Queue, path: str) -> Queue | Wait:
    """Return the queue if the application's user may submit to it, with the priority that it asks for: ``queue`` is the one of ``path``, or the nearest above it."""
    refused = denied(state, application, queue, path)
    if refused is not None:
        return refused
    if not state.tree.bounded:
        return queue
    who = asker_of(state, application)
    bound = bound_of(queue, who)
    if bound is not None and application.asked_priority > bound[0]:
        words = f"{_of(who)} may ask for priority {bound[0]} at most in queue {path}, not {application.asked_priority}"
        return Wait(PRIORITY_DENIED, queue.path, words)
    return queue


def goes_on(state: State, application: Application, place: Queue) -> Queue | Wait:
    """Return the queue of an application that runs. Where it asks for one that it may not submit to it is the one that it was bound in, after a restart; whom somebody else bound, without us, has none."""
    held = _held(application)
    if application.queue is not None and (application.queue.path == held or application.counted):
        return place  # a move, which is refused where it is not allowed
    refused = denied(state, application, place, place.path)
    if refused is None or not held:
        return place if refused is None else refused
    bound = state.tree.queues.get(held)
    return bound if bound is not None and bound.leaf else place


def denied(state: State, application: Application, queue: Queue, path: str) -> Wait | None:
    """Return why the application's user may not submit to a queue, None if so; ``queue`` is the one of ``path``, or the nearest above it."""
    if is_open(state.tree.root.spec, state.settings.default_access):
        return None  # open to every user, as most trees are: no queue further down need be asked
    who = asker_of(state, application)
    if may_submit(queue, path, who, state.settings.default_access):
        return None
    return Wait(DENIED, queue.path, denied_words("submit to", path, who, state.settings.default_access))


def asker_of(state: State, application: Application) -> Asker:
    """Return who asks with an application."""
    return asker(state, application.id, application.user, tuple(state.assignment.groups.get(application.id, ())))


def asker(state: State, identity: str, user: str, groups: tuple[str, ...]) -> Asker:
    """Return who asks with an object, which is named by ``namespace/name``."""
    namespace = identity.partition("/")[0]
    return Asker(user, groups, namespace, qualified(state.namespaces.get(namespace, "")))


def denied_words(what: str, path: str, who: Asker, default_access: DefaultAccess) -> str:
    """Say that somebody may not do something (``submit to``, ``reserve in``) with a queue."""
    words = f"{_of(who)} may not {what} queue {path}: neither it nor a queue above it allows that"
    if default_access is DefaultAccess.NAMESPACE:
        own = " and ".join(dict.fromkeys((own_queue(who), DEFAULT_QUEUE)))
        words += f"; by itself namespace {who.namespace} may use {own}"
    return words


def _of(who: Asker) -> str:
    """Name somebody with the groups that say something: those of the API server itself are everybody's, or say the name again."""
    groups = [group for group in who.groups if not group.startswith("system:")]
    return f"user {who.user}{' of ' + ', '.join(groups) if groups else ''}"
