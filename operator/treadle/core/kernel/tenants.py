"""What the applications of one namespace may have in the scheduler: queues that rules made for them, applications and pods that wait.

YARN has such limits by queue and by user. Here users can be many and queues are made by rules, but nobody makes namespaces for himself. An application beyond a limit is in no queue and costs a
pass nothing; it comes in when others of its namespace have started or gone, the oldest first. What is counted is as of the last look, twice a second, and what came in since.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from treadle.core.model import Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue

TOO_MANY_WAITING = "TooManyWaiting"
TOO_MANY_QUEUES = "TooManyQueues"
FIELD = "spec.namespaceLimits"
MOST_AT_ONCE = 200
"""Applications without a queue that are asked for again at one look."""
MOST_GONE = 100
"""Queues that are gone and not forgotten yet, at the most."""


def holds_off(state: State, application: Application, namespace: str) -> Wait | None:
    """Return why an application is not let into any queue yet; None if it may come in, or is in one."""
    limits, tenants = state.scheduler.namespace_limits, state.tenants
    if application.queue is not None or application.allocated or (limits.applications is None and limits.pods is None):
        return None
    for name, most, many in (
        ("applications", limits.applications, tenants.applications[namespace]),
        ("pods", limits.pods, tenants.pods[namespace]),
    ):
        if most is not None and many >= most:
            if application.wait is not None and application.wait.reason == TOO_MANY_WAITING:
                return application.wait
            tenants.held.setdefault(namespace, {})[application] = None
            words = f"as many {name} of namespace {namespace} wait in queues as may: {most} ({FIELD}.waiting{name.capitalize()} of the Scheduler)"
            return Wait(TOO_MANY_WAITING, "", words)
    return None


def came_in(state: State, application: Application, namespace: str) -> None:
    """Count an application that has come into a queue."""
    tenants = state.tenants
    held = tenants.held.get(namespace)
    if held is not None:
        held.pop(application, None)
    if not application.allocated:
        tenants.applications[namespace] += 1
        tenants.pods[namespace] += len(application.pods)


def uses(state: State, queue: Queue, namespace: str) -> None:
    """Take note of the queue of an application, if a rule made it: it counts for the namespace that came first."""
    if queue.dynamic:
        state.tenants.made.setdefault(queue.path, namespace)
        if len(state.tenants.made) > MOST_GONE + len(state.tree.queues):
            _forget_gone(state)


def make(
    state: State, application: Application, path: str, made: Callable[[], Queue | Wait], *, runs: bool = False
) -> Queue | Wait:
    """Make a queue for an application by ``made``, unless its namespace has as many as it may; what runs has its own whatever the limit says."""
    namespace, tenants, most = application.id.partition("/")[0], state.tenants, state.scheduler.namespace_limits.queues
    if most is not None and not runs:
        _forget_gone(state)
        many = sum(of == namespace for of in tenants.made.values())
        if many >= most and path not in tenants.made:
            words = f"queue {path} is not made: {many} were made for namespace {namespace}, and {most} may ({FIELD}.queues of the Scheduler)"
            tenants.without_queue[application] = None
            return Wait(TOO_MANY_QUEUES, path, words)
    return made()


def let_in(state: State, assign: Callable[[list[Application]], None]) -> None:
    """Count anew, once an update interval, and let in whoever has room now."""
    limits, tenants = state.scheduler.namespace_limits, state.tenants
    if limits.unlimited and not tenants.held and not tenants.without_queue:
        return
    if state.now < tenants.looked_at + state.settings.update_interval:
        return
    tenants.looked_at = state.now
    tenants.applications, tenants.pods = _counted(state)
    for namespace, held in list(tenants.held.items()):
        for application in list(held):
            if state.applications.get(application.id) is not application or application.queue is not None:
                del held[application]
                continue
            assign([application])
            if application.queue is None and application.wait is not None and application.wait.reason == TOO_MANY_WAITING:
                break  # nor has any other
            held.pop(application, None)
        if not held:
            del tenants.held[namespace]
    for application in list(tenants.without_queue)[:MOST_AT_ONCE]:
        del tenants.without_queue[application]
        waits = application.wait is not None and application.wait.reason == TOO_MANY_QUEUES
        if waits and state.applications.get(application.id) is application:
            assign([application])  # which puts it at the end where there is still none for it


def next_look(state: State) -> float | None:
    """Return when somebody may be let in at the earliest; None if nobody is held off."""
    tenants = state.tenants
    return tenants.looked_at + state.settings.update_interval if tenants.held or tenants.without_queue else None


def _counted(state: State) -> tuple[Counter[str], Counter[str]]:
    applications: Counter[str] = Counter()
    pods: Counter[str] = Counter()
    for application in state.applications.values():
        if application.queue is not None:
            namespace = application.id.partition("/")[0]
            applications[namespace] += not application.allocated
            pods[namespace] += len(application.pods) - application.allocated
    return applications, pods


def _forget_gone(state: State) -> None:
    """Forget queues that are gone, or that a Queue object defines by now."""
    queues, made = state.tree.queues, state.tenants.made
    for path in [path for path in made if path not in queues or not queues[path].dynamic]:
        del made[path]
