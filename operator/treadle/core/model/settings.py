"""The times by which the core goes, and what it is given from outside."""

from dataclasses import dataclass

from treadle.core.model.access import DefaultAccess
from treadle.core.model.programs import Solver


@dataclass(slots=True)
class Settings:
    """Times of the core, in seconds, and what others do for it."""

    report_after: float = 3.0
    """How long a pod waits before its owner is told why: a burst that is placed at once writes nothing."""
    report_again: float = 30.0
    """How long a reported reason stands before another one may overwrite it."""
    refresh_after: float = 300.0
    """How long a message stands before a newer one with the same reason overwrites it."""
    retry_first: float = 1.0
    """The wait after a first transient bind failure; it doubles with each."""
    retry_most: float = 60.0
    expire_after: float = 60.0
    """How long a placement is assumed before the API server is asked what became of it, again and again."""
    epoch: float = 0.0
    """What the clock by which pods and applications were made shows when ``now`` is 0.

    Without it no lifetime ends where the clocks differ.
    """
    update_interval: float = 0.5
    """How often totals, limits and shares follow the cluster (FairScheduler's update-interval)."""
    default_access: DefaultAccess = DefaultAccess.OPEN
    """Whom the absent access lists of the root let in."""
    solver: Solver | None = None
    """What solves integer programs, where a Scheduler asks for that; None: nothing does."""
