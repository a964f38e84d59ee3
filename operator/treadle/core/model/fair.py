"""The settings of the FairScheduler: its placement rules and its allocation file."""

from dataclasses import dataclass, field

from treadle.core.model.queues import Limit


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """A rule that names the queue of an application (Hadoop's ``PlacementRule`` of the FairScheduler).

    ``name`` is user, primaryGroup, secondaryGroup, nestedUserQueue, specified, namespace, applicationName, default or reject.
    ``create``: whether a queue without a definition may be made. ``queue`` belongs to default, ``parent`` places above.
    """

    name: str
    create: bool = True
    queue: str = ""
    parent: "PlacementRule | None" = None


@dataclass(frozen=True, slots=True)
class FairSettings:
    """The cluster-wide settings of the FairScheduler and its allocation file, with YARN's defaults; times in seconds.

    ``increment``, ``least`` and ``most`` round and bound what one container asks, by resource type; empty: asks are taken as they
    are.
    """

    preemption: bool = False
    utilization_threshold: float = 0.8
    wait_before_kill: float = 15.0
    wait_before_next_check: float = 10.0
    heartbeat: float = 1.0
    master_preemption: bool = True
    master_preemption_of: dict[str, bool] = field(default_factory=dict)
    size_based_weight: bool = False
    assign_multiple: bool = False
    dynamic_max_assign: bool = True
    max_assign: int = -1
    node_threshold: float = -1.0
    rack_threshold: float = -1.0
    node_delay: float = -1.0
    rack_delay: float = -1.0
    reservable_nodes: float = 0.05
    keep_nodes: bool = False
    """Whether nodes are kept in a live cluster for large pods that find no room (``reservable_nodes`` says how many)."""
    reservation_multiple: float = 2.0
    increment: dict[str, int] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    user_max_running: dict[str, int] = field(default_factory=dict)
    user_max_running_default: int | None = None
    queue_max_running_default: int | None = None
    queue_max_default: dict[str, Limit] | None = None
    queue_max_master_share_default: float = 0.5
    default_policy: str = "drf"
    min_share_timeout: float | None = None
    """None: never."""
    fair_share_timeout: float | None = None
    fair_share_threshold: float = 0.5
    delete_blocked_victims: bool = False
    """Whether a victim that no disruption budget lets go is deleted after ``wait_before_kill``."""
    hold_timeout: float = 120.0
    """How long room is held for whom it was made, once its victims should have been asked to go."""
