"""The Reservation: capacity promised for a time to come (YARN-1051, ``ReservationDefinition``).

Its status is where promises are kept: what it says of them is put back after a restart, and by another leader, as it was.
"""

import re
from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from treadle.api import cel
from treadle.api.common import (
    DNS_LABEL,
    NAME_LIMIT,
    Amounts,
    Conditions,
    Count,
    Demand,
    DnsLabel,
    Duration,
    Generation,
    GivenTime,
    Metadata,
    Model,
    QueuePath,
    StatusModel,
    Time,
)

_NAME_TEXT: Final = (
    f"the name of a reservation must be a lower-case name of letters, digits and hyphens with at most {NAME_LIMIT} characters "
    "(applications name it)"
)
_MINIMUM: Final = "minimumConcurrency must not be over concurrency"
_MULTIPLE: Final = "count must be a multiple of concurrency"


NamePattern = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9*][A-Za-z0-9*._/-]*$")]


class ReservationRequest(Model):
    """Containers of one size for one duration (``ReservationRequest``); they come in gangs of ``concurrency``."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                cel.rule("self.count % self.concurrency == 0", _MULTIPLE, field_path=".count"),
                cel.rule(
                    "!has(self.minimumConcurrency) || self.minimumConcurrency <= self.concurrency",
                    _MINIMUM,
                    field_path=".minimumConcurrency",
                ),
            ]
        }
    )

    demand: Demand = Field(min_length=1, description="What one of them asks.")
    count: Annotated[int, Strict(), Field(ge=1, le=1_000_000, json_schema_extra={"format": "int32"})]
    concurrency: Annotated[int, Strict(), Field(ge=1, le=1_000_000, json_schema_extra={"format": "int32"})] = 1
    minimum_concurrency: Annotated[int, Strict(), Field(ge=1, le=1_000_000, json_schema_extra={"format": "int32"})] | None = (
        Field(
            default=None,
            description="How small gangs may be where those of concurrency find no place: the largest size down to this one that does is taken. That of concurrency if absent.",
        )
    )
    duration: Duration
    partition: DnsLabel | None = Field(
        default=None, description="The partition of nodes that it is for; that of pods of its queue that name none if absent."
    )

    @model_validator(mode="after")
    def _whole_gangs(self) -> Self:
        if self.minimum_concurrency is not None and self.minimum_concurrency > self.concurrency:
            raise PydanticCustomError("minimum", _MINIMUM, {"field": "minimumConcurrency"})
        if self.count % self.concurrency:
            raise PydanticCustomError("multiple", _MULTIPLE, {"field": "count"})
        return self


class ReservationExpression(Model):
    """Requests and how they are put together (``ReservationRequestInterpreter``)."""

    interpreter: Literal["Any", "All", "Order", "OrderNoGap"] = "All"
    requests: Annotated[list[ReservationRequest], Field(min_length=1, max_length=64)] = Field(
        json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )


class ReservationSpec(Model):
    """What is to be reserved, and between when."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [cel.rule("self.arrival < self.deadline", "arrival must be before deadline", field_path=".arrival")]
        }
    )

    queue: QueuePath
    arrival: GivenTime
    deadline: GivenTime
    recurrence: Annotated[str, Field(min_length=1, max_length=128)] | None = Field(
        default=None,
        description="After which period such as 24h it comes again, or at which times: a cron expression of minutes, hours and days of the week, such as 0 3 * * 1-5.",
    )
    time_zone: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        default=None, description="Time zone of the cron expression, such as Europe/Berlin; UTC if absent."
    )
    applications: Annotated[list[NamePattern], Field(max_length=16)] | None = Field(
        default=None,
        description="Names of applications of its namespace that run in it while it is active, where they ask for its queue and name no reservation; * stands for any letters, such as nightly-*.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    reprovision: bool | None = Field(
        default=None,
        description="Whether a run that lags behind what it was promised is promised what it has not had once more, as far as the queue has room before the deadline.",
    )
    priority: Count | None = Field(default=None, description="Smaller is more important, as in YARN.")
    expression: ReservationExpression

    @model_validator(mode="after")
    def _arrival_before_deadline(self) -> Self:
        if datetime.fromisoformat(self.arrival) >= datetime.fromisoformat(self.deadline):
            raise PydanticCustomError("order", "arrival must be before deadline", {"field": "arrival"})
        return self


