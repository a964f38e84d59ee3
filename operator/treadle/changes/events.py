"""What a change tells the scheduler: the events that follow from it, as the controllers would tell them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treadle.changes.change import Step, outcome
from treadle.changes.documents import document_of, object_of
from treadle.controllers.ledger import Ledger
from treadle.core.events import Event, QueueGone


def events_of(
    queues: Mapping[str, Any], scheduler: Mapping[str, Any] | None, name: str, steps: Iterable[Step]
) -> tuple[Event, ...]:
    """Return the events of steps that change Queues. ``queues`` are the objects that are there, ``scheduler`` is the Scheduler of that ``name``, by whose resource profiles amounts are read."""
    told: list[Event] = []
    ledger = Ledger(name, told.append)
    if scheduler is not None:
        ledger.seen("Scheduler", scheduler)
    before = {path: document_of("Queue", raw) for path, raw in queues.items()}
    changed = [step for step in steps if step.kind == "Queue"]
    after = outcome(before, changed)
    told.clear()
    for step in changed:
        if step.name in after:
            body = object_of("Queue", step.name, after[step.name])
            ledger.seen("Queue", {**body, "metadata": {**body["metadata"], "generation": 1, "uid": step.name}})
        else:
            told.append(QueueGone(step.name))
    return tuple(told)
