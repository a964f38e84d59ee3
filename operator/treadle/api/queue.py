"""The Queue: a node of the tree in which the cluster is shared.

Its name is its path (``root.dev.eng``), so the parent is in the name, RBAC can name it, and a pod can name it in a label. The
settings of both YARN disciplines stand side by side under the names YARN gave them, in camelCase: ``fair`` from the allocation
file of the FairScheduler, ``capacity`` from the CapacityScheduler's settings.
"""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from treadle.api import cel, profiles, quantities
from treadle.api.common import (
    DNS_LABEL,
    NAME_LIMIT,
    Amounts,
    Bool,
    Checked,
    Conditions,
    Count,
    Demand,
    Duration,
    Factor,
    Generation,
    Int,
    Limits,
    Metadata,
    Model,
    Percent,
    Policy,
    QuantityOrPercent,
    Ratio,
    RatioOrOff,
    StatusModel,
    Weight,
    once_each,
    patterned,
)
from treadle.core.rules.placement.names import path_problem

DYNAMIC_LIMIT: Final = 64
MAX_PARTITIONS: Final = 16
_RESERVABLE_TEXT: Final = (
    "queues are made below a queue that takes reservations: its path and its last name may have at most 54 characters together, "
    "and the path at most 7 levels"
)
_NOT_NEW: Final = "(oldSelf.hasValue() && has(oldSelf.value().spec.reservations)) || !has(self.spec.reservations) || "
_RESERVABLE_ROOT_TEXT: Final = "the root takes no reservations; a queue below it can"
_CAPACITY_TEXT: Final = 'must be a percentage ("60%"), a weight ("3w") or quantities ("[cpu=10,memory=40Gi]")'
_MAXIMUM_TEXT: Final = 'must be a percentage ("60%") or quantities ("[cpu=10,memory=40Gi]"); a weight is not a maximum'
_PROFILE: Final = r"profile\.treadle\.dev/[^=]*"
_MEMORY: Final = rf"[\[,](memory|{_PROFILE})="
_NO_COUNT: Final = rf"[\[,]{_PROFILE}=([0-9]*[^0-9,\]]|[0-9]{{10,}})"
_MEMORY_TEXT: Final = "quantities must name memory"
_WEIGHT_TEXT: Final = "a weight must not be over 10000"
_NUMBER: Final = r"[0-9]{1,9}(\.[0-9]{1,6})?"
_SIZES: Final = ((18, "m|u|n|"), (15, "Ki?|k"), (12, "Mi?"), (9, "Gi?"), (6, "Ti?"), (3, "Pi?"))
_FRACTION: Final = r"(\.[0-9]{0,9})?"
_AMOUNT: Final = (
    "|".join(f"[0-9]{{1,{digits}}}{_FRACTION}({unit})" for digits, unit in _SIZES)
    + rf"|[0-3]{_FRACTION}Ei?|[0-9]{{1,3}}{_FRACTION}[eE](\+?(1[0-5]|[0-9])|-[0-9]{{1,2}})"
)
"""Amounts that can be counted, told by their digits: what the API server would have to compute costs it too much where there are many."""
_MUCH_CPU: Final = (
    r"[\[,]cpu=("
    + "|".join(f"[0-9]{{{digits - 2},}}{_FRACTION}{unit}" for digits, unit in ((18, r"[,\]]"), *_SIZES[1:5]))
    + rf"|[0-9]+{_FRACTION}[PE]|[0-9]+{_FRACTION}[eE]\+?1[3-5])"
)
_OVER_100: Final = r"(^|=)0*(100\.0*[1-9]|10[1-9]|1[1-9][0-9]|[2-9][0-9]{2}|[1-9][0-9]{3,})[0-9.]*%"
_OVER_10000: Final = (
    r"(^|=)0*(10000\.0*[1-9]|1000[1-9]|100[1-9][0-9]|10[1-9][0-9]{2}|1[1-9][0-9]{3}|[2-9][0-9]{4}|[1-9][0-9]{5,})[0-9.]*w"
)


def _form(units: str) -> str:
    """The form of a capacity: a number with one of the ``units``, or amounts by type, which may have them too."""
    entry = rf"[-A-Za-z0-9_./]+=({_NUMBER}({units})|{_AMOUNT})"
    return rf"{_NUMBER}({units})|\[{entry}(,{entry})*\]"


