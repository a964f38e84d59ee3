"""What others may read of the core between its steps: one object through which status, metrics, the page and the events look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.gangs.provisioning import NO_KIND
from treadle.core.kernel.opportunistic.usage import unknown
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption.holds import kept_by_queue
from treadle.core.kernel.together.placing import LARGEST
from treadle.core.model.scheduler import ESTIMATED
from treadle.core.views import (
    access,
    application_details,
    explain,
    figures,
    holding,
    nodes,
    pods,
    provisioning,
    queue_details,
    reservations,
    tree,
)
from treadle.core.views.misnamed import queue_missing
from treadle.core.views.opportunistic import by_queue, opportunistic, wanted
from treadle.core.views.pod_groups import pod_groups
from treadle.core.views.refusals import preferences, refusals
from treadle.core.views.waiting import placement_times, waiting_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
    from typing import Any

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Queue
    from treadle.core.kernel.tree.tree import Problem
    from treadle.core.model import AccessList
    from treadle.core.model.opportunistic import OpportunisticSettings, Removal
    from treadle.core.units.resources import Vector
    from treadle.core.views.application_details import ApplicationDetails
    from treadle.core.views.figures import ApplicationFigures, Counts, PodFigures, QueueFigures
    from treadle.core.views.holding import Held
    from treadle.core.views.nodes import NodeFigures, NodeLine
    from treadle.core.views.opportunistic import OpportunisticFigures, Wanted
    from treadle.core.views.pod_groups import PodGroupFigures
    from treadle.core.views.pods import PodLine, PodSpan
    from treadle.core.views.provisioning import Lack
    from treadle.core.views.queue_details import QueueDetails
    from treadle.core.views.reservations import PlanFigures, ReservationFigures
    from treadle.core.views.waiting import PlacementTimes, WaitingFigures


class View:
    """The core at this moment.

    Nothing is computed that the core has not computed, and nothing is changed; it is stale after the next step.
    """

    __slots__ = ("_given", "_kept", "_orders", "_reasons", "_state", "_total")

    def __init__(self, state: State) -> None:
        self._state = state
        self._orders: dict[str, list[str]] = {}
        self._kept: dict[Queue, Vector] | None = None
        self._given: dict[str, Vector] | None = None
        self._total: dict[str, int] | None = None
        self._reasons: pods.Reasons = {}

    # ---- queues and applications

    def queue(self, path: str) -> QueueFigures | None:
        """Return the figures of a queue, None if none is in force at that path."""
        queue = self._state.tree.queues.get(path)
        return None if queue is None else self._figures_of(queue)

    def queues(self) -> Iterator[QueueFigures]:
        """Return the figures of all queues in force."""
        return (self._figures_of(queue) for queue in self._state.tree.queues.values())

    def queue_details(self, path: str) -> QueueDetails | None:
        """Return all that YARN's web services tell of a queue, None if none is in force at that path."""
        return queue_details.queue_details(self._state, path)

    def application_details(self, identity: str) -> ApplicationDetails | None:
        """Return all that YARN's web services tell of an application, None if it is not known."""
        return application_details.application_details(self._state, identity)

    def maximum_of(self, path: str) -> dict[str, int]:
        """Return what a queue may hold at most in the default partition, by the names of resource types that have a maximum; empty for one that is not in force."""
        queue = self._state.tree.queues.get(path)
        return {} if queue is None else figures.maximum(self._state, queue)

    def paths(self) -> KeysView[str]:
        """Return the paths of all queues in force."""
        return self._state.tree.queues.keys()

    def _figures_of(self, queue: Queue) -> QueueFigures:
        if self._kept is None:
            self._kept = kept_by_queue(self._state)
        return figures.queue_figures(self._state, queue, self._kept)

    def application(self, identity: str) -> ApplicationFigures | None:
        """Return the figures of an application (``namespace/name`` of one with an object), None if it is not known."""
        application = self._state.applications.get(identity)
        return None if application is None else figures.application_figures(self._state, application)

    def queue_missing(self, identity: str, wanted: str = "") -> str:
        """Say that the queue which an application asks for does not exist, and where it is instead, empty for nothing; ``wanted`` is what its object asks for."""
        return queue_missing(self._state, identity, wanted)

    def applications(self) -> Mapping[str, str]:
        """Return the paths of the queues of all applications by their ids, empty for those that are in none."""
        applications = self._state.applications
        return {identity: "" if one.queue is None else one.queue.path for identity, one in applications.items()}

    def knows(self, identity: str) -> bool:
        """Whether an application has pods that are known."""
        return identity in self._state.applications

    def order_of(self, path: str) -> list[str]:
        """Return the ids of a leaf's applications that wait, in order; each leaf is sorted once for a view."""
        order = self._orders.get(path)
        if order is None:
            order = self._orders[path] = figures.applications_in_order(self._state.tree.queues[path])
        return order

    def refusals(self, uid: str) -> dict[str, list[str]]:
        """Return for each node why it refuses a pod that is known, nothing where it does not; empty for a pod that is not known."""
        record = self._state.pods.get(uid)
        return {} if record is None else refusals(self._state, record.shape)

    def preferences(self, uid: str) -> dict[str, dict[str, int]]:
        """Return the points that a pod that waits gives each node that can take it now, by kube-scheduler's plugin; empty for a pod that prefers nothing."""
        record = self._state.pods.get(uid)
        return {} if record is None else preferences(self._state, record.shape)

    def reservation(self, identity: str) -> ReservationFigures | None:
        """Return the figures of a reservation (``namespace/name``), None if it is not known."""
        return reservations.reservation(self._state, identity)

    def plans(self) -> list[PlanFigures]:
        """Return the figures of the plans of queues that take reservations."""
        return reservations.plans(self._state)

    def takes_reservations(self, path: str) -> bool:
        """Whether a queue takes reservations, so that it has a plan."""
        return path in self._state.plans.of

    def reservation_phases(self) -> dict[str, int]:
        """Return how many reservations there are in each phase."""
        return reservations.phases(self._state)

    # ---- what became of definitions

    def problem(self, path: str) -> Problem | None:
        """Return why a queue is not in force as written, None if it is."""
        return self._state.tree.problems.get(path)

    def administrators(self) -> dict[str, AccessList]:
        """The lists of those who may administer queues, by path."""
        return access.administrators(self._state)

    def viewable(self, user: str, groups: tuple[str, ...], namespace: str) -> Callable[[str], bool]:
        """Return whether a user may see what a queue holds, by its path, while nothing changes. ``namespace`` is that of a service account, empty for anybody else."""
        return access.viewable(self._state, user, groups, namespace)

    def draining_below(self, path: str) -> list[str]:
        """Return what is said of deleted queues just below a queue that are still in use."""
        problems = self._state.tree.problems.items()
        return [found.message for at, found in problems if found.reason == "Draining" and at.rpartition(".")[0] == path]

    def remark(self, path: str) -> str:
        """Return what the owner of a queue in force should know of how it is understood; empty for nothing."""
        queue = self._state.tree.queues.get(path)
        return "" if queue is None else self._state.discipline.words.remark(queue)

    def move_refused(self, identity: str) -> str:
        """Return why a running application may not move to where it belongs now; empty if it may or need not."""
        application = self._state.applications.get(identity)
        return "" if application is None else self._state.assignment.refused.get(application, "")

    # ---- the scheduler

    @property
    def names(self) -> list[str]:
        """The names of schedulers whose pods are ours."""
        return sorted(self._state.scheduler.names)

    @property
    def discipline(self) -> str:
        """The discipline in force."""
        return self._state.discipline.name

    @property
    def total(self) -> dict[str, int]:
        """What all nodes have together, by the names of resource types; without those of which there is nothing."""
        if self._total is None:
            self._total = self._state.types.named(self._state.cluster.total)
        return self._total

    @property
    def discipline_problem(self) -> str:
        """Why another discipline than the one that is asked for is in force; empty if it is that one."""
        return self._state.discipline_problem

    @property
    def placement_problem(self) -> str:
        """What is wrong with placement rules; empty if nothing is."""
        return self._state.discipline.placement.problem()

    @property
    def solver_problem(self) -> str:
        """Why the solver that is asked for cannot be used; empty if it can, or none is asked for."""
        solver = self._state.settings.solver
        if not self._state.scheduler.together.solver:
            return ""
        return "no solver is there" if solver is None else solver.problem

    @property
    def solver_failures(self) -> str:
        """Return how often the solver broke and what it said last; empty if it never did."""
        memory = self._state.together
        if not memory.failures:
            return ""
        return f"spec.placeTogether.solver: failures so far: {memory.failures}, the last one: {memory.words}; the walk's answers stand"

    @property
    def sets(self) -> dict[str, int]:
        """How many sets were placed together, by what came of the solver (``kernel.together.improving``)."""
        return dict(self._state.together.sets)

    def too_large(self, identity: str) -> str:
        """Return what is to be said of the size of an application's set; empty for nothing."""
        waiting = self._state.together.large.get(identity)
        if waiting is None:
            return ""
        return (
            f"spec.placeTogether: {waiting} pods waited at once, and a set has {LARGEST} at the most: they are placed in several sets, "
            "one after the other, and what one set has placed is not tried elsewhere for the next"
        )

    @property
    def node_problems(self) -> dict[str, str]:
        """What nodes say that cannot be understood and is not acted on, by their names."""
        return self._state.nodes.problems

    @property
    def refused(self) -> dict[str, int]:
        """How many pods of ours the kubelets of their nodes did not take, by the reason."""
        return dict(self._state.refused.counts)

    @property
    def misnamed(self) -> int:
        """How many applications there have been whose queue did not exist and that another one has taken."""
        return self._state.reports.misnamed_count

    # ---- nodes

    def node_names(self) -> list[str]:
        """Return the names of all nodes."""
        return nodes.node_names(self._state)

    @property
    def largest_node(self) -> dict[str, int]:
        """The largest amount of each resource type that a node has."""
        return nodes.largest(self._state)

    def node(self, name: str) -> NodeFigures | None:
        """Return the figures of a node, None if it is not known."""
        return nodes.node_figures(self._state, name)

    def node_line(self, name: str) -> NodeLine | None:
        """Return what is shown of a node among thousands, None if it is not known."""
        return nodes.node_line(self._state, name)

    # ---- pods

    def gangs_lacking(self, asked_for: Iterable[tuple[str, str]] = ()) -> list[Lack]:
        """Return the gangs that lack pods to start and for which nodes may be asked, those first that have waited longest.

        ``asked_for`` are gangs, by application and name, for which nodes have been asked: they are told whether they have waited or not.
        """
        return provisioning.lacking(self._state, asked_for)

    def pod_groups(self) -> Iterator[PodGroupFigures]:
        """Return the figures of the PodGroup objects of other systems."""
        return pod_groups(self._state)

    @property
    def provisioning_problem(self) -> str:
        """Why no nodes are asked for though the settings say so; empty if they are, or need not be."""
        gangs = self._state.gangs
        if not self._state.scheduler.gangs.provisioning.class_name or gangs.provisioner is not False:
            return ""
        return gangs.provisioner_trouble or NO_KIND

    def pod(self, uid: str) -> PodFigures | None:
        """Return where a pod belongs and is, None if it is not known or has no application."""
        record = self._state.pods.get(uid)
        application = record.application if record is not None else None
        if record is None or application is None:
            return None
        return figures.PodFigures(
            record.spec,
            application.id,
            application.queue.path if application.queue is not None else "",
            self._state.nodes.names[record.node] if record.node >= 0 else "",
        )

    def pods_of(self, application: str, node: str = "", *, placed: bool | None = None) -> Iterator[tuple[str, str]]:
        """Yield the names and uids of the pods of an application: of those on a node if one is named, and of those that have one, or have none, if that is said."""
        return pods.keys(self._state, application, node, placed)

    def uid_of(self, namespace: str, name: str) -> str:
        """Return the uid of a pod of ours, empty if there is none of that name: looks at every pod."""
        return pods.uid_of(self._state, namespace, name)

    def pod_line(self, uid: str) -> PodLine | None:
        """Return what is known of a pod of ours for who lists pods, None if it is not known; what pods that are alike wait for is spelled out once for a view."""
        return pods.line(self._state, uid, self._reasons, leaving=self.is_victim(uid))

    def pod_span(self, uid: str) -> PodSpan | None:
        """Return where a pod of ours belongs and is and since when, None if it is not known."""
        return pods.span(self._state, uid)

    def assumed(self) -> set[str]:
        """Return the uids of the pods whose nodes were decided and are not confirmed."""
        return {uid for uid, record in self._state.pods.items() if record.state is PodState.ASSUMED}

    def just_assumed(self) -> set[str]:
        """Return those of them that were decided after the last event."""
        now, cause = self._state.now, self._state.cause
        pods = self._state.pods
        return {uid for uid in self.assumed() if pods[uid].since == now and pods[uid].cause == cause}

    def is_unheeded(self, uid: str) -> bool:
        """Whether a pod that was decided on says that it is opportunistic and counts as a guaranteed one, for what it requests."""
        record = self._state.pods.get(uid)
        return record is not None and bool(record.spec.opportunistic) and record.part is not None

    def is_opportunistic(self, uid: str) -> bool:
        """Whether a pod that was decided on is opportunistic, by its own word or by that of its application."""
        return uid in self._state.opportunistic.of

    def is_victim(self, uid: str) -> bool:
        """Whether a pod is to go for another one, and is still wanted to."""
        state = self._state
        going = (state.preemption.marked, state.gangs.leaving, state.opportunistic.going, state.backfill.going)
        return any(uid in one for one in going)

    def explain(self, uid: str) -> explain.Explanation | None:
        """Explain one pod; None if it is not known."""
        return explain.explain(self._state, uid)

    def held(self, uid: str) -> Held | None:
        """Return what holds a pod back, None for one that is not known or has a node."""
        return holding.of_pod(self._state, uid)

    def held_of_application(self, identity: str) -> list[Held]:
        """Return what holds the pods of an application back that wait, in the order in which they are served."""
        return holding.of_application(self._state, identity)

    def held_below(self, path: str) -> list[Held]:
        """Return what holds back what waits first in the applications of a queue and of those below it."""
        return holding.of_queue(self._state, path)

    def placement_times(self, uid: str) -> PlacementTimes | None:
        """Return when what became of a pod that has a node, None if it has none or is not known."""
        return placement_times(self._state, uid)

    def waiting(self) -> WaitingFigures:
        """Count the pods that wait by their reasons, and what users have: looks at every ask and application."""
        return waiting_figures(self._state)

    # ---- everything

    @property
    def parked(self) -> int:
        """How often pods that are alike were looked at in vain."""
        return self._state.parked

    @property
    def preemptions(self) -> tuple[int, dict[int, int]]:
        """How often it was searched for pods that may go, and how often so many were found."""
        return self._state.preemption.attempts, dict(self._state.preemption.victims)

    def counts(self) -> Counts:
        """Return how many there are of everything."""
        return figures.counts(self._state)

    @property
    def backfills_by_estimates(self) -> bool:
        """Whether the settings ask that backfilling goes by the run times of pods that have ended."""
        return self._state.scheduler.backfill == ESTIMATED

    @property
    def usage_source(self) -> OpportunisticSettings:
        """The settings that say from where it is known what nodes use."""
        return self._state.scheduler.opportunistic

    @property
    def usage_problem(self) -> str:
        """Why it is not known what nodes use though the settings ask for it; empty if it is, or need not be."""
        usage = self._state.opportunistic.usage
        if not self._state.scheduler.opportunistic.by_usage or usage.known is not False:
            return ""
        return usage.trouble

    @property
    def usage_missing(self) -> str:
        """What is missing of what is told of usage, empty where nothing is, or nothing is told at all."""
        usage = self._state.opportunistic.usage
        return usage.trouble if self._state.scheduler.opportunistic.by_usage and usage.known else ""

    def usage_wanted(self) -> Wanted:
        """Return of whom it is to be known what they use."""
        return wanted(self._state)

    def thresholds_unheeded(self) -> list[str]:
        """Return the names of nodes that say thresholds of usage themselves while room goes by requests."""
        if self._state.scheduler.opportunistic.by_usage:
            return []
        specs = (spec for spec in self._state.nodes.specs if spec is not None and spec.over_allocation is not None)
        return [spec.name for spec in specs if (word := spec.over_allocation) is not None and (word.thresholds or word.pressure)]

    def nodes_unknown(self) -> int:
        """Return of how many nodes it is not known what they use, though the settings ask for it."""
        return unknown(self._state) if self._state.scheduler.opportunistic.by_usage else 0

    def removals(self) -> list[Removal]:
        """Return which nodes take no opportunistic pods of which applications, or did not lately."""
        state = self._state
        return state.opportunistic.back_off.known(state.settings.epoch, state.now)

    def opportunistic(self) -> OpportunisticFigures:
        """Return how many opportunistic pods there are, and what they were given."""
        return opportunistic(self._state)

    def opportunistic_of(self, path: str) -> dict[str, int] | None:
        """Return what opportunistic pods of a queue and below it were given, by the names of resource types; None where nobody was given anything."""
        if self._given is None:
            self._given = by_queue(self._state)
        given = self._given.get(path)
        return None if given is None else dict(zip(self._state.types.names, given, strict=False))

    def tree(self, waiting: int = 50) -> dict[str, Any]:
        """Return the queue tree for people, with the reasons of at most ``waiting`` asks."""
        return tree.tree_of(self._state, waiting)

    @property
    def now(self) -> float:
        """The time of the last step, in seconds of the core's clock."""
        return self._state.now

    @property
    def adopted_at(self) -> float:
        """When a pod of ours that waited was last seen bound by another scheduler: a predecessor whose binds were still on their way."""
        return self._state.adopted_at

    def story(self) -> object:
        """Return the newest steps, for an error's log."""
        return self._state.story.newest()
