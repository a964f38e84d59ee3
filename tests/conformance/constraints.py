"""Cases of placement constraints: what texts mean, and on which nodes a constraint is satisfied.

Whether a node satisfies it is answered by the core that serves: in a pass in which that node alone offers itself the pod is placed there, or not.
"""

from __future__ import annotations

from typing import Any

from treadle.core.core import Core
from treadle.core.effects import Bind
from treadle.core.events import NodeSeen, PodSeen, SchedulerSeen
from treadle.core.model import RACK_LABEL, Constraints, NodeSpec, PodRules, PodSpec, SchedulerSpec
from treadle.core.model.placement_constraints import (
    MOST,
    NAMESPACES,
    And,
    AttributeTarget,
    Or,
    PartitionTarget,
    PlacementConstraint,
    Single,
    TagTarget,
)
from treadle.core.rules.constraints.parsing import ConstraintError, parse_expression, parse_specification

PARTITION = "treadle.dev/partition"
NO_NAMESPACE = "InvalidAllocationTagsQueryException"
CENTRAL = "rm.yarn.io"
NO_VALUE = "NoSuchElementException"


class Unanswered(Exception):
    """Hadoop answers with an exception, whose name this has."""


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") in {"constraint", "constraint_parse"}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    return parsed(case) if case["kind"] == "constraint_parse" else {"nodes": satisfied(case)}


# -- texts


def parsed(case: dict[str, Any]) -> dict[str, Any]:
    text = case["text"]
    try:
        if case["what"] == "expression":
            return {"tree": tree(parse_expression(text))}
        return {
            "spec": [
                {"tag": one.tag, "count": one.count} | ({} if one.constraint is None else {"tree": tree(one.constraint)})
                for one in parse_specification(text)
            ]
        }
    except ConstraintError as error:
        words = {"error": "NoSuchElementException" if error.ended else "PlacementConstraintParseException"}
        return words if case["what"] == "expression" else {"spec": [], **words}


def tree(constraint: PlacementConstraint) -> dict[str, Any]:
    match constraint:
        case And(children) | Or(children):
            return {"type": "and" if isinstance(constraint, And) else "or", "children": [tree(child) for child in children]}
        case Single():
            return {
                "type": "single",
                "scope": constraint.scope,
                "min": constraint.least,
                "max": constraint.most,
                "op": constraint.operator,
                "targets": [target(one) for one in constraint.targets],
            }


def target(one: TagTarget | PartitionTarget | AttributeTarget) -> dict[str, Any]:
    match one:
        case TagTarget():
            return {"type": "ALLOCATION_TAG", "key": one.namespace, "values": list(one.tags)}
        case AttributeTarget():
            return {"type": "NODE_ATTRIBUTE", "key": one.key, "values": list(one.values)}
        case PartitionTarget():
            raise AssertionError("no text means a partition")


# -- nodes


def satisfied(case: dict[str, Any]) -> dict[str, Any]:
    """Which nodes satisfy a constraint."""
    try:
        wanted = tuple(constraints(case))
    except Unanswered as error:
        return {node["id"]: str(error) for node in case["nodes"]}
    return {node["id"]: placed_on(case, node["id"], wanted) for node in case["nodes"]}


def placed_on(case: dict[str, Any], only: str, wanted: tuple[PlacementConstraint, ...]) -> bool:
    core = Core(validate=True)
    core.handle(SchedulerSeen(SchedulerSpec()), 0.0)
    for node in case["nodes"]:
        labels = {RACK_LABEL: node["rack"], PARTITION: node.get("label", "")}
        labels |= attributes(node.get("attributes", []))
        core.handle(NodeSeen(NodeSpec(node["id"], {"pods": 1000}, labels)), 0.0)
    tags_of = {app["id"]: tuple(app["tags"]) for app in case["apps"] if isinstance(app, dict)}
    for number, one in enumerate(container for container in case["containers"] for _ in range(container.get("count", 1))):
        core.handle(PodSeen(pod(f"c{number}", one["app"], one["tags"], tags_of, node=one["node"])), 0.0)
    rules = PodRules("ns", placement=wanted, application=f"ns/{case['app']}") if wanted else None
    core.handle(PodSeen(pod("new", case["app"], case["tags"], tags_of, constraints=Constraints(pods=rules))), 0.0)
    return any(isinstance(effect, Bind) for effect in core.plan(0.0, only=only))


def pod(name: str, app: str, tags: list[str], tags_of: dict[str, tuple[str, ...]], **fields: Any) -> PodSpec:
    return PodSpec(
        name,
        "ns",
        name,
        "treadle",
        demand=(("pods", 1),),
        application=f"ns/{app}",
        tags=tuple(tags),
        application_tags=tags_of.get(app, ()),
        **fields,
    )


def constraints(case: dict[str, Any]) -> list[PlacementConstraint]:
    """The constraints of the request, of its application and of the cluster, all of which must hold."""
    names = [app["id"] if isinstance(app, dict) else app for app in case["apps"]]
    ids = {f"application_1_{number:04}": f"ns/{name}" for number, name in enumerate(names, 1)}
    found = [read(case["constraint"], ids)] if "constraint" in case else []
    for one in (*case.get("app_constraints", ()), *filter(None, [case.get("global_constraint")])):
        if isinstance(one, dict) and "tags" in one:
            if len(one["tags"]) == 1 and one["tags"][0] in case["tags"]:
                found.append(read(one["constraint"], ids))
        else:
            found.append(read(one, ids))
    return found


def read(given: Any, ids: dict[str, str]) -> PlacementConstraint:
    if isinstance(given, str):
        return parse_expression(given)
    if "and" in given:
        return And(tuple(read(child, ids) for child in given["and"]))
    if "or" in given:
        return Or(tuple(read(child, ids) for child in given["or"]))
    if "delayed_or" in given:
        raise Unanswered(NO_NAMESPACE)
    kind, scope = given["type"], given["scope"]
    targets = tuple(sorted((read_target(one, ids) for one in given.get("targets", ())), key=repr))
    if kind == "attribute":
        return Single(scope, -1, -1, targets, given["op"])
    if kind == "cardinality":
        return Single(scope, given["min"], given["max"], (TagTarget(tuple(sorted(given["tags"]))),))
    least, most = {"in": (1, MOST), "notin": (0, 0)}.get(kind) or (given["min"], given["max"])
    return Single(scope, least, most, targets)


def read_target(given: dict[str, Any], ids: dict[str, str]) -> TagTarget | PartitionTarget | AttributeTarget:
    values = tuple(sorted(given.get("values", ())))
    match given["type"]:
        case "partition":
            return PartitionTarget(values)
        case "attribute":
            if not values:
                raise Unanswered(NO_VALUE)
            return AttributeTarget(given["key"], values)
    namespace, _, value = (given.get("ns") or "self").partition("/")
    if namespace not in NAMESPACES:
        raise Unanswered(NO_NAMESPACE)
    return TagTarget(values, namespace, ids.get(value, value) if namespace == "app-id" else value)


def attributes(given: list[dict[str, Any]]) -> dict[str, str]:
    """A node's attributes as labels; the central prefix need not be written."""
    found = {}
    for one in given:
        prefix, name = one.get("prefix", CENTRAL), one["name"]
        found[f"{prefix}/{name}"] = one["value"]
        if prefix == CENTRAL:
            found[name] = one["value"]
    return found
