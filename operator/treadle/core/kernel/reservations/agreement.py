"""What must hold of plans after every step: each promise is in the plan of its queue once, and loads are the sums of what was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.rules.reservations.cycles import Load

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.rules.reservations.plan import Plan


def broken(state: State) -> list[str]:
    """Return contradictions in what is known of reservations, as sentences."""
    plans = state.plans
    problems = [
        f"reservation {identity} is {'undecided' if known.undecided else 'decided'}, and is {'not ' if known.undecided else ''}among those that are undecided"
        for identity, known in plans.known.items()
        if known.undecided != (identity in plans.undecided or identity in plans.blocked)
    ]
    problems += [
        f"nothing is known of {identity}" for identity in (*plans.undecided, *plans.promised) if identity not in plans.known
    ]
    for path, one in plans.of.items():
        for identity in one.plan.reservations:
            known = plans.known.get(identity)
            if known is None or known.promise is None or known.promise.queue != path:
                problems.append(f"reservation {identity} is in the plan of {path}, and is not promised anything there")
        problems += _loads(path, one.plan)
        missing = [child for child in one.children.values() if child not in state.tree.planned.specs]
        problems += [f"the plan of {path} has queue {child}, which is not among those that plans want" for child in missing]
    members: dict[str, set[str]] = {}
    for application in state.explicit.values():
        if application.reservation:
            members.setdefault(application.reservation, set()).add(application.id)
    if members != {identity: set(names) for identity, names in plans.members.items()}:
        problems.append(f"reservations have applications {plans.members}, applications name {members}")
    return problems


def _loads(path: str, plan: Plan) -> list[str]:
    found: list[str] = []
    users: dict[str, Load] = {}
    total = Load(len(plan.capacity))
    for one in plan.reservations.values():
        of_user = users.setdefault(one.user, Load(len(plan.capacity)))
        for shape in (one.shape, one.more):
            if shape is not None:
                total.add(shape)
                of_user.add(shape)
    kept = {user: load for user, load in users.items() if not load.empty}
    for name, mine, naive in [("all", plan.load, total), *((user, plan.by_user.get(user), load) for user, load in kept.items())]:
        if (
            mine is None
            or mine.once != naive.once
            or {at: one.steps for at, one in mine.cycles.items()} != {at: one.steps for at, one in naive.cycles.items()}
        ):
            found.append(f"the load of {name} in the plan of {path} is not the sum of what was promised")
    return found
