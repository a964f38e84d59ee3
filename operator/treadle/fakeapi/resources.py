"""The table of what is served: built-in kinds as far as a scheduler meets them, and custom kinds read from their CRDs."""

from dataclasses import dataclass, field
from typing import Any

from treadle.fakeapi.errors import Json

Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Resource:
    """One kind at one version; `fields` are its field selectors, `columns` its printer columns as a CRD writes them."""

    plural: str
    kind: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True
    short: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    fields: dict[str, Path] = field(default_factory=dict)
    columns: tuple[Json, ...] = ()
    categories: tuple[str, ...] = ()
    generation: bool = False  # whether the server counts changes of the spec
    blind_update: bool = True  # whether a PUT without a resourceVersion overwrites
    custom: bool = False
    schema: Json = field(default_factory=dict)
    storage: str = ""  # where the objects are kept: two groups of one kind share it

    @property
    def api_version(self) -> str:
        """``v1`` or ``group/version``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """``pods`` or ``queues.treadle.dev``, as in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _built_in(kind: str, group: str = "", short: str = "", *, fields: str = "", columns: str = "", **more: Any) -> Resource:
    plural = "priorityclasses" if kind == "PriorityClass" else f"{kind.lower()}s"
    shown = [column.split("=") for column in columns.split()]
    more["columns"] = tuple(
        {"name": name, "type": "string", "jsonPath": path} for name, path in (*shown, ("Age", ".metadata.creationTimestamp"))
    )
    more["fields"] = {name: tuple(name.split(".")) for name in ("metadata.name", "metadata.namespace", *fields.split())}
    return Resource(plural, kind, group, short=tuple(short.split()), **{"storage": plural} | more)


_POD = "spec.nodeName spec.schedulerName spec.restartPolicy spec.serviceAccountName status.phase status.podIP status.nominatedNodeName"
_EVENT = "reason type reportingComponent involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid"
_EVENT_COLUMNS = "Type=.type Reason=.reason Kind=.involvedObject.kind Object=.involvedObject.name Message=.message"
_BUDGET = "MinAvailable=.spec.minAvailable MaxUnavailable=.spec.maxUnavailable Allowed=.status.disruptionsAllowed"
_PART: Json = {"subresources": ("status",)}

BUILT_IN = (
    _built_in("Namespace", short="ns", fields="status.phase", columns="Status=.status.phase", namespaced=False, **_PART),
    _built_in("Node", short="no", fields="spec.unschedulable", namespaced=False, **_PART),
    _built_in(
        "Pod",
        "",
        "po",
        fields=_POD,
        generation=True,
        subresources=("status", "binding", "eviction", "resize"),
        categories=("all",),
    ),
    _built_in("Event", "", "ev", fields=_EVENT, columns=_EVENT_COLUMNS),
    _built_in("Event", "events.k8s.io", fields=_EVENT, columns=_EVENT_COLUMNS),
    _built_in("ConfigMap", short="cm"),
    _built_in("Service", short="svc", **_PART),
    _built_in("ServiceAccount", short="sa"),
    _built_in("Lease", "coordination.k8s.io", columns="Holder=.spec.holderIdentity", blind_update=False),
    _built_in("PodDisruptionBudget", "policy", "pdb", columns=_BUDGET, generation=True, **_PART),
    _built_in(
        "PriorityClass",
        "scheduling.k8s.io",
        "pc",
        columns="Value=.value Default=.globalDefault",
        namespaced=False,
        generation=True,
    ),
    _built_in("CustomResourceDefinition", "apiextensions.k8s.io", "crd crds", namespaced=False, **_PART),
)


def from_crd(crd: Json) -> Resource:
    """The resource that a CustomResourceDefinition describes, at its storage version."""
    spec, names = crd["spec"], crd["spec"]["names"]
    version: Json = next(version for version in spec["versions"] if version["storage"])
    selectable = [item["jsonPath"].lstrip(".") for item in version.get("selectableFields", ())]
    more = {
        "version": version["name"],
        "namespaced": spec["scope"] == "Namespaced",
        "generation": True,
        "blind_update": False,
        "custom": True,
    }
    age = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    return Resource(
        names["plural"],
        names["kind"],
        spec["group"],
        short=tuple(names.get("shortNames", ())),
        subresources=tuple(version.get("subresources", ())),
        fields={name: tuple(name.split(".")) for name in ("metadata.name", "metadata.namespace", *selectable)},
        columns=tuple(version.get("additionalPrinterColumns", (age,))),
        categories=tuple(names.get("categories", ())),
        schema=version.get("schema", {}).get("openAPIV3Schema", {}),
        storage=f"{names['plural']}.{spec['group']}",
        **more,
    )


def lookup(obj: Any, path: Path) -> Any:
    """The value at `path`, or None where any part of it is missing."""
    for part in path:
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj
