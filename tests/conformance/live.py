"""The core that serves, beside a reference driver: told the same, it decides who gets the next container of the node that offers itself.

Before each decision of the driver the core is told what has changed and asked for one bind on that node (``Core.plan`` with
``only``). Where both choose the same the bind is confirmed; otherwise it is taken back, the driver's container is told as a pod
that was bound by another, and the difference is noted with its kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.kinds import Choice, Difference, kind_of
from offers.applicant import Applicant
from offers.nodes import Container, NodeManager
from offers.requests import ANY, Key
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import ApplicationSeen, Event, NodeGone, NodeSeen, PodGone, PodSeen, QueueGone, QueueSeen, SchedulerSeen
from treadle.core.kernel.preemption import holds
from treadle.core.kernel.preemption.memory import Hold
from treadle.core.model import ApplicationSpec, Constraints, NodeSpec, PodSpec, QueueSpec, SchedulerSpec, Settings
from treadle.core.model.constraints import RACK_LABEL, Requirement, Wish
from treadle.core.units.resources import ResourceTypes

MUCH = 1 << 30
"""Of what a node has more than enough: places for pods, and where YARN does not count them processors."""
ALIKE, NOTHING = "alike", "nothing"
"""Decisions in which both chose the same container, and in which both found that there is none to place."""


@dataclass(slots=True)
class Follower:
    """What the core was told of an application: the pods that wait under each key, and those of its containers."""

    waiting: dict[Key, list[PodSpec]] = field(default_factory=dict)
    placed: dict[Container, str] = field(default_factory=dict)
    count: int = 0


class Live:
    """A core that follows a driver. ``now`` is the driver's, in milliseconds.

    ``placed`` counts the driver's containers by what the core did: ``ALIKE``, or the kind of the difference; ``unplaced`` the
    decisions in which the driver placed none. ``unexplained`` are differences of no kind.
    """

    def __init__(self, types: ResourceTypes) -> None:
        self.types = types
        self.core = Core(Settings(update_interval=0.0, report_after=1e12))
        self.now = 0.0
        self.tell_masters = True
        """Whether masters are told apart, so that the core's own limits on them count."""
        self.lazy = self.memory_only = False
        self.stays = False
        """Whether applications are there while they ask for nothing and have nothing."""
        self.submissions: Counter[str] = Counter()
        self.placed: Counter[str] = Counter()
        self.unplaced: Counter[str] = Counter()
        self.unexplained: list[str] = []
        self.figures: Counter[str] = Counter()
        self.different: list[str] = []
        self.moved: set[str] = set()
        self.miscounted: frozenset[str] = frozenset()
        self.rounded: frozenset[str] = frozenset()
        self._queues: dict[str, QueueSpec] = {}
        self._nodes: dict[str, NodeSpec] = {}
        self._followers: dict[str, Follower] = {}
        self._holds: dict[Container, Hold] = {}
        self._all_kept = True
        self._chosen: tuple[Choice, Bind] | None = None

    def tell(self, *events: Event) -> None:
        """Let the core handle events."""
        for event in events:
            self.core.handle(event, self.now / 1000)

    # ---- definitions and nodes

    def define(self, scheduler: SchedulerSpec, queues: Iterable[QueueSpec]) -> None:
        """Put definitions in force."""
        wanted = {queue.path: queue for queue in queues}
        self.tell(*(QueueGone(path) for path in self._queues if path not in wanted))
        self.tell(SchedulerSeen(scheduler))
        self.tell(*(QueueSeen(spec) for path, spec in wanted.items() if self._queues.get(path) != spec))
        self._queues = wanted

    def see_nodes(self, nodes: Iterable[NodeManager]) -> None:
        """Follow the driver's nodes."""
        there = {node.name: self._node(node) for node in nodes}
        self.tell(*(NodeGone(name) for name in self._nodes if name not in there))
        self.tell(*(NodeSeen(spec) for name, spec in there.items() if self._nodes.get(name) != spec))
        self._nodes = there

    def _node(self, node: NodeManager) -> NodeSpec:
        total = {**dict(zip(self.types.names, node.total, strict=True)), "pods": MUCH}
        if self.memory_only:
            total["cpu"] = MUCH
        labels = {RACK_LABEL: node.rack, **({"treadle.dev/partition": node.partition} if node.partition else {})}
        return NodeSpec(node.name, total, labels)

    # ---- applications

    def see(
        self, applications: Iterable[Applicant], said: Callable[[Any], ApplicationSpec], may_run: Callable[[Any], bool]
    ) -> None:
        """Follow the driver's applications: what they wait for, hold and lost. ``said`` gives what an application asked for when it came."""
        known = {application.name: application for application in applications}
        for name in [name for name in self._followers if name not in known]:
            follower = self._followers.pop(name)
            self.leave(name)
            self.tell(*(PodGone(pod.uid) for pods in follower.waiting.values() for pod in pods))
            self.tell(*(PodGone(uid) for uid in follower.placed.values()))
        for application in known.values():
            self._follow(application, said(application), runs=may_run(application))

    def _follow(self, application: Applicant, spec: ApplicationSpec, *, runs: bool) -> None:
        follower = self._followers.setdefault(application.name, Follower())
        for container in [one for one in follower.placed if one.ended or one not in application.containers]:
            self.tell(PodGone(follower.placed.pop(container)))
        if self.core.state.explicit.get(spec.id) != spec:
            self.tell(ApplicationSeen(spec))
        for container in application.containers:
            if container not in follower.placed:
                self._bound_by_another(application, follower, container)
        wanted = self._wanted(application) if runs else {}
        for key in [key for key in follower.waiting if key not in wanted]:
            self.tell(*(PodGone(pod.uid) for pod in follower.waiting.pop(key)))
        for key, (pod, count) in wanted.items():
            pods = follower.waiting.setdefault(key, [])
            if pods and replace(pods[0], uid="", name="") != pod:
                new = [self._numbered(follower, application, pod) for _ in range(count)]
                self.tell(*(PodSeen(one) for one in new), *(PodGone(one.uid) for one in pods))
                follower.waiting[key] = new
                continue
            while len(pods) > count:
                self.tell(PodGone(pods.pop().uid))
            while len(pods) < count:
                pods.append(self._numbered(follower, application, pod))
                self.tell(PodSeen(pods[-1]))

    def _numbered(self, follower: Follower, application: Applicant, pod: PodSpec) -> PodSpec:
        follower.count += 1
        name = f"{application.name}-{follower.count}"
        return replace(pod, uid=name, name=name)

    def at_once(self, applications: Iterable[Applicant], said: Callable[[Any], ApplicationSpec]) -> dict[str, dict[str, int]]:
        """Let the core place everything on all nodes, masters first; returns what each application has then, by resource type."""
        known = {application.name: application for application in applications}
        had: dict[str, dict[str, int]] = {name: {} for name in known}
        pods: dict[str, PodSpec] = {}
        rest: dict[str, list[PodSpec]] = {}
        for name, application in known.items():
            self.tell(ApplicationSeen(said(application)))
            asks = {
                key: ask for key in application.requests.in_order() if (ask := application.requests.ask(key, ANY)) is not None
            }
            made = [
                self._numbered(
                    self._followers.setdefault(name, Follower()), application, self._pod(application, key, ask.demand, "", master)
                )
                for at, (key, ask) in enumerate(asks.items())
                for master in [application.managed and at == 0]
                for _ in range(ask.count)
            ]
            first = made[:1] if application.managed else made
            rest[name] = made[len(first) :]
            pods.update((pod.uid, pod) for pod in made)
            self.tell(*(PodSeen(pod) for pod in first))
        while binds := [one for one in self.core.plan(self.now / 1000) if isinstance(one, Bind)]:
            for bind in binds:
                pod, name = pods[bind.uid], bind.application.partition("/")[2]
                self.tell(PodSeen(replace(pod, node=bind.node)))
                for what, amount in pod.demand:
                    had[name][what] = had[name].get(what, 0) + amount
                self.tell(*(PodSeen(one) for one in rest.pop(name, ())))
            self.now += 1000
        return had

    def _wanted(self, application: Applicant) -> dict[Key, tuple[PodSpec, int]]:
        """Return the pods that an application waits for, and how many of each; until its master runs only that."""
        requests = application.requests
        asks = {key: ask for key in requests.in_order() if (ask := requests.ask(key, ANY)) is not None and ask.count > 0}
        if self.tell_masters and application.managed and not getattr(application, "master_running", True):
            return {key: (self._pod(application, key, ask.demand, ask.partition, True), 1) for key, ask in [*asks.items()][:1]}
        return {key: (self._pod(application, key, ask.demand, ask.partition, False), ask.count) for key, ask in asks.items()}

    def _pod(self, application: Applicant, key: Key, demand: Sequence[int], partition: str, master: bool) -> PodSpec:
        avoided = tuple(sorted(application.blacklist_for_master if application.awaits_master else application.blacklist))
        elsewhere = (
            Requirement("metadata.name", "NotIn", avoided, field=True),
            Requirement(RACK_LABEL, "NotIn", avoided),
        )
        return PodSpec(
            "",
            "ns",
            "",
            scheduler="treadle",
            demand=self._named(demand),
            constraints=Constraints(affinity=(elsewhere,) if avoided else None, wish=self._wish(application, key)),
            role="master" if master else "",
            priority=-(key.priority * 1000 + key.allocation),
            application=f"ns/{application.name}",
            user=application.user,
            partition=partition,
            created=1.0 + application.start,
        )

    def _named(self, demand: Sequence[int]) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((name, value) for name, value in zip(self.types.names, demand, strict=True) if value))

    def _wish(self, application: Applicant, key: Key) -> Wish | None:
        """Return where the pods of a key would like to be."""
        requests = application.requests
        named = sorted(place for place, ask in requests.places.get(key, {}).items() if place != ANY and ask.count > 0)
        if not named:
            return None
        nodes = tuple(place for place in named if place in self._nodes)
        racks = tuple(place for place in named if place not in self._nodes and requests.relaxed(key, place))
        return Wish(nodes, racks, relax=requests.relaxed(key, ANY))

    def _bound_by_another(self, application: Applicant, follower: Follower, container: Container) -> None:
        """Tell of a container that the core did not place itself: one of the pods that wait is bound there."""
        pods = follower.waiting.get(container.key)
        if pods and pods[0].demand == self._named(container.demand):
            pod = pods.pop(0)
        else:
            master = self.tell_masters and container.master
            pod = self._pod(application, container.key, container.demand, container.partition, master)
            pod = self._numbered(follower, application, pod)
        self.tell(PodSeen(replace(pod, node=container.node.name)))
        follower.placed[container] = pod.uid

    def keep(self, kept: Mapping[Container, Applicant], *, counted: bool) -> None:
        """Keep the nodes that the driver holds for applications: the decision to hold is YARN's, what follows from it is the core's."""
        state = self.core.state
        for container in [one for one in self._holds if one not in kept]:
            hold = self._holds.pop(container)
            if hold in state.preemption.holds:
                holds.release(state, hold, "the driver let it go")
        for container, application in kept.items():
            if self._holds.get(container) in state.preemption.holds:
                continue
            pods = self._followers[application.name].waiting.get(container.key)
            record = state.pods[pods[0].uid] if pods else None
            if record is None or record.ask is None or record.spec.demand != self._named(container.demand):
                continue  # it asks for nothing, or for another size by now
            row, now = state.nodes.row[container.node.name], self.now / 1000
            ask = record.ask
            hold = Hold(ask.application, ask.shape, ask.key, row, set(), now, float("inf"), without_victims=True, counted=counted)
            self._holds[container] = hold
            holds.place(state, hold)
        self._all_kept = all(self._holds.get(container) in state.preemption.holds for container in kept)

    # ---- submissions

    def submit(self, spec: ApplicationSpec) -> str:
        """Let the core place an application that asks for nothing yet; returns the path of its queue, empty if there is none.

        The application is there by a pod that fits nowhere. With ``stays`` it is bound then, to a node that nobody knows, and
        holds nothing.
        """
        nowhere = Constraints(selector=(("treadle.dev/nowhere", "yes"),))
        pod = PodSpec(
            f"{spec.id} is there", "ns", spec.id, scheduler="treadle", application=spec.id, user=spec.user, created=self.now
        )
        self.tell(ApplicationSeen(spec), PodSeen(replace(pod, constraints=nowhere)))
        self.core.plan(self.now / 1000, 0)
        application = self.core.state.applications[spec.id]
        found = application.queue.path if application.queue is not None else ""
        self.tell(PodSeen(replace(pod, node="nowhere")) if self.stays and found else PodGone(pod.uid))
        return found

    def leave(self, identity: str) -> None:
        """Let an application that ``stays`` go."""
        self.tell(PodGone(f"ns/{identity} is there"))

    # ---- decisions

    def choose(self, node: NodeManager) -> None:
        """Let the core give one container of a node away."""
        binds = [one for one in self.core.plan(self.now / 1000, 1, only=node.name) if isinstance(one, Bind)]
        self._chosen = None
        if binds:
            name = binds[0].application.partition("/")[2]
            waiting = self._followers[name].waiting
            key = next(key for key, pods in waiting.items() if any(pod.uid == binds[0].uid for pod in pods))
            self._chosen = (name, key), binds[0]

    def settle(
        self, container: Container | None, node: NodeManager, applications: Mapping[str, Applicant], *, held: bool
    ) -> None:
        """Compare what the driver gave away, take it over, and note the kind of the difference if there is one."""
        chosen, self._chosen = self._chosen, None
        theirs = None if container is None else (container.owner.name, container.key)
        ours = None if chosen is None else chosen[0]
        counts = self.unplaced if container is None else self.placed
        if ours == theirs:
            counts[NOTHING if container is None else ALIKE] += 1
            if chosen is not None and container is not None:
                self._confirm(chosen, container)
            return
        if chosen is not None:
            self._take_back(chosen)
        difference = Difference(
            self.core,
            ours,
            container,
            node,
            held,
            self._all_kept,
            bool(self._holds),
            self.lazy,
            self.memory_only,
            self.miscounted | self.moved,
            self.rounded,
            applications,
        )
        kind = kind_of(difference)
        if kind is None:
            self.unexplained.append(f"{node.name} at {self.now:g}: ours {ours}, Hadoop's {theirs}")
        counts["unexplained" if kind is None else kind.value] += 1

    def _confirm(self, chosen: tuple[Choice, Bind], container: Container) -> None:
        (name, key), bind = chosen
        follower = self._followers[name]
        pod = next(pod for pod in follower.waiting[key] if pod.uid == bind.uid)
        follower.waiting[key].remove(pod)
        self.tell(PodSeen(replace(pod, node=container.node.name)))
        follower.placed[container] = pod.uid

    def _take_back(self, chosen: tuple[Choice, Bind]) -> None:
        """Let another pod like it wait instead of the one that the core chose."""
        (name, key), bind = chosen
        pods = self._followers[name].waiting[key]
        at = next(at for at, pod in enumerate(pods) if pod.uid == bind.uid)
        pods[at] = replace(pods[at], uid=f"{bind.uid}'", name=f"{bind.name}'")
        self.tell(PodSeen(pods[at]), PodGone(bind.uid))
