"""Which devices claims get on a node (kube-scheduler's structured allocator): the first choice, in a fixed order, that satisfies all of them.

Claims are served one after the other, and of each all requests; for every single device one candidate after the other is tried, and taken back where
what follows finds none. Candidates are the devices of the node's pools in the order of names, so drivers can say by names what goes first. The
devices of a request are combined, not permuted. The search ends after ``MOST_STEPS`` candidates, so that no claim can stop the pass; kube-scheduler's
ends after ten seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.core.kernel.devices.amounts import consumed_of, enough
from treadle.core.kernel.devices.pools import device_reaches
from treadle.core.kernel.devices.results import config_of, nodes_of
from treadle.core.model.devices import (
    ALL,
    MOST_RESULTS,
    Allocation,
    Alternative,
    DeviceId,
    DeviceResult,
    DeviceSpec,
    DeviceTaint,
    DeviceToleration,
    SelectorProblem,
    SliceSpec,
    WantedDevices,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.devices.pools import Pool, PoolId
    from treadle.core.kernel.devices.registry import Devices
    from treadle.core.model import NodeSpec
    from treadle.core.model.devices import Amount, AttributeConstraint, DeviceRequest, Value

MOST_STEPS = 20_000
"""Candidates that are looked at for the claims of a pod on a node."""
MOST_DEEP = 256
"""Devices, requests and claims of one pod, which is how deep the search goes."""
NOT_ALL = "cannot allocate all claims"
INVALID_POOLS = "invalid resource pools were encountered"
FOUND, NONE, TOO_MANY = 1, 0, 2
"""How a search ended; ``TOO_MANY``: a claim would get more devices than it can have."""


class CannotAllocate(Exception):
    """No choice on this node; the text is why."""


class Candidate(NamedTuple):
    """A device that may be chosen."""

    pool: Pool
    slice: SliceSpec
    at: int

    @property
    def device(self) -> DeviceSpec:
        """The device."""
        return self.slice.devices[self.at]

    @property
    def id(self) -> DeviceId:
        """Which device it is."""
        return (self.slice.driver, self.slice.pool, self.slice.devices[self.at].name)


class _Data(NamedTuple):
    """An alternative of a request: how many devices, for ``All`` which ones, and how its choices are named."""

    asked: Alternative
    request: DeviceRequest
    number: int
    every: tuple[Candidate, ...] | None
    wanted: dict[str, Amount]

    @property
    def name(self) -> str:
        return f"{self.request.name}/{self.asked.name}" if self.request.first else self.request.name


class _Chosen(NamedTuple):
    """What was chosen and has to be taken back where it leads nowhere."""

    candidate: Candidate
    result: DeviceResult
    constraints: int
    counted: bool
    entry_before: bool


def allocate(devices: Devices, node: NodeSpec, pools: Sequence[Pool], claims: Sequence[WantedDevices]) -> list[Allocation]:
    """Return what each claim gets on a node. Raises ``CannotAllocate``."""
    return _Search(devices, node, pools, claims).run()


class _Search:
    """One search, for one node."""

    def __init__(self, devices: Devices, node: NodeSpec, pools: Sequence[Pool], claims: Sequence[WantedDevices]) -> None:
        self._devices = devices
        self._node = node
        self._pools = pools
        self._claims = claims
        self._steps = MOST_STEPS
        self._candidates = [
            Candidate(pool, one, at)
            for pool in pools
            if not pool.incomplete and not pool.invalid
            for one in pool.slices
            for at in range(len(one.devices))
        ]
        self._data: dict[tuple[int, int, int], _Data] = {}
        self._suits: dict[tuple[int, int, int, str, int], bool] = {}
        self._results: list[list[_Chosen]] = [[] for _ in claims]
        self._constraints = [[_Same(one) for one in claim.constraints] for claim in claims]
        self._taken: dict[DeviceId, dict[int, int]] = {}
        """How often a claim has got a device in this search, by claim."""
        self._parts: dict[DeviceId, dict[str, Amount]] = {}
        """What was taken of devices that can be shared."""
        self._counters: dict[PoolId, dict[tuple[str, str], Amount]] = {}
        """What is left of the counters of a pool."""

    def run(self) -> list[Allocation]:
        """Return what each claim gets."""
        self._look()
        if self._claim(0) != FOUND:
            raise CannotAllocate(INVALID_POOLS if any(pool.invalid for pool in self._pools) else NOT_ALL)
        return [self._allocation(at) for at in range(len(self._claims))]

    # -- what is asked for

    def _look(self) -> None:
        """Find out how many devices each request needs. Raises ``CannotAllocate`` where that makes no sense."""
        deep = 0
        for at, claim in enumerate(self._claims):
            least = 0
            for number, request in enumerate(claim.requests):
                counts = []
                for sub, asked in enumerate(request.alternatives):
                    every = self._every(at, number, sub, asked, request) if asked.mode == ALL else None
                    count = asked.count if every is None else len(every)
                    self._data[at, number, sub] = _Data(asked, request, count, every, dict(asked.capacity))
                    counts.append(count)
                least += min(counts, default=0)
                deep += min(max(counts, default=0), MOST_RESULTS + 1) + 1
            if least > MOST_RESULTS:
                raise CannotAllocate(f"a claim asks for {least} devices; at most {MOST_RESULTS} are allowed")
        if deep + len(self._claims) > MOST_DEEP:
            raise CannotAllocate(f"the claims of one pod ask for too much: more than {MOST_DEEP} devices and requests")

    def _every(self, at: int, number: int, sub: int, asked: Alternative, request: DeviceRequest) -> tuple[Candidate, ...]:
        """Return all devices that suit a request for all of them."""
        for pool in self._pools:
            if pool.incomplete or pool.invalid:
                state = "invalid" if pool.invalid else "being updated"
                raise CannotAllocate(
                    f"request {request.name}: asks for all devices, but resource pool {pool.name} is currently {state}"
                )
        wanted = dict(asked.capacity)
        return tuple(one for one in self._candidates if self._matches(at, number, sub, asked, one) and self._enough(one, wanted))

    def _matches(self, at: int, number: int, sub: int, asked: Alternative, one: Candidate) -> bool:
        """Whether a device is what the class and the request want, and can be used on the node."""
        key = (at, number, sub, one.slice.name, one.at)
        found = self._suits.get(key)
        if found is None:
            found = self._suits[key] = self._selected(asked, one)
        return found

    def _selected(self, asked: Alternative, one: Candidate) -> bool:
        known = self._devices.classes.get(asked.device_class)
        if known is None:
            raise CannotAllocate(f"device class {asked.device_class} does not exist")
        for owner, selectors in ((f"class {known.name}", known.selectors), ("the claim", asked.selectors)):
            for selector in selectors:
                try:
                    if not self._devices.matches(one.slice, one.at, selector):
                        return False
                except SelectorProblem as problem:
                    raise CannotAllocate(f"{owner}: the selector `{selector.expression[:200]}`: {problem}") from problem
        return not one.slice.per_device or device_reaches(self._node, one.device)

    # -- the search

    def _claim(self, at: int) -> int:
        return FOUND if at >= len(self._claims) else self._request(at, 0)

    def _request(self, at: int, number: int) -> int:
        requests = self._claims[at].requests
        if number >= len(requests):
            found = self._claim(at + 1)
            return NONE if found == TOO_MANY else found
        request = requests[number]
        if not request.first:
            return self._next(at, number, 0, 0, 0)
        ended = TOO_MANY
        for sub in range(len(request.alternatives)):
            found = self._next(at, number, sub, 0, 0)
            if found == FOUND:
                return FOUND
            if found == NONE:
                ended = NONE
        return ended

    def _next(self, at: int, number: int, sub: int, so_far: int, start: int) -> int:
        """Choose the next device of a request, from a candidate on, and all that follows."""
        data = self._data[at, number, sub]
        if data.every is not None and not data.every:
            return NONE
        if so_far >= data.number:
            return self._request(at, number + 1)
        if len(self._results[at]) + data.number - so_far > MOST_RESULTS:
            return TOO_MANY
        if data.every is not None:
            self._step()
            chosen = self._take(at, data, data.every[so_far], must=True)
            if chosen is None:
                return NONE
            found = self._next(at, number, sub, so_far + 1, 0)
            if found != FOUND:
                self._give_back(at, data, chosen)
            return found
        for position in range(start, len(self._candidates)):
            self._step()
            one = self._candidates[position]
            if (
                not self._free(at, data.asked, one)
                or not self._matches(at, number, sub, data.asked, one)
                or not self._enough(one, data.wanted)
            ):
                continue
            chosen = self._take(at, data, one, must=False)
            if chosen is None:
                continue
            found = self._next(at, number, sub, so_far + 1, position + 1)
            if found == FOUND:
                return FOUND
            self._give_back(at, data, chosen)
            if found == TOO_MANY:
                return TOO_MANY
        return NONE

    def _step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise CannotAllocate(f"the search for devices was given up after {MOST_STEPS} steps")

    def _free(self, at: int, asked: Alternative, one: Candidate) -> bool:
        """Whether a device is in nobody's use, which who has admin access does not mind."""
        if asked.admin:
            return one.device.multiple or not self._taken.get(one.id, {}).get(at)
        return one.id not in self._devices.allocated and not self._taken.get(one.id)

    def _enough(self, one: Candidate, wanted: dict[str, Amount]) -> bool:
        return enough(one.device, wanted, self._devices.parts.get(one.id, {}), self._parts.get(one.id, {}))

    def _take(self, at: int, data: _Data, one: Candidate, *, must: bool) -> _Chosen | None:
        """Choose a device, if it is free and nothing speaks against it."""
        device, asked, identity = one.device, data.asked, one.id
        if not self._free(at, asked, one):
            return None
        if tainted(device.taints, asked.tolerations):
            return None
        in_part = device.multiple and (identity in self._devices.parts or identity in self._parts)
        counted = bool(device.counters) and not in_part
        if counted and not self._count(one):
            return None
        constraints = 0
        for constraint in self._constraints[at]:
            if not constraint.add(data, one):
                self._drop(at, data, one, constraints, counted=counted)
                if must:
                    raise CannotAllocate(
                        f"request {data.name}: device {'/'.join(identity)} cannot be added because a constraint of the claim would not be satisfied"
                    )
                return None
            constraints += 1
        if not self._enough(one, data.wanted):
            self._drop(at, data, one, constraints, counted=counted)
            return None
        consumed: dict[str, Amount] = {}
        before = identity in self._parts
        if device.multiple:
            consumed = consumed_of(device, data.wanted)
            held = self._parts.setdefault(identity, {})
            for name, amount in consumed.items():
                held[name] = held.get(name, 0) + amount
        else:
            users = self._taken.setdefault(identity, {})
            users[at] = users.get(at, 0) + 1
        result = DeviceResult(
            data.name,
            *identity,
            admin=asked.admin,
            shared=device.multiple,
            consumed=tuple(sorted(consumed.items())),
            tolerations=asked.tolerations,
            conditions=device.conditions,
            failures=device.failures,
        )
        chosen = _Chosen(one, result, constraints, counted, before)
        self._results[at].append(chosen)
        return chosen

    def _give_back(self, at: int, data: _Data, chosen: _Chosen) -> None:
        """Take a choice back, the latest one of a claim."""
        one, identity = chosen.candidate, chosen.candidate.id
        self._results[at].pop()
        if one.device.multiple:
            if chosen.entry_before:
                held = self._parts[identity]
                for name, amount in chosen.result.consumed:
                    held[name] -= amount
            else:
                del self._parts[identity]
        else:
            users = self._taken[identity]
            users[at] -= 1
            if not users[at]:
                del users[at]
        self._drop(at, data, one, chosen.constraints, counted=chosen.counted)

    def _drop(self, at: int, data: _Data, one: Candidate, constraints: int, *, counted: bool) -> None:
        for constraint in self._constraints[at][:constraints]:
            constraint.remove(data, one)
        if counted:
            left = self._counters[one.pool.id]
            for name, amounts in one.device.counters:
                for counter, amount in amounts:
                    left[name, counter] += amount

    def _count(self, one: Candidate) -> bool:
        """Take what a device needs of the counters that it shares, if there is enough."""
        left = self._counters.get(one.pool.id)
        if left is None:
            left = self._counters[one.pool.id] = self._left(one.pool)
        for name, amounts in one.device.counters:
            for counter, amount in amounts:
                left[name, counter] -= amount
        if min(left.values(), default=0) >= 0:
            return True
        self._drop(0, self._data[0, 0, 0], one, 0, counted=True)
        return False

    def _left(self, pool: Pool) -> dict[tuple[str, str], Amount]:
        """Return what the devices in use have left of the counters of a pool."""
        left = dict(pool.counters)
        devices = self._devices
        for one in (*pool.slices, *pool.elsewhere):
            for device in one.devices:
                if device.counters and devices.in_use((one.driver, one.pool, device.name)):
                    for name, amounts in device.counters:
                        for counter, amount in amounts:
                            left[name, counter] -= amount
        return left

    # -- the answer

    def _allocation(self, at: int) -> Allocation:
        chosen = self._results[at]
        claim = self._claims[at]
        used = [
            next(
                (
                    data
                    for sub in range(len(request.alternatives))
                    if (data := self._data[at, number, sub]) and self._has(at, data)
                ),
                self._data[at, number, 0],
            )
            for number, request in enumerate(claim.requests)
        ]
        classes = [(data.name, self._devices.classes.get(data.asked.device_class)) for data in used]
        return Allocation(
            tuple(one.result for one in chosen),
            nodes_of([(one.candidate.slice, one.candidate.device) for one in chosen], self._node),
            config_of(claim, classes),
        )

    def _has(self, at: int, data: _Data) -> bool:
        return any(one.result.request == data.name for one in self._results[at])


