"""The schema of the chart's values. ``schema.py --write`` writes ``values.schema.json``, ``--check`` says whether it differs.

What a value may be is said here, in ``VALUES``. One that becomes an option of ``treadle run`` (``option``) has its type, its choices, its bounds and its description from that command, so that
chart and command cannot say two things; all others have the description that stands above them in ``values.yaml``, which has their defaults as well.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, get_args, get_origin

from docstring_parser import parse
from msgspec import Meta

from treadle.agent.alone import ALLOWED
from treadle.api.opportunistic import URL
from treadle.cli.run import run

FOLDER = Path(__file__).resolve().parent / "treadle"
SCHEMA = FOLDER / "values.schema.json"

Json = dict[str, Any]
Options = tuple[Mapping[str, Any], Mapping[str, str]]
"""Annotations and descriptions of a command's options, by their names."""
JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def options_of(command: Callable[..., Any]) -> Options:
    """Return what a command says of its options: annotations by name, and descriptions."""
    annotations = {name: one.annotation for name, one in inspect.signature(command).parameters.items()}
    described = {one.arg_name: one.description or "" for one in parse(command.__doc__ or "").params}
    return annotations, described


OPTIONS: Options = options_of(run)


def option(name: str, options: Options = OPTIONS, each: Json | None = None, *, said_there: bool = True, **narrower: Any) -> Json:
    """Return the schema of a value that becomes an option. ``narrower`` says more about it, such as what Kubernetes allows in a name, ``each`` about what is in a list.

    Without ``said_there`` it is described by ``values.yaml``: the value means something else than the option where it is empty.
    Raises ``LookupError`` where there is no such option, and ``ValueError`` for what the command says already.
    """
    annotations, described = options
    if name not in annotations:
        raise LookupError(f"there is no option {name}")
    found = annotations[name]
    bounds: Json = {}
    if get_origin(found) is Annotated:
        found, *extras = get_args(found)
        for one in extras:
            if isinstance(one, Meta):
                said = {"minimum": one.ge, "exclusiveMinimum": one.gt, "maximum": one.le, "exclusiveMaximum": one.lt}
                bounds |= {word: bound for word, bound in said.items() if bound is not None}
    if isinstance(found, type) and issubclass(found, Enum):
        schema: Json = {"type": "string", "enum": [one.value for one in found]}
    elif isinstance(found, GenericAlias) and get_origin(found) is tuple:
        schema = {"type": "array", "items": {"type": JSON_TYPES[get_args(found)[0]], **(each or {})}}
    else:
        schema = {"type": JSON_TYPES[found]}
    twice = (schema | bounds).keys() & narrower.keys()
    if twice:
        raise ValueError(f"{name}: {', '.join(sorted(twice))} is said by the command")
    description = {"description": " ".join(described[name].split())} if said_there else {}
    return {**description, **schema, **bounds, **narrower}


def yes() -> Json:
    """Return the schema of a switch."""
    return {"type": "boolean"}


def whole(least: int, most: int) -> Json:
    """Return the schema of a number from ``least`` to ``most``."""
    return {"type": "integer", "minimum": least, "maximum": most}


def text(most: int = 253, pattern: str = "", least: int = 0) -> Json:
    """Return the schema of a text with up to ``most`` characters that matches ``pattern``."""
    return (
        {"type": "string"}
        | ({"minLength": least} if least else {})
        | {"maxLength": most}
        | ({"pattern": pattern} if pattern else {})
    )


def choice(*names: str) -> Json:
    """Return the schema of one of some names."""
    return {"type": "string", "enum": list(names)}


def several(item: Json, **more: Any) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": item, **more}


def anything(**more: Any) -> Json:
    """Return the schema of an object whose insides are Kubernetes' business."""
    return {"type": "object", **more}


def words() -> Json:
    """Return the schema of labels or annotations."""
    return {"type": "object", "additionalProperties": {"type": "string"}}


