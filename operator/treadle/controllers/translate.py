"""From the models of our kinds to what the core is told."""

from treadle.api.application import Application
from treadle.api.queue import Queue
from treadle.api.scheduler import Scheduler
from treadle.core.model import ApplicationSpec, Limit, QueueSpec, SchedulerSpec


def queue(model: Queue) -> QueueSpec:
    """Translate a queue; its limits are resolved by the core, against the cluster. Raises ``InvalidSpec``."""
    fair = model.spec.fair
    return QueueSpec(
        path=model.metadata.name,
        weight=float(fair.weight),
        minimum={name: Limit.parse(name, text) for name, text in (fair.min_resources or {}).items()},
        maximum={name: Limit.parse(name, text) for name, text in (fair.max_resources or {}).items()},
        policy=fair.scheduling_policy,
        running=model.spec.state == "Running",
    )


def application(model: Application) -> ApplicationSpec:
    """Translate an application; its id is ``namespace/name``."""
    identity = f"{model.metadata.namespace}/{model.metadata.name}"
    return ApplicationSpec(identity, model.spec.queue or "", model.spec.priority or 0)


def scheduler(model: Scheduler, aliases: tuple[str, ...]) -> SchedulerSpec:
    """Translate the settings; ``aliases`` are those that no other Scheduler has a better claim to."""
    return SchedulerSpec(model.metadata.name, aliases, model.spec.nodes.scoring)