def _checked(units: str, words: str) -> Checked:
    """The check of a capacity, by patterns that both we and the API server have."""
    form = _form(units)
    rules = [
        (_OVER_100, quantities.PERCENT_TEXT),
        (_OVER_10000, _WEIGHT_TEXT),
        (_MUCH_CPU, quantities.RANGE_TEXT),
        (_NO_COUNT, profiles.COUNT_TEXT),
    ]

    def check(text: str) -> None:
        if re.fullmatch(form, text, re.ASCII) is None:
            raise ValueError(words)
        for pattern, why in rules:
            if re.search(pattern, text):
                raise ValueError(why)
        if text.startswith("[") and re.search(_MEMORY, text) is None:
            raise ValueError(_MEMORY_TEXT)

    return Checked(
        check,
        {
            "type": "string",
            "maxLength": 512,
            cel.RULES: [
                cel.rule(f"self.matches('^({cel.escaped(form)})$')", words),
                *(cel.rule(f"!self.matches('{cel.escaped(pattern)}')", why) for pattern, why in rules),
                cel.rule(f"!self.startsWith('[') || self.matches('{cel.escaped(_MEMORY)}')", _MEMORY_TEXT),
            ],
        },
        512,
    )


Capacity = Annotated[str, _checked("%|w", _CAPACITY_TEXT)]
Maximum = Annotated[str, _checked("%", _MAXIMUM_TEXT)]


class QueueFair(Model):
    """How the FairScheduler's rules see this queue (``AllocationFileParser``); used when the discipline is Fair.

    ``schedulingPolicy`` is ``drf`` unless said otherwise. YARN's own default is ``fair``, which shares memory alone; on
    Kubernetes cpu and devices run out just as often, so the default here weighs every resource.
    """

    weight: Weight = Field(default="1", description="Share relative to the siblings; 0 gives the minimum only.")
    min_resources: Limits | None = Field(
        default=None,
        description="What the queue gets before its siblings share the rest; where it is over maxResources it is the maximum too.",
    )
    max_resources: Limits | None = Field(
        default=None, description="What the queue may hold at most: quantities, or percentages of the cluster."
    )
    max_child_resources: Limits | None = Field(default=None, description="Maximum of a child queue that no object declares.")
    max_container_allocation: Demand | None = Field(default=None, description="What one pod may ask at most.")
    max_am_share: RatioOrOff | None = Field(
        default=None, alias="maxAMShare", description="Part of the fair share that master pods may hold; -1 is no limit."
    )
    scheduling_policy: Policy = Field(
        default="drf", description="How the children, or the applications of a leaf, share: fifo, fair (memory) or drf."
    )
    min_share_preemption_timeout: Duration | None = Field(default=None, description="Time under the minimum before preemption.")
    fair_share_preemption_timeout: Duration | None = Field(default=None, description="Time under the share before preemption.")
    fair_share_preemption_threshold: Ratio | None = Field(default=None, description="Part of the share that counts as starved.")
    allow_preemption_from: Bool | None = Field(default=None, description="Whether others may preempt from this queue.")


OrderingPolicy = Literal["fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps", "utilization", "priority-utilization"]
PartitionName = Annotated[str, patterned(rf"\*|{DNS_LABEL}", 'must be the name of a partition, or "*" for all', NAME_LIMIT)]
_Partitions = Annotated[
    list[PartitionName], Field(max_length=64, json_schema_extra={"x-kubernetes-list-type": "set"}), AfterValidator(once_each)
]


class PartitionCapacity(Model):
    """A queue's share of one node partition (``accessible-node-labels.LABEL.*``)."""

    guaranteed: Capacity | None = Field(default=None, description="What the queue can count on in this partition.")
    maximum: Maximum | None = Field(default=None, description="What it may hold there at most.")
    maximum_am_resource_percent: Ratio | None = Field(
        default=None, alias="maximumAMResourcePercent", description="Part of that which master pods may hold, 0 to 1."
    )


