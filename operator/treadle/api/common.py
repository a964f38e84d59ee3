"""What the models of all kinds share: the base class, bounded text, quantities, metadata and conditions.

Field names are camelCase in objects and snake_case in Python. Unknown fields are refused. Everything is bounded, since the
API server has to know the cost of a CEL rule beforehand. Models are frozen: a changed object is a new object.
"""

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from treadle.api import cel, profiles, quantities
from treadle.core.rules.placement import names

NAME_LIMIT: Final = names.MOST_BYTES
MAX_RESOURCES: Final = 16
MAX_PROFILES: Final = 32
MAX_CONDITIONS: Final = 16
MAX_MESSAGE: Final = 1024
MAX_AMOUNTS: Final = 64
"""Resource types in a map of a status."""

QUEUE_PATH: Final = names.PATH
DNS_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_RESOURCE: Final = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_RESOURCE_NAME: Final = re.compile(_RESOURCE)


def cut(text: str, most: int) -> str:
    """Return a text that is at most so many characters long; one that was longer ends with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


T = TypeVar("T")


class Model(BaseModel):
    """The base of every part of a spec: camelCase outside, closed, frozen."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="forbid",
        frozen=True,
    )


class StatusModel(Model):
    """The base of every part of a status: open, since a later version of ours may have written more."""

    model_config = ConfigDict(extra="ignore")


class Metadata(BaseModel):
    """The part of an object's metadata that Treadle reads; the API server owns its schema."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="ignore", frozen=True)

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int = 0
    creation_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Checked:
    """A check of text, to be put in ``Annotated[str, ...]``: the same rule for our own reading and for the API server.

    ``check`` raises ``ValueError`` with what is allowed; ``schema`` is the structural schema that says it on the server. With
    ``integers`` an integer is read as its text, where Kubernetes means int-or-string.
    """

    check: Callable[[str], None]
    schema: dict[str, Any]
    limit: int
    integers: bool = False

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Length first, so that no check reads an absurdly long text."""
        schema: CoreSchema = core_schema.no_info_after_validator_function(
            self._run, core_schema.str_schema(max_length=self.limit)
        )
        return core_schema.no_info_before_validator_function(_text, schema) if self.integers else schema

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """What the generator of the CRDs sees."""
        return copy.deepcopy(self.schema)

    def _run(self, text: str) -> str:
        self.check(text)
        return text


def _text(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        raise ValueError("a number with a point must stand in quotes")  # noqa: TRY004 - pydantic reports a ValueError
    return str(value) if isinstance(value, int) else value


def int_or_string(check: Callable[[str], None], rules: list[cel.Rule], limit: int = 32) -> Checked:
    """An int-or-string under rules."""
    schema = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "maxLength": limit}
    return Checked(check, {**schema, cel.RULES: rules} if rules else schema, limit, integers=True)


def patterned(pattern: str, words: str, limit: int) -> Checked:
    """Text of a form that both sides explain in words rather than by the pattern."""
    compiled = re.compile(pattern)

    def check(text: str) -> None:
        if compiled.fullmatch(text) is None:
            raise ValueError(words)

    rule = cel.rule(f"self.matches('^({cel.escaped(pattern)})$')", words)
    return Checked(check, {"type": "string", "maxLength": limit, cel.RULES: [rule]}, limit)


def _within(lowest: int, highest: int | None, extra: int | None = None) -> Checked:
    def check(text: str) -> None:
        value = quantities.decimal(text)
        if value == extra:
            return
        if value < lowest and highest is None:
            raise ValueError(quantities.NEGATIVE_TEXT)
        if value < lowest or (highest is not None and value > highest):
            raise ValueError(f"must be between {lowest} and {highest}" + (f", or {extra}" if extra is not None else ""))

    return int_or_string(check, cel.decimal_rules(lowest, highest, extra))


Int = Annotated[int, Strict(), Field(ge=-(2**31), le=2**31 - 1, json_schema_extra={"format": "int32"})]
Count = Annotated[int, Strict(), Field(ge=0, le=2**31 - 1, json_schema_extra={"format": "int32"})]
Positive = Annotated[int, Strict(), Field(ge=1, le=2**31 - 1, json_schema_extra={"format": "int32"})]
Percent = Annotated[int, Strict(), Field(ge=0, le=100)]
Generation = Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})]
Bool = Annotated[bool, Strict()]


# What RFC 3339 writes in capitals, to the microsecond: what both the API server's ``date-time`` and ``datetime`` read, and order alike.
_TIME = (
    r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)


def check_time(text: str) -> None:
    """Raise ``ValueError`` for what is no time with its zone."""
    try:
        read = datetime.fromisoformat(text) if re.fullmatch(_TIME, text) else None
    except ValueError:  # a day that no month has
        read = None
    if read is None:
        raise ValueError("must be a time with its zone, such as 2026-12-01T01:00:00Z")


