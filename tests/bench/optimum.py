"""How good the places are that agents find for reservations: what their load costs, and how much is accepted, beside the best that an integer program finds.

``python tests/bench/run.py optimum``. Random workloads, each with a seed, ask a queue with 100 units of two types for two days: half of the windows are known hours ahead. Every agent plans each workload as a live queue would,
one reservation after the other. Beside each reservation as it comes stands the best place for it alone, beside what that agent has placed so far; beside all of them the bounds of what
could have been known only afterwards. ``optimum_model`` says what a load costs.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if not __package__:  # run as a program
    sys.path[:] = [str(HERE.parent), *(entry for entry in sys.path if entry != str(HERE))]

from bench.optimum_model import Answer, Load, Room, best_place, cheapest, most, stage  # noqa: E402
from treadle.core.model.reservations import (  # noqa: E402
    ALIGNED,
    GREEDY,
    NO_OVERCOMMIT,
    Interpreter,
    PlanSpec,
    ReservationDefinition,
    ReservationRequest,
)
from treadle.core.rules.reservations.agents import Wanted, place  # noqa: E402
from treadle.core.rules.reservations.errors import PlanningError  # noqa: E402
from treadle.core.rules.reservations.plan import Plan  # noqa: E402
from treadle.core.rules.reservations.planner import Planner  # noqa: E402
from treadle.core.rules.reservations.settings import agent_of, plan_of  # noqa: E402

SLOT = 30 * 60_000
SLOTS = 96
CAPACITY = 100
LOADS = {"light": 0.3, "medium": 0.7, "overloaded": 1.5}
"""What is asked for, as a part of what there is."""
SEEDS = (1, 2, 3, 4, 5)
AGENTS = {
    "aligned": PlanSpec(policy=NO_OVERCOMMIT),
    "aligned, from the right": PlanSpec(policy=NO_OVERCOMMIT, early=False),
    "greedy": PlanSpec(policy=NO_OVERCOMMIT, agent=GREEDY),
    "greedy, from the right": PlanSpec(policy=NO_OVERCOMMIT, agent=GREEDY, early=False),
    "aligned, smoothness 1": PlanSpec(policy=NO_OVERCOMMIT, smoothness=1),
    "aligned, smoothness 1000": PlanSpec(policy=NO_OVERCOMMIT, smoothness=1000),
}
KINDS = {
    "one": Interpreter.ALL,
    "any": Interpreter.ANY,
    "all": Interpreter.ALL,
    "order": Interpreter.ORDER,
    "order, no gap": Interpreter.ORDER_NO_GAP,
}
"""``one`` is a single request."""


def asks(seed: int, load: float) -> list[tuple[str, ReservationDefinition]]:
    """Return reservations in the order in which they are asked for, each with its kind."""
    rng, found, total = random.Random(seed), list[tuple[str, ReservationDefinition]](), 0.0
    while total < load * CAPACITY * SLOTS:
        kind = rng.choice([*KINDS])
        requests = tuple(_request(rng) for _ in range(1 if kind == "one" else rng.randint(2, 3)))
        if kind == "any":
            lengths = max(each.duration for each in requests)
        elif kind in {"order", "order, no gap"}:
            lengths = sum(each.duration for each in requests)
        else:
            lengths = max(each.duration for each in requests)
        window = min(SLOTS, int(lengths / SLOT * rng.uniform(1.5, 4.0)))
        arrival = rng.randrange(SLOTS - window + 1)
        definition = ReservationDefinition(arrival * SLOT, (arrival + window) * SLOT, requests, KINDS[kind])
        found.append((kind, definition))
        total += work(definition)
    return found


def _request(rng: random.Random) -> ReservationRequest:
    concurrency = rng.choice([1, 1, 1, 2, 4, 8])
    gangs = rng.randint(1, max(1, 24 // concurrency))
    return ReservationRequest(
        (rng.randint(1, 4), rng.randint(1, 4), 0), gangs * concurrency, concurrency, rng.randint(1, 4) * SLOT
    )


def work(definition: ReservationDefinition) -> float:
    """Return units by slots of the type of which the most is asked for; of alternatives the one with the least."""
    each = [max(one.demand) * one.count * one.duration / SLOT for one in definition.requests]
    return min(each) if definition.interpreter is Interpreter.ANY else sum(each)


Pairs = list[tuple[float, float]]
"""What was found, and the best."""


@dataclass(slots=True)
class Found:
    """What an agent made of a workload."""

    kinds: list[str] = field(default_factory=list)
    added: Pairs = field(default_factory=list)
    """By reservation that was accepted: what the cost of load rose by, and by how much it would have risen at the best place."""
    window: Pairs = field(default_factory=list)
    """The same of the cost of all load within its window."""
    free: Pairs = field(default_factory=list)
    """As ``added``, of those with alternatives, beside the best place of any alternative."""
    accepted: list[int] = field(default_factory=list)
    placed: list[ReservationDefinition] = field(default_factory=list)
    """What was accepted, with those alternatives alone that were placed."""
    wrongly: int = 0
    """Refused though there was a place."""
    fallback: Pairs = field(default_factory=list)
    """As ``added``, of those for which only the agent's last planner, which is greedy, found a place."""
    grid: Pairs = field(default_factory=list)
    """Of those with one request the best place with gangs next to each other from the beginning of the window, beside the best place of all; and below what was found beside that."""
    on_grid: Pairs = field(default_factory=list)
    cost: float = 0.0
    peak: int = 0
    milliseconds: list[float] = field(default_factory=list)


