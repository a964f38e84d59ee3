"""What an object of ours says that is allowed, and most likely a mistake: told by the condition ``Suspicious``, while all of it is acted on as it is written.

What can be judged without the cluster and is never meant is refused by the schema. These depend on the nodes that there are, on the queues above, or on the discipline in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from pydantic.alias_generators import to_camel

from treadle.api import conditions as c
from treadle.api.application import Application
from treadle.api.queue import Queue, QueueFair
from treadle.api.reservation import Reservation
from treadle.api.scheduler import Scheduler
from treadle.controllers.in_words import counted
from treadle.core.units.resources import format_amount, is_bytes

if TYPE_CHECKING:
    from treadle.api.queue import Acl
    from treadle.controllers.ledger import Entry
    from treadle.core.views.view import View

MOST_NAMED: Final = 8
"""Resource types of nodes that are named."""
LEAST_BYTES: Final = 1 << 20
"""Below so many bytes a limit is taken for a slip of the unit."""
ALIKE: Final = 0.85
"""How much alike two paths are, of which one is taken for a slip of the other (``difflib``)."""
_AMOUNTS: Final = [
    (one, to_camel(one)) for one in ("min_resources", "max_resources", "max_child_resources", "max_container_allocation")
]
_ACLS: Final = [(one, to_camel(one)) for one in ("submit_acl", "administer_acl", "reserve_acl", "view_acl", "priority_acl")]


_DEFAULTS: Final = tuple((name, field.alias or name, field.get_default()) for name, field in QueueFair.model_fields.items())


def condition_of(entry: Entry, core: View, serving: str, previous: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the condition of an object of which something looks wrong, or did before. ``serving`` is the name of the Scheduler in force; of others nothing is said."""
    model, generation = entry.model, entry.generation
    match model:
        case Queue():
            found = "; ".join(sentences(model, core))
        case Application():
            found = core.queue_missing(f"{entry.namespace}/{entry.name}", model.spec.queue or "")
        case Scheduler() if entry.name == serving:
            found = "; ".join(of_scheduler(model, core))
        case Reservation():
            found = "; ".join(of_reservation(model, core))
        case _:
            found = ""
    if found:
        return [c.condition(c.SUSPICIOUS, status=True, reason=c.LOOKS_WRONG, message=found, generation=generation)]
    if any(one.get("type") == c.SUSPICIOUS for one in previous):
        return [c.condition(c.SUSPICIOUS, status=False, reason=c.NOTHING_LOOKS_WRONG, generation=generation)]
    return []


def of_scheduler(model: Scheduler, core: View) -> Iterator[str]:
    """Yield what looks wrong of the Scheduler in force, field by field."""
    spec, discipline, total, paths = model.spec, core.discipline, core.total, core.paths()
    for block, own in (("fair", "Fair"), ("capacity", "Capacity")):
        if getattr(spec, block) is not None and discipline != own:
            yield f"spec.{block}: counts under the discipline {own}, and {discipline} is in force"
    if spec.fair is not None and (limits := spec.fair.queue_max_resources_default):
        yield from _amounts("spec.fair.queueMaxResourcesDefault", limits, total)
    if headroom := spec.nodes.headroom:
        yield from _amounts("spec.nodes.headroom", headroom, total)
    for number, rule in enumerate(spec.placement_rules or ()):
        if rule.queue is None or rule.queue in paths or rule.create:
            continue
        near = get_close_matches(rule.queue, paths, 1, ALIKE)
        meant = f", did you mean {near[0]}?" if near else ""
        if rule.create is False:
            yield f"spec.placementRules[{number}].queue: there is no queue {rule.queue}{meant}; the rule does not make it"
        elif near:
            yield f"spec.placementRules[{number}].queue: there is no queue {rule.queue}{meant}; the rule makes it with its first application"


def of_reservation(model: Reservation, core: View) -> Iterator[str]:
    """Yield what looks wrong of a reservation, request by request."""
    for number, request in enumerate(model.spec.expression.requests):
        yield from _amounts(f"spec.expression.requests[{number}].demand", request.demand, core.total)


def sentences(model: Queue, core: View) -> Iterator[str]:
    """Yield what looks wrong, field by field."""
    fair, discipline, total = model.spec.fair, core.discipline, core.total
    if model.spec.capacity is not None and discipline != "Capacity":
        yield f"spec.capacity: counts under the discipline Capacity, and {discipline} is in force"
    if discipline != "Fair" and (said := [alias for name, alias, default in _DEFAULTS if getattr(fair, name) != default]):
        yield f"spec.fair ({', '.join(said)}): counts under the discipline Fair, and {discipline} is in force"
    for field, name in _AMOUNTS:
        if limits := getattr(fair, field):
            yield from _amounts(f"spec.fair.{name}", limits, total)
    if discipline == "Fair":
        yield from _shares(model, core, total)
    for field, name in _ACLS:
        lists = getattr(model.spec, field) or ()
        for each in lists if isinstance(lists, list) else (lists,):
            if each:
                yield from _names(f"spec.{name}.users", each)


def _amounts(where: str, limits: Any, total: Mapping[str, int]) -> Iterator[str]:
    if not isinstance(limits, Mapping):
        return
    for name, text in limits.items():
        if total and name not in total:
            near = get_close_matches(name, total, 1)
            nodes = f"did you mean {near[0]}?" if near else f"they have {', '.join(sorted(total)[:MOST_NAMED])}"
            yield f"{where}: no node has {name}; {nodes}"
        elif is_bytes(name) and not str(text).endswith("%") and 0 < (counted(name, text) or 0) < LEAST_BYTES:
            yield f"{where}.{name}: {text} is less than 1Mi"


def _shares(model: Queue, core: View, total: Mapping[str, int]) -> Iterator[str]:
    path, fair = model.metadata.name, model.spec.fair
    if fair.weight == "0" and not fair.min_resources:
        yield "spec.fair.weight: 0 leaves the queue its minimum only, and it has no minResources"
    if not isinstance(fair.min_resources, Mapping):
        return
    above = path.rpartition(".")[0]
    most = core.maximum_of(above)
    for name, text in fair.min_resources.items():
        if str(text).endswith("%") or name not in total:
            continue
        least = counted(name, text)
        if least is None:
            continue
        if least > total[name]:
            yield f"spec.fair.minResources.{name}: {text} is more than all nodes have ({format_amount(name, total[name])})"
        elif least > most.get(name, least):
            yield f"spec.fair.minResources.{name}: {text} is over the maximum of {above} ({format_amount(name, most[name])})"


def _names(where: str, acl: Acl) -> Iterator[str]:
    for name in acl.users or ():
        if "=" not in name and any(letter in " ,;" for letter in name):  # names of certificates have both
            yield f"{where}: {name!r} is one name; each is an entry of its own"
