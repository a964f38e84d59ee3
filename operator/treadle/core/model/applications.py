"""Applications as their objects say."""

import re
from dataclasses import dataclass
from functools import lru_cache

from treadle.core.model.gangs import GangSpec, Provisioning
from treadle.core.model.placement_constraints import PlacementConstraint

_NUMBERED = re.compile(r"([-._][^-._/]*\d[^-._/]*)+$")


def family(application: str) -> str:
    """Return the name of an application (``namespace/name``) without the parts with digits at its end, so that the runs of a CronJob are one."""
    return _NUMBERED.sub("", application)


@lru_cache(maxsize=1 << 12)
def name_pattern(text: str) -> re.Pattern[str]:
    """Return what matches a name in which ``*`` stands for any letters, to be asked for all of it."""
    return re.compile(".*".join(re.escape(part) for part in text.split("*")))


@dataclass(frozen=True, slots=True)
class ApplicationSpec:
    """What an Application object says: where its pods are counted, whatever their labels, and how it ranks under fifo."""

    id: str
    queue: str = ""
    priority: int | None = None
    """None: the highest of its pods'."""
    user: str = ""
    groups: tuple[str, ...] = ()
    partition: str = ""
    lifetime: float | None = None
    """Seconds after which it ends, whatever it does; None: its queue's default."""
    created: float | None = None
    """When it was submitted, on the clock of the pods' ``created``; None: when its first pod was made."""
    placement: tuple[PlacementConstraint, ...] = ()
    """Placement constraints, all of which hold for each of its pods."""
    together: str = ""
    """The iterator by which its pods that wait are placed together (``rules.constraints.processor``); empty: each by itself."""
    gangs: tuple[GangSpec, ...] = ()
    """Its pods that start together."""
    provisioning: Provisioning | None = None
    """What is asked of an autoscaler for its gangs; None: what the scheduler's settings say."""
    opportunistic: bool = False
    """Whether its pods that say nothing else are opportunistic."""
    guaranteed: bool = False
    """Whether it says that they are guaranteed: those that were bound as opportunistic ones ask to be promoted."""
    reservation: str = ""
    """The id of the reservation that its pods run in; empty: none."""
    duration: float | None = None
    """The seconds that each of its pods will run that does not say that itself; None: it does not say."""
    deadline: float | None = None
    """When it should have ended, in seconds since 1970; None: it does not say."""
    uid: str = ""
    """That of the object, for what is told about it."""
