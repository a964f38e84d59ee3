"""The Scheduler: the name pods ask for, and the settings of the whole cluster.

Its name is a ``schedulerName``. The cluster-wide settings of both disciplines keep YARN's names in camelCase
(``FairSchedulerConfiguration``, ``CapacitySchedulerConfiguration``). No setting that is not yet acted on has a default in the
schema, so that an object shows what its author wrote.
"""

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from treadle.api import cel
from treadle.api.common import (
    DNS_LABEL,
    Bool,
    Bundles,
    Conditions,
    Count,
    DeviceClasses,
    DnsLabel,
    Duration,
    Factor,
    Generation,
    Int,
    LabelKey,
    Limits,
    Metadata,
    Model,
    Percent,
    Policy,
    Positive,
    Provisioning,
    QueuePath,
    Ratio,
    RatioOrOff,
    StatusModel,
    Time,
    once_each,
    patterned,
    unique,
)
from treadle.api.common import SchedulerName as Name
from treadle.api.constraints import TaggedConstraint
from treadle.api.opportunistic import Opportunistic
from treadle.core.rules.placement.mapping import VARIABLES

GROUPS_TEXT: Final = "'*' cannot stand for groups; name one"
CUSTOM_TEXT: Final = "is required with the policy custom"
VALUE_TEXT: Final = "is required with the policy setDefaultQueue"
BOTH_TEXT: Final = "mappingRules and queueMappings cannot both be set: they are two forms of one list"


class SchedulerFair(Model):
    """Cluster-wide FairScheduler settings, and the defaults that its allocation file gives to queues."""

    preemption: Bool | None = Field(
        default=None,
        description="Whether what a starved queue is owed is taken back; not if absent (yarn.scheduler.fair.preemption).",
    )
    preemption_cluster_utilization_threshold: Ratio | None = Field(
        default=None, description="How much of the cluster must be in use before anything is preempted; 0.8 if absent."
    )
    wait_time_before_kill: Duration | None = Field(
        default=None, description="How long a victim may take to end before it is deleted or another one asked; 15s if absent."
    )
    wait_time_before_next_starvation_check: Duration | None = Field(
        default=None,
        description="How long a starved application waits for what was preempted for it before it is looked at again; 10s if absent.",
    )
    delete_blocked_victims: Bool | None = Field(
        default=None, description="Whether a victim that no disruption budget lets go is deleted after waitTimeBeforeKill."
    )
    hold_timeout: Duration | None = Field(
        default=None, description="How long freed room is held for whom it was made, after waitTimeBeforeKill; 2m by default."
    )
    am_preemption: Bool | None = Field(default=None, description="Whether master pods may be preempted; yes if absent.")
    am_preemption_of: Annotated[dict[str, Bool], Field(max_length=256)] | None = Field(
        default=None, description="Exceptions from amPreemption by the path of the leaf whose master pods are meant."
    )
    size_based_weight: Bool | None = Field(
        default=None,
        description="Whether applications that ask for more memory have a larger share of their leaf; not if absent.",
    )
    reservable_nodes: Ratio | None = Field(
        default=None,
        description="Part of the nodes that may be kept for large pods of one application that find no room; none unless set.",
    )
    locality_threshold_node: RatioOrOff | None = Field(
        default=None,
        description="Part of the nodes that may be passed over before an ask takes one in a rack it prefers; -1 is none, if absent.",
    )
    locality_threshold_rack: RatioOrOff | None = Field(
        default=None, description="Part of the nodes that may be passed over before it takes any; -1 is none, if absent."
    )
    locality_delay_node: Duration | None = Field(default=None, description="How long an ask waits for the nodes it prefers.")
    locality_delay_rack: Duration | None = Field(default=None, description="How long it then waits for the racks it prefers.")
    user_max_apps: Annotated[dict[str, Count], Field(max_length=256)] | None = Field(
        default=None, description="Applications that may run at once, by user."
    )
    user_max_apps_default: Count | None = Field(
        default=None,
        description="Applications of a user that may run at once, but for those in userMaxApps; without a bound if absent.",
    )
    queue_max_apps_default: Count | None = Field(
        default=None, description="maxRunningApplications of queues that say nothing of it; without a bound if absent."
    )
    queue_max_resources_default: Limits | None = Field(default=None, description="maxResources of queues that say nothing of it.")
    queue_max_am_share_default: RatioOrOff | None = Field(
        default=None, alias="queueMaxAMShareDefault", description="maxAMShare of queues that say nothing of it; 0.5 if absent."
    )
    default_queue_scheduling_policy: Policy | None = Field(
        default=None, description="schedulingPolicy of queues that rules make; drf if absent."
    )
    default_min_share_preemption_timeout: Duration | None = Field(
        default=None,
        description="minSharePreemptionTimeout of queues that say nothing of it, nor those above them; never if absent.",
    )
    default_fair_share_preemption_timeout: Duration | None = Field(
        default=None, description="fairSharePreemptionTimeout of such queues; never if absent."
    )
    default_fair_share_preemption_threshold: Ratio | None = Field(
        default=None, description="fairSharePreemptionThreshold of such queues; 0.5 if absent."
    )