def closed(properties: Json, **more: Any) -> Json:
    """Return the schema of an object of a list, which has these properties and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties, **more}


PORT = whole(1, 65535)
PART = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
NAME = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
MAYBE = f"^({NAME[1:-1]})?$"
USERS = several(text(256, "^[^\"\\\\']+$", 1), maxItems=64)
DURATION = {"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$"}
RESOURCES = closed({"requests": anything(), "limits": anything(), "claims": {"type": "array"}})
MONITOR: Json = {"enabled": yes(), "interval": DURATION, "labels": words(), "relabelings": several(anything())}
(LEAST_AFTER,) = (int(found) for found in re.findall(r"after=SECONDS, (\d+) or more", ALLOWED))

VALUES: Json = {
    "replicaCount": whole(0, 10),
    "image": {
        "repository": {"type": "string", "minLength": 1},
        "tag": text(128),
        "digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
        "pullPolicy": choice("Always", "IfNotPresent", "Never"),
    },
    "imagePullSecrets": several(closed({"name": {"type": "string", "minLength": 1}}, required=["name"])),
    "nameOverride": text(63, PART),
    "fullnameOverride": text(63, "^([a-z]([-a-z0-9]*[a-z0-9])?)?$"),
    "leaderElection": {"enabled": option("leader_elect")},
    "identity": {
        "source": option("user_source"),
        "controllers": USERS,
        "controllerPrefixes": USERS,
        "webhook": {"enabled": yes(), "timeoutSeconds": whole(1, 30)},
    },
    "access": {"default": option("default_access"), "administration": {"enabled": yes()}},
    "warnings": {"enabled": yes()},
    "extraArgs": several({"type": "string"}),
    "extraEnv": several({"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}}),
    "history": {
        "enabled": yes(),
        "url": option("history", said_there=False, maxLength=2048, pattern="^(|sqlite:////.+|postgres(ql)?://[^:@/]*@?[^@]+)$"),
        "urlSecret": {"name": text(), "key": text(least=1)},
        "days": option("history_days"),
        "sizeLimit": {"type": "string", "minLength": 1},
        "reservations": yes(),
        "persistentVolumeClaim": text(),
    },
    "eta": {"enabled": option("eta")},
    "rest": {"enabled": option("rest"), "audience": option("rest_audience", maxLength=253), "queueChanges": yes()},
    "page": {"enabled": option("page")},
    "crds": {"install": yes()},
    "scheduler": {
        "create": yes(),
        "name": option("name", minLength=1, maxLength=253, pattern=NAME),
        "spec": anything(),
    },
    "opportunistic": {
        "schedulerNames": several(text(pattern=NAME, least=1), maxItems=16, uniqueItems=True),
        "policy": {"enabled": yes()},
        "webhook": {"enabled": yes(), "timeoutSeconds": whole(1, 30)},
        "usage": {
            "kubelets": yes(),
            "prometheus": {
                "secret": text(pattern=MAYBE),
                "url": option("prometheus_address", maxLength=512, pattern=f"^({URL})?$"),
            },
        },
    },
    "agent": {
        "enabled": yes(),
        "port": PORT,
        "podsCgroup": text(pattern="^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$"),
        "alone": {
            "enabled": yes(),
            "cpuPercent": whole(0, 100),
            "memoryPercent": whole(0, 100),
            "afterSeconds": whole(LEAST_AFTER, 86400),
            "borneSamples": whole(0, 3600),
        },
        "priorityClassName": text(),
        "resources": RESOURCES,
        "podAnnotations": words(),
        "podLabels": words(),
        "nodeSelector": words(),
        "tolerations": several(anything()),
    },
    "test": {"queue": text(63, "^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$")},
    "serviceAccount": {"create": yes(), "name": text(), "annotations": words()},
    "rbac": {
        "create": yes(),
        "aggregate": yes(),
        "features": {
            name: yes()
            for name in ("evictions", "deletions", "resizes", "volumes", "devices", "podGroups", "provisioning", "usage")
        },
    },
    "flowControl": {"enabled": yes(), "concurrencyShares": whole(1, 10000)},
    "podDisruptionBudget": {"enabled": yes()},
    "tls": {
        "enabled": yes(),
        "secret": text(pattern=MAYBE),
        "names": option("tls_host", each={"minLength": 1, "maxLength": 253}),
    },
    "metrics": {
        "anonymous": option("anonymous_metrics"),
        "insecureSkipVerify": yes(),
        "tokenSecret": {"name": text(pattern=MAYBE), "key": text(least=1)},
    },
    "service": {"port": PORT, "annotations": words()},
    "ingress": {
        "enabled": yes(),
        "className": text(pattern=MAYBE),
        "host": text(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"),
        "paths": several({"type": "string", "pattern": r"^/[^\s?#]*$"}, minItems=1),
        "tlsSecret": text(pattern=MAYBE),
        "annotations": words(),
    },
    "podMonitor": MONITOR,
    "serviceMonitor": MONITOR,
    "prometheusRule": {"enabled": yes(), "runbookUrl": {"type": "string"}, "labels": words()},
    "dashboards": {
        "enabled": yes(),
        "label": {"type": "string", "minLength": 1},
        "labelValue": {"type": "string"},
        "annotations": words(),
    },
    "networkPolicy": {
        "enabled": yes(),
        "clients": several(
            closed({name: anything() for name in ("podSelector", "namespaceSelector", "ipBlock")}, minProperties=1)
        ),
        "restrictEgress": yes(),
        "apiServerPorts": several(PORT, minItems=1),
        "historyPorts": several(PORT),
        "usagePorts": several(PORT),
    },
    "priorityClassName": text(),
    "resources": RESOURCES,
    "terminationGracePeriodSeconds": whole(1, 3600),
    "podAnnotations": words(),
    "podLabels": words(),
    "nodeSelector": words(),
    "tolerations": several(anything()),
    "affinity": anything(),
    "topologySpread": {"enabled": yes()},
}
"""What has a ``type`` is a value; all else is an object of values, which has no others."""


def descriptions(values: str) -> dict[str, str]:
    """Return the comments ``# -- ...`` of ``values.yaml`` by the path of what stands below them."""
    found: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in values.splitlines():
        bare = line.strip()
        if bare.startswith("# -- "):
            comment = [bare.removeprefix("# -- ")]
        elif bare.startswith("# ") and comment:
            comment.append(bare.removeprefix("# "))
        elif key := re.match(r"( *)([A-Za-z]\w*):", line):
            indent = len(key[1])
            path = [*((depth, name) for depth, name in path if depth < indent), (indent, key[2])]
            if comment:
                found[".".join(name for _, name in path)] = " ".join(comment)
            comment = []
        else:
            comment = []
    return found


