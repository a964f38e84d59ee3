"""The Application: pods that are one piece of work to their user, counted and ordered together.

Pods join it by the label ``treadle.dev/application`` in its namespace; pods without one get an implicit application, which has
no object. Phases use the words of YARN's ``RMAppState``.
"""

from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from treadle.api import cel
from treadle.api.common import (
    MAX_MESSAGE,
    NAME_LIMIT,
    Amounts,
    Conditions,
    Demand,
    DnsLabel,
    Duration,
    Generation,
    GivenTime,
    LabelKey,
    Metadata,
    Model,
    Provisioning,
    QueuePath,
    StatusModel,
    Time,
    name_rules,
    unique,
)
from treadle.api.constraints import PlacementConstraint

_PRIORITY_LIMIT: Final = 1_000_000_000

MAX_USER: Final = 256
MAX_AHEAD: Final = 16
MAX_AHEAD_NAME: Final = 253

PlaceTogether = Literal["Serial", "PopularTags"]
Phase = Literal["New", "Submitted", "Accepted", "Running", "Finished", "Failed", "Killed"]


class Gang(Model):
    """Pods of an application that start together or not at all; they name it by the label ``treadle.dev/gang``."""

    name: DnsLabel
    min_member: Annotated[int, Strict(), Field(ge=1, le=100_000, json_schema_extra={"format": "int32"})] = Field(
        description="Pods that must be placeable before any is bound."
    )
    topology_key: LabelKey | None = Field(
        default=None,
        description="A label of nodes, such as topology.kubernetes.io/zone: all pods go to nodes with one value of it.",
    )
    topology_mode: Literal["Required", "Preferred"] | None = Field(
        default=None,
        description="Whether the gang waits where no value has room for it (Required, if absent) or goes to nodes with several.",
    )
    demand: Demand | None = Field(default=None, description="What each member asks, for planning before the pods exist.")


class ApplicationSpec(Model):
    """What a user asks of an application."""

    queue: QueuePath | None = Field(default=None, description="A leaf queue's path; placement rules decide otherwise.")
    priority: (
        Annotated[int, Strict(), Field(ge=-_PRIORITY_LIMIT, le=_PRIORITY_LIMIT, json_schema_extra={"format": "int32"})] | None
    ) = Field(
        default=None, description="Higher goes first among the applications of the queue; the highest of its pods' if not given."
    )
    user: Annotated[str, Field(min_length=1, max_length=MAX_USER)] | None = Field(
        default=None, description="Whom the application counts for; its pods' user otherwise."
    )
    partition: DnsLabel | None = Field(
        default=None, description="The partition of nodes for its pods, unless they name one themselves."
    )
    lifetime: Duration | None = Field(
        default=None,
        description="How long after its submission its pods are deleted and none is started any more; at most its queue's maximum.",
    )
    expected_duration: Duration | None = Field(
        default=None,
        description="How long each of its pods is expected to run that has no annotation treadle.dev/expected-duration; for forecasts, and for backfilling.",
    )
    deadline: GivenTime | None = Field(
        default=None, description="When it should have ended; how likely it is to be late is in status.eta.deadlineRisk."
    )
    gangs: Annotated[list[Gang], Field(max_length=64)] | None = Field(
        default=None, json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    )
    provisioning: Provisioning | None = Field(
        default=None, description="How nodes are asked for, for its gangs that wait for nodes; as the Scheduler says if absent."
    )
    placement_constraints: Annotated[list[PlacementConstraint], Field(max_length=16)] | None = Field(
        default=None,
        description="Constraints in YARN's language, such as notin,node,hbase; all must hold for each pod of the application.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    place_together: PlaceTogether | None = Field(
        default=None,
        description="Pods that wait are placed as a set, those first that came first (Serial) or whose tags are most common (PopularTags).",
    )
    execution_type: Literal["Guaranteed", "Opportunistic"] | None = Field(
        default=None,
        description="That of its pods that have no label or annotation treadle.dev/execution-type and request no cpu and no memory. Guaranteed if absent.",
    )
    reservation: DnsLabel | None = Field(default=None, description="A Reservation of this namespace to run inside.")

    @model_validator(mode="after")
    def _gangs_have_their_own_names(self) -> Self:
        unique(self.gangs, "gangs")
        return self


class Waiting(StatusModel):
    """Why the application's next pod waits."""

    reason: Annotated[str, Field(max_length=128)]
    message: Annotated[str, Field(max_length=MAX_MESSAGE)]
    ahead: Annotated[list[Annotated[str, Field(max_length=MAX_AHEAD_NAME)]], Field(max_length=MAX_AHEAD)] | None = Field(
        default=None, description="Who is served before it.", json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )


class ApplicationPods(StatusModel):
    """How many pods of the application are in which state. What has finished is not watched, so nobody could count it across restarts."""

    running: Annotated[int, Field(ge=0)] = 0
    pending: Annotated[int, Field(ge=0)] = 0


class EtaRange(StatusModel):
    """A time as a range: a tenth of the futures that were looked at is earlier, a tenth later. One that is missing is not within the horizon."""

    earliest: Time | None = None
    median: Time | None = None
    latest: Time | None = None


class Eta(StatusModel):
    """When the pods that wait will start, and when the application will end, if nothing else arrives."""

    first_pod_start: EtaRange | None = None
    last_pod_start: EtaRange | None = None
    end: EtaRange | None = None
    confidence: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="The per cent of futures that lie between earliest and latest."
    )
    deadline_risk: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None, description="The per cent of futures in which it ends after spec.deadline."
    )
    note: Annotated[str, Field(max_length=MAX_MESSAGE)] | None = Field(default=None, description="What is not known, and why.")
    as_of: Time | None = None


class ApplicationStatus(StatusModel):
    """What Treadle last saw of the application."""

    observed_generation: Generation | None = None
    phase: Phase | None = None
    queue: Annotated[str, Field(max_length=NAME_LIMIT)] | None = Field(default=None, description="The queue it was placed in.")
    user: Annotated[str, Field(max_length=MAX_USER)] | None = None
    pods: ApplicationPods | None = None
    used: Amounts | None = None
    pending: Amounts | None = None
    headroom: Amounts | None = Field(
        default=None, description="What its user may expect to get more in the queue; discipline Capacity."
    )
    waiting: Waiting | None = None
    eta: Eta | None = None
    conditions: Conditions | None = None


class Application(Model):
    """Pods that are one piece of work to their user; they join it by the label treadle.dev/application."""

    model_config = ConfigDict(json_schema_extra={cel.RULES: name_rules("an application")})

    api_version: Literal["treadle.dev/v1alpha1"] = "treadle.dev/v1alpha1"
    kind: Literal["Application"] = "Application"
    metadata: Metadata
    spec: ApplicationSpec = Field(default_factory=ApplicationSpec, json_schema_extra={"default": {}})
    status: ApplicationStatus | None = None

    @model_validator(mode="after")
    def _name_fits_a_label(self) -> Self:
        if len(self.metadata.name) > NAME_LIMIT:
            message = "the name of an application may have at most 63 characters (pods name it in a label)"
            raise PydanticCustomError("name", message, {"field": "metadata.name"})
        return self