class IntraQueuePreemption(Model):
    """Preemption between the applications and users of one leaf."""

    enabled: Bool | None = Field(default=None, description="Whether it is done; not if absent.")
    minimum_threshold: Ratio | None = Field(
        default=None, description="Part of its guarantee that a leaf uses before its applications preempt from each other."
    )
    max_allowable_limit: Ratio | None = Field(default=None, description="Part of the guarantee that one round may take at most.")
    preemption_order_policy: Literal["userlimit_first", "priority_first"] | None = Field(
        default=None, description="Whether users below their limit, or applications of higher priority, come first."
    )


class QueuePriorityPreemption(Model):
    """Preemption for queues of higher priority, whose parents' ordering policy is priority-utilization."""

    enabled: Bool | None = Field(default=None, description="Whether it is done; not if absent.")
    reserved_container_delay: Duration | None = Field(default=None, description="How long a pod waits before others go for it.")


class BalancePreemption(Model):
    """Preemption between queues that all have what they are guaranteed."""

    enabled: Bool | None = Field(default=None, description="Whether it is done; not if absent.")
    max_wait_before_kill: Duration | None = Field(
        default=None, description="As maxWaitBeforeKill, for what is taken for balance; 5m if absent."
    )


class CapacityPreemption(Model):
    """``ProportionalCapacityPreemptionPolicy``: what may be taken back, and how fast."""

    enabled: Bool | None = Field(
        default=None, description="Whether what a queue is guaranteed is taken back for it; not if absent."
    )
    observe_only: Bool | None = Field(
        default=None, description="Whether victims are only counted and nothing is evicted; not if absent."
    )
    monitoring_interval: Duration | None = Field(
        default=None, description="How often it is looked what has to be taken back; 3s if absent."
    )
    max_wait_before_kill: Duration | None = Field(
        default=None, description="How long a victim may take to end before it is deleted or another one asked; 15s if absent."
    )
    total_preemption_per_round: Ratio | None = Field(
        default=None, description="Part of the cluster that one look may take at most; 0.1 if absent."
    )
    max_ignored_over_capacity: Ratio | None = Field(
        default=None, description="Part of its guarantee by which a queue may be over it without losing anything; 0.1 if absent."
    )
    natural_termination_factor: Ratio | None = Field(
        default=None,
        description="Part of what is to be taken back that one look takes, as others end by themselves; 0.2 if absent.",
    )
    delete_blocked_victims: Bool | None = Field(
        default=None, description="Whether a victim that no disruption budget lets go is deleted after maxWaitBeforeKill."
    )
    hold_timeout: Duration | None = Field(
        default=None, description="How long freed room is held for whom it was made, after maxWaitBeforeKill; 2m by default."
    )
    intra_queue: IntraQueuePreemption | None = None
    queue_priority: QueuePriorityPreemption | None = None
    balance: BalancePreemption | None = None


