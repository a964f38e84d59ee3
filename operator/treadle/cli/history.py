"""``treadle history``: what applications have used, when, and how they ended."""

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from sqlalchemy.exc import SQLAlchemyError

from treadle.cli.tables import table
from treadle.core.units.resources import format_amount
from treadle.history.runs import Run, used
from treadle.history.store import BadUrl, NoHistory, OtherVersion, QueueSample, Store

HEADS = ("APPLICATION", "QUEUE", "USER", "STARTED", "WAITED", "RAN", "PODS", "OUTCOME", "USED")
QUEUE_HEADS = ("AT", "USED", "PENDING", "GUARANTEED", "RUNNING", "ACCEPTED", "WAITING PODS")


def history(
    application: str = "",
    *,
    store: Annotated[str, Parameter(env_var="TREADLE_HISTORY")],
    queue: str = "",
    samples: bool = False,
    days: float = 7.0,
    most: int = 100,
    output: Literal["table", "json"] = "table",
) -> None:
    """Show runs of applications, the newest first, or with `--samples` what a queue has held.

    Parameters
    ----------
    application:
        NAMESPACE/NAME; * stands for any letters.
    store:
        Where the history is: sqlite:////FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE.
    queue:
        A queue, with all below it; with --samples that queue alone.
    samples:
        Show the samples of the queue instead of runs.
    days:
        How many days to look back.
    most:
        How many runs to show at the most.
    output:
        A table, or a line of JSON for each.
    """
    if samples and not queue:
        _refuse("--samples: name the queue with --queue")
    if samples and application:
        _refuse(f"--samples: shows what a queue has held, and nothing of {application}; leave one of them out")
    check_days(days)
    if most < 1:
        _refuse(f"--most: {most} is less than 1")
    try:
        opened = Store(store)
        opened.check_there()
        since = time.time() - days * 86_400
        found: list[Run] | list[QueueSample] = (
            list(opened.queue_samples(queue, since)) if samples else list(opened.runs(application, queue, since, most))
        )
    except BadUrl as error:
        _refuse(f"--store: {error}")
    except (SQLAlchemyError, NoHistory, OtherVersion, OSError) as error:
        _refuse(f"the history cannot be read: {getattr(error, 'orig', None) or error}", 1)
    if output == "json":
        for one in found:
            print(msgspec.json.encode(asdict(one)).decode())
        return
    rows = [_sample(one) if isinstance(one, QueueSample) else _run(one) for one in found]
    for line in table([QUEUE_HEADS if samples else HEADS, *rows]):
        print(line)


def check_days(days: float) -> None:
    """End the command where days to look back are none; infinitely many are all."""
    if not days > 0:
        _refuse(f"--days: {days:g} is not more than 0")


def _run(run: Run) -> tuple[str, ...]:
    until = run.ended or time.time()
    total = used(run.steps, until)
    return (
        run.application,
        run.queue,
        run.user,
        _when(run.started),
        f"{run.started - run.submitted:.0f}s",
        f"{until - run.started:.0f}s",
        str(run.pods),
        run.outcome if run.ended else "",
        " ".join(f"{name}={_hours(name, value)}" for name, value in sorted(total.items())),
    )


def _hours(name: str, amount_seconds: float) -> str:
    hours = amount_seconds / 3600
    if name == "cpu":
        return f"{hours / 1000:.4g}h"
    return f"{hours / 2**30:.4g}Gi*h" if name in {"memory", "ephemeral-storage"} else f"{hours:.4g}h"


def _sample(one: QueueSample) -> tuple[str, ...]:
    amounts = (_amounts(each) for each in (one.used, one.pending, one.guaranteed))
    return (_when(one.at), *amounts, str(one.running), str(one.accepted), str(one.waiting_pods))


def _amounts(amounts: Mapping[str, int]) -> str:
    return " ".join(f"{name}={format_amount(name, value)}" for name, value in sorted(amounts.items()))


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _refuse(why: str, status: int = 2) -> None:
    print(f"treadle: {why}", file=sys.stderr)
    raise SystemExit(status) from None