class ReservedInterval(StatusModel):
    """What is promised of a partition of nodes between two times."""

    start: Time
    end: Time
    partition: Annotated[str, Field(max_length=NAME_LIMIT)] | None = Field(
        default=None, description="The partition; the default one if absent."
    )
    demand: Amounts


class ReservationPromise(StatusModel):
    """The version that was accepted last, as it was planned."""

    generation: Generation
    time: Time = Field(description="When it was accepted: who was accepted last has to go first where capacity is lost.")
    queue: Annotated[str, Field(max_length=NAME_LIMIT)]
    user: Annotated[str, Field(max_length=256)] = ""
    arrival: Time
    deadline: Time
    period: Duration | None = Field(default=None, description="After how long it comes again; absent: it comes once.")
    starts: Annotated[list[Duration], Field(max_length=256)] | None = Field(
        default=None,
        description="Of what begins several times in a period: how long after arrival. With a time zone that has summer time these are its times by either.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    concurrency: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=64)] | None = Field(
        default=None,
        description="The gangs of each request, where some are smaller than was asked.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )


class Reprovisioned(StatusModel):
    """What the run under way is promised besides since it lags."""

    behind: Duration | None = Field(
        default=None, description="By how much it lags; absent: it has had what it was promised, and goes on."
    )
    allocations: Annotated[list[ReservedInterval], Field(max_length=256)] = Field(
        json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )


class ReservationAlternative(StatusModel):
    """A change with which it would have been accepted when it was refused."""

    deadline: Time | None = None
    concurrency: Annotated[int, Field(ge=1)] | None = None
    queue: Annotated[str, Field(max_length=NAME_LIMIT)] | None = None


class ReservationStatus(StatusModel):
    """What Treadle has promised."""

    observed_generation: Generation | None = None
    phase: Literal["Pending", "Accepted", "Active", "Completed", "Rejected", "Dropped"] | None = Field(
        default=None,
        description="Pending: not decided yet. Active: within its window, or an occurrence of it. Dropped: it was accepted, and could not be kept.",
    )
    planned_generation: Generation | None = Field(default=None, description="The version that was decided on last.")
    accepted: ReservationPromise | None = None
    allocations: Annotated[list[ReservedInterval], Field(max_length=256)] | None = Field(
        default=None,
        description="What is promised; of what comes again, within the first period.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    reprovisioned: Reprovisioned | None = Field(
        default=None, description="What the run under way is promised besides since it lags; it ends with the occurrence."
    )
    queue: Annotated[str, Field(max_length=NAME_LIMIT)] | None = Field(
        default=None, description="The queue that it has now, in which its applications run; absent while it has none."
    )
    next_start: Time | None = Field(default=None, description="When it has something next; absent: never, or it has it now.")
    alternatives: Annotated[list[ReservationAlternative], Field(max_length=8)] | None = Field(
        default=None, json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )
    conditions: Conditions | None = None


class Reservation(Model):
    """Capacity of a queue promised for a time to come."""

    model_config = ConfigDict(
        json_schema_extra={
            cel.RULES: [
                cel.rule(f"oldSelf.hasValue() || self.metadata.name.matches('^({DNS_LABEL})$')", _NAME_TEXT, create_only=True),
                cel.rule(f"oldSelf.hasValue() || self.metadata.name.size() <= {NAME_LIMIT}", _NAME_TEXT, create_only=True),
            ]
        }
    )

    api_version: Literal["treadle.dev/v1alpha1"] = "treadle.dev/v1alpha1"
    kind: Literal["Reservation"] = "Reservation"
    metadata: Metadata
    spec: ReservationSpec
    status: ReservationStatus | None = None

    @model_validator(mode="after")
    def _can_be_named(self) -> Self:
        if len(self.metadata.name) > NAME_LIMIT or re.fullmatch(DNS_LABEL, self.metadata.name) is None:
            raise PydanticCustomError("name", "{problem}", {"field": "metadata.name", "problem": _NAME_TEXT})
        return self
