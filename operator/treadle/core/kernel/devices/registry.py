"""What is known of devices: the objects, which devices are in use, and who has to be told of which change.

In use is what the allocations of claims say, those that the API has and those that were decided here and are not written yet (``decided``). An
object that changes marks the claims that it is about, and pods that wait with one of them are looked at again (``marked``). What changes
on which nodes devices can be had is told to the rules in force (``followers``).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar

from treadle.core.kernel.devices.on_nodes import ANYWHERE, OnNodes
from treadle.core.kernel.devices.pools import pools_of
from treadle.core.model.devices import CLASS_RESOURCE, DeviceClaimSpec, DeviceClassSpec, SelectorProblem, SliceSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from treadle.core.kernel.devices.pools import Pool, PoolId
    from treadle.core.model import NodeSpec
    from treadle.core.model.devices import Allocation, Amount, DeviceId, DeviceObject, DeviceSelector, PodClaims

K = TypeVar("K")
T = TypeVar("T")
MOST_ANSWERS = 200_000
"""Answers of selectors about devices that are remembered."""


class Follower(Protocol):
    """A rule that goes by devices."""

    def at(self, node: str, /) -> None:
        """Take note that more can be had on a node, or anywhere (an empty name)."""

    def promised(self, claim: str, /) -> None:
        """Take note that a claim has got devices, or has given them back."""


class Devices:
    """The objects by kind and key. ``known``: their first lists are complete; ``trouble`` is why they cannot be had.

    ``users`` are the uids of the pods that name a claim. ``allocated`` counts the claims that have a device for themselves, ``parts`` what is used of
    those that several can have a part of.
    """

    def __init__(self) -> None:
        self.known = False
        self.trouble = ""
        self.slices: dict[str, SliceSpec] = {}
        self.classes: dict[str, DeviceClassSpec] = {}
        self.claims: dict[str, DeviceClaimSpec] = {}
        self.users: dict[str, dict[str, None]] = {}
        self.special: dict[str, str] = {}
        """Claims that were made for the extended resources of pods, by the uid of the pod."""
        self.decided: dict[str, Allocation] = {}
        """What claims get by our decision, until the API says the same."""
        self.allocated: dict[DeviceId, int] = {}
        self.parts: dict[DeviceId, dict[str, Amount]] = {}
        self.kinds: dict[str, str] = {}
        """The resource types that devices of classes count as in queues, by class; those that count as none are left out."""
        self.kinds_changed = False
        """Whether these are others since they were last looked at (``kernel.pods.device_charges``)."""
        self.payers: dict[str, str] = {}
        """The pod that counts for the devices of a claim in its queues, by uid."""
        self.uncounted: dict[str, None] = {}
        """Slices whose devices have to be counted anew (``kernel.devices.counting``)."""
        self.idle: dict[str, None] = {}
        """Claims with devices of some nodes that are reserved for no other pod than one that waits with them."""
        self.marked: dict[str, None] = {}
        self.followers: dict[Follower, None] = {}
        self.on_nodes = OnNodes()
        self._hopeful: dict[str, dict[Follower, None]] = {}
        """The followers that go by what a claim may get, by claim."""
        self.changes = 0
        """How often slices or classes have changed."""
        self._mapping: dict[str, str] = {}
        self._serving: dict[str, str] = {}
        """Classes by the extended resource that they serve."""
        self._sharers: dict[DeviceId, int] = {}
        self._counted: dict[str, Allocation] = {}
        self._local: dict[str, dict[str, SliceSpec]] = {}
        """Slices of one node alone, by its name."""
        self._shared: dict[str, SliceSpec] = {}
        self._pools: dict[PoolId, dict[str, SliceSpec]] = {}
        self._seen: dict[str, tuple[NodeSpec, list[Pool]]] = {}
        """The pools as nodes see them."""
        self._answers: dict[str, dict[tuple[str, int], bool | str]] = {}
        self._remembered = 0

    def follow(self, follower: Follower, claims: Iterable[str]) -> None:
        """Tell a rule of what changes, and of what these claims get."""
        self.followers[follower] = None
        for claim in claims:
            self._hopeful.setdefault(claim, {})[follower] = None

    def unfollow(self, follower: Follower, claims: Iterable[str]) -> None:
        """Tell a rule nothing more."""
        self.followers.pop(follower, None)
        for claim in claims:
            hopeful = self._hopeful.get(claim, {})
            hopeful.pop(follower, None)
            if not hopeful:
                self._hopeful.pop(claim, None)

    # -- what is told

    def see(self, thing: DeviceObject) -> None:
        """Take over an object as the API has it."""
        match thing:
            case SliceSpec():
                self._slice(thing.key, thing)
            case DeviceClassSpec():
                self._class(thing.key, thing)
            case DeviceClaimSpec():
                self._claim(thing.key, thing)

    def gone(self, kind: type[DeviceObject], key: str) -> None:
        """Forget an object."""
        if kind is SliceSpec:
            self._slice(key, None)
        elif kind is DeviceClassSpec:
            self._class(key, None)
        else:
            self._claim(key, None)

    def become_known(self, *, known: bool, trouble: str) -> None:
        """Take note of whether all there is has been told."""
        if (known, trouble) != (self.known, self.trouble):
            self.known, self.trouble = known, trouble
            self._mark_all()

    def all(self) -> Iterator[DeviceObject]:
        """Return all objects."""
        return chain(self.classes.values(), self.slices.values(), self.claims.values())

    def _slice(self, name: str, new: SliceSpec | None) -> None:
        old = self.slices.get(name)
        if old == new:
            return
        self.changes += 1
        self._remembered -= len(self._answers.pop(name, ()))
        for one in (old, new):
            if one is None:
                continue
            local = one.node and not one.counters
            if one is old:
                _discard(self._local, one.node, name) if local else self._shared.pop(name, None)
                _discard(self._pools, (one.driver, one.pool), name)
            else:
                if local:
                    self._local.setdefault(one.node, {})[name] = one
                else:
                    self._shared[name] = one
                self._pools.setdefault((one.driver, one.pool), {})[name] = one
        _put(self.slices, name, new)
        for one in (old, new):
            if one is not None:
                self.uncounted[name] = None
                self.uncounted.update(dict.fromkeys(self._pools.get((one.driver, one.pool), ())))
        for node in self._nodes_of_pools(old, new):
            self._forget_pools(node)
            self.on_nodes.changed(node)
            for follower in self.followers:
                follower.at(node)
        if old is not None and old.node and old.node not in self._local:
            self.on_nodes.without(old.node)

    def _nodes_of_pools(self, *slices: SliceSpec | None) -> dict[str, None]:
        """Return the nodes for which pools may look otherwise since a slice has changed; an empty name stands for any."""
        found: dict[str, None] = {}
        for one in slices:
            if one is not None:
                for other in (one, *self._pools.get((one.driver, one.pool), {}).values()):
                    found[ANYWHERE if other.counters else other.node] = None
        return {ANYWHERE: None} if ANYWHERE in found else found

    def _forget_pools(self, node: str) -> None:
        if node:
            self._seen.pop(node, None)
        else:
            self._seen.clear()

    def _class(self, name: str, new: DeviceClassSpec | None) -> None:
        if self.classes.get(name) == new:
            return
        self.changes += 1
        _put(self.classes, name, new)
        self._serving = {}
        for one in sorted(self.classes.values(), key=lambda one: (one.created, _descending(one.name))):
            self._serving[f"{CLASS_RESOURCE}{one.name}"] = one.name
            if one.resource:
                self._serving[one.resource] = one.name  # the newest one of several
        self._find_kinds()
        if name in self.kinds:
            self.uncounted.update(dict.fromkeys(self.slices))
        self._mark_all()
        self.on_nodes.changed(ANYWHERE)
        for follower in self.followers:
            follower.at(ANYWHERE)

    def map(self, mapping: dict[str, str]) -> None:
        """Let devices of classes count as these resource types."""
        if mapping != self._mapping:
            self._mapping = mapping
            self._find_kinds()

    def _find_kinds(self) -> None:
        kinds = {name: kind for name, one in self.classes.items() if (kind := self._mapping.get(name) or one.resource)}
        if kinds != self.kinds:
            self.kinds, self.kinds_changed = kinds, True
            self.uncounted.update(dict.fromkeys(self.slices))
            self._mark_all()

    def newest(self, one: SliceSpec) -> bool:
        """Whether no slice of its pool is of a newer generation."""
        return all(other.generation <= one.generation for other in self._pools.get((one.driver, one.pool), {}).values())

    def _claim(self, key: str, new: DeviceClaimSpec | None) -> None:
        if self.claims.get(key) == new:
            return
        old = self.claims.get(key)
        _put(self.claims, key, new)
        if new is None or new.allocation is not None:
            self.decided.pop(key, None)
        for one in (old, new):
            if one is not None and one.special:
                self._note_special(one, there=one is new)
        self.mark(key)
        self._recount(key)

    def _note_special(self, claim: DeviceClaimSpec, *, there: bool) -> None:
        if there:
            self.special[claim.owner] = claim.key
        elif self.special.get(claim.owner) == claim.key:
            del self.special[claim.owner]
        made = special_key(claim.namespace, claim.owner)
        if there and claim.allocation is not None and self.decided.pop(made, None) is not None:
            self._recount(made)
        self.mark(made)

    # -- what is decided

    def decide(self, claim: str, allocation: Allocation) -> None:
        """Take note of what a claim gets."""
        self.decided[claim] = allocation
        self._recount(claim)

    def give_up(self, claim: str) -> None:
        """Take note that a claim does not get what was decided; what the API has by now stays."""
        if self.decided.pop(claim, None) is not None:
            self._recount(claim)
            self.mark(claim)

    def has(self, claim: str) -> Allocation | None:
        """Return what a claim has, or is to have by our decision."""
        return self._counted.get(claim)

    def _recount(self, key: str) -> None:
        claim = self.claims.get(key)
        old = self._counted.get(key)
        new = claim.allocation if claim is not None and claim.allocation is not None else self.decided.get(key)
        if old == new:
            return
        if old is not None:
            self._count(old, -1)
            del self._counted[key]
        if new is not None:
            self._count(new, 1)
            self._counted[key] = new
        for follower in self._hopeful.get(key, ()):
            follower.promised(key)
        for allocation in (old, new):
            for node in self._nodes_of(allocation) if allocation is not None else ():
                self.on_nodes.changed(node)
                if allocation is old:
                    for follower in self.followers:
                        follower.at(node)

    def _nodes_of(self, allocation: Allocation) -> dict[str, None]:
        """Return the nodes on which the devices of an allocation can be had; an empty name stands for any."""
        found: dict[str, None] = {}
        for result in allocation.results:
            slices = self._pools.get((result.driver, result.pool), {}).values()
            found.update((one.node, None) for one in slices)
            if not slices:
                found[ANYWHERE] = None
        return {ANYWHERE: None} if ANYWHERE in found else found

    def _count(self, allocation: Allocation, sign: int) -> None:
        for result in allocation.results:
            if result.admin:
                continue
            if not result.shared:
                _add(self.allocated, result.id, sign)
                continue
            _add(self._sharers, result.id, sign)
            if result.id not in self._sharers:
                self.parts.pop(result.id, None)
                continue
            held = self.parts.setdefault(result.id, {})
            for name, amount in result.consumed:
                held[name] = held.get(name, 0) + sign * amount

    def serves(self, resource: str) -> str | None:
        """Return the class that serves an extended resource, None if none does."""
        return self._serving.get(resource)

    def in_use(self, device: DeviceId) -> bool:
        """Whether a claim has a device, or a part of it."""
        return device in self.allocated or device in self._sharers

    # -- what is asked

    def pools(self, node: NodeSpec) -> list[Pool]:
        """Return the pools with devices for a node."""
        known = self._seen.get(node.name)
        if known is None or known[0] is not node:
            slices = (*self._local.get(node.name, {}).values(), *self._shared.values())
            known = self._seen[node.name] = (node, pools_of(node, slices, self._pools))
        return known[1]

    def matches(self, one: SliceSpec, at: int, selector: DeviceSelector) -> bool:
        """Whether a device of a slice is what a selector wants; it is asked once. Raises ``SelectorProblem``."""
        answers = self._answers.setdefault(one.name, {})
        key = (selector.expression, at)
        answer = answers.get(key)
        if answer is None:
            try:
                answer = selector.test(one.driver, one.devices[at])
            except SelectorProblem as problem:
                answer = str(problem)
            if self._remembered >= MOST_ANSWERS:
                self._answers.clear()
                self._remembered = 0
                answers = self._answers.setdefault(one.name, {})
            answers[key] = answer
            self._remembered += 1
        if isinstance(answer, str):
            raise SelectorProblem(answer)
        return answer

    def use(self, uid: str, claims: PodClaims) -> None:
        """Take note that a pod names some claims."""
        if claims.asks:
            self.users.setdefault(special_key(claims.namespace, uid), {})[uid] = None
        for name, _ in claims.claims:
            users = self.users.setdefault(f"{claims.namespace}/{name}", {})
            users[uid] = None
            if len(users) == 2:  # the first one is not alone with it any more
                self.mark(f"{claims.namespace}/{name}")

    def unuse(self, uid: str, claims: PodClaims) -> None:
        """Take note that a pod is gone."""
        if claims.asks:
            _discard(self.users, special_key(claims.namespace, uid), uid)
        for name, _ in claims.claims:
            key = f"{claims.namespace}/{name}"
            _discard(self.users, key, uid)
            if len(self.users.get(key, ())) == 1:
                self.mark(key)

    def mark(self, claim: str) -> None:
        """Look again at pods that name a claim."""
        if claim in self.users:
            self.marked[claim] = None

    def mark_for(self, uid: str, claims: PodClaims) -> None:
        """Look again at a pod that says something else of its claims."""
        self.mark(special_key(claims.namespace, uid))
        for name, _ in claims.claims:
            self.mark(f"{claims.namespace}/{name}")

    def _mark_all(self) -> None:
        for claim in self.users:
            self.marked[claim] = None


def special_key(namespace: str, uid: str) -> str:
    """Return what stands for the claim of a pod's extended resources, which has no name before it is there."""
    return f"{namespace}/\0{uid}"


def _descending(name: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in name)


def _put(things: dict[str, T], key: str, new: T | None) -> None:
    if new is None:
        things.pop(key, None)
    else:
        things[key] = new


def _add(counts: dict[K, int], key: K, change: int) -> None:
    counts[key] = counts.get(key, 0) + change
    if not counts[key]:
        del counts[key]


def _discard(index: dict[K, dict[str, T]], key: K, thing: str) -> None:
    things = index.get(key, {})
    things.pop(thing, None)
    if not things:
        index.pop(key, None)