class _Same:
    """A constraint on an attribute at work: the values of the devices chosen so far."""

    def __init__(self, constraint: AttributeConstraint) -> None:
        self._constraint = constraint
        self._values: list[Value] = []

    def add(self, data: _Data, one: Candidate) -> bool:
        """Add a device, if the constraint lets it."""
        if not self._concerns(data):
            return True
        value = attribute(one, self._constraint.attribute)
        if value is None:
            return False
        if self._constraint.distinct:
            if value in self._values:
                return False
        elif self._values and self._values[0] != value:
            return False
        self._values.append(value)
        return True

    def remove(self, data: _Data, one: Candidate) -> None:  # noqa: ARG002 - the latest one goes first
        """Take the latest device out."""
        if self._concerns(data):
            self._values.pop()

    def _concerns(self, data: _Data) -> bool:
        names = self._constraint.requests
        return not names or data.request.name in names or (data.request.first and data.name in names)


def attribute(one: Candidate, name: str) -> Value | None:
    """Return an attribute of a device by its full name; those without a domain are of the driver's."""
    attributes = dict(one.device.attributes)
    found = attributes.get(name)
    domain, _, short = name.partition("/")
    return attributes.get(short) if found is None and domain == one.slice.driver else found


def tainted(taints: Sequence[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> bool:
    """Whether a taint keeps a device from a request."""
    return any(
        taint.effect in {"NoSchedule", "NoExecute"} and not any(_tolerates(one, taint) for one in tolerations) for taint in taints
    )


def _tolerates(one: DeviceToleration, taint: DeviceTaint) -> bool:
    if (one.effect and one.effect != taint.effect) or (one.key and one.key != taint.key):
        return False
    return one.operator == "Exists" or (one.operator in {"", "Equal"} and one.value == taint.value)
