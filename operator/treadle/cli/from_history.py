"""A Reservation proposed from the history, for ``treadle reserve --from-history``."""

from __future__ import annotations

import time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from sqlalchemy.exc import SQLAlchemyError

from treadle.api.objects import InvalidObject, parse
from treadle.cli.asking import refuse
from treadle.cli.history import check_days
from treadle.controllers.recurrence import OF_A_MACHINE
from treadle.history.proposing import NoProposal, Wishes, propose
from treadle.history.store import BadUrl, NoHistory, OtherVersion, Store
from treadle.runtime.solver import Highs

MOST_RUNS = 10_000
"""Runs that are read at the most, the newest."""


def proposed(
    application: str,
    store: str,
    *,
    days: float,
    name: str = "",
    namespace: str = "",
    queue: str = "",
    time_zone: str = "",
    reprovision: bool = False,
) -> str:
    """Return the YAML of a Reservation for what the runs of an application need, with comments that say what it was made from.

    Where nothing can be proposed the command ends, and says why.
    """
    solver = Highs()
    if solver.problem:
        refuse(f"--from-history: {solver.problem}")
    check_days(days)
    now = time.time()
    try:
        opened = Store(store)
        opened.check_there()
        runs = list(opened.runs(application, "", now - days * 86_400, MOST_RUNS))
        opened.close()
    except BadUrl as error:
        refuse(f"--store: {error}")
    except (SQLAlchemyError, NoHistory, OtherVersion, OSError) as error:
        refuse(f"the history cannot be read: {getattr(error, 'orig', None) or error}")
    try:
        names = (application.partition("/")[2],)
        wishes = Wishes(name, namespace, queue, names, _zone(time_zone), reprovision=reprovision)
        found = propose(runs, solver, now, wishes)
    except NoProposal as error:
        refuse(f"--from-history: nothing is proposed for {application} of the last {days:g} days: {error}")
    try:
        parse("Reservation", found.body)
    except InvalidObject as error:
        refuse(f"--from-history: what would be proposed is no Reservation: {error}; --name, --namespace and --queue say others")
    comments = [f"# {line}" for line in found.reasons]
    return "\n".join([*comments, yaml.safe_dump(found.body, sort_keys=False).rstrip()])


def _zone(name: str) -> ZoneInfo | None:
    if not name or name == "UTC":
        return None
    try:
        return ZoneInfo("" if name.lower() in OF_A_MACHINE else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        refuse(f"--time-zone: {name!r} is no time zone; allowed are names of the time zone database such as Europe/Berlin")
