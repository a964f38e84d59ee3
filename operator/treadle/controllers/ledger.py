"""What users have written, as last seen: each object's last good version, what is wrong with the present one, and its status.

Level-triggered and idempotent: kopf's events and our own periodic lists go in by the same door. A list also yields deletions,
which kopf does not report after a reconnect.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from treadle.api import acted, objects
from treadle.api.identity import Source
from treadle.api.profiles import NO_PROFILES, Profiles, names_any
from treadle.api.queue import Queue, ReservationsFromHistory
from treadle.controllers import removals, reservations, translate
from treadle.core.errors import InvalidSpec
from treadle.core.events import (
    ApplicationGone,
    ApplicationSeen,
    Event,
    QueueGone,
    QueueSeen,
    RemovedLately,
    ReservationGone,
    ReservationLost,
    ReservationSeen,
    SchedulerSeen,
)
from treadle.core.model import SchedulerSpec
from treadle.core.model.reservations import ReservationSpec

log = logging.getLogger(__name__)

Key = tuple[str, str, str]
"""``(kind, namespace, name)``; the namespace is empty for cluster-scoped kinds."""


@dataclass(slots=True)
class Entry:
    """One object: ``model`` is the last good version in force, ``problems`` what is wrong with the present one."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    created: str = ""
    version: int = -1
    model: objects.Object | None = None
    problems: list[str] = field(default_factory=list)
    not_acted_on: list[str] = field(default_factory=list)
    profiled: objects.Object | None = None
    """The present version, if it is well formed and has amounts said in resource profiles: what it means follows these."""
    status: dict[str, Any] = field(default_factory=dict)
    """The status as we last wrote or saw it."""
    written_at: float = float("-inf")
    """When a status was last sent, on the writer's monotonic clock."""
    reservation: ReservationSpec | None = None
    """Of a Reservation: what the present version means."""
    told: ReservationSeen | None = None
    """Of a Reservation: what the core was told last, which is also what the status keeps of decisions."""
    taken: dict[str, str] = field(default_factory=dict)
    """For a Scheduler: the names that another one has a better claim to, and which one."""

    @property
    def from_history(self) -> ReservationsFromHistory | None:
        """Of a Queue: what it says of reservations that are made by themselves; None where it allows none."""
        said = self.model.spec.reservations if isinstance(self.model, Queue) else None
        return None if said is None else said.from_history

    @property
    def path(self) -> str:
        """The object's URL path."""
        where = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"/apis/treadle.dev/v1alpha1{where}/{objects.PLURALS[self.kind]}/{self.name}"