class CapacityTemplate(Model):
    """What a queue and a template of queues may say alike of the CapacityScheduler's rules.

    Quantities are written as YARN writes them, in one string: ``[cpu=10,memory=40Gi]``, also mixed: ``[memory=50%,cpu=2w]``.
    """

    guaranteed: Capacity | None = Field(default=None, description="Percentage of the parent, weight, or quantities.")
    maximum: Maximum | None = Field(default=None, description="Percentage of the parent, or quantities.")
    user_limit_factor: Factor | None = Field(
        default=None, description="Multiple of the guarantee that one user may hold; -1 is no limit."
    )
    minimum_user_limit_percent: Percent | None = Field(
        default=None, description="Part of the queue that a user is assured of while others ask too."
    )
    maximum_applications: Count | None = Field(
        default=None, description="Applications that may run or wait for room; further ones are let in when these leave."
    )
    maximum_allocation: Demand | None = Field(default=None, description="What one pod may ask at most.")
    maximum_application_lifetime: Duration | None = Field(
        default=None,
        description="How long after its submission an application's pods are deleted; the parent's if absent, 0s is never.",
    )
    default_application_lifetime: Duration | None = Field(
        default=None, description="The lifetime of an application that names none; at most the maximum."
    )
    maximum_am_resource_percent: Ratio | None = Field(
        default=None, alias="maximumAMResourcePercent", description="Part of the queue that master pods may hold, 0 to 1."
    )
    priority: Int | None = Field(default=None, description="Priority among the siblings.")
    default_application_priority: Int | None = Field(default=None, description="Priority of an application that names none.")
    ordering_policy: OrderingPolicy | None = Field(
        default=None, description="Order of a leaf's applications, or of a parent's children."
    )
    size_based_weight: Bool | None = Field(
        default=None, description="Whether larger applications count as smaller ones in a leaf of order fair."
    )
    disable_preemption: Bool | None = Field(default=None, description="Whether others may not preempt from this queue.")
    disable_intra_queue_preemption: Bool | None = Field(
        default=None, description="Whether applications and users of the queue may not preempt from each other."
    )
    partitions: Annotated[dict[str, PartitionCapacity], Field(max_length=16)] | None = Field(
        default=None, description="Shares of further node partitions, by name."
    )


class AutoCreation(Model):
    """Queues of any depth that are made below this one when applications ask for them (``auto-queue-creation-v2``)."""

    enabled: Bool | None = Field(default=None, description="Whether queues are made; not if absent. Such a queue holds queues.")
    maximum_queues: Count | None = Field(default=None, description="Child queues at most; 1000 if absent.")
    maximum_depth: Count | None = Field(
        default=None, description="How many levels below this queue a leaf may be; the scheduler's if absent, which is 2."
    )
    automatic_removal: Bool | None = Field(
        default=None, description="Whether what was made goes when it is not used; true if absent."
    )
    template: CapacityTemplate | None = Field(default=None, description="What queues that are made are like.")
    leaf_template: CapacityTemplate | None = Field(default=None, description="What leaves are like; before template.")
    parent_template: CapacityTemplate | None = Field(default=None, description="What parents are like; before template.")


class ManagedChildren(Model):
    """Leaves that are made right below this one from one template, each with all of its capacity or none (``auto-create-child-queue``)."""

    enabled: Bool | None = Field(
        default=None, description="Whether leaves are made; not if absent. Such a queue has no declared child."
    )
    maximum_queues: Count | None = Field(default=None, description="Leaves at most; 1000 if absent.")
    fail_on_excess: Bool | None = Field(
        default=None,
        description="Whether no leaf is made for which there is no capacity, and none loses its own (fail-on-exceeding-parent-capacity).",
    )
    leaf_template: CapacityTemplate | None = Field(default=None, description="What the leaves are like.")


class QueueCapacity(CapacityTemplate):
    """How the CapacityScheduler's rules see this queue (``CapacitySchedulerConfiguration``); used when the discipline is Capacity."""

    user_weights: Annotated[dict[str, Weight], Field(max_length=256)] | None = Field(
        default=None, description="How many times an ordinary user's limit a user has, by name; also in the queues below."
    )
    enforced_partitions: _Partitions | None = Field(
        default=None, description="Partitions whose nodes serve their own applications only, in order fifo-with-partitions."
    )
    allow_zero_capacity_sum: Bool | None = Field(
        default=None, description="Whether child queues may be guaranteed nothing although the queue is guaranteed something."
    )
    accessible_partitions: _Partitions | None = Field(
        default=None,
        description="Partitions the queue may use, \"*\" for all; the parent's if absent. The default one is everybody's.",
    )
    default_partition: Annotated[str, Field(max_length=NAME_LIMIT)] | None = Field(
        default=None, description="The partition of pods and applications that name none."
    )
    auto_creation: AutoCreation | None = None
    managed_children: ManagedChildren | None = None