def by_slot(plan: Plan) -> Load:
    """Return the load of a plan. Raises ``AssertionError`` where it changes within a slot."""
    load: Load = [(0, 0)] * SLOTS
    for start, end, value in plan.loaded(0, SLOTS * SLOT).intervals():
        assert start % SLOT == end % SLOT == 0, (start, end)
        for slot in range(start // SLOT, end // SLOT):
            load[slot] = value[0], value[1]
    return load


def square(load: Load) -> float:
    """Return what a load costs."""
    return float(sum(max(each) ** 2 for each in load))


def _plan(spec: PlanSpec) -> Plan:
    whole = (CAPACITY, CAPACITY, 0)
    return plan_of(spec, whole, whole)


def planned(spec: PlanSpec, workload: Sequence[tuple[str, ReservationDefinition]]) -> Found:
    """Let an agent plan a workload, and look for the best place beside each that is accepted and for any beside each that is refused."""
    plan, agent, found = _plan(spec), agent_of(spec), Found()
    for number, (kind, definition) in enumerate(workload):
        before = by_slot(plan)
        room = Room(before, CAPACITY, SLOT)
        own = _finds(agent.planners[0], plan, Wanted(f"r{number}", number, "u", definition))
        began = time.perf_counter()
        try:
            got = agent.create(plan, Wanted(f"r{number}", number, "u", definition), 0)
        except PlanningError:
            found.milliseconds.append((time.perf_counter() - began) * 1000)
            found.wrongly += best_place(room, definition).solved
            continue
        found.milliseconds.append((time.perf_counter() - began) * 1000)
        found.accepted.append(number)
        found.kinds.append(kind)
        after = by_slot(plan)
        taken = _taken(definition, got.shape.intervals()) if kind == "any" else definition
        found.placed.append(taken)
        best = best_place(room, taken)
        assert best.solved, (number, definition)
        base, cost = square(before), square(after)
        added = cost - base
        assert added >= best.value - 1e-3, (added, best.value, definition)
        outside = square(before[: definition.arrival // SLOT] + before[definition.deadline // SLOT :])
        found.added.append((added, best.value))
        found.window.append((cost - outside, best.value + base - outside))
        if kind == "any":
            found.free.append((added, best_place(room, definition).value))
        if not own:
            found.fallback.append((added, best.value))
        elif spec.agent == ALIGNED and len(taken.requests) == 1:
            grid = _on_grid(room, taken, early=spec.early)
            assert grid.solved, (number, definition)
            found.grid.append((grid.value, best.value))
            found.on_grid.append((added, grid.value))
    load = by_slot(plan)
    found.cost, found.peak = square(load), max(max(each) for each in load)
    return found


def _finds(planner: Planner, plan: Plan, wanted: Wanted) -> bool:
    """Whether an agent's first planner finds a place."""
    try:
        place(planner, plan, wanted)
    except PlanningError:
        return False
    return True


def _on_grid(room: Room, definition: ReservationDefinition, *, early: bool) -> Answer:
    (request,) = definition.requests
    first, last, length = definition.arrival // SLOT, definition.deadline // SLOT, request.duration // SLOT
    starts = range(first, last - length + 1, length) if early else range(last - length, first - 1, -length)
    return stage(room, request, first, last, starts=list(starts))


def _taken(definition: ReservationDefinition, intervals: Sequence[tuple[int, int, Sequence[int]]]) -> ReservationDefinition:
    """Return a definition with that of its alternatives alone which was placed."""
    had = [sum(value[kind] * (end - start) for start, end, value in intervals) for kind in range(2)]
    one = next(
        each for each in definition.requests if [each.demand[kind] * each.count * each.duration for kind in range(2)] == had
    )
    return replace(definition, requests=(one,), interpreter=Interpreter.ALL)


def ratios(pairs: Pairs) -> dict[str, float] | None:
    """Return how many times the best it is: of the sums, and by reservation, where less than one counts as one (beside a load of the other type some cost nothing)."""
    each = sorted(max(had, 1.0) / max(best, 1.0) for had, best in pairs)
    if not each:
        return None
    return {
        "sum": round(sum(had for had, _ in pairs) / sum(best for _, best in pairs), 4),
        "median": round(statistics.median(each), 4),
        "p90": round(each[int(0.9 * len(each))], 4),
        "most": round(each[-1], 4),
    }


def _without(pairs: Pairs, others: Pairs) -> Pairs:
    left = list(pairs)
    for pair in others:
        left.remove(pair)
    return left


def bounded(workload: Sequence[tuple[str, ReservationDefinition]]) -> tuple[float, float]:
    """Return how much work, and how many reservations, could be accepted at the most by whoever knows all of them."""
    empty = Room([(0, 0)] * SLOTS, CAPACITY, SLOT)
    definitions = [definition for _, definition in workload]
    return most(empty, definitions, [work(each) for each in definitions]).value, most(
        empty, definitions, [1.0] * len(definitions)
    ).value


def compared(
    spec: PlanSpec, workloads: Sequence[list[tuple[str, ReservationDefinition]]], bounds: Sequence[tuple[float, float]]
) -> tuple[dict[str, Any], Pairs]:
    """Return what an agent made of workloads with as much load, beside the best, and the added costs of each reservation."""
    every = [planned(spec, workload) for workload in workloads]
    empty = Room([(0, 0)] * SLOTS, CAPACITY, SLOT)
    added, kinds = [pair for one in every for pair in one.added], [kind for one in every for kind in one.kinds]
    offline = [(one.cost, cheapest(empty, one.placed).value) for one in every]
    asked = sum(len(workload) for workload in workloads)
    done = sum(work(workload[number][1]) for one, workload in zip(every, workloads, strict=True) for number in one.accepted)
    took = sorted(value for one in every for value in one.milliseconds)
    found = {
        "asked": asked,
        "accepted": len(added),
        "refused_though_there_was_a_place": sum(one.wrongly for one in every),
        "added_cost": ratios(added),
        "cost_in_window": ratios([pair for one in every for pair in one.window]),
        "added_cost_by_kind": {
            kind: ratios([pair for pair, mine in zip(added, kinds, strict=True) if mine == kind]) for kind in KINDS
        },
        "any_beside_best_alternative": ratios([pair for one in every for pair in one.free]),
        "by_fallback": sum(len(one.fallback) for one in every),
        "added_cost_by_own_planner": ratios(_without(added, [pair for one in every for pair in one.fallback])),
        "added_cost_by_fallback": ratios([pair for one in every for pair in one.fallback]),
        "single_grid_beside_best": ratios([pair for one in every for pair in one.grid]),
        "single_beside_grid": ratios([pair for one in every for pair in one.on_grid]),
        "same_set_offline_bound": ratios(offline),
        "peak": round(statistics.fmean(one.peak for one in every), 1),
        "work_accepted": round(done / sum(work(each) for workload in workloads for _, each in workload), 4),
        "work_beside_bound": round(done / sum(bound for bound, _ in bounds), 4),
        "count_beside_bound": round(len(added) / sum(bound for _, bound in bounds), 4),
        "milliseconds": {"median": round(statistics.median(took), 2), "most": round(took[-1], 1)},
    }
    return found, added


def profiles(seed: int, load: float) -> dict[str, Any]:
    """Return the load of each slot for a workload by agent, and with what the first one accepted at the best places for whoever knows all of it."""
    workload, found = asks(seed, load), dict[str, Any]()
    for agent in ("greedy", "aligned"):
        plan, planner, placed = _plan(AGENTS[agent]), agent_of(AGENTS[agent]), list[ReservationDefinition]()
        for number, (kind, definition) in enumerate(workload):
            try:
                got = planner.create(plan, Wanted(f"r{number}", number, "u", definition), 0)
            except PlanningError:
                continue
            placed.append(_taken(definition, got.shape.intervals()) if kind == "any" else definition)
        best = cheapest(Room([(0, 0)] * SLOTS, CAPACITY, SLOT), placed)
        found[agent] = [max(each) for each in by_slot(plan)]
        found[f"{agent}, offline bound"] = [round(value, 2) for value in best.load]
    return {"seed": seed, "offered": load, "agents": found}


def measure(seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    found: dict[str, Any] = {"benchmark": "optimum", "seeds": list(seeds), "slots": SLOTS, "capacity": CAPACITY, "loads": {}}
    found["profile"] = profiles(seeds[0], LOADS["light"])
    every: dict[str, Pairs] = {agent: [] for agent in AGENTS}
    for name, load in LOADS.items():
        workloads = [asks(seed, load) for seed in seeds]
        bounds = [bounded(workload) for workload in workloads]
        asked, most_work = sum(work(each) for workload in workloads for _, each in workload), sum(bound for bound, _ in bounds)
        agents: dict[str, Any] = {}
        for agent, spec in AGENTS.items():
            began = time.perf_counter()
            agents[agent], added = compared(spec, workloads, bounds)
            every[agent] += added
            print(name, agent, f"{time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
        found["loads"][name] = {"offered": load, "bound_of_work": round(most_work / asked, 4), "agents": agents}
    found["added_cost"] = {agent: ratios(pairs) for agent, pairs in every.items()}
    return found
