"""Which applications may run: the limits of queues and users on running applications, live (Hadoop's ``MaxRunningAppsEnforcer``).

An application runs from its admission until its last pod is gone. Those that came since the last pass are decided at the
beginning of the next one, in the order of their start: after a restart, when everything has been seen, an application with bound
pods is counted first, over a limit too. One that waits is let in when another leaves, by the rules of ``rules.running``, or when
limits were raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import TOO_MANY, requeue
from treadle.core.kernel.tree.members import Queue
from treadle.core.rules.running import NO_LIMIT, by_start

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSequence

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import FairSettings
    from treadle.core.rules.running import Limited


def arrive(state: State, application: Application, *, runs: bool) -> None:
    """Take note that an application came into its queue; ``runs``: it ran in another one and goes on here, whatever the limits."""
    application.busy = True
    if runs:
        _count(state, application)
    else:
        state.admission.newcomers[application] = None


def leave(state: State, application: Application) -> bool:
    """Take an application out of the counts of the queue that it is about to leave; returns whether it ran.

    ``replace`` comes next.
    """
    queue = application.queue
    state.admission.newcomers.pop(application, None)
    if queue is None:
        return False
    if application.counted:
        application.counted = False
        state.admission.running.stop(queue, application)
        return True
    if not application.busy:
        _wait_no_longer(state, application)
    return False


def replace(state: State, left: Queue, user: str) -> None:
    """Let those run that waited for a running application of ``user`` that left a queue, at most one for each list that they wait in."""
    lists = state.admission.running.candidates_after(left, user, _unadmitted)
    _promote(state, by_start(lists), len(lists))


def rename(state: State, application: Application, user: str) -> None:
    """Let an application count for another user: what runs goes on, what waits is decided again."""
    before = application.user
    if user == before:
        return
    queue = application.queue
    if application.counted and queue is not None:
        state.admission.running.stop(queue, application)
        application.user = user
        state.admission.running.run(queue, application)
        replace(state, queue, before)
        return
    if not application.busy:
        _wait_no_longer(state, application)
        state.admission.newcomers[application] = None
    application.user = user


def limit(queue: Queue, settings: FairSettings) -> None:
    """Give a queue its limit on running applications: its own, else the scheduler's for all queues."""
    wanted = queue.spec.max_running
    if wanted is None:
        wanted = settings.queue_max_running_default
    queue.max_running = NO_LIMIT if wanted is None else wanted


def decide(state: State) -> None:
    """Let in, or hold back, all applications that came since the last pass, and look at those that wait if limits have changed."""
    newcomers = state.admission.newcomers
    if state.updates.limits_changed:
        running = state.admission.running
        running.of_user, running.default, running.further, running.origins = state.discipline.limits.running()
    for application in [one for one in newcomers if one.allocated]:
        admit(state, application)
    if state.updates.limits_changed:
        state.updates.limits_changed = False
        if state.admission.running.waiting_of_user:
            _promote(state, by_start(state.admission.running.candidates_on_reload(state.tree.root, _unadmitted)), None)
    for application in sorted(newcomers, key=lambda one: (one.start, one.id)):
        queue = application.queue
        if application.counted or queue is None:
            continue
        if state.admission.running.obstacle(queue, application.user) is None:
            admit(state, application)
        elif application.busy:
            application.busy = False
            queue.unadmitted.append(application)
            state.admission.running.wait(application)
            _note(application)
            for ask in application.every_ask():
                requeue(state, ask)
    newcomers.clear()


def admit(state: State, application: Application) -> None:
    """Let an application run, unless it does; limits are the caller's."""
    if application.counted or application.queue is None:
        return
    if not application.busy:
        _wait_no_longer(state, application)
    _count(state, application)
    _note(application)
    for ask in application.every_ask():
        if ask.wait is not None and ask.wait.reason == TOO_MANY:
            requeue(state, ask)


def _note(application: Application) -> None:
    for part in application.everywhere():
        if part.quota is not None:
            part.quota.demand_changed()


def _count(state: State, application: Application) -> None:
    assert application.queue is not None
    application.counted = True
    state.admission.running.run(application.queue, application)
    state.record(application.id, "runs", application.queue.path)


def _wait_no_longer(state: State, application: Application) -> None:
    assert application.queue is not None
    application.queue.unadmitted.remove(application)
    state.admission.running.forget(application)
    if not state.admission.running.waiting_of_user.get(application.user, True):
        del state.admission.running.waiting_of_user[application.user]
    application.busy = True


def _promote(state: State, candidates: Iterable[Application], most: int | None) -> None:
    let_in = 0
    for application in candidates:
        queue = application.queue
        if application.busy or queue is None or state.admission.running.obstacle(queue, application.user) is not None:
            continue
        admit(state, application)
        let_in += 1
        if most is not None and let_in >= most:
            break


def _unadmitted(queue: Limited, /) -> MutableSequence[Application]:
    assert isinstance(queue, Queue)
    return queue.unadmitted