_Names = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=256)]],
    Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(once_each),
]


_Namespaces = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]],
    Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(once_each),
]
_ServiceAccounts = Annotated[
    list[
        Annotated[
            str,
            Field(
                max_length=317,
                pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            ),
        ]
    ],
    Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(once_each),
]


_DEFAULT_TEXT: Final = "must not be over maxPriority"


class Acl(Model):
    """Who may do something: any of those named. Empty lists are nobody."""

    users: _Names | None = Field(
        default=None, description='Users, as docs/security.md says whose an object is; "*" is everybody.'
    )
    groups: _Names | None = Field(default=None, description="Groups of users.")
    service_accounts: _ServiceAccounts | None = Field(
        default=None, description="Service accounts, as namespace/name: their users are system:serviceaccount:NAMESPACE:NAME."
    )
    namespaces: _Namespaces | None = Field(default=None, description="Namespaces of the objects, whoever makes them.")


class PriorityAcl(Acl):
    """Which priority some may ask for (an entry of YARN's ``acl_application_max_priority``)."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                cel.rule(
                    "!has(self.defaultPriority) || self.defaultPriority <= self.maxPriority",
                    _DEFAULT_TEXT,
                    field_path=".defaultPriority",
                )
            ]
        }
    )

    max_priority: Count = Field(description="The highest priority that their applications may ask for.")
    default_priority: Count | None = Field(
        default=None, description="The priority of their applications that ask for none; that of the queue if absent."
    )

    @model_validator(mode="after")
    def _default_within(self) -> Self:
        if self.default_priority is not None and self.default_priority > self.max_priority:
            raise PydanticCustomError("default", _DEFAULT_TEXT, {"field": "defaultPriority"})
        return self


class OpportunisticLimits(Model):
    """Quantities, or percentages of the cluster."""

    cpu: QuantityOrPercent | None = None
    memory: QuantityOrPercent | None = None


class QueueOpportunistic(Model):
    """What opportunistic pods of a queue may have; they count against no other limit on resources."""

    limits: OpportunisticLimits | None = Field(
        default=None, description="What those of the queue and of all below it may be given in sum, by what they say they use."
    )


ApplicationPattern = Annotated[str, Field(min_length=1, max_length=317, pattern=r"^[A-Za-z0-9*][A-Za-z0-9*._/-]*$")]


class ReservationsFromHistory(Model):
    """Reservations that are made by themselves for applications that run in the queue again and again (Morpheus); present, and be it empty, they are."""

    exclude: Annotated[list[ApplicationPattern], Field(max_length=64)] | None = Field(
        default=None,
        description="Applications that get none, as namespace/name; * stands for any letters.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    time_zone: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="The clock by which runs come again, such as Europe/Berlin; UTC if absent."
    )
    reprovision: Bool | None = Field(
        default=None, description="Whether they have spec.reprovision: runs that lag are promised more, as far as there is room."
    )


class QueueReservations(Model):
    """How a queue takes reservations (YARN's ``reservable`` and the settings of its plan); present, and be it empty, it takes them.

    The queue holds queues then, which Treadle makes: one for each reservation whose time it is, and one for all else.
    """

    agent: Literal["Aligned", "Greedy"] | None = Field(
        default=None,
        description="Who finds a place: Aligned spreads the load and is greedy where that finds none, Greedy takes what is free first. Aligned if absent.",
    )
    smoothness: Annotated[int, Strict(), Field(ge=1, le=100, json_schema_extra={"format": "int32"})] | None = Field(
        default=None, description="How flat Aligned makes the load; 10 if absent (smoothness-factor)."
    )
    favor_early_allocation: Bool | None = Field(
        default=None, description="Whether the first of equally good places is taken, not the last; true if absent."
    )
    policy: Literal["CapacityOverTime", "NoOverCommit"] | None = Field(
        default=None,
        description="How much one user may reserve: a part at once and on average, or whatever is free. CapacityOverTime if absent.",
    )
    window: Duration | None = Field(
        default=None, description="Over how long CapacityOverTime averages, 10m to 720h; 24h if absent (reservation-window)."
    )
    instantaneous_max_capacity: Percent | None = Field(
        default=None, description="Percentage of the queue that one user may reserve at any time; 100 if absent."
    )
    average_capacity: Percent | None = Field(
        default=None, description="Percentage of the queue that one user may reserve on average over the window; 100 if absent."
    )
    move_on_expiry: Bool | None = Field(
        default=None,
        description="Whether what runs in a reservation that is over goes on in the queue for all else, and is not deleted; true if absent.",
    )
    lead_time: Duration | None = Field(
        default=None,
        description="How long before its start a reservation has its queue, so that who borrows its room is gone by then, and from when on, until as long after the start, what it does not use is kept from others; at most 1h; 1m if absent.",
    )
    enforcement_window: Duration | None = Field(
        default=None,
        description="How far ahead no more may be promised than there is, where capacity is lost; 1h if absent (reservation-enforcement-window).",
    )
    replan_after: Duration | None = Field(
        default=None,
        description="How long capacity has to be missing before reservations are moved or dropped; 1m if absent. Meanwhile all have as much less.",
    )
    from_history: ReservationsFromHistory | None = None
    maximum_period: Duration | None = Field(
        default=None,
        description="The longest period of what comes again, which all periods divide, at most 768h; 24h if absent (max-periodicity).",
    )


class QueueSpec(Model):
    """What an administrator asks of a queue."""

    state: Literal["Running", "Stopped"] = Field(default="Running", description="A stopped queue takes no new application.")
    max_running_applications: Count | None = Field(default=None, description="Applications that may run at once.")
    holds_queues: Bool | None = Field(
        default=None,
        description="Whether it is a parent even while no queue is declared below it: no application lives in it, and placement "
        "rules may make queues below it.",
    )
    submit_acl: Acl | None = Field(
        default=None,
        description="Who may submit here and below; any ancestor's word is enough. Absent: at the root everybody, elsewhere nobody.",
    )
    administer_acl: Acl | None = Field(
        default=None,
        description="Who may administer, and so submit, here and below. Absent: at the root everybody, elsewhere nobody.",
    )
    reserve_acl: Acl | None = Field(
        default=None,
        description="Who may reserve here and below, besides those who may administer. Absent here and above: whoever may submit.",
    )
    view_acl: Acl | None = Field(
        default=None,
        description="Who may see by REST what is here and below, besides those who may administer. Absent here and above: whoever may submit.",
    )
    priority_acl: (
        Annotated[list[PriorityAcl], Field(min_length=1, max_length=64, json_schema_extra={"x-kubernetes-list-type": "atomic"})]
        | None
    ) = Field(
        default=None,
        description="Who may ask for which priority here and below; the highest that an entry allows counts, and whom no entry names may ask for none. "
        "Absent: as the nearest queue above says.",
    )
    fair: QueueFair = Field(default_factory=QueueFair, json_schema_extra={"default": {}})
    capacity: QueueCapacity | None = None
    opportunistic: QueueOpportunistic | None = None
    reservations: QueueReservations | None = Field(
        default=None, description="The queue takes reservations, in this way; none if absent."
    )


class QueueApplications(StatusModel):
    """How many applications a queue has, its descendants' included."""

    running: Annotated[int, Field(ge=0)] = 0
    pending: Annotated[int, Field(ge=0)] = 0


class QueuePartition(StatusModel):
    """What Treadle last saw of the queue in one partition of nodes."""

    guaranteed: Amounts | None = None
    maximum: Amounts | None = None
    used: Amounts | None = None
    pending: Amounts | None = None


MAX_WORDS: Final = 256
_Words = Annotated[str, Field(max_length=MAX_WORDS)]


class QueueInWords(StatusModel):
    """The numbers of a queue for people: rounded, and without pods. Programs read the amounts themselves."""

    share: _Words | None = Field(default=None, description="The fair share, or what is guaranteed.")
    used: _Words | None = None
    of_share: _Words | None = Field(
        default=None, description="The part of its share that is used, of the resource that most is used of."
    )
    pending: _Words | None = None


class QueueStatus(StatusModel):
    """What Treadle last saw of the queue; quantities are sums over the subtree, and over all partitions where nothing else is said."""

    observed_generation: Generation | None = None
    state: Literal["Running", "Draining", "Stopped"] | None = None
    fair_share: Amounts | None = Field(default=None, description="What the queue may count on now, given who asks.")
    steady_fair_share: Amounts | None = Field(default=None, description="What it could count on if every queue asked.")
    guaranteed: Amounts | None = None
    maximum: Amounts | None = None
    used_capacity: Annotated[str, Field(max_length=32)] | None = Field(
        default=None,
        description="The part of its guarantee that is used, of the resource that most is used of; discipline Capacity.",
    )
    used: Amounts | None = None
    pending: Amounts | None = None
    in_words: QueueInWords | None = None
    reserved: Amounts | None = None
    opportunistic: Amounts | None = Field(default=None, description="What its opportunistic pods were given.")
    partitions: Annotated[dict[str, QueuePartition], Field(max_length=MAX_PARTITIONS)] | None = Field(
        default=None, description="The same by partition, without the default one."
    )
    applications: QueueApplications | None = None
    dynamic_queues: Annotated[list[Annotated[str, Field(max_length=NAME_LIMIT)]], Field(max_length=DYNAMIC_LIMIT)] | None = Field(
        default=None,
        description="The first queues, by path, that placement rules or reservations made below this one, with no declared queue between.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    conditions: Conditions | None = None


class Queue(Model):
    """A node of the tree in which the cluster is shared; its name is its path, such as root.dev.eng."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                {
                    "rule": "oldSelf.hasValue() || self.metadata.name == 'root' || self.metadata.name.startsWith('root.')",
                    "optionalOldSelf": True,
                    "messageExpression": '\'a queue is named by its path: "root" or "root.…", not "\' + self.metadata.name + \'"\'',
                },
                cel.rule(
                    "oldSelf.hasValue() || self.metadata.name.size() <= 63",
                    "a queue path may have at most 63 characters (pods name it in a label)",
                    create_only=True,
                ),
                cel.rule(
                    f"{_NOT_NEW}self.metadata.name.split('.').size() < 8 && "
                    "self.metadata.name.size() + self.metadata.name.split('.')[self.metadata.name.split('.').size() - 1].size() <= 54",
                    _RESERVABLE_TEXT,
                    field_path=".spec.reservations",
                    create_only=True,
                ),
                cel.rule(
                    f"{_NOT_NEW}self.metadata.name != 'root'",
                    _RESERVABLE_ROOT_TEXT,
                    field_path=".spec.reservations",
                    create_only=True,
                ),
                cel.rule(
                    "oldSelf.hasValue() || self.metadata.name.split('.').size() <= 8",
                    "a queue path may have at most 8 levels",
                    create_only=True,
                ),
                cel.rule(
                    "(oldSelf.hasValue() && oldSelf.value().spec == self.spec) || "
                    "!(self.metadata.name == 'root' && self.spec.state == 'Stopped')",
                    "the root queue cannot be stopped",
                    field_path=".spec.state",
                    create_only=True,
                ),
            ]
        }
    )
    api_version: Literal["treadle.dev/v1alpha1"] = "treadle.dev/v1alpha1"
    kind: Literal["Queue"] = "Queue"
    metadata: Metadata
    spec: QueueSpec = Field(default_factory=QueueSpec, json_schema_extra={"default": {}})
    status: QueueStatus | None = None

    @property
    def path(self) -> str:
        """The queue's path in the tree: the object's name."""
        return self.metadata.name

    @property
    def parent(self) -> str | None:
        """The parent's path, None for the root."""
        return self.path.rpartition(".")[0] or None

    @model_validator(mode="after")
    def _named_by_path(self) -> Self:
        if problem := path_problem(self.metadata.name):
            raise PydanticCustomError("name", "{problem}", {"field": "metadata.name", "problem": problem})
        if self.spec.reservations is not None:
            long = len(self.path) + len(self.path.rpartition(".")[2]) > 54 or self.path.count(".") > 6
            problem = _RESERVABLE_ROOT_TEXT if self.path == "root" else _RESERVABLE_TEXT if long else ""
            if problem:
                raise PydanticCustomError("name", "{problem}", {"field": "spec.reservations", "problem": problem})
        if self.metadata.name == "root" and self.spec.state == "Stopped":
            raise PydanticCustomError("root", "the root queue cannot be stopped", {"field": "spec.state"})
        return self