def _object(tree: Json, described: Mapping[str, str], above: str) -> Json:
    properties = {}
    for name, below in tree.items():
        path = f"{above}{name}"
        if not isinstance(below.get("type"), str):
            properties[name] = _object(below, described, f"{path}.")
        elif "description" in below:
            properties[name] = below
        elif path in described:
            properties[name] = {"description": described[path], **below}
        else:
            raise LookupError(f"{path} has no comment `# -- ...` in values.yaml")
        if path in described and "description" not in properties[name]:
            properties[name] = {"description": described[path], **properties[name]}
    sections = [name for name, below in tree.items() if not isinstance(below.get("type"), str)]  # which a null would take away
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        **({"required": sections} if sections else {}),
    }


def made() -> str:
    """Return the schema as JSON. Raises ``LookupError`` for a value without a description."""
    schema = _object(VALUES, descriptions((FOLDER / "values.yaml").read_text(encoding="utf-8")), "")
    schema["properties"]["global"] = {"description": "Reserved by Helm for charts that use this one as a part.", "type": "object"}
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart treadle"}
    return json.dumps(head | schema, indent=2) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file or compare it; returns the exit status."""
    if arguments not in (["--write"], ["--check"]):
        print("usage: schema.py --write | --check", file=sys.stderr)
        return 2
    stale = not SCHEMA.exists() or SCHEMA.read_text(encoding="utf-8") != made()
    if stale and arguments == ["--check"]:
        print(f"{SCHEMA} differs from what charts/schema.py makes: run `make schema`", file=sys.stderr)
        return 1
    if stale:
        SCHEMA.write_text(made(), encoding="utf-8")
        print(f"wrote {SCHEMA}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
