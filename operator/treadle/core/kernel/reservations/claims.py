"""Applications that run in a reservation without naming it: those of its namespace that ask for its queue and whose names it claims.

Where each run of an application has another name, as those of a CronJob, nobody makes an Application object for it that could name the reservation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.memory import Claim
from treadle.core.model.applications import name_pattern

if TYPE_CHECKING:
    from treadle.core.kernel.reservations.memory import PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application


def claims(state: State, one: PlanInForce) -> dict[str, list[Claim]]:
    """Return the claims of the reservations of a plan that have a queue now, by namespace; those of the one that was accepted first come first."""
    found: dict[str, list[tuple[int, Claim]]] = {}
    for identity, path in one.children.items():
        known = state.plans.known.get(identity)
        if known is None or known.promise is None or not known.spec.applications:
            continue
        line = found.setdefault(identity.partition("/")[0], [])
        line += [(known.promise.accepted, Claim(identity, pattern, path)) for pattern in known.spec.applications]
    return {namespace: [claim for _, claim in sorted(line)] for namespace, line in found.items()}


def claimed(one: PlanInForce, application: Application) -> str:
    """Return the path of the queue of the reservation that claims an application, empty if none does."""
    namespace, _, name = application.id.partition("/")
    return next((each.path for each in one.claims.get(namespace, ()) if name_pattern(each.pattern).fullmatch(name)), "")


def follow_claims(state: State, identity: str) -> None:
    """Take over the names that a reservation claims, which may have changed."""
    for one in state.plans.of.values():
        if identity in one.children:
            one.claims = claims(state, one)


def perhaps_claimed(state: State, identity: str) -> list[Application]:
    """Return the applications that a reservation may have claimed, or may claim now."""
    known = state.plans.known.get(identity)
    found: list[Application] = []
    for one in state.plans.of.values():
        mine = state.tree.queues.get(one.children.get(identity, ""))
        rest = state.tree.queues.get(one.children.get(one.path, "")) if known is not None and known.spec.applications else None
        found += [application for queue in (mine, rest) if queue is not None for application in queue.applications.values()]
    return found
