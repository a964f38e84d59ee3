"""Applications whose time is over: their pods are deleted and none is started any more (YARN's ``RMAppLifetimeMonitor``).

An application's lifetime is its own, held down to its queue's maximum, or else its queue's default; it counts from the
submission, time spent waiting included. Own lifetimes hold under both disciplines, those of queues under capacity. All
applications are looked at every few seconds, as in YARN, so that an edit of a lifetime, or a move, needs no care of its own.
Unlike in YARN an application comes to life again if its lifetime is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import LIFETIME_OVER, Expire
from treadle.core.kernel.admission_checks import requeue
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application

INTERVAL = 3.0
"""Seconds between two looks (``application-timeouts.monitor.interval-ms``)."""
AGAIN = 30.0
"""Seconds after which a pod that is still there, and not on its way out, is deleted once more."""


def expire(state: State) -> list[Expire]:
    """Return the deletions that are due: pods on nodes of applications whose lifetime is over."""
    lifetimes = state.lifetimes
    if state.now < lifetimes.looked + INTERVAL:
        return []
    lifetimes.looked = state.now
    before, lifetimes.active = lifetimes.active, _any(state)
    if not before and not lifetimes.active:
        return []
    effects: list[Expire] = []
    asked: dict[str, float] = {}
    for application in state.applications.values():
        lifetime = lifetime_of(state, application)
        over = lifetime is not None and state.now + state.settings.epoch >= submitted(state, application) + lifetime[0]
        if lifetime is not None and over:
            if application.ended is None:
                _end(state, application, *lifetime)
            effects += _deletions(state, application, asked, _why(*lifetime))
        elif application.ended is not None:
            application.ended = None
            _look_again(state, application)
    lifetimes.asked = asked
    return effects


def next_look(state: State) -> float | None:
    """Return when lifetimes are looked at next, None if no application has one."""
    return state.lifetimes.looked + INTERVAL if state.lifetimes.active else None


def lifetime_of(state: State, application: Application) -> tuple[float, str] | None:
    """Return an application's lifetime in seconds and whose word it is, None if it has none."""
    explicit, queue = state.explicit.get(application.id), application.queue
    own = explicit.lifetime if explicit is not None else None
    most, default = (0.0, 0.0) if queue is None else state.discipline.limits.lifetime(queue)
    if own is not None and own > 0:
        if 0 < most < own:
            return most, f"maximumApplicationLifetime of queue {queue.path if queue is not None else ''}"
        return own, "lifetime of the Application"
    if default > 0:
        which = "maximum" if default == most else "default"
        return default, f"{which}ApplicationLifetime of queue {queue.path if queue is not None else ''}"
    return None


def submitted(state: State, application: Application) -> float:
    """Return when an application was submitted: when its object was made, or else the first of its pods that is known."""
    explicit = state.explicit.get(application.id)
    if explicit is not None and explicit.created is not None:
        return explicit.created
    return min((application.start, *(record.spec.created for record in application.pods.values() if record.spec.created)))


def _any(state: State) -> bool:
    if any(explicit.lifetime for explicit in state.explicit.values()):
        return True
    return state.discipline.limits.lifetimes()


def _end(state: State, application: Application, seconds: float, whose: str) -> None:
    words = f"application {application.id} {_why(seconds, whose)}; that is over, and no pod of it is started any more"
    application.ended = Wait(LIFETIME_OVER, application.id, words)
    state.record(application.id, "lifetime over", whose)
    _look_again(state, application)


def _why(seconds: float, whose: str) -> str:
    return f"was to live {seconds:g} s ({whose})"


def _look_again(state: State, application: Application) -> None:
    for ask in application.every_ask():
        requeue(state, ask)


def _deletions(state: State, application: Application, asked: dict[str, float], why: str) -> list[Expire]:
    found: list[Expire] = []
    explicit = state.explicit.get(application.id)
    told = (application.id, explicit.uid if explicit is not None else "", why)
    path = application.queue.path if application.queue is not None else ""
    for record in application.pods.values():
        spec = record.spec
        if record.state is not PodState.BOUND or spec.deleting:
            continue
        when = state.lifetimes.asked.get(spec.uid)
        if when is None or state.now >= when + AGAIN:
            when = state.now
            state.record(spec.uid, "expires", application.id)
            found.append(Expire(spec.uid, spec.namespace, spec.name, path, record.cause, *told))
        asked[spec.uid] = when
    return found