class Ledger:
    """All objects of our kinds; ``emit`` gets the events that follow from a change."""

    def __init__(self, scheduler: str, emit: Callable[[Event], None], users: Source = Source.NAMESPACE) -> None:
        self.scheduler, self.users = scheduler, users
        self.entries: dict[Key, Entry] = {}
        self._emit = emit
        self._serving: SchedulerSpec | None = None
        self._remembered = RemovedLately(())
        self._profiles = NO_PROFILES
        """The resource profiles of the Scheduler that is served."""

    def seen(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take over an object as the API has it."""
        meta = body.get("metadata") or {}
        key = (kind, str(meta.get("namespace") or ""), str(meta.get("name") or ""))
        entry = self.entries.get(key)
        version = _number(meta.get("resourceVersion"))
        if entry is not None and version < entry.version:
            return  # older than what is known, perhaps of a predecessor: versions of one kind are ordered
        if entry is None or entry.uid != meta.get("uid"):
            entry = self.entries[key] = Entry(
                kind, key[1], key[2], uid=str(meta.get("uid") or ""), created=str(meta.get("creationTimestamp") or "")
            )
            entry.generation = -1
        entry.version = version
        status = body.get("status")
        entry.status = dict(status) if isinstance(status, Mapping) else {}
        if kind == "Scheduler" and entry.name == self.scheduler:
            self._recall(entry)
        generation = int(meta.get("generation") or 0)
        if generation == entry.generation:
            if entry.reservation is not None:
                self._tell(entry, entry.reservation)
            return
        entry.generation = generation
        self._read(entry, body)

    def _recall(self, entry: Entry) -> None:
        """Let what whoever decided before has written be remembered; a standby follows the leader that way."""
        remembered = removals.read(entry.status)
        if remembered.removals and remembered != self._remembered:
            self._emit(remembered)
        self._remembered = remembered

    def gone(self, kind: str, namespace: str, name: str, uid: str = "") -> None:
        """Forget an object; ``uid``, if known, keeps a late word about a predecessor from removing its successor."""
        entry = self.entries.get((kind, namespace, name))
        if entry is None or (uid and entry.uid != uid):
            return
        del self.entries[kind, namespace, name]
        if kind == "Queue":
            self._emit(QueueGone(name))
        elif kind == "Application":
            self._emit(ApplicationGone(f"{namespace}/{name}"))
        elif kind == "Reservation":
            self._emit(ReservationGone(f"{namespace}/{name}"))
        elif kind == "Scheduler":
            self._settle_names()

    def listed(self, kind: str, bodies: Iterable[Mapping[str, Any]], version: object = None) -> None:
        """Take over a complete list of a kind, deletions included.

        ``version`` is the list's resourceVersion: what has been seen at a later one was made while the list was on its way.
        """
        newest = _number(version) if version is not None else None
        present = set()
        for body in bodies:
            meta = body.get("metadata") or {}
            present.add((kind, str(meta.get("namespace") or ""), str(meta.get("name") or "")))
            self.seen(kind, body)
        for key, entry in list(self.entries.items()):
            if key[0] == kind and key not in present and (newest is None or entry.version <= newest):
                self.gone(*key)

    def _read(self, entry: Entry, body: Mapping[str, Any]) -> None:
        entry.profiled = None
        try:
            model = objects.parse(entry.kind, body)
        except objects.InvalidObject as error:
            entry.problems = error.problems
            log.info("%s", error)
            self._tell_invalid(entry)
        else:
            entry.profiled = model if names_any(model.spec) else None
            self._take(entry, model)
        if entry.kind == "Scheduler":  # its name is its own even while it is invalid
            self._settle_names()

    def _take(self, entry: Entry, model: objects.Object) -> None:
        """Act on what an object says, if that makes sense."""
        try:
            event = self._event(model)
        except InvalidSpec as error:
            entry.problems = [str(error)]
            self._tell_invalid(entry)
        else:
            entry.model = model
            entry.problems = []
            entry.not_acted_on = acted.not_acted_on(model, self.users)
            if isinstance(event, ReservationSeen):
                self._tell(entry, event.reservation)
            elif event is not None:
                self._emit(event)

    def _event(self, model: objects.Object) -> Event | None:
        match model.kind:
            case "Queue":
                return QueueSeen(translate.queue(model, self._profiles))
            case "Application":
                return ApplicationSeen(translate.application(model, self._profiles, self.users))
            case "Reservation":
                return ReservationSeen(translate.reservation(model, self._profiles, self.users))
            case "Scheduler":
                translate.scheduler(model, ())  # what it means is told when names are settled; what is wrong is found here
        return None

    def reservation_of(self, body: Mapping[str, Any]) -> ReservationSpec:
        """Return what a Reservation means of which nothing is kept here. Raises ``InvalidObject`` and ``InvalidSpec``."""
        model = objects.parse("Reservation", body)
        assert model.kind == "Reservation"
        return translate.reservation(model, self._profiles, self.users)

    def _tell(self, entry: Entry, spec: ReservationSpec) -> None:
        """Tell of a reservation, with what its status keeps of decisions, if anything of that is new."""
        entry.reservation = spec
        told = ReservationSeen(spec, reservations.decision_of(entry.status))
        if told != entry.told:
            entry.told = told
            self._emit(told)

    def unwritten(self, entry: Entry) -> None:
        """Take note that what was decided on a reservation was not written, since the object is another by now: it is told with the next word of it."""
        if self.entries.get((entry.kind, entry.namespace, entry.name)) is entry:
            entry.told = None
            self._emit(ReservationLost(f"{entry.namespace}/{entry.name}"))

    def _tell_invalid(self, entry: Entry) -> None:
        """Tell of a reservation whose present version makes no sense: what it was promised stands."""
        if entry.kind == "Reservation":
            words = "; ".join(entry.problems)
            self._tell(
                entry,
                ReservationSpec(
                    f"{entry.namespace}/{entry.name}", entry.generation, "", 0, 0, (), uid=entry.uid, unplanned=words
                ),
            )

    def _settle_names(self) -> None:
        """Give every name to one Scheduler: to the one that is called so, else to the oldest that asks for it as an alias."""
        owners: dict[str, Entry] = {}
        schedulers = sorted(
            (entry for key, entry in self.entries.items() if key[0] == "Scheduler"), key=lambda entry: (entry.created, entry.name)
        )
        for entry in schedulers:
            entry.taken = {}
            owners[entry.name] = entry
        owned: dict[str, list[str]] = {}
        for entry in schedulers:
            for alias in (entry.model.spec.aliases or []) if entry.model is not None and entry.model.kind == "Scheduler" else []:
                owner = owners.setdefault(alias, entry)
                if owner is entry:
                    owned.setdefault(entry.name, []).append(alias)
                else:
                    entry.taken[alias] = owner.name
        mine = owners.get(self.scheduler)
        if mine is not None and mine.name == self.scheduler and mine.model is not None and mine.model.kind == "Scheduler":
            spec = translate.scheduler(mine.model, tuple(owned.get(mine.name, ())))
        else:
            mine, spec = None, SchedulerSpec(self.scheduler)
        self._follow(mine)
        if spec != self._serving:
            self._serving = spec
            self._emit(SchedulerSeen(spec))

    def _follow(self, serving: Entry | None) -> None:
        """Let what is said in resource profiles mean what the Scheduler that is served says now."""
        model = serving.model if serving is not None else None
        profiles: Profiles = (
            model.spec.resource_profiles if model is not None and model.kind == "Scheduler" else None
        ) or NO_PROFILES
        if profiles == self._profiles:
            return
        self._profiles = profiles
        for entry in self.entries.values():
            if entry.profiled is not None and entry.kind != "Scheduler":
                self._take(entry, entry.profiled)


def _number(version: object) -> int:
    """Return a resourceVersion as the integer it may be compared as (KEP-5504), 0 where it is none."""
    try:
        return int(str(version))
    except ValueError:
        return 0
