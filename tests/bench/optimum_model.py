"""Where reservations would be placed best, as an integer program for HiGHS: the measure for what agents find, see ``optimum``.

Time is cut into slots. All that is asked for begins, lasts and ends in whole slots and amounts are whole units, of which there are as many of each type. A gang may begin at any slot of its window. The load of a slot is that of the
type with the largest, and what it costs is its square: the allocator's own cost of an interval is the load that it already has, and what is placed at such costs adds up to half of that square. The square is stated by its steps from one whole
load to the next, which is exact where gangs are whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import highspy

from treadle.core.model.reservations import ORDERED, Interpreter, ReservationDefinition, ReservationRequest
from treadle.runtime.solver import _solver

TYPES = 2
"""Memory and cpu, the first ones of a vector."""
Load = list[tuple[int, int]]
"""Units of each type by slot."""
Terms = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Room:
    """What there is: ``load`` is what is placed already, ``capacity`` how many units there are of each type, and a slot takes ``slot`` ms."""

    load: Load
    capacity: int
    slot: int


@dataclass(frozen=True, slots=True)
class Answer:
    """``solved``: whether there is an answer, which is the best. ``value`` is the cost of all slots, what it rises by, or the worth of what is accepted."""

    solved: bool
    value: float = 0.0
    load: tuple[float, ...] = ()
    """What the load of each slot is, where that was asked for; not whole where gangs were split."""


@dataclass(slots=True)
class Program:
    """Columns with bounds, costs and whether they are whole numbers; rows with bounds."""

    room: Room
    integral: bool
    upper: list[float] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    rows: list[tuple[Terms, float, float]] = field(default_factory=list)
    used: dict[int, list[Terms]] = field(default_factory=dict)
    """By slot and type what is placed there."""
    steps: dict[int, list[int]] = field(default_factory=dict)
    """By slot the columns of its load beyond what it has already."""
    values: list[float] = field(default_factory=list)
    """The answer."""

    def column(self, upper: float, cost: float = 0.0, *, whole: bool = True) -> int:
        self.upper.append(upper)
        self.costs.append(cost)
        self.whole.append(whole)
        return len(self.upper) - 1

    def row(self, terms: Terms, least: float, most: float) -> None:
        self.rows.append((terms, least, most))

    def ask(self, definition: ReservationDefinition, accepted: int) -> None:
        """State one reservation: all of it is placed if the column ``accepted`` is 1, nothing if it is 0."""
        requests = definition.requests
        first, last = definition.arrival // self.room.slot, definition.deadline // self.room.slot
        gangs = []
        for each in requests:
            length = each.duration // self.room.slot
            gangs.append({at: self._gang(each, at, length) for at in range(first, last - length + 1)})
        if definition.interpreter is Interpreter.ANY:
            chosen = [self.column(1) for _ in requests]
            self.row([*((one, 1.0) for one in chosen), (accepted, -1.0)], 0, 0)
        else:
            chosen = [accepted] * len(requests)
        for each, mine, choice in zip(requests, gangs, chosen, strict=True):
            count = each.count // each.concurrency
            self.row([*((column, 1.0) for column in mine.values()), (choice, -float(count))], 0, 0)
        if definition.interpreter in ORDERED:
            self._in_order(definition, gangs, accepted, range(first, last))

    def _gang(self, each: ReservationRequest, at: int, length: int) -> int:
        """Return the column of how many gangs begin at a slot."""
        column = self.column(each.count // each.concurrency)
        for slot in range(at, at + length):
            by_type = self.used.setdefault(slot, [[] for _ in range(TYPES)])
            for kind in range(TYPES):
                by_type[kind].append((column, float(each.demand[kind] * each.concurrency)))
        return column

    def _in_order(self, definition: ReservationDefinition, gangs: list[dict[int, int]], accepted: int, window: range) -> None:
        """Let each request have a time of its own. A bound's column of a slot is 1 if the bound lies at that slot or before."""
        requests, gapless = definition.requests, definition.interpreter is Interpreter.ORDER_NO_GAP
        bounds: list[dict[int, int] | None] = []
        for number in range(len(requests) + 1):
            if number in {0, len(requests)} and not gapless:
                bounds.append(None)
                continue
            bound = {slot: self.column(1) for slot in window}
            for slot in window:
                if slot + 1 in bound:
                    self.row([(bound[slot + 1], 1.0), (bound[slot], -1.0)], 0, 1)
                self.row([(accepted, 1.0), (bound[slot], -1.0)], 0, 1)
            bounds.append(bound)
        for number, (each, mine) in enumerate(zip(requests, gangs, strict=True)):
            length, count = each.duration // self.room.slot, each.count // each.concurrency
            before, after = bounds[number], bounds[number + 1]
            for at, column in mine.items():
                if before is not None:
                    self.row([(column, 1.0), (before[at], -float(count))], -count, 0)
                if after is not None:
                    self.row([(column, 1.0), (after[at + length - 1], float(count)), (accepted, -float(count))], -count, 0)
            if gapless and before is not None and after is not None:
                for slot in window:
                    over = [(column, 1.0) for at, column in mine.items() if at <= slot < at + length]
                    self.row([*over, (before[slot], -1.0), (after[slot], 1.0)], 0, highspy.kHighsInf)

    def within_capacity(self) -> None:
        """Let no slot have more than there is."""
        for slot, by_type in self.used.items():
            for kind in range(TYPES):
                self.row(by_type[kind], -highspy.kHighsInf, self.room.capacity - self.room.load[slot][kind])

    def cost_of_load(self) -> float:
        """Let each slot cost the square of its load, and return what those cost in which nothing can be placed or that have a load already."""
        known = 0.0
        for slot, load in enumerate(self.room.load):
            base = max(load)
            known += base * base
            if slot not in self.used:
                continue
            self.steps[slot] = [self.column(1, 2.0 * level + 1, whole=False) for level in range(base, self.room.capacity)]
            steps = [(column, -1.0) for column in self.steps[slot]]
            for kind in range(TYPES):
                self.row([*self.used[slot][kind], *steps], -highspy.kHighsInf, base - load[kind])
        return known

    def solve(self, *, greatest: bool = False, seconds: float = 300.0) -> Answer:
        """Return the least, or greatest, sum of costs. Raises ``AssertionError`` where the time is over before that is proved."""
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.upper), len(self.rows)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = self.costs, [0.0] * len(self.upper), self.upper
        lp.row_lower_ = [float(least) for _, least, _ in self.rows]
        lp.row_upper_ = [float(most) for _, _, most in self.rows]
        lp.sense_ = highspy.ObjSense.kMaximize if greatest else highspy.ObjSense.kMinimize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        starts, index, value = [0], list[int](), list[float]()
        for terms, _, _ in self.rows:
            index += [column for column, _ in terms]
            value += [number for _, number in terms]
            starts.append(len(index))
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = starts, index, value
        if self.integral:
            kinds = highspy.HighsVarType
            lp.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in self.whole]
        model: Any = _solver(highspy, seconds)
        model.setOptionValue("mip_rel_gap", 0.0)
        model.setOptionValue("mip_abs_gap", 0.999 if not greatest else 1e-6)  # costs are whole numbers
        model.passModel(lp)
        model.run()
        status, found = highspy.HighsModelStatus, model.getModelStatus()
        if found in {status.kInfeasible, status.kUnboundedOrInfeasible}:
            return Answer(False)
        assert found == status.kOptimal, model.modelStatusToString(found)
        self.values = list(model.getSolution().col_value)
        return Answer(True, model.getInfo().objective_function_value)


