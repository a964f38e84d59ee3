"""Preemption in the offer driver: the queue of starved applications, and the victims that are found for each.

Hadoop's ``FSStarvedApps`` and ``FSPreemptionThread``. The choice itself is in ``core.fair.victims``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from offers.effects import Cause, Relieved
from offers.ends import end
from offers.requests import ANY, Ask
from offers.walk import assign_attempt
from treadle.core.rules.fair.starvation import find_starved, is_starved, starvation, wants, worth_looking
from treadle.core.rules.fair.victims import keeps_share
from treadle.core.rules.victims import Picked, pick_best
from treadle.core.units.amounts import add_to, fits, loosely_beyond, scaled
from treadle.core.units.comparison import memory_ratio
from treadle.core.units.java_orders import Heap, tree_order
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.attempt import Attempt
    from offers.nodes import Container, NodeManager
    from offers.world import World


def _less_starved(one: Attempt, other: Attempt) -> int:
    return -1 if fits(starvation(one), starvation(other)) else 1


class Preemption:
    """Who is starved and waits for help, and which victims end when. ``helped`` is the application that was looked at last."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.starved: Heap[Attempt] = Heap(_less_starved)
        self.helped: Attempt | None = None
        self.due: list[tuple[float, tuple[Container, ...]]] = []

    def look(self) -> None:
        """Find who is starved, if the cluster is used enough for that to matter."""
        world, settings = self.world, self.world.settings
        if not settings.preemption or not worth_looking(world.cluster, world.allocated, settings.utilization_threshold):
            return
        for leaf in world.tree.leaves:
            compare = leaf.policy.compare(world.cluster)
            due = [attempt for attempt in leaf.runnable if wants(attempt) and world.now >= attempt.next_check]
            for found in find_starved(leaf, tree_order(due, compare), world.cluster, world.now):
                attempt = cast("Attempt", found)
                if attempt is not self.helped and attempt not in self.starved:
                    self.starved.push(attempt)

    def help_next(self) -> bool:
        """Choose victims for the next starved application; returns False if there is none."""
        self.helped = None
        if not self.starved:
            return False
        world, settings = self.world, self.world.settings
        attempt = self.helped = self.starved.pop()
        victims = tuple(self._victims(attempt))
        world.effects.append(Relieved(attempt.name, victims))
        if victims:
            self.due.append((world.now + settings.wait_before_kill, victims))
        continuous = settings.node_delay >= 0 and settings.rack_delay >= 0
        delay = settings.wait_before_kill + (0.0 if continuous else 4 * settings.heartbeat) + settings.wait_before_next_check
        attempt.next_check = world.now + delay
        return True

    def end_due(self) -> None:
        """End the victims whose time is up."""
        world = self.world
        for entry in [entry for entry in self.due if entry[0] <= world.now]:
            self.due.remove(entry)
            for container in entry[1]:
                end(world, container, Cause.PREEMPTED)

    def _victims(self, attempt: Attempt) -> Iterable[Container]:
        chosen: list[Container] = []
        for ask, count in self._asks(attempt):
            near = self._nodes(ask.place)
            for _ in range(count):
                picked = self._pick(ask, near)
                for container in picked.victims if picked is not None else ():
                    chosen.append(container)
                    container.owner.marked.add(container)
                    add_to(container.owner.going, container.demand)
                if picked is not None and picked.victims:
                    picked.victims[0].node.mark(picked.victims, attempt)
        return chosen

    def _pick(self, ask: Ask, near: list[NodeManager]) -> Picked[Container] | None:
        best = pick_best(ask.demand, near, self._may_lose)
        if best is not None and best.masters and ask.relax and ask.place != ANY:
            others = [node for node in self._nodes(ANY) if node not in near]
            best = pick_best(ask.demand, others, self._may_lose, best.masters) or best
        return best

    def _may_lose(self, container: Container, considered: Vector) -> bool:
        attempt = container.owner
        if not attempt.queue.preemptable or container not in attempt.containers or container in attempt.marked:
            return False
        if container.master and not attempt.masters_preemptable:
            return False
        going = [one + other for one, other in zip(attempt.going, considered, strict=True)]
        policy, cluster = attempt.queue.policy, self.world.cluster
        return keeps_share(policy, cluster, attempt.usage, attempt.fair_share, going, container.demand)

    def _nodes(self, place: str) -> list[NodeManager]:
        world = self.world
        if place == ANY:
            return list(world.orders.nodes(list(world.nodes.values())))
        if place in world.nodes:
            return [world.nodes[place]]
        return list(world.racks.get(place, ()))

    def _asks(self, attempt: Attempt) -> list[tuple[Ask, int]]:
        """Return which requests are to be served, and how many containers of each, to make up for what the application lacks."""
        world = self.world
        lacking = starvation(attempt)
        seen: dict[tuple[int, tuple[int, ...]], set[str]] = {}
        result: list[tuple[Ask, int]] = []
        places = attempt.requests.places
        for key in world.orders.keys(list(places)):
            for ask in world.orders.places(list(places[key].values())):
                if not any(lacking):
                    return result
                if not self._visit(seen.setdefault((key.priority, tuple(ask.demand)), set()), ask.place):
                    continue
                ratio = memory_ratio(lacking, ask.demand)
                fit = int(ratio) if ratio != float("inf") else ask.count
                if fit == 0:
                    continue
                whole = fit >= ask.count
                count = ask.count if whole else fit
                result.append((ask if whole else Ask(ask.place, ask.demand, fit), count))
                lacking = loosely_beyond(lacking, scaled(ask.demand, count))
        return result

    def _visit(self, seen: set[str], place: str) -> bool:
        """Whether a place was not covered by one seen before: ANY covers all, a rack its hosts, and the other way round."""
        world = self.world
        if place == ANY:
            if seen:
                return False
        elif place in world.nodes:
            if seen & {ANY, world.nodes[place].rack, place}:
                return False
        elif place in world.racks:
            if seen & {ANY, place} or any(node.name in seen for node in world.racks[place]):
                return False
        else:
            return False
        seen.add(place)
        return True


def serve_promised(world: World, node: NodeManager) -> None:
    """Offer a node first to those that others were ended for here, each until it has what it was promised."""

    def still(attempt: Attempt) -> bool:
        return not attempt.gone and is_starved(attempt.queue.policy, world.cluster, attempt) and any(starvation(attempt))

    for attempt, promised in node.promises(still):
        left = promised
        while not attempt.gone and any(left):
            found = assign_attempt(world, attempt, node)
            if not found or len(found) != len(left):
                break
            left = loosely_beyond(left, found)