_TIME_SCHEMA: Final = {"type": "string", "format": "date-time", "maxLength": 40, "pattern": f"^{_TIME}$"}
_A_TIME: Final = {"rule": "self == self", "message": "must be a time, such as 2030-01-31T06:00:00Z"}
Time = Annotated[str, Checked(check_time, _TIME_SCHEMA, 40)]
GivenTime = Annotated[str, Checked(check_time, {**_TIME_SCHEMA, "x-kubernetes-validations": [_A_TIME]}, 40)]
"""A time that somebody writes. By its schema alone the API server takes a list for what has a format; the rule cannot be evaluated of one."""

Quantity = Annotated[str, int_or_string(quantities.check_amount, cel.quantity_rules(percent=False))]
QuantityOrPercent = Annotated[str, int_or_string(quantities.check_amount_or_percent, cel.quantity_rules(percent=True))]
ReportedQuantity = Annotated[str, int_or_string(lambda _: None, [], 64)]


def _resource_names(entries: dict[str, str]) -> dict[str, str]:
    for name, text in entries.items():
        if _RESOURCE_NAME.fullmatch(name) is None:
            raise ValueError(f"{name[:64]!r} is not a resource name such as cpu, memory or nvidia.com/gpu")
        if name.startswith(profiles.PREFIX):
            if re.fullmatch(profiles.COUNT, text, re.ASCII) is None:
                raise ValueError(f"{name[:80]} {text!r}: {profiles.COUNT_TEXT}")
        elif not quantities.is_percent(text):
            quantities.check_range(name, text)
    return entries


def _only_resources(entries: dict[str, str]) -> dict[str, str]:
    for name in entries:
        if name.startswith(profiles.PREFIX):
            raise ValueError(f"{name[:80]!r}: {profiles.NESTED_TEXT}")
    return entries


def _profile_names(entries: dict[str, T]) -> dict[str, T]:
    for name in entries:
        if len(name) > NAME_LIMIT or re.fullmatch(DNS_LABEL, name) is None or name in profiles.RESERVED:
            raise ValueError(f"{name[:64]!r}: {profiles.NAMES_TEXT}")
    return entries


_amounts_rules: Final[dict[str, Any]] = {cel.RULES: cel.amounts_rules(_RESOURCE)}
_amounts: Final[Any] = Field(max_length=MAX_RESOURCES, json_schema_extra=_amounts_rules)
Demand = Annotated[dict[str, Quantity], _amounts, AfterValidator(_resource_names)]
Limits = Annotated[dict[str, QuantityOrPercent], _amounts, AfterValidator(_resource_names)]
_bundle_rules: Final = [
    *cel.amounts_rules(_RESOURCE),
    cel.rule(f"!self.exists(r, r.startsWith('{profiles.PREFIX}'))", profiles.NESTED_TEXT),
]
Bundle = Annotated[
    dict[str, Quantity],
    Field(min_length=1, max_length=MAX_RESOURCES, json_schema_extra={cel.RULES: _bundle_rules}),
    AfterValidator(_resource_names),
    AfterValidator(_only_resources),
]
"""What a profile stands for."""
Bundles = Annotated[
    dict[str, Bundle],
    Field(max_length=MAX_PROFILES, json_schema_extra={cel.RULES: cel.profile_rules(DNS_LABEL)}),
    AfterValidator(_profile_names),
]
_CLASS_TEXT: Final = "names must be those of DeviceClasses, such as gpu.example.com"
_COUNTED_TEXT: Final = "must be the name of an extended resource, such as nvidia.com/gpu, and not that of a profile"
_DOMAIN: Final = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"


def _device_classes(entries: dict[str, str]) -> dict[str, str]:
    for name, kind in entries.items():
        if re.fullmatch(_DOMAIN, name) is None:
            raise ValueError(f"{name[:64]!r}: {_CLASS_TEXT}")
        if kind.startswith(profiles.PREFIX):
            raise ValueError(f"{name}: {kind[:64]!r} {_COUNTED_TEXT}")
    return entries


DeviceClasses = Annotated[
    dict[str, Annotated[str, patterned(rf"{_DOMAIN}/[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?", _COUNTED_TEXT, 317)]],
    Field(
        max_length=64,
        json_schema_extra={
            cel.RULES: [
                cel.rule(f"self.all(c, c.matches('^({cel.escaped(_DOMAIN)})$'))", _CLASS_TEXT),
                cel.rule(f"self.all(c, !self[c].startsWith('{profiles.PREFIX}'))", f"what a class counts as {_COUNTED_TEXT}"),
            ]
        },
    ),
    AfterValidator(_device_classes),
]
"""Resource types by the names of classes of devices."""
Amounts = Annotated[dict[str, ReportedQuantity], Field(max_length=MAX_AMOUNTS)]