def cheapest(room: Room, definitions: Sequence[ReservationDefinition], *, integral: bool = False) -> Answer:
    """Return what the load of all slots costs at least with all of some reservations placed; not solved where they cannot be. Without ``integral`` it is a bound from below: gangs, alternatives and bounds may be split."""
    program = Program(room, integral)
    for definition in definitions:
        accepted = program.column(1)
        program.row([(accepted, 1.0)], 1, 1)
        program.ask(definition, accepted)
    known = program.cost_of_load()
    program.within_capacity()
    answer = program.solve()
    if not answer.solved:
        return answer
    load = tuple(
        max(has) + sum(program.values[column] for column in program.steps.get(slot, ())) for slot, has in enumerate(room.load)
    )
    return Answer(True, answer.value + known, load)


def best_place(room: Room, definition: ReservationDefinition) -> Answer:
    """Return by how much the cost of load rises at the best place of one reservation; not solved where it has none.

    That is an integer program where several requests may overlap. A single request has a linear one whose answer is whole (each gang is there for slots that follow one another), and requests that come one after the other
    are such ones once it is said where each ends: all ways are tried.
    """
    first, last = definition.arrival // room.slot, definition.deadline // room.slot
    requests, gapless = definition.requests, definition.interpreter is Interpreter.ORDER_NO_GAP
    if definition.interpreter is Interpreter.ANY or (len(requests) == 1 and not gapless):
        return min((stage(room, each, first, last) for each in requests), key=_rank)
    if definition.interpreter is Interpreter.ALL:
        if not _possible(room, definition):
            return Answer(False)
        found = cheapest(room, [definition], integral=True)
        return Answer(found.solved, found.value - sum(max(each) ** 2 for each in room.load))
    lengths = [each.duration // room.slot for each in requests]
    best = {begin: Answer(True) for begin in range(first, last + 1)} if gapless else {first: Answer(True)}
    for number, each in enumerate(requests):
        rest = sum(lengths[number + 1 :])
        ends = range(first, last - rest + 1) if gapless or rest else [last]
        known, best = best, {}
        for end in ends:
            ways = [
                Answer(True, before.value + more.value)
                for begin, before in known.items()
                if end - begin >= lengths[number] and (more := stage(room, each, begin, end, covered=gapless)).solved
            ]
            if ways:
                best[end] = min(ways, key=_rank)
    return min(best.values(), key=_rank, default=Answer(False))


def _rank(answer: Answer) -> tuple[bool, float]:
    return not answer.solved, answer.value


def stage(
    room: Room,
    request: ReservationRequest,
    first: int,
    last: int,
    *,
    covered: bool = False,
    starts: Sequence[int] | None = None,
) -> Answer:
    """Return by how much the cost of load rises at the best place of a request between two slots. ``covered``: there is a gang at each slot. ``starts``: gangs begin at those only."""
    program, count, length = Program(room, integral=False), request.count // request.concurrency, request.duration // room.slot
    gang = [value * request.concurrency for value in request.demand[:TYPES]]
    fits = [
        min(count, *((room.capacity - has) // each for has, each in zip(load, gang, strict=True) if each))
        for load in room.load[first:last]
    ]
    columns = {at: program.column(count) for at in (range(first, last - length + 1) if starts is None else starts)}
    if not columns or (covered and min(fits) < 1):
        return Answer(False)
    program.row([(column, 1.0) for column in columns.values()], count, count)
    for slot, fit in zip(range(first, last), fits, strict=True):
        load = room.load[slot]
        costs = [max(has + each * level for has, each in zip(load, gang, strict=True)) ** 2 for level in range(fit + 1)]
        steps = [(program.column(1, after - before), -1.0) for before, after in pairwise(costs)]
        over = [(columns[at], 1.0) for at in range(slot - length + 1, slot + 1) if at in columns]
        if over:
            program.row([*over, *steps], 0, 0)
        if covered:
            program.row(over, 1, highspy.kHighsInf)
    return program.solve()


def _possible(room: Room, definition: ReservationDefinition) -> bool:
    """Whether a reservation has a place."""
    program = Program(room, integral=True)
    accepted = program.column(1)
    program.row([(accepted, 1.0)], 1, 1)
    program.ask(definition, accepted)
    program.within_capacity()
    return program.solve().solved


def most(room: Room, definitions: Sequence[ReservationDefinition], worth: Sequence[float], *, integral: bool = False) -> Answer:
    """Return how much of what reservations are worth can be accepted, all of them known beforehand. Without ``integral`` a part of one may be accepted and all may be split: it is a bound from above."""
    program = Program(room, integral)
    for definition, value in zip(definitions, worth, strict=True):
        program.ask(definition, program.column(1, value))
    program.within_capacity()
    return program.solve(greatest=True)
