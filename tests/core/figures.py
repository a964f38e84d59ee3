"""Every figure of a core that follows from definitions and the cluster, by the names of things, so that two cores can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.builders import capacities_in
from treadle.core.disciplines.capacity.am_share import limit_of_leaf
from treadle.core.disciplines.capacity.quota import limit_of, quota_of
from treadle.core.kernel.tree.members import Queue
from treadle.core.rules.capacity.am_share import limit_of_user
from treadle.core.rules.capacity.limits import tell_room

if TYPE_CHECKING:
    from treadle.core import Core
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.rules.capacity.queue import CapacityQueue


def figures(core: Core) -> dict[str, Any]:
    """Return what two cores that were told the same have to agree on."""
    core.refresh_shares()
    state = core.state
    return {
        "discipline": (state.discipline.name, state.discipline_problem),
        "problems": state.tree.problems,
        "queues": {
            f"{queue.path}@{queue.partition}": _queue(state, queue) for queue in state.tree.everywhere() if _matters(queue)
        },
        "capacities": {}
        if capacities_in(state) is None
        else {path: _capacity(queue) for path, queue in capacities_in(state).of.items()},
        "applications": {
            f"{part.id}@{part.partition}": _application(part)
            for application in state.applications.values()
            for part in application.everywhere()
        },
        "moves": ({one.id: why for one, why in state.assignment.refused.items()}, [one.id for one in state.assignment.unplaced]),
    }


def _matters(queue: Any) -> bool:
    """Whether a queue is more than a part for a partition in which nothing is or waits: such parts are made when they are needed, and may stay."""
    return not getattr(queue, "partition", "") or not isinstance(queue, Queue) or queue.occupied() or any(queue.usage)


def _queue(state: State, queue: Queue) -> dict[str, Any]:
    members: list[Any] = [one for one in queue.members() if _matters(one)]
    fields = (
        "minimum maximum largest limited zero max_running defined dynamic weight fair_share steady_share demand demand_below usage "
        "master_usage pending active busy running_below"
    )
    found = {name: getattr(queue, name) for name in fields.split()}
    found["spec"] = (queue.spec, queue.policy.name)
    found["order"] = [str(key[-1]) for key in sorted(queue.rank(child) for child in members)] if members else []
    found["serving"] = list(dict.fromkeys(str(key[-1]) for key in sorted(queue.heap) if key[-1].key is key))
    found["blocked"] = sorted(str(ask.key) + ask.application.id for ask in queue.blocked)
    if capacities_in(state) is not None:
        known = capacities_in(state).of[queue.path]
        users: dict[str, Any] = {}
        if queue.leaf and not known.parental:
            tell_room(known)
            limit_of_leaf(known, queue.partition)
            names = {application.user for application in queue.applications.values()}
            users = {
                name: (limit_of(known, name, queue.partition), limit_of_user(known, queue.partition, name))
                for name in sorted(names)
            }
            found["am"] = limit_of_leaf(known, queue.partition)
        found["users"] = users
    return found


def _capacity(queue: CapacityQueue) -> dict[str, Any]:
    fields = (
        "state kind configured accessible default_partition max_allocation priority order disable_preemption "
        "disable_intra_preemption user_weights max_running max_lifetime default_lifetime dynamic entitled bare imposed user_limit "
        "user_limit_factor max_applications max_applications_of_user default_application_priority parental"
    )
    found = {name: getattr(queue, name) for name in fields.split()}
    found["children"] = [child.path for child in queue.children]
    found["said"] = queue.spec
    found["shares"] = {
        name: {key: str(value) for key, value in vars(share).items() if key not in {"used_capacity", "absolute_used"}}
        for name, share in sorted(queue.shares.items())
        if name in queue.configured  # of others there may be one with nothing, which is as good as none
    }
    found["configured"] = set(queue.configured)
    return found


def _application(part: Application) -> dict[str, Any]:
    quota = quota_of(part)
    return {
        "queue": None if part.queue is None else part.queue.path,
        "wait": part.wait,
        "asks": [(str(key), ask.active, ask.wait) for key, ask in sorted(part.asks.items())],
        "quota": None
        if quota is None
        else (quota.used, quota.masters, quota.lower_bound, quota.cap, quota.user.name, quota.asking),
        "limiting": [queue.path for queue in part.limiting],
        "runs": (part.busy, part.counted, part.allocated),
    }