Weight = Annotated[str, _within(0, None)]
Ratio = Annotated[str, _within(0, 1)]
RatioOrOff = Annotated[str, _within(0, 1, -1)]
Factor = Annotated[str, _within(0, 1_000_000, -1)]

Duration = Annotated[str, patterned(quantities.DURATION, quantities.DURATION_TEXT, 32)]
QueuePath = Annotated[str, patterned(QUEUE_PATH, 'must be a queue\'s path: "root" or "root.…" in lower case', NAME_LIMIT)]
DnsLabel = Annotated[str, patterned(DNS_LABEL, "must be a lower-case name of letters, digits and hyphens", NAME_LIMIT)]
SchedulerName = Annotated[
    str,
    patterned(rf"{DNS_LABEL}(\.{DNS_LABEL})*", "must be a scheduler's name: lower-case letters, digits, hyphens and points", 253),
]
_LABEL_KEY: Final = r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_LABEL_KEY_TEXT: Final = "must be a label's key such as treadle.dev/partition"
LabelKey = Annotated[str, patterned(_LABEL_KEY, _LABEL_KEY_TEXT, 253)]


def _label_keys(entries: dict[str, str]) -> dict[str, str]:
    for key in entries:
        if len(key) > 253 or re.fullmatch(_LABEL_KEY, key) is None:
            raise ValueError(f"{key[:64]!r}: {_LABEL_KEY_TEXT}")
    return entries


MatchLabels = Annotated[
    dict[str, Annotated[str, Field(max_length=63)]],
    Field(
        min_length=1,
        max_length=8,
        json_schema_extra={
            cel.RULES: [cel.rule(f"self.all(k, k.size() <= 253 && k.matches('^({cel.escaped(_LABEL_KEY)})$'))", _LABEL_KEY_TEXT)]
        },
    ),
    AfterValidator(_label_keys),
]
"""Labels that something must have, all of them."""

Policy = Annotated[
    str,
    patterned(
        r"fifo|fair|drf|[a-z]([-a-z0-9]*[a-z0-9])?(\.[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?)+",
        "must be fifo, fair, drf, or the name of an installed policy, which has a dot, such as acme.smallest",
        63,
    ),
]
"""Names without a dot are Treadle's own. Which others are known is not the schema's: they are installed beside Treadle, as YARN's are
classes named in full.
"""


class Provisioning(Model):
    """What is asked of an autoscaler for gangs that wait for nodes, by its ProvisioningRequests (``autoscaling.x-k8s.io``)."""

    class_name: Annotated[
        str,
        patterned(
            rf"{DNS_LABEL}(\.{DNS_LABEL})*",
            "must be a provisioning class, such as check-capacity.autoscaling.x-k8s.io or best-effort-atomic-scale-up.autoscaling.x-k8s.io, or none",
            253,
        ),
    ] = Field(description="The class of the requests; none: no nodes are asked for.")
    parameters: Annotated[dict[str, Annotated[str, Field(max_length=255)]], Field(max_length=16)] | None = Field(
        default=None, description="Their parameters, which each class has its own of."
    )


class Condition(StatusModel):
    """A condition as ``metav1.Condition`` has it; see ``conditions`` for the types and reasons."""

    type: Annotated[str, Field(max_length=64)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Field(max_length=128)]
    message: Annotated[str, Field(max_length=MAX_MESSAGE)]
    observed_generation: Generation | None = None
    last_transition_time: Time


Conditions = Annotated[
    list[Condition],
    Field(
        max_length=MAX_CONDITIONS,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
]


def name_rules(what: str) -> Any:
    """The rule that an object's name fits a label's value, checked when it is made."""
    words = f"the name of {what} may have at most {NAME_LIMIT} characters (pods name it in a label)"
    return [cel.rule(f"oldSelf.hasValue() || self.metadata.name.size() <= {NAME_LIMIT}", words, create_only=True)]


def unique(items: Any, field: str) -> None:
    """Refuse two items of one name, as the API server does for a list that is a map."""
    _without_repeats([item.name for item in items or ()], field)


def _without_repeats(names: Sequence[str], field: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise PydanticCustomError("unique", "{field} has {name} more than once", {"field": field, "name": name})


def once_each(items: list[T]) -> list[T]:
    """Refuse a list in which something is twice, as the API server does for one that is a set."""
    for item in items:
        if items.count(item) > 1:
            raise ValueError(f"{str(item)[:64]!r} is in it more than once")
    return items
