"""The table of what is served: built-in kinds as far as a scheduler meets them, and custom kinds read from their CRDs."""

from collections.abc import Iterable
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


# kind | group | short names | what it has | field selectors | printer columns
_TABLE = """
Namespace || ns | cluster status | status.phase | Status=.status.phase
Node || no | cluster status | spec.unschedulable |
Pod || po | all status binding eviction resize generation | POD |
Event || ev || EVENT | Type=.type Reason=.reason Kind=.involvedObject.kind Object=.involvedObject.name Message=.message
Event | events.k8s.io ||| EVENT | Type=.type Reason=.reason Kind=.involvedObject.kind Object=.involvedObject.name Message=.message
ConfigMap || cm |||
Service || svc | status ||
ServiceAccount || sa |||
Lease | coordination.k8s.io || versioned || Holder=.spec.holderIdentity
PodDisruptionBudget | policy | pdb | status generation || MinAvailable=.spec.minAvailable Allowed=.status.disruptionsAllowed
PersistentVolumeClaim || pvc | status || Status=.status.phase Volume=.spec.volumeName
PersistentVolume || pv | cluster status || Status=.status.phase Claim=.spec.claimRef.name
StorageClass | storage.k8s.io | sc | cluster || Provisioner=.provisioner
CSINode | storage.k8s.io || cluster ||
CSIDriver | storage.k8s.io || cluster ||
CSIStorageCapacity | storage.k8s.io ||||
VolumeAttachment | storage.k8s.io || cluster status || Node=.spec.nodeName
PriorityClass | scheduling.k8s.io | pc | cluster generation || Value=.value Default=.globalDefault
CustomResourceDefinition | apiextensions.k8s.io | crd crds | cluster status ||
"""
_POD = "spec.nodeName spec.schedulerName spec.restartPolicy spec.serviceAccountName status.phase status.podIP status.nominatedNodeName"
_EVENT = (
    "reason type reportingComponent source involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
    "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath"
)


def _built_in(row: str) -> Resource:
    kind, group, short, has, fields, columns = (cell.strip() for cell in row.split("|"))
    plural = _plural(kind.lower())
    shown = (*(column.split("=") for column in columns.split()), ("Age", ".metadata.creationTimestamp"))
    return Resource(
        *(plural, kind, group),
        namespaced="cluster" not in has,
        short=tuple(short.split()),
        subresources=tuple(part for part in ("status", "binding", "eviction", "resize") if part in has),
        fields=_fields(fields.replace("POD", _POD).replace("EVENT", _EVENT).split()),
        columns=tuple({"name": name, "type": "string", "jsonPath": path} for name, path in shown),
        categories=("all",) if "all" in has.split() else (),
        generation="generation" in has,
        blind_update="versioned" not in has,
        storage=plural,
    )


def _plural(name: str) -> str:
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def _fields(dotted: Iterable[str]) -> dict[str, Path]:
    return {name: tuple(name.split(".")) for name in ("metadata.name", "metadata.namespace", *dotted)}


def from_crd(crd: Json) -> Resource:
    """The resource that a CustomResourceDefinition describes, at its storage version."""
    spec, names = crd["spec"], crd["spec"]["names"]
    version: Json = next(version for version in spec["versions"] if version["storage"])
    age = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    return Resource(
        *(names["plural"], names["kind"], spec["group"], version["name"]),
        namespaced=spec["scope"] == "Namespaced",
        short=tuple(names.get("shortNames", ())),
        subresources=tuple(version.get("subresources", ())),
        fields=_fields(item["jsonPath"].lstrip(".") for item in version.get("selectableFields", ())),
        columns=tuple(version.get("additionalPrinterColumns", (age,))),
        categories=tuple(names.get("categories", ())),
        generation=True,
        blind_update=False,
        custom=True,
        schema=version.get("schema", {}).get("openAPIV3Schema", {}),
        storage=f"{names['plural']}.{spec['group']}",
    )


def lookup(obj: Any, path: Path) -> Any:
    """The value at `path`, or None where any part of it is missing."""
    for part in path:
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


BUILT_IN = tuple(_built_in(row) for row in _TABLE.strip().splitlines())
