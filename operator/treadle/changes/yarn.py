"""From a change in YARN's words to steps: the properties that the objects stand for, before and after, are converted, and what differs is what is done.

So a change touches the fields that its properties mean, and what objects say beyond YARN's words stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from treadle.api.objects import InvalidObject
from treadle.changes.change import Step, created, deleted, steps_between
from treadle.changes.documents import document_of
from treadle.changes.edits import edited, edits
from treadle.changes.execution import Read
from treadle.changes.yarn_access import LISTS, relisted
from treadle.changes.yarn_update import Inapplicable, Update, applied, new_queues, states
from treadle.convert.capacity_file import PREFIX, CapacityFileError
from treadle.convert.capacity_notes import ACL_SWITCH, concerns
from treadle.convert.capacity_objects import Sources, convert
from treadle.convert.errors import MappingError
from treadle.convert.labels import LabelsUnreadable
from treadle.convert.names import NameRefused, clean
from treadle.convert.to_properties import partitions_of, properties_of

_REFUSED: Final = (CapacityFileError, MappingError, NameRefused, LabelsUnreadable, InvalidObject)
_OF_FILES: Final = "yarn-site.xml was not given"
Documents = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Converted:
    """Documents of the Queues by path, the Scheduler's, and what does not carry over."""

    queues: Documents
    scheduler: dict[str, Any]
    notes: list[str]


def configuration(found: Read) -> dict[str, str]:
    """Return the properties that the objects stand for."""
    return properties_of(_spec(found.scheduler), {path: _spec(raw) for path, raw in found.queues.items()})


def steps_of(found: Read, update: Update, scheduler: str) -> tuple[list[Step], list[str], dict[str, str]]:
    """Return what has to be done, what of it does not carry over, and the properties afterwards. Raises ``Inapplicable``."""
    present = configuration(found)
    wanted = applied(present, update)
    for path in new_queues(present, wanted):
        _check_name(path)
    states(present, wanted)
    labels = partitions_of(_spec(found.scheduler))
    try:
        before = _converted(present, labels)
    except _REFUSED as error:
        if set(found.queues) - {"root"}:
            raise Inapplicable(
                f"what is in force has no form in YARN's words, so nothing can be changed in it by them: {error}"
            ) from None
        before = Converted({"root": {"spec": {}}}, {"spec": {}}, [])
    try:
        after = _converted(wanted, labels)
    except _REFUSED as error:
        raise Inapplicable(str(error)) from None
    if after.scheduler["spec"].get("nodes") != before.scheduler["spec"].get("nodes") and "nodes" in after.scheduler["spec"]:
        raise Inapplicable("a node label is named that is no partition of the Scheduler (spec.nodes.partitions)")
    steps = [
        created("Queue", step.name, after.queues[step.name])
        if step.operation == "Update" and step.name not in found.queues
        else _as_written(found, step, after.queues)
        for step in steps_between("Queue", before.queues, after.queues)
    ]
    everywhere = list(steps_between("Scheduler", {scheduler: before.scheduler}, {scheduler: after.scheduler}))
    if everywhere and found.scheduler is None:
        raise Inapplicable(f"there is no Scheduler {scheduler} to say what is for the whole cluster")
    steps = [step for step in (*steps, *(_as_written(found, step, {}) for step in everywhere)) if step.edits]
    notes = [note for note in after.notes if note not in before.notes]
    said = {note.partition(":")[0] for note in notes}
    notes += [
        f"{name}: is left out; it is no setting of the scheduler"
        for name, _ in update.everywhere
        if name not in said and not concerns(name)
    ]
    return steps, notes, wanted


def _as_written(found: Read, step: Step, after: Documents) -> Step:
    """Return a step on what the object itself says, which is more, and more exact, than its properties: so nothing of it is lost when the step is taken back. ``after`` has the queues as properties say them then."""
    if step.operation == "Create":
        return step
    there = document_of(step.kind, found.objects[step.kind, step.name])
    if step.operation == "Delete":
        return deleted(step.kind, step.name, there)
    made = edited(there, step.edits)
    for name in LISTS & {edit.path[1] for edit in step.edits if step.kind == "Queue" and len(edit.path) > 1}:
        block = relisted(there["spec"].get(name) or {}, after[step.name]["spec"].get(name))
        kept = {field: value for field, value in made["spec"].items() if field != name}
        made["spec"] = kept if block is None else {**kept, name: block}
    return replace(step, edits=tuple(edits(there, made)))


def _converted(properties: Mapping[str, str], labels: str) -> Converted:
    # Access lists are always in force, which is said of no single change.
    converted = convert(Sources({**properties, ACL_SWITCH: "true"}, labels=labels))
    scheduler = next(one for one in converted.objects if one["kind"] == "Scheduler")
    queues = {one["metadata"]["name"]: {"spec": one["spec"]} for one in converted.objects if one["kind"] == "Queue"}
    return Converted(queues, {"spec": scheduler["spec"]}, [note for note in converted.notes if not note.startswith(_OF_FILES)])


def _check_name(path: str) -> None:
    name = path.rpartition(".")[2]
    if clean(name) != name:
        raise Inapplicable(
            f"{PREFIX}{path}: no queue can be called {name!r}, names are lower-case letters, digits and hyphens; {clean(name)!r} could be"
        )


def _spec(raw: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (raw or {}).get("spec") or {}
