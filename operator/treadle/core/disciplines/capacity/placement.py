"""Where applications are placed: by mapping rules, or by placement rules where there are none of those, in queues that templates allow to be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.auto_queues import make, mapper_of, mapping_problem, names_of, parent_makes, restore, used
from treadle.core.kernel import tenants
from treadle.core.kernel.assign import REJECTED, allowed, by_rules
from treadle.core.model import Wait
from treadle.core.rules.placement.mapping import MappingRejected, Submission
from treadle.core.rules.placement.names import path_problem
from treadle.core.rules.placement.rules import NOTHING_ASKED, qualified

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.rules.placement.rules import Request


class CapacityPlacement:
    """See ``kernel.seam.Placement``."""

    def __init__(self, state: State) -> None:
        self._state = state

    def asks(self) -> bool:
        """Return True: a queue may be asked for by its last name, and be made."""
        return True

    def ruled(self) -> bool:
        """Whether there are rules of either kind."""
        return self._state.tree.rules is not None or bool(self._state.scheduler.mapping)

    def place(self, application: Application, request: Request, namespace: str, *, runs: bool) -> Queue | Wait:
        """Place by mapping rules if there are any, or if there are no placement rules."""
        state, rules = self._state, self._state.tree.rules
        if rules is None or state.scheduler.mapping:
            return _by_mapping(state, application, request.queue, namespace, runs=runs)
        return by_rules(state, rules, application, request, runs=runs)

    def make(self, path: str) -> Queue | Wait:
        """Make a queue as the templates say."""
        return make(self._state, path)

    def restore(self, path: str) -> Queue | None:
        """Make a queue for what is bound in it, whether a template allows it or not."""
        return restore(self._state, path)

    def used(self, queue: Queue) -> None:
        """Let the time for which a queue that was made is idle begin anew."""
        used(self._state, queue)

    def problem(self) -> str:
        """Say which mapping rules go by their fallback, since they can place no application."""
        return mapping_problem(self._state)


def _by_mapping(state: State, application: Application, asked: str, namespace: str, *, runs: bool) -> Queue | Wait:
    """Place by the mapping rules of the capacity discipline, or, where they have nothing to say, in the queue that is asked for.

    A queue that does not exist is made if a template above it allows that.
    """
    tree, mapper, names = state.tree, mapper_of(state), names_of(state)
    user, wish = application.user or namespace, asked or NOTHING_ASKED
    groups = tuple(state.assignment.groups.get(application.id, ()))
    path = None
    if mapper is not None:
        try:
            path = mapper.place(Submission(user, groups, application.id.partition("/")[2], wish))
        except MappingRejected as error:
            return Wait(REJECTED, "", f"{error} (user {user}{_wish(asked)})")
    if path is None:
        known = names.find(wish)
        path = known.path if known is not None else qualified(wish)
    problem = path_problem(path)
    if problem:
        return Wait(REJECTED, path, f"there can be no such queue: {problem} (user {user}{_wish(asked)})")
    nearest = tree.nearest(path)
    if nearest.path == path and nearest.defined and not nearest.leaf:
        return tree.no_leaf(path)
    exists = nearest.path == path and nearest.defined
    if not exists and not parent_makes(state, path):
        if mapper is None:
            place = tree.place(application, state.namespaces.get(namespace, ""))
            return place if runs or isinstance(place, Wait) else allowed(state, application, place, place.path)
        words = f"queue {path} does not exist, and no queues are made below {nearest.path} (user {user}{_wish(asked)})"
        return Wait(REJECTED, path, words)
    if not runs:
        denied = allowed(state, application, nearest, path)
        if isinstance(denied, Wait):
            return denied
    opened = tree.open(nearest, application)
    if isinstance(opened, Wait) or exists:
        return opened
    return tenants.make(state, application, path, lambda: make(state, path), runs=runs)


def _wish(asked: str) -> str:
    return f", queue {asked} is asked for" if asked else ""
