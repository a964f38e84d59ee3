"""The CustomResourceDefinitions, generated from the models: one source for what we read and what the API server accepts.

Pydantic's JSON schema becomes Kubernetes' structural schema (``apiextensions.k8s.io/v1``): references are put in place, optional
types lose their null, titles go. What JSON schema cannot say (CEL rules, list types, int-or-string) stands in the models as
``json_schema_extra``. The files in ``crds/`` and the chart's copies are checked in and compared with this in CI.
"""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from treadle.api import fields
from treadle.api.labels import GROUP, VERSION
from treadle.api.objects import KINDS, NAMESPACED, PLURALS

Schema = dict[str, Any]

_SHORT_NAMES: Final = {"Scheduler": "tsched", "Queue": "tq", "Application": "tapp", "Reservation": "tres"}
_SELECTABLE: Final = {
    "Scheduler": [".spec.discipline"],
    "Queue": [".spec.state", ".status.state"],
    "Application": [".spec.queue", ".status.queue", ".status.phase"],
    "Reservation": [".spec.queue", ".status.phase"],
}
_READY: Final = '.status.conditions[?(@.type=="Ready")].status'
_AGE: Final = ("Age", "date", ".metadata.creationTimestamp", 0)
# name, type, path, priority (1 is shown by -o wide only)
_COLUMNS: Final[dict[str, list[tuple[str, str, str, int]]]] = {
    "Scheduler": [
        ("Discipline", "string", ".spec.discipline", 0),
        ("Scoring", "string", ".spec.nodes.scoring", 0),
        ("Nodes", "integer", ".status.nodes", 0),
        ("Queues", "integer", ".status.queues", 0),
        ("Ready", "string", _READY, 0),
        _AGE,
    ],
    "Queue": [
        ("State", "string", ".status.state", 0),
        ("Share", "string", ".status.inWords.share", 0),
        ("Used", "string", ".status.inWords.used", 0),
        ("Of share", "string", ".status.inWords.ofShare", 0),
        ("Pending", "string", ".status.inWords.pending", 0),
        ("Weight", "string", ".spec.fair.weight", 1),
        ("Policy", "string", ".spec.fair.schedulingPolicy", 1),
        ("Guaranteed", "string", ".spec.capacity.guaranteed", 1),
        ("Maximum", "string", ".spec.capacity.maximum", 1),
        ("Running", "integer", ".status.applications.running", 0),
        ("Waiting", "integer", ".status.applications.pending", 0),
        ("Ready", "string", _READY, 0),
        _AGE,
    ],
    "Application": [
        ("Queue", "string", ".status.queue", 0),
        ("Phase", "string", ".status.phase", 0),
        ("Running", "integer", ".status.pods.running", 0),
        ("Pending", "integer", ".status.pods.pending", 0),
        ("Start", "string", ".status.eta.firstPodStart.median", 0),
        ("End", "string", ".status.eta.end.median", 1),
        ("User", "string", ".status.user", 1),
        ("Waiting", "string", ".status.waiting.reason", 0),
        ("Message", "string", ".status.waiting.message", 1),
        _AGE,
    ],
    "Reservation": [
        ("Queue", "string", ".spec.queue", 0),
        ("Phase", "string", ".status.phase", 0),
        ("Arrival", "string", ".spec.arrival", 1),
        ("Deadline", "string", ".spec.deadline", 1),
        ("Next start", "string", ".status.nextStart", 0),
        ("Reason", "string", '.status.conditions[?(@.type=="Ready")].reason', 0),
        ("Message", "string", '.status.conditions[?(@.type=="Ready")].message', 1),
        _AGE,
    ],
}
# The order of a schema's keys: what a reader looks for first, and the long ones last.
_FIRST: Final = ("description", "type", "format", "default", "enum", "required")
_LAST: Final = ("x-kubernetes-validations", "items", "additionalProperties", "properties")
_HEADER: Final = "# Made by `treadle crds --write` from operator/treadle/api: change the models, not this file.\n"
ADMINISTRATORS: Final = "administratorlists"
_KEEP: Final = {"helm.sh/resource-policy": "keep"}


def crd(kind: str) -> Schema:
    """The CustomResourceDefinition of one of our kinds."""
    plural = PLURALS[kind]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if kind in NAMESPACED else "Cluster",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [_SHORT_NAMES[kind]],
                "categories": ["treadle"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "selectableFields": [{"jsonPath": path} for path in _SELECTABLE[kind]],
                    "additionalPrinterColumns": [_column(*column) for column in _COLUMNS[kind]],
                    "schema": {"openAPIV3Schema": schema(kind)},
                }
            ],
        },
    }


def _column(name: str, kind: str, path: str, priority: int) -> Schema:
    column: Schema = {"name": name, "type": kind, "jsonPath": path}
    return {**column, "priority": priority} if priority else column


