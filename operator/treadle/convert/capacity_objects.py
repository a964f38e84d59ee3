"""From the properties of capacity-scheduler.xml and yarn-site.xml to our objects, with a line for each setting that does not carry over.

The file is held against Hadoop's own rules first: capacities that do not add up, kinds that are mixed or a mapping rule to a
queue that cannot be are refused as the CapacityScheduler refuses to start (``CapacitySchedulerQueueManager``,
``CSMappingPlacementRule``).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from treadle.api.acted import not_acted_on
from treadle.api.labels import API_VERSION
from treadle.api.objects import parse
from treadle.convert import labels, reservable
from treadle.convert.capacity_blocks import Blocks, allocation, order_of
from treadle.convert.capacity_file import PREFIX, CapacityFile, CapacityFileError, read
from treadle.convert.capacity_notes import ACL_SWITCH, JSON_FILE, MOST, left_out
from treadle.convert.capacity_settings import removes_queues, settings
from treadle.convert.errors import MappingError
from treadle.convert.mapping import FORMAT, overrides, read_rules
from treadle.convert.mapping_json import JSON_TEXT
from treadle.convert.mapping_objects import mapping
from treadle.convert.names import ROOT, RULE, Renames
from treadle.convert.objects import Converted
from treadle.convert.texts import acl, priority_acl, unique
from treadle.core.model.capacity import CapacityQueueSpec
from treadle.core.rules.capacity.auto.names import TreeNames
from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.rules.capacity.validation import Refused
from treadle.core.rules.placement.mapping import InvalidMapping, Mapper
from treadle.core.rules.placement.names import path_problem
from treadle.core.units.resources import UNBOUNDED, ResourceTypes

_TYPES: Final = "yarn.resource-types"
_ACLS: Final = {
    "acl_submit_applications": "submitAcl",
    "acl_administer_queue": "administerAcl",
    "acl_submit_reservations": "reserveAcl",
}
PRIORITIES: Final = "acl_application_max_priority"


@dataclass(frozen=True, slots=True)
class Sources:
    """Properties by name of capacity-scheduler.xml and, if there is one, of yarn-site.xml; the text of a file of mapping rules; of node labels."""

    file: Mapping[str, str]
    site: Mapping[str, str] | None = None
    rules: str | None = None
    labels: str | None = None


def convert(sources: Sources) -> Converted:
    """Return the Scheduler and the Queues.

    Raises ``CapacityFileError``, ``MappingError``, ``NameRefused`` or ``LabelsUnreadable``, and ``InvalidObject`` for what is
    more than our objects hold.
    """
    values = {**(sources.site or {}), **sources.file}
    if sources.rules is not None:
        values |= {FORMAT: "json", JSON_TEXT: sources.rules}
    exclusive = labels.read(sources.labels) if sources.labels is not None else {}
    file = _checked(values, exclusive)
    result = Converted()
    renamed = Renames()
    blocks = Blocks(labels.Partitions(), result.notes)
    for label in exclusive:
        blocks.partitions.of(label)
    removed = sources.site is None or removes_queues(file.properties)
    made: dict[str, dict[str, Any]] = {}
    for path, spec in file.queues.items():
        ours = path if path == ROOT else renamed.add(path)
        if ours.rpartition(".")[2] != path.rpartition(".")[2]:
            result.notes.append(f"queue {path} becomes {ours}: {RULE}")
        found = made.get(file.alike.get(path, ""))
        if found is None:
            told = len(result.notes)
            found = _queue(path, spec, file, blocks, removed=removed)
            if len(result.notes) == told:  # each of those that have a line gets its own
                made[path] = found
        result.objects.append({"apiVersion": API_VERSION, "kind": "Queue", "metadata": {"name": ours}, "spec": found})
    result.objects.insert(0, _scheduler(values, file, renamed, blocks, sources))
    result.notes += left_out(values, file.queues)
    result.notes += _unsure(values, sources)
    result.notes += _not_acted_on(result.objects)
    return result


def _checked(values: Mapping[str, str], exclusive: Mapping[str, bool]) -> CapacityFile:
    """Read the properties, and refuse what Hadoop refuses."""
    types = unique(name.strip() for name in values.get(_TYPES, "").split(","))
    file = read(values, types, exclusive)
    numbers = ResourceTypes()
    named = unique([*types, *(name for spec in file.queues.values() for name in _types(spec))])
    for name in named:
        numbers.position(name)
    said = file.settings.most if f"{MOST}mb" in values else {}
    most = {**dict.fromkeys(("memory", "cpu", *named), UNBOUNDED), **said}
    specs = {
        path: spec if spec.order is None else replace(spec, order=order_of(spec.order)) for path, spec in file.queues.items()
    }
    try:
        context = Context(numbers, replace(file.settings, most=most))
        tree = CapacityTree(specs, context, undeclared=file.undeclared, computed=False, alike=file.alike)
    except Refused as error:
        raise CapacityFileError(PREFIX.rstrip("."), str(error), error.hadoop) from None
    rules = read_rules(values)
    try:
        Mapper(rules, TreeNames(tree), override=overrides(values))
    except InvalidMapping as error:
        raise MappingError(str(error), "IOException") from None
    return file


def _types(spec: CapacityQueueSpec) -> Iterator[str]:
    """Yield the resource types that a queue, or a template of it, names."""
    for share in spec.partitions.values():
        yield from (*share.guaranteed.types, *share.maximum.types)
    yield from spec.max_allocation
    made = (spec.flexible.common, spec.flexible.leaf, spec.flexible.parent, spec.managed.template if spec.managed else None)
    for template in made:
        if template is not None:
            yield from _types(template)


def _scheduler(
    values: Mapping[str, str], file: CapacityFile, renamed: Renames, blocks: Blocks, sources: Sources
) -> dict[str, Any]:
    block = settings(file.properties, blocks, with_site=sources.site is not None)
    block |= mapping(values, renamed, blocks.notes)
    spec: dict[str, Any] = {"discipline": "Capacity", "capacity": block}
    named = unique([*file.settings.partitions, *(label for one in file.queues.values() for label in _labels(one))])
    if named:
        spec["nodes"] = {
            "partitions": [
                {"name": blocks.partitions.of(label), "exclusive": file.settings.partitions.get(label, True)} for label in named
            ]
        }
    unknown = [label for label in named if label not in file.settings.partitions]
    if unknown:
        blocks.notes.append(
            f"node labels {', '.join(unknown)}: taken to be exclusive; give --node-labels what 'yarn cluster --list-node-labels' prints"
        )
    blocks.notes += [f"node label {old} becomes {new}: {RULE}" for old, new in blocks.partitions.renamed.items()]
    return {"apiVersion": API_VERSION, "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}


def _labels(spec: CapacityQueueSpec) -> list[str]:
    """Return the node labels that a queue names."""
    named = [*spec.partitions, *sorted(spec.accessible or ()), spec.default_partition or "", *sorted(spec.enforced_partitions)]
    return [label for label in named if label not in {"", "*"}]


def _queue(path: str, spec: CapacityQueueSpec, file: CapacityFile, blocks: Blocks, *, removed: bool) -> dict[str, Any]:
    """Return the spec of a Queue, which those that say the same share."""
    prefix = f"{PREFIX}{path}."
    found: dict[str, Any] = {}
    if spec.state == "STOPPED":
        if path == ROOT:
            blocks.notes.append(f"{prefix}state: the root cannot be stopped; it is Running")
        else:
            found["state"] = "Stopped"
    if spec.max_parallel is not None:
        found["maxRunningApplications"] = max(0, spec.max_parallel)
    for name, field in _ACLS.items():
        text = file.properties.text(prefix + name)
        if text is not None:
            found[field] = acl(text)
    _priorities(prefix, file, found, blocks.notes)
    block = blocks.block(spec, prefix) | blocks.making(spec, prefix, removed=removed)
    if path == ROOT and "maximumAllocation" not in block:
        most = {"memory": f"{MOST}mb", "cpu": f"{MOST}vcores"}
        said = {kind: int(file.properties.number(name, 0)) for kind, name in most.items() if file.properties.text(name)}
        if said:
            block["maximumAllocation"] = allocation(said)
    if block or path != ROOT:
        found["capacity"] = block
    reservations = reservable.block(file.properties, path, blocks.notes)
    if reservations is not None:
        found["reservations"] = reservations
    return found


def _priorities(prefix: str, file: CapacityFile, found: dict[str, Any], notes: list[str]) -> None:
    text = file.properties.text(prefix + PRIORITIES)
    if text is None:
        return
    try:
        entries = priority_acl(text)
    except ValueError as error:
        notes.append(f"{prefix}{PRIORITIES}: is left out; {error}")
        return
    if entries:
        found["priorityAcl"] = entries


def _unsure(values: Mapping[str, str], sources: Sources) -> list[str]:
    """Return what depends on files that were not given, and on Hadoop's switch for access lists."""
    notes = []
    if sources.site is None:
        notes.append(
            "yarn-site.xml was not given: preemption is off, and priorities have no ceiling, unless capacity-scheduler.xml says so"
        )
    if any(
        name.endswith(".reservable") and text.strip().lower() == "true" for name, text in values.items()
    ) and not reservable.is_on(values):
        notes.append(
            f"{reservable.SYSTEM}enable: is not true, but queues that are reservable take reservations; take spec.reservations out"
        )
    if JSON_FILE in values and not values.get(JSON_TEXT, "").strip():
        notes.append(f"{JSON_FILE}: give --mapping-rules {values[JSON_FILE]}; without it no application is mapped")
    restricts = any(name.endswith((*_ACLS, PRIORITIES)) for name in values)
    if restricts and values.get(ACL_SWITCH, "false").strip().lower() != "true":
        notes.append(
            f"{ACL_SWITCH}: is not true, but access lists are always in force; take submitAcl, administerAcl, reserveAcl and priorityAcl out"
        )
    return notes


def _not_acted_on(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what is accepted and not acted on; of queues that say the same the first is looked at, since files have thousands of them."""
    known: dict[str, list[str]] = {}
    notes = []
    for one in objects:
        kind, name, spec = one["kind"], one["metadata"]["name"], one["spec"]
        said = f"{name == ROOT} {spec}" if kind == "Queue" and "reservations" not in spec and not path_problem(name) else name
        if said not in known:
            known[said] = not_acted_on(parse(kind, one))
        notes += [f"{kind} {name}: {path} is accepted but not acted on yet" for path in known[said]]
    return notes
