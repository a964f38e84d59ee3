"""What YARN's clients send (``ReservationSubmissionRequestInfo`` and its parts), read strictly: a member that nobody acts on is refused, not passed over.

Numbers may be written as texts, and a list of one as its element, since both are usual in Hadoop's JSON.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from treadle.rest.answers import Refused

Long = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Int = Annotated[int, Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
F = TypeVar("F", bound=Struct)


class Information(Struct, forbid_unknown_fields=True):
    """An amount of a resource type by name (``ResourceInformation``); ``units`` as Kubernetes has them too: Ki, Mi, k, m and so on."""

    name: str
    value: Long
    units: str = ""


class InformationList(Struct, forbid_unknown_fields=True):
    """Amounts by name."""

    amounts: list[Information] | Information = msgspec.field(name="resourceInformation", default_factory=list)

    def each(self) -> list[Information]:
        """Return them as a list."""
        return [self.amounts] if isinstance(self.amounts, Information) else self.amounts


class Capability(Struct, forbid_unknown_fields=True):
    """What one container has (``ResourceInfo``): MiB and whole cores, and other types by name."""

    memory: Long = 0
    cores: Int = msgspec.field(name="vCores", default=0)
    named: InformationList | None = msgspec.field(name="resourceInformations", default=None)


class Request(Struct, forbid_unknown_fields=True, rename="kebab"):
    """One of the requests (``ReservationRequestInfo``); the duration is in ms."""

    capability: Capability
    num_containers: Int
    duration: Long
    min_concurrency: Int = 1


class Requests(Struct, forbid_unknown_fields=True, rename="kebab"):
    """The requests and the number of their interpreter (``ReservationRequestsInfo``)."""

    reservation_request_interpreter: Int = 0
    reservation_request: list[Request] | Request | None = None

    def each(self) -> list[Request]:
        """Return them as a list."""
        found = self.reservation_request
        return [found] if isinstance(found, Request) else found or []


class Definition(Struct, forbid_unknown_fields=True, rename="kebab"):
    """What is to be reserved (``ReservationDefinitionInfo``); times are in ms since the epoch."""

    arrival: Long = 0
    deadline: Long = 0
    reservation_requests: Requests | None = None
    reservation_name: str | None = None
    recurrence_expression: str | int | None = None
    priority: Int | None = None


class Submission(Struct, forbid_unknown_fields=True, rename="kebab"):
    """A reservation that is to be made."""

    queue: str | None = None
    reservation_id: str | None = None
    reservation_definition: Definition | None = None


class Update(Struct, forbid_unknown_fields=True, rename="kebab"):
    """A reservation that is to be changed."""

    reservation_id: str | None = None
    reservation_definition: Definition | None = None


class Deletion(Struct, forbid_unknown_fields=True, rename="kebab"):
    """A reservation that is to be deleted."""

    reservation_id: str | None = None


def read(body: bytes, form: type[F]) -> F:
    """Return the body of a request. Raises ``Refused`` with the member that is wrong, and what is allowed there."""
    said = decoded(body or b"{}")
    try:
        return msgspec.convert(said, form, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Refused(400, f"the body is not what is read here: {error}") from None


def decoded(body: bytes) -> Any:
    """Return the body of a request. Raises ``Refused`` for what is not JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None