_PART: Final = rf"({'|'.join(sorted(VARIABLES))}|{DNS_LABEL})"
_TARGET: Final = rf"{_PART}(\.{_PART})*"
_TARGET_TEXT: Final = f"must be a queue's path or name, in which parts may be {', '.join(sorted(VARIABLES))}"
_MAPPING: Final = rf" *[ug] *: *[^:, ][^:,]*: *{_TARGET} *"
_MAPPINGS_TEXT: Final = "must be a list, parted by commas, of u:USER:QUEUE and g:GROUP:QUEUE"
Target = Annotated[str, patterned(_TARGET, _TARGET_TEXT, 253)]


class MappingRule(Model):
    """One rule of ``mapping-rule-json``. The first that places or rejects decides; setDefaultQueue goes on to the next one."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                cel.rule("self.type != 'group' || self.matches != '*'", GROUPS_TEXT, field_path=".matches"),
                cel.rule("self.policy != 'custom' || has(self.customPlacement)", CUSTOM_TEXT, field_path=".customPlacement"),
                cel.rule("self.policy != 'setDefaultQueue' || has(self.value)", VALUE_TEXT, field_path=".value"),
            ]
        }
    )

    type: Literal["user", "group", "application"] = Field(description="What the rule looks at.")
    matches: Annotated[str, Field(min_length=1, max_length=256)] = Field(
        description="The name of the user, group or application; * is every user. Variables such as %user are allowed."
    )
    policy: Literal[
        "specified",
        "user",
        "primaryGroup",
        "primaryGroupUser",
        "secondaryGroup",
        "secondaryGroupUser",
        "applicationName",
        "defaultQueue",
        "setDefaultQueue",
        "custom",
        "reject",
    ] = Field(description="The queue that the rule gives.")
    parent_queue: Target | None = Field(
        default=None, description="The queue below which it is, for policies by user, group and name."
    )
    custom_placement: Target | None = Field(default=None, description="The queue of the policy custom, such as root.users.%user.")
    value: Target | None = Field(default=None, description="What setDefaultQueue makes the default queue for the rules after it.")
    create: Bool | None = Field(
        default=None, description="Whether the queue may be made where templates allow it; true if absent."
    )
    fallback_result: Literal["skip", "reject", "placeDefault"] | None = Field(
        default=None,
        description="What happens where the queue cannot be: the next rule (skip, if absent), a rejection, the default queue.",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.type == "group" and self.matches == "*":
            raise PydanticCustomError("rule", "{problem}", {"field": "matches", "problem": GROUPS_TEXT})
        if self.policy == "custom" and self.custom_placement is None:
            raise PydanticCustomError("rule", "{problem}", {"field": "customPlacement", "problem": CUSTOM_TEXT})
        if self.policy == "setDefaultQueue" and self.value is None:
            raise PydanticCustomError("rule", "{problem}", {"field": "value", "problem": VALUE_TEXT})
        return self


class SchedulerAutoCreation(Model):
    """Queues that are made when applications ask for them, in the whole cluster."""

    maximum_depth: Count | None = Field(
        default=None, description="How many levels below a declared queue a leaf may be; 2 if absent (maximum-queue-depth)."
    )
    expiration_time: Duration | None = Field(
        default=None,
        description="After how long without a new application an empty queue goes; 5m if absent (queue-expiration-time).",
    )
    management_interval: Duration | None = Field(
        default=None,
        description="How often capacity is given to leaves of managed parents; 1500ms if absent (queue-management.monitoring-interval).",
    )


class SchedulerCapacity(Model):
    """Cluster-wide CapacityScheduler settings."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [cel.rule("!has(self.mappingRules) || !has(self.queueMappings)", BOTH_TEXT, field_path=".queueMappings")]
        }
    )

    legacy_queue_mode: Bool | None = Field(
        default=None,
        description="Whether the strict rules of old hold for capacities (true if absent); without, kinds may be mixed.",
    )
    resource_calculator: Literal["dominant", "memory"] | None = Field(
        default=None, description="What counts: every resource (dominant, if absent) or memory alone, which is YARN's default."
    )
    minimum_user_limit_percent: Percent | None = Field(
        default=None, description="minimumUserLimitPercent of leaves that say nothing of it; 100 if absent."
    )
    user_limit_factor: Factor | None = Field(
        default=None, description="userLimitFactor of leaves that say nothing of it; 1 if absent."
    )
    maximum_applications: Count | None = Field(
        default=None, description="Applications in all queues together; 10000 if absent (maximum-applications)."
    )
    queue_maximum_applications: Count | None = Field(
        default=None, description="Applications of a queue that names no number (global-queue-max-application)."
    )
    maximum_am_resource_percent: Ratio | None = Field(
        default=None,
        alias="maximumAMResourcePercent",
        description="maximumAMResourcePercent of leaves that say nothing of it; 0.1 if absent.",
    )
    max_parallel_apps: Count | None = Field(
        default=None, description="maxRunningApplications of queues that say nothing of it; without a bound if absent."
    )
    user_max_parallel_apps: Count | None = Field(
        default=None, description="Applications of a user that may run at once in all queues; without a bound if absent."
    )
    user_max_parallel_apps_of: Annotated[dict[str, Count], Field(max_length=256)] | None = Field(
        default=None, description="Exceptions from userMaxParallelApps, by user."
    )
    maximum_application_priority: Count | None = Field(
        default=None, description="The ceiling of applications' priorities; none if absent."
    )
    node_locality_delay: Int | None = Field(
        default=None,
        description="How many offers of other nodes an ask lets go by before racks of the nodes that it prefers will do; 40 if absent, -1: none.",
    )
    rack_locality_additional_delay: Int | None = Field(
        default=None,
        description="How many more before any node will do; if absent, or -1, as many as pods wait, times the part of the nodes that they prefer.",
    )
    rack_locality_full_reset: Bool | None = Field(
        default=None,
        description="Whether what is placed in a rack starts the count anew, as what is placed on a preferred node does; true if absent.",
    )
    reservable_nodes: Ratio | None = Field(
        default=None,
        description="Part of a partition's nodes that may be kept for large pods that find no room; 0.05 if absent, 0: none.",
    )
    preemption: CapacityPreemption | None = None
    mapping_rules: Annotated[list[MappingRule], Field(max_length=64)] | None = Field(
        default=None,
        description="Which queue an application goes to, in the order in which they are tried (mapping-rule-json).",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    queue_mappings: Annotated[str, patterned(rf"{_MAPPING}(,{_MAPPING})*", _MAPPINGS_TEXT, 4096)] | None = Field(
        default=None, description="The same in YARN's old form: u:USER:QUEUE,g:GROUP:QUEUE. Rules fall back to the default queue."
    )
    queue_mappings_override: Bool | None = Field(
        default=None, description="Whether rules also decide for applications that ask for a queue; not if absent."
    )
    auto_creation: SchedulerAutoCreation | None = None

    @model_validator(mode="after")
    def _one_form_of_rules(self) -> Self:
        if self.mapping_rules is not None and self.queue_mappings is not None:
            raise PydanticCustomError("rules", "{problem}", {"field": "queueMappings", "problem": BOTH_TEXT})
        return self


RuleName = Literal[
    "user", "primaryGroup", "secondaryGroup", "nestedUserQueue", "specified", "namespace", "applicationName", "default", "reject"
]


class ParentRule(Model):
    """The rule that gives the queue below which another rule places."""

    rule: RuleName
    create: Bool | None = Field(default=None, description="Whether it may be made where it is not there; true if absent.")
    queue: QueuePath | None = Field(default=None, description="The queue that the rule default gives; root.default if absent.")


class PlacementRule(Model):
    """One rule of ``queuePlacementPolicy``; the first that yields a queue decides."""

    rule: RuleName
    create: Bool | None = Field(default=None, description="Whether a queue that no object declares may be made; true if absent.")
    queue: QueuePath | None = Field(default=None, description="The queue of the rule default.")
    parent: ParentRule | None = None


class Partition(Model):
    """A set of nodes shared separately; YARN's node label."""

    name: DnsLabel
    exclusive: Bool = Field(default=True, description="Whether its idle nodes are kept from asks that do not name it.")


_Weight = Annotated[Int, Field(ge=0, le=100)]


class NodeWeights(Model):
    """How much what pods prefer counts in the choice of a node, by the names of kube-scheduler's plugins; its weights hold for what is left out."""

    taint_toleration: _Weight | None = Field(default=None, description="Taints with PreferNoSchedule; 3 by default.")
    node_affinity: _Weight | None = Field(
        default=None,
        description="Preferred node affinity of pods with further preferences; 2 by default. Alone it goes before all else.",
    )
    pod_topology_spread: _Weight | None = Field(default=None, description="Topology spread with ScheduleAnyway; 2 by default.")
    inter_pod_affinity: _Weight | None = Field(default=None, description="Preferred affinity between pods; 2 by default.")
    node_resources_fit: _Weight | None = Field(
        default=None, description="What scoring says of the node, for pods with preferences; 1 by default."
    )
    image_locality: _Weight | None = Field(
        default=None, description="Images that are on the node; 0 by default, since it costs each pod a look at all nodes."
    )
    hard_pod_affinity: _Weight | None = Field(
        default=None, description="What a pod that requires to be with others is worth to these; 1 by default."
    )


class SchedulerNodes(Model):
    """How nodes are grouped and chosen."""

    partition_label: LabelKey | None = Field(default=None, description="The node label that names a node's partition.")
    partitions: Annotated[list[Partition], Field(max_length=64)] | None = Field(
        default=None, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    )
    scoring: Literal["Pack", "Spread"] = Field(
        default="Pack", description="Pack fills nodes one after another, Spread keeps them evenly used."
    )
    weights: NodeWeights | None = None
    headroom: Limits | None = Field(
        default=None,
        description="What of each node is left to pods of other schedulers, those that are there included; the node's annotation treadle.dev/headroom goes first.",
    )

    @model_validator(mode="after")
    def _partitions_have_their_own_names(self) -> Self:
        unique(self.partitions, "partitions")
        return self


class SchedulerGangs(Model):
    """How long gangs may keep room to themselves."""

    hold_timeout: Duration | None = Field(
        default=None,
        description="How long nodes are kept for a gang that is owed room and finds none, 10m if absent; 0s: no node is kept for gangs.",
    )
    partial_timeout: Duration | None = Field(
        default=None,
        description="How long what is left of a gang below its minimum may run while the pods that it lacks find no room, before it is "
        "evicted; 10m if absent, 0s: for ever.",
    )
    provisioning: Provisioning | None = Field(
        default=None,
        description="How nodes are asked for, for gangs that wait for nodes and whose Application does not say otherwise; they are not if absent.",
    )


SolverTime = Annotated[
    str, patterned("([1-9][0-9]{1,2}|1[0-9]{3}|2000)ms|[12]s", "must be from 10ms to 2s in whole milliseconds, such as 500ms", 8)
]


class SchedulerPlaceTogether(Model):
    """How the pods of Applications with placeTogether are placed as a set."""

    solver: Literal["None", "HiGHS"] | None = Field(
        default=None,
        description="HiGHS looks for a better answer than the walk over the nodes has, if its package is installed; None if absent.",
    )
    time_limit: SolverTime | None = Field(
        default=None,
        description="How long the solver may take for a set, 500ms if absent; nothing else is decided meanwhile.",
    )


class NamespaceLimits(Model):
    """What the applications of one namespace may have in the scheduler; what goes beyond waits outside of every queue."""

    queues: Positive | None = Field(default=None, description="Queues that placement rules made for them.")
    waiting_applications: Positive | None = Field(
        default=None, description="Applications that wait in queues without any pod on a node."
    )
    waiting_pods: Positive | None = Field(
        default=None,
        description="Pods that wait in queues: with as many no further application comes in. An application that is in has all its pods there.",
    )


class SchedulerSpec(Model):
    """What an administrator asks of the scheduler."""

    aliases: Annotated[list[Name], Field(max_length=16), AfterValidator(once_each)] | None = Field(
        default=None,
        description="Further schedulerNames to serve, for operators with a closed list.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    discipline: Literal["Fair", "Capacity"] = Field(default="Fair", description="Whose rules share the tree.")
    fair: SchedulerFair | None = None
    capacity: SchedulerCapacity | None = None
    placement_rules: Annotated[list[PlacementRule], Field(max_length=32)] | None = Field(
        default=None, json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )
    namespace_limits: NamespaceLimits | None = None
    placement_constraints: Annotated[list[TaggedConstraint], Field(max_length=64)] | None = Field(
        default=None,
        description="What holds for pods of all applications, beside what they and their pods say; all must hold.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    nodes: SchedulerNodes = Field(default_factory=SchedulerNodes, json_schema_extra={"default": {}})
    gangs: SchedulerGangs | None = None
    place_together: SchedulerPlaceTogether | None = None
    resource_profiles: Bundles | None = Field(
        default=None,
        description="Bundles of amounts by name. profile.treadle.dev/NAME: 3 among the amounts of a queue is three times the bundle; a pod "
        "that names one (annotation treadle.dev/resource-profile) is told if it asks for something else.",
    )
    device_classes: DeviceClasses | None = Field(
        default=None,
        description="The resource type that devices of a DeviceClass count as in queues, by the name of the class, such as "
        "gpu.example.com: nvidia.com/gpu. Those of other classes count as the class's extendedResourceName, or not at all if it has none.",
    )
    opportunistic: Opportunistic | None = None
    backfill: Literal["Never", "Declared", "Estimated"] | None = Field(
        default=None,
        description="Which pods may use room that is kept for a gang or a large pod, until all of it has come, or in front of a reservation: those that declare a run time and "
        "end before (Declared, if absent), also those whose like have always ended sooner than that (Estimated), none (Never). They are evicted "
        "where they are in the way after all.",
    )


class Removal(StatusModel):
    """That opportunistic pods of an application had to go from a node."""

    application: Annotated[str, Field(max_length=317)] = Field(description="NAMESPACE/NAME of the application.")
    node: Annotated[str, Field(max_length=253)]
    until: Time = Field(description="Until when the node takes none of its pods.")
    times: Annotated[int, Field(ge=1, le=1000)] = Field(description="How often in a row they had to go.")


class SchedulerStatus(StatusModel):
    """What Treadle last saw of the cluster."""

    observed_generation: Generation | None = None
    scheduler_names: Annotated[list[Annotated[str, Field(max_length=253)]], Field(max_length=32)] | None = Field(
        default=None,
        description="The names served, without those that another Scheduler has.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    discipline: Literal["Fair", "Capacity"] | None = Field(default=None, description="The discipline in force.")
    nodes: Annotated[int, Field(ge=0)] | None = None
    queues: Annotated[int, Field(ge=0)] | None = None
    removals: Annotated[list[Removal], Field(max_length=256)] | None = Field(
        default=None,
        description="Which nodes take no opportunistic pods of which applications, or did not lately: what whoever serves next goes by.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    conditions: Conditions | None = None


class Scheduler(Model):
    """The scheduler of a cluster; its name is the schedulerName that pods ask for."""

    api_version: Literal["treadle.dev/v1alpha1"] = "treadle.dev/v1alpha1"
    kind: Literal["Scheduler"] = "Scheduler"
    metadata: Metadata
    spec: SchedulerSpec = Field(default_factory=SchedulerSpec, json_schema_extra={"default": {}})
    status: SchedulerStatus | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The schedulerNames this object asks to serve, its own first."""
        return (self.metadata.name, *(alias for alias in self.spec.aliases or () if alias != self.metadata.name))