def schema(kind: str) -> Schema:
    """The structural schema of one of our kinds."""
    raw = KINDS[kind].model_json_schema(by_alias=True)
    made = structural(raw, raw.get("$defs", {}))
    properties = made["properties"]
    # The API server owns these three and lets a schema say nothing else of them.
    properties["apiVersion"] = {"type": "string"}
    properties["kind"] = {"type": "string"}
    properties["metadata"] = {"type": "object"}
    made["required"] = [name for name in made.get("required", ()) if name not in {"apiVersion", "kind", "metadata"}]
    if not made["required"]:
        del made["required"]
    return made


def structural(node: Schema, definitions: dict[str, Schema]) -> Schema:
    """A JSON schema of pydantic's as a structural schema.

    Raises ``TypeError`` for what has no structural form, such as a union of an object and a string.
    """
    node = {key: value for key, value in node.items() if key not in {"title", "$defs"}}
    if "$ref" in node:
        target = definitions[node.pop("$ref").rpartition("/")[2]]
        return structural({**target, **node}, definitions)
    if "anyOf" in node and not node.get("x-kubernetes-int-or-string"):
        return structural(_without_null(node), definitions)
    if node.get("default", ...) is None:
        del node["default"]
    if "const" in node:
        node["enum"] = [node.pop("const")]
    for bound, name in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if bound in node:
            node[name], node[bound] = node[bound], True
    if "description" in node:
        node["description"] = _plain(node["description"])
    node = _with_children(node, definitions)
    order = [*(key for key in _FIRST if key in node), *sorted(key for key in node if key not in _FIRST and key not in _LAST)]
    return {key: node[key] for key in (*order, *(key for key in _LAST if key in node))}


def _without_null(node: Schema) -> Schema:
    options = [option for option in node.pop("anyOf") if option.get("type") != "null"]
    if len(options) != 1:
        raise TypeError(f"a union of {len(options)} types has no structural schema: {options}")
    return {**options[0], **node}


def _with_children(node: Schema, definitions: dict[str, Schema]) -> Schema:
    if "properties" in node:
        node["properties"] = {name: structural(child, definitions) for name, child in node["properties"].items()}
    if "items" in node:
        node["items"] = structural(node["items"], definitions)
    if isinstance(node.get("additionalProperties"), dict):
        node["additionalProperties"] = structural(node["additionalProperties"], definitions)
    else:
        node.pop("additionalProperties", None)
    return node


def _plain(text: str) -> str:
    """A docstring's first paragraph in one line and without markup, as ``kubectl explain`` shows it."""
    return " ".join(text.split("\n\n", maxsplit=1)[0].replace("``", "").split())


class _Dumper(yaml.SafeDumper):
    """No anchors, and lists set in below their key."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def document(definition: Schema) -> str:
    """A definition as the text of its file."""
    return _HEADER + yaml.dump(definition, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=140)


def administrator_list() -> Schema:
    """The CustomResourceDefinition of the list of who may administer queues, which the scheduler writes for the API server's admission.

    It is no ConfigMap, since the API server stops to watch the parameters of a policy of one of its own kinds for good when the last binding that has any goes: after a release
    was uninstalled and installed again, none would be found until the API server restarts. Kinds that are defined like this are watched anew.
    """
    names = {
        "kind": "AdministratorList",
        "listKind": "AdministratorListList",
        "plural": ADMINISTRATORS,
        "singular": "administratorlist",
    }
    fields = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "data": {
            "description": "By the path of a queue: a line for each who may administer it, user:NAME or group:NAME.",
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
    }
    described = "Who may administer queues, by their access lists in force. The scheduler writes it, and a policy reads it."
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{ADMINISTRATORS}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": names,
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"description": described, "type": "object", "properties": fields}},
                }
            ],
        },
    }


def files(root: Path) -> Iterator[tuple[Path, str]]:
    """The files made from the models, below a checkout's root: ``crds/``, the chart's copies, which Helm is told to keep, and the page of all fields."""
    yield root / "docs" / "fields.md", fields.page([crd(kind) for kind in KINDS])
    for made in (*(crd(kind) for kind in KINDS), administrator_list()):
        name = f"{GROUP}_{made['spec']['names']['plural']}.yaml"
        yield root / "crds" / name, document(made)
        kept = copy.deepcopy(made)
        kept["metadata"]["annotations"] = dict(_KEEP)
        yield root / "charts" / "treadle" / "files" / "crds" / name, document(kept)


def write(root: Path) -> list[Path]:
    """Write the files that differ; the answer names them."""
    changed = []
    for path, text in _differing(root):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        changed.append(path)
    return changed


def stale(root: Path) -> list[Path]:
    """The files that are missing, differ from the models, or belong to no kind any more."""
    expected = {path for path, _ in files(root)}
    folders = {path.parent for path in expected}
    found = {path for folder in folders if folder.is_dir() for path in folder.glob("*.yaml")}
    return sorted({path for path, _ in _differing(root)} | (found - expected))


def _differing(root: Path) -> list[tuple[Path, str]]:
    same: Callable[[Path, str], bool] = lambda path, text: path.is_file() and path.read_text(encoding="utf-8") == text  # noqa: E731
    return [(path, text) for path, text in files(root) if not same(path, text)]
