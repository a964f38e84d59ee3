"""The objects of ``resource.k8s.io/v1`` as they come over the wire, with only the fields that we read. Configuration is carried as it is."""

from __future__ import annotations

import msgspec

from treadle.kube.wire import Metadata, NodeSelector, Wire

Quantity = str | int | float


class Attribute(Wire):
    bool_: bool | None = msgspec.field(default=None, name="bool")
    int_: int | None = msgspec.field(default=None, name="int")
    string: str | None = None
    version: str | None = None


class RequestRange(Wire):
    min_: Quantity | None = msgspec.field(default=None, name="min")
    max_: Quantity | None = msgspec.field(default=None, name="max")
    step: Quantity | None = None


class RequestPolicy(Wire):
    default: Quantity | None = None
    valid_values: list[Quantity] | None = None
    valid_range: RequestRange | None = None


class Capacity(Wire):
    value: Quantity = 0
    request_policy: RequestPolicy | None = None


class Counter(Wire):
    value: Quantity = 0


class CounterSet(Wire):
    name: str = ""
    counters: dict[str, Counter] | None = None


class Consumption(Wire):
    counter_set: str = ""
    counters: dict[str, Counter] | None = None


class Taint(Wire):
    key: str = ""
    value: str = ""
    effect: str = ""


class Device(Wire):
    name: str = ""
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    consumes_counters: list[Consumption] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[Taint] | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None


class Pool(Wire):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Wire):
    driver: str = ""
    pool: Pool | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] | None = None
    shared_counters: list[CounterSet] | None = None


class ResourceSlice(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: SliceSpec | None = None


class Expression(Wire):
    expression: str = ""


class Selector(Wire):
    cel: Expression | None = None


class Configuration(Wire):
    requests: list[str] | None = None
    opaque: msgspec.Raw = msgspec.Raw(b"")


class ClassSpec(Wire):
    selectors: list[Selector] | None = None
    config: list[Configuration] | None = None
    extended_resource_name: str | None = None


class DeviceClass(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ClassSpec | None = None


class Toleration(Wire):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequests(Wire):
    requests: dict[str, Quantity] | None = None


class Asked(Wire):
    name: str = ""
    device_class_name: str = ""
    selectors: list[Selector] | None = None
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: list[Toleration] | None = None
    capacity: CapacityRequests | None = None


class Request(Wire):
    name: str = ""
    exactly: Asked | None = None
    first_available: list[Asked] | None = None


class Constraint(Wire):
    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class Devices(Wire):
    requests: list[Request] | None = None
    constraints: list[Constraint] | None = None
    config: list[Configuration] | None = None


class ClaimSpec(Wire):
    devices: Devices | None = None


class Result(Wire):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, Quantity] | None = None


class Results(Wire):
    results: list[Result] | None = None


class Allocation(Wire):
    devices: Results | None = None
    node_selector: NodeSelector | None = None


class Consumer(Wire):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Wire):
    type: str = ""
    status: str = ""


class DeviceStatus(Wire):
    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: list[DeviceCondition] | None = None


class ClaimStatus(Wire):
    allocation: Allocation | None = None
    reserved_for: list[Consumer] | None = None
    devices: list[DeviceStatus] | None = None


class ClaimMetadata(Metadata):
    finalizers: list[str] | None = None


class ResourceClaim(Wire):
    metadata: ClaimMetadata = msgspec.field(default_factory=ClaimMetadata)
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


Object = ResourceSlice | DeviceClass | ResourceClaim
