"""What is known of storage: the objects, the indexes by which they are found, and who has to be told of which change.

An object that changes marks the claims that it is about, and pods that wait with one of them are looked at again (``marked``). What
changes where volumes can be found or made is told to the rules in force (``followers``).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar

from treadle.core.kernel.volumes.near import NearNodes
from treadle.core.model.volumes import (
    AttachmentSpec,
    ClaimSpec,
    CSIDriverSpec,
    CSINodeSpec,
    StorageCapacitySpec,
    StorageClassSpec,
    VolumeSpec,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from treadle.core.model import NodeSpec
    from treadle.core.model.volumes import PodVolumes, StorageObject


T = TypeVar("T")
K = TypeVar("K", str, tuple[str, str])


class Follower(Protocol):
    """A rule that goes by storage."""

    def at(self, node: str, /) -> None:
        """Take note that a node may pass that did not."""

    def anywhere(self) -> None:
        """Take note that volumes may be found, or made, where they could not."""

    def freed(self, claim: str, /) -> None:
        """Take note that no pod on a node names a claim any more."""

    def promised(self, claim: str, /) -> None:
        """Take note that it has changed which volume a claim gets, or where it is made."""

    def taken(self) -> None:
        """Take note that a volume is free no longer."""


class Storage:
    """The objects by kind and key. ``known``: their first lists are complete; ``trouble`` is why they cannot be had.

    ``users`` are the uids of the pods that name a claim. ``taken`` are the volumes that claims will be bound to by our decision, and
    ``chosen`` the nodes on which volumes for claims will be made: both hold until the API says the same.
    """

    def __init__(self) -> None:
        self.known = False
        self.trouble = ""
        self.claims: dict[str, ClaimSpec] = {}
        self.volumes: dict[str, VolumeSpec] = {}
        self.classes: dict[str, StorageClassSpec] = {}
        self.csi_nodes: dict[str, CSINodeSpec] = {}
        self.drivers: dict[str, CSIDriverSpec] = {}
        self.capacities: dict[str, StorageCapacitySpec] = {}
        self.attachments: dict[str, AttachmentSpec] = {}
        self.attached_to: dict[str, dict[str, None]] = {}
        """Names of attachments by node."""
        self.users: dict[str, dict[str, None]] = {}
        self.taken: dict[str, tuple[str, str]] = {}
        self.chosen: dict[str, str] = {}
        self.marked: dict[str, None] = {}
        self.followers: dict[Follower, None] = {}
        self.found_anew = 0
        """How often it changed where volumes can be found or made."""
        self._meant: dict[str, dict[str, None]] = {}
        """Names of volumes by the claim that they are meant for or bound to."""
        self._bound_to: dict[str, dict[str, None]] = {}
        """Keys of claims by the volume that they name."""
        self._handles: dict[tuple[str, str], dict[str, None]] = {}
        self._free: dict[str, NearNodes[str]] = {}
        """Names of volumes that are for nobody yet, by class."""
        self._room: dict[str, NearNodes[str]] = {}
        """Keys of capacities, by class."""

    # -- what is told

    def see(self, thing: StorageObject) -> None:
        """Take over an object as the API has it."""
        match thing:
            case ClaimSpec():
                self._claim(thing.key, thing)
            case VolumeSpec():
                self._volume(thing.key, thing)
            case StorageClassSpec():
                self._class(thing.key, thing)
            case CSINodeSpec():
                self._csi_node(thing.key, thing)
            case CSIDriverSpec():
                self._driver(thing.key, thing)
            case StorageCapacitySpec():
                self._capacity(thing.key, thing)
            case AttachmentSpec():
                self._attachment(thing.key, thing)

    def gone(self, kind: type[StorageObject], key: str) -> None:
        """Forget an object."""
        forget: dict[type[StorageObject], Callable[[str, None], None]] = {
            ClaimSpec: self._claim,
            VolumeSpec: self._volume,
            StorageClassSpec: self._class,
            CSINodeSpec: self._csi_node,
            CSIDriverSpec: self._driver,
            StorageCapacitySpec: self._capacity,
            AttachmentSpec: self._attachment,
        }
        forget[kind](key, None)

    def become_known(self, *, known: bool, trouble: str) -> None:
        """Take note of whether all there is has been told."""
        if (known, trouble) != (self.known, self.trouble):
            self.known, self.trouble = known, trouble
            for claim in self.users:
                self.mark(claim)

    def all(self) -> Iterator[StorageObject]:
        """Return all objects."""
        return chain(
            self.classes.values(),
            self.drivers.values(),
            self.capacities.values(),
            self.csi_nodes.values(),
            self.volumes.values(),
            self.claims.values(),
            self.attachments.values(),
        )

    def _class(self, key: str, new: StorageClassSpec | None) -> None:
        _put(self.classes, key, new)
        for claim in self.claims.values():
            if claim.storage_class == key:
                self.mark(claim.key)
        self._anew()

    def _csi_node(self, key: str, new: CSINodeSpec | None) -> None:
        _put(self.csi_nodes, key, new)
        self._at(key)

    def _driver(self, key: str, new: CSIDriverSpec | None) -> None:
        _put(self.drivers, key, new)
        self._anew()

    def _claim(self, key: str, new: ClaimSpec | None) -> None:
        old = self.claims.get(key)
        if old is not None and old.volume:
            _discard(self._bound_to, old.volume, key)
        if new is not None and new.volume:
            self._bound_to.setdefault(new.volume, {})[key] = None
        _put(self.claims, key, new)
        self.mark(key)

    def _volume(self, name: str, new: VolumeSpec | None) -> None:
        old = self.volumes.get(name)
        if old is not None:
            self._unlist(old)
            if old.claim is not None:
                _discard(self._meant, old.claim[0], name)
                self._promised(old.claim[0])
            if old.handle:
                _discard(self._handles, (old.driver, old.handle), name)
        _put(self.volumes, name, new)
        if new is not None:
            if new.claim is not None:
                self._meant.setdefault(new.claim[0], {})[name] = None
                self._promised(new.claim[0])
            if new.handle:
                alike = self._handles.setdefault((new.driver, new.handle), {})
                alike[name] = None
                if len(alike) == 2:
                    for each in alike:
                        self._mark_bound_to(each)
            self._list(new)
        self._mark_bound_to(name)

    def _capacity(self, key: str, new: StorageCapacitySpec | None) -> None:
        old = self.capacities.get(key)
        if old is not None and old.nodes is not None:
            self._room[old.storage_class].remove(key, (old.nodes,))
        _put(self.capacities, key, new)
        if new is not None and new.nodes is not None:
            self._room.setdefault(new.storage_class, NearNodes()).add(key, (new.nodes,))
        self._anew()

    def _attachment(self, key: str, new: AttachmentSpec | None) -> None:
        old = self.attachments.get(key)
        if old is not None:
            _discard(self.attached_to, old.node, key)
            self._at(old.node)
        _put(self.attachments, key, new)
        if new is not None:
            self.attached_to.setdefault(new.node, {})[key] = None

    # -- what is decided

    def take(self, volume: str, claim: ClaimSpec) -> None:
        """Keep a volume for a claim."""
        self._unlist(self.volumes[volume])
        self.taken[volume] = (claim.key, claim.uid)
        self._promised(claim.key)

    def release(self, volume: str) -> None:
        """Keep a volume for a claim no longer."""
        claim = self.taken.pop(volume, None)
        if claim is not None:
            self._promised(claim[0])
        if volume in self.volumes:
            self._list(self.volumes[volume])

    def choose(self, claim: str, node: str) -> None:
        """Take note that the volume of a claim will be made for a node."""
        self.chosen[claim] = node
        self._promised(claim)

    def unchoose(self, claim: str) -> None:
        """Take note that the API says for which node the volume of a claim is made, or that it is made for none."""
        if self.chosen.pop(claim, None) is not None:
            self._promised(claim)

    # -- what is asked

    def selected_node(self, claim: ClaimSpec) -> str | None:
        """Return the node for which the volume of a claim is made, None if it is for none yet."""
        return self.chosen.get(claim.key, claim.selected_node)

    def owner_of(self, volume: VolumeSpec) -> tuple[str, str] | None:
        """Return the claim (key and uid) that a volume is for, our decisions included."""
        return self.taken.get(volume.name, volume.claim)

    def meant_for(self, claim: str) -> list[VolumeSpec]:
        """Return the volumes that are meant for a claim by its name."""
        names = [*(name for name, (key, _) in self.taken.items() if key == claim), *self._meant.get(claim, ())]
        return [self.volumes[name] for name in dict.fromkeys(names) if name in self.volumes]

    def free_near(self, storage_class: str, node: NodeSpec) -> Iterator[VolumeSpec]:
        """Return volumes of a class that are for nobody yet and may be for a node; some may come twice."""
        free = self._free.get(storage_class)
        return (self.volumes[name] for name in free.near(node)) if free is not None else iter(())

    def room_near(self, storage_class: str, node: NodeSpec) -> Iterator[StorageCapacitySpec]:
        """Return the capacities of a class that may be for a node."""
        room = self._room.get(storage_class)
        return (self.capacities[key] for key in room.near(node)) if room is not None else iter(())

    def shared(self, driver: str, handle: str) -> bool:
        """Whether several volumes are the same for a driver."""
        return len(self._handles.get((driver, handle), ())) > 1

    def use(self, uid: str, volumes: PodVolumes) -> None:
        """Take note that a pod names some claims."""
        for name, _ in volumes.claims:
            key = f"{volumes.namespace}/{name}"
            users = self.users.setdefault(key, {})
            users[uid] = None
            if len(users) == 2:  # the first one is not alone with it any more
                self.mark(key)

    def unuse(self, uid: str, volumes: PodVolumes) -> None:
        """Take note that a pod is gone."""
        for name, _ in volumes.claims:
            key = f"{volumes.namespace}/{name}"
            _discard(self.users, key, uid)
            if len(self.users.get(key, ())) == 1:
                self.mark(key)

    def freed(self, claim: str) -> None:
        """Take note that no pod on a node names a claim any more."""
        for follower in self.followers:
            follower.freed(claim)

    def mark(self, claim: str) -> None:
        """Look again at pods that name a claim."""
        if claim in self.users:
            self.marked[claim] = None

    # -- who is told

    def _promised(self, claim: str) -> None:
        if claim in self.users:
            self.marked[claim] = None
            for follower in self.followers:
                follower.promised(claim)

    def _at(self, node: str) -> None:
        for follower in self.followers:
            follower.at(node)

    def _anew(self) -> None:
        self.found_anew += 1
        for follower in self.followers:
            follower.anywhere()

    def _mark_bound_to(self, volume: str) -> None:
        for claim in self._bound_to.get(volume, ()):
            self.mark(claim)

    def _list(self, volume: VolumeSpec) -> None:
        """Let a volume be found, if it is for nobody yet."""
        if volume.claim is None and volume.phase == "Available" and not volume.deleting and volume.name not in self.taken:
            self._free.setdefault(volume.storage_class, NearNodes()).add(volume.name, volume.affinity)
            self._anew()

    def _unlist(self, volume: VolumeSpec) -> None:
        """Let a volume not be found any more: what was found may have been that one."""
        free = self._free.get(volume.storage_class)
        if free is not None:
            free.remove(volume.name, volume.affinity)
        for follower in self.followers:
            follower.taken()


def _put(things: dict[str, T], key: str, new: T | None) -> None:
    if new is None:
        things.pop(key, None)
    else:
        things[key] = new


def _discard(index: dict[K, dict[str, None]], key: K, thing: str) -> None:
    things = index.get(key, {})
    things.pop(thing, None)
    if not things:
        index.pop(key, None)
