"""The store of the history: SQLite in a file, or PostgreSQL. Everything here blocks; it is called in a thread of its own.

At most one run of an application is unfinished. Who finds one that another instance began goes on with it: what that one saw before stands.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from treadle.history import said
from treadle.history.runs import UNKNOWN, Run, Step, thinned
from treadle.history.said import below, pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from treadle.history.said import Said, Wanted

VERSION = 1
SECONDS_TO_CONNECT = 10
SKEW = 5.0
"""Seconds by which the clocks of two instances, and what they have seen, may differ."""
CHUNK = 500
"""How many applications are asked for at once."""
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+pg8000", "postgres": "postgresql+pg8000"}

metadata = sql.MetaData()
version = sql.Table("treadle_history_version", metadata, sql.Column("version", sql.Integer, nullable=False))
runs = sql.Table(
    "treadle_runs",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("application", sql.String, nullable=False, index=True),
    sql.Column("queue", sql.String, nullable=False),
    sql.Column("user", sql.String, nullable=False),
    sql.Column("submitted", sql.Double, nullable=False),
    sql.Column("started", sql.Double, nullable=False),
    sql.Column("ended", sql.Double, index=True),
    sql.Column("seen", sql.Double, nullable=False),
    sql.Column("outcome", sql.String, nullable=False),
    sql.Column("pods", sql.Integer, nullable=False),
    sql.Column("succeeded", sql.Integer, nullable=False),
    sql.Column("failed", sql.Integer, nullable=False),
    sql.Column("deleted", sql.Integer, nullable=False),
    sql.Column("steps", sql.JSON, nullable=False),
)
samples = sql.Table(
    "treadle_queue_samples",
    metadata,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("path", sql.String, nullable=False),
    sql.Column("at", sql.Double, nullable=False, index=True),
    sql.Column("used", sql.JSON, nullable=False),
    sql.Column("pending", sql.JSON, nullable=False),
    sql.Column("guaranteed", sql.JSON, nullable=False),
    sql.Column("running", sql.Integer, nullable=False),
    sql.Column("accepted", sql.Integer, nullable=False),
    sql.Column("waiting_pods", sql.Integer, nullable=False),
)
events = said.table_of(metadata)


class BadUrl(ValueError):
    """The URL of a history is not one; the message says what is allowed, without a password."""


class NoHistory(Exception):
    """Nothing was ever kept in a store; the message names it."""


class OtherVersion(Exception):
    """The tables were made by another version of Treadle."""


@dataclass(frozen=True, slots=True)
class QueueSample:
    """What a queue had at a time; amounts as in the core."""

    path: str
    at: float
    used: dict[str, int]
    pending: dict[str, int]
    guaranteed: dict[str, int]
    running: int
    accepted: int
    waiting_pods: int


def url_of(text: str) -> sql.URL:
    """Return the URL of a store. Raises ``BadUrl``."""
    try:
        url = make_url(text)
    except ArgumentError:
        url = None
    driver = None if url is None else _DRIVERS.get(url.drivername)
    if url is None or driver is None or (driver == "sqlite" and not url.database):
        what = "it" if url is None else repr(url.render_as_string(hide_password=True))
        raise BadUrl(
            f"{what} is not the URL of a history; allowed are sqlite:////FILE and postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
        )
    return url.set(drivername=driver)


class Store:
    """An open store. Every method may raise ``sqlalchemy.exc.SQLAlchemyError`` and ``OSError``, and can be called again then."""

    def __init__(self, text: str) -> None:
        self.url = url_of(text)
        self.name = self.url.render_as_string(hide_password=True)
        lite = self.url.drivername == "sqlite"
        self._engine = sql.create_engine(
            self.url,
            poolclass=sql.pool.NullPool if lite else None,
            pool_pre_ping=not lite,
            connect_args={"timeout": SECONDS_TO_CONNECT},
        )
        self._ready = False
        self._continued: dict[str, tuple[int, Run | None]] = {}
        """By application: the unfinished row, and what was in it when it was found; None where we made it."""

    def open(self) -> None:
        """Make the tables where they are not there. Raises ``OtherVersion``."""
        if self._ready:
            return
        if self.url.drivername == "sqlite":
            Path(str(self.url.database)).parent.mkdir(parents=True, exist_ok=True)
        metadata.create_all(self._engine)
        with self._engine.begin() as at:
            if self.url.drivername == "sqlite":
                at.exec_driver_sql("PRAGMA journal_mode=WAL")
            found = at.execute(sql.select(version.c.version)).scalar()
            if found is None:
                at.execute(version.insert().values(version=VERSION))
            elif found != VERSION:
                raise OtherVersion(f"{self.name} has version {found} of the history's tables, and this is version {VERSION}")
        self._ready = True

    def check_there(self) -> None:
        """Raise ``NoHistory`` where nothing was ever kept: who only reads makes no tables, and no file."""
        if self.url.drivername == "sqlite" and not Path(str(self.url.database)).exists():
            raise NoHistory(f"there is none in {self.name}")
        if not sql.inspect(self._engine).has_table(version.name):
            raise NoHistory(f"there is none in {self.name}: it has no table {version.name}")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def forget(self) -> None:
        """Forget which rows are continued: another instance may have gone on with them."""
        self._continued.clear()

    @contextmanager
    def _changing(self) -> Iterator[sql.Connection]:
        """Open a transaction. After a failure nothing that is known of the tables counts: there may be others by then, or none."""
        try:
            self.open()
            with self._engine.begin() as at:
                yield at
        except (SQLAlchemyError, OSError):
            self._ready, self._continued = False, {}
            raise

    def write(
        self,
        over: Sequence[Run],
        under_way: Sequence[Run],
        queues: Sequence[QueueSample],
        now: float,
        watched_from: float = float("inf"),
        told: Sequence[Said] = (),
    ) -> None:
        """Write runs that are over, runs as they are by now, samples of queues and events: all of it or nothing.

        ``watched_from`` is since when the caller has seen all that happened: of a run that began later it has counted each pod itself.
        """
        with self._changing() as at:
            found = dict(self._continued)
            self._look_up(at, [run for run in (*over, *under_way) if run.application not in found], found)
            for run in (*over, *under_way):
                row, before = found.get(run.application, (None, None))
                whole = run if before is None else continued(before, run, watched_from)
                values = {**_columns(whole), "seen": now}
                if row is not None:
                    if not at.execute(runs.update().where(runs.c.id == row).values(values)).rowcount:
                        row = _insert(at, values)  # somebody has deleted it
                elif run.ended is None or not _is_there(at, run):
                    row = _insert(at, values)
                if run.ended is not None or row is None:
                    found.pop(run.application, None)
                else:
                    found[run.application] = (row, before)
            if queues:
                at.execute(samples.insert(), [asdict(one) for one in queues])
            said.add(at, events, told)
        self._continued = found

    def _look_up(self, at: sql.Connection, wanted: Sequence[Run], found: dict[str, tuple[int, Run | None]]) -> None:
        names = sorted({run.application for run in wanted})
        for first in range(0, len(names), CHUNK):
            of = runs.c.application.in_(names[first : first + CHUNK])
            for row in at.execute(sql.select(runs).where(of, runs.c.ended.is_(None))).mappings():
                found[row["application"]] = (row["id"], run_of(row))

    def end_orphans(self, under_way: Iterable[str]) -> int:
        """End the unfinished runs of applications that are not under way: they ended while nobody watched, at the latest when they were last written. Returns how many."""
        known = set(under_way)
        with self._changing() as at:
            rows = at.execute(sql.select(runs.c.id, runs.c.application, runs.c.seen).where(runs.c.ended.is_(None))).all()
            lost = [row for row in rows if row.application not in known]
            for row in lost:
                at.execute(runs.update().where(runs.c.id == row.id).values(ended=row.seen, outcome=UNKNOWN))
                self._continued.pop(row.application, None)
        return len(lost)

    def prune(self, runs_before: float, samples_before: float) -> int:
        """Delete runs that ended, and samples that were taken and events that were told, before these times. Returns how many rows went."""
        with self._changing() as at:
            gone = at.execute(runs.delete().where(runs.c.ended < runs_before)).rowcount
            gone += at.execute(events.delete().where(events.c.at < samples_before)).rowcount
            return gone + at.execute(samples.delete().where(samples.c.at < samples_before)).rowcount

    def delete_run(self, application: str, started: float) -> bool:
        """Delete a run that is over, the one of an application that began at a time, to the ms; returns whether there was one."""
        when = sql.and_(runs.c.started >= started - 0.0006, runs.c.started < started + 0.0006)
        with self._changing() as at:
            return bool(
                at.execute(runs.delete().where(runs.c.application == application, when, runs.c.ended.is_not(None))).rowcount
            )

    def runs(self, application: str = "", queue: str = "", since: float = 0.0, most: int = 100) -> Iterator[Run]:
        """Yield runs, those that began last first. ``application`` may have ``*`` for any letters; ``queue`` is one with all below it."""
        for _, run in self.numbered_runs(application, queue, since, most):
            yield run

    def numbered_runs(
        self, application: str = "", queue: str = "", since: float = 0.0, most: int = 100
    ) -> Iterator[tuple[int, Run]]:
        """Yield runs as ``runs`` does, each with the number of its row, which stays its own and is greater than those of runs that were written before."""
        self.open()
        wanted = sql.select(runs).where(runs.c.started >= since).order_by(runs.c.started.desc(), runs.c.id.desc()).limit(most)
        if application:
            wanted = wanted.where(runs.c.application.like(pattern(application), escape="\\"))
        if queue:
            wanted = wanted.where(below(runs.c.queue, queue))
        with self._engine.connect() as at:
            for row in at.execute(wanted).mappings():
                yield row["id"], run_of(row)

    def applications(self) -> list[str]:
        """Return the names of all applications that have a run."""
        self.open()
        with self._engine.connect() as at:
            return list(at.execute(sql.select(runs.c.application).distinct()).scalars())

    def queue_samples(self, path: str, since: float = 0.0) -> Iterator[QueueSample]:
        """Yield the samples of a queue, oldest first."""
        self.open()
        wanted = sql.select(samples).where(samples.c.path == path, samples.c.at >= since).order_by(samples.c.at)
        with self._engine.connect() as at:
            for row in at.execute(wanted).mappings():
                yield QueueSample(**{name: row[name] for name in QueueSample.__slots__})

    def events(self, wanted: Wanted) -> Iterator[Said]:
        """Yield events, the newest first."""
        self.open()
        with self._engine.connect() as at:
            yield from said.read(at, events, wanted)


def continued(before: Run, run: Run, watched_from: float = float("inf")) -> Run:
    """Return a run that another instance began as one.

    Who has watched since before it began has counted all its pods, those that ended at once as well, so its own account stands alone. For another one, what the
    first saw stands until the other saw it, and pods that had ended by then count.
    """
    if before.started >= watched_from + SKEW:
        return replace(
            run,
            user=run.user or before.user,
            submitted=min(before.submitted, run.submitted),
            started=min(before.started, run.started),
            outcome=run.outcome or before.outcome,
        )
    steps = [step for step in before.steps if step.at < run.known_from]
    ended = steps[-1].ended if steps else (0, 0, 0)
    ours = [
        step._replace(ended=(ended[0] + step.ended[0], ended[1] + step.ended[1], ended[2] + step.ended[2])) for step in run.steps
    ]
    return Run(
        run.application,
        run.queue,
        run.user or before.user,
        min(before.submitted, run.submitted),
        min(before.started, run.started),
        run.known_from,
        run.ended,
        run.pods + sum(ended),
        run.succeeded + ended[0],
        run.failed + ended[1],
        run.deleted + ended[2],
        run.outcome or before.outcome,
        thinned([*steps, *ours]),
    )


def run_of(row: Any) -> Run:
    """Return the run of a row."""
    return Run(
        row["application"],
        row["queue"],
        row["user"],
        row["submitted"],
        row["started"],
        row["started"],
        row["ended"],
        row["pods"],
        row["succeeded"],
        row["failed"],
        row["deleted"],
        row["outcome"],
        [
            Step(at, dict(amounts), pods, (succeeded, failed, deleted))
            for at, amounts, pods, (succeeded, failed, deleted) in row["steps"]
        ],
    )


def _columns(run: Run) -> dict[str, Any]:
    names = ("application", "queue", "user", "submitted", "started", "ended", "pods", "succeeded", "failed", "deleted", "outcome")
    return {**{name: getattr(run, name) for name in names}, "steps": [list(step) for step in run.steps]}


def _insert(at: sql.Connection, values: dict[str, Any]) -> int:
    key = at.execute(runs.insert().values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def _is_there(at: sql.Connection, run: Run) -> bool:
    """Whether a run that is over has been written by another instance, which saw it as well."""
    assert run.ended is not None
    overlaps = sql.and_(runs.c.application == run.application, runs.c.started <= run.ended, runs.c.ended >= run.started)
    return at.execute(sql.select(runs.c.id).where(overlaps).limit(1)).scalar() is not None
