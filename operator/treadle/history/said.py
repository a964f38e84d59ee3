"""What the scheduler said of pods, applications and reservations, kept for longer than the API server keeps its events: preemptions, warnings, ends of lifetimes, decisions on reservations.

That pods were bound is not among it: runs have how many were on nodes at any time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Said:
    """One event: when, in seconds since 1970, the reason, of what (``kind``, ``namespace``, ``name``), of which application (``namespace/name``) and queue as far as they are known, and the words."""

    at: float
    reason: str
    kind: str
    namespace: str
    name: str
    application: str
    queue: str
    note: str


def table_of(metadata: sql.MetaData) -> sql.Table:
    """Return the table in which they are kept."""
    return sql.Table(
        "treadle_events",
        metadata,
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("at", sql.Double, nullable=False, index=True),
        sql.Column("reason", sql.String, nullable=False),
        sql.Column("kind", sql.String, nullable=False),
        sql.Column("namespace", sql.String, nullable=False),
        sql.Column("name", sql.String, nullable=False, index=True),
        sql.Column("application", sql.String, nullable=False, index=True),
        sql.Column("queue", sql.String, nullable=False),
        sql.Column("note", sql.String, nullable=False),
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are asked for; what is empty admits all. ``application`` and ``name`` may have ``*`` for any letters, ``queue`` is one with all below it."""

    application: str = ""
    queue: str = ""
    namespace: str = ""
    name: str = ""
    reason: str = ""
    since: float = 0.0
    most: int = 100


def add(at: sql.Connection, table: sql.Table, said: Iterable[Said]) -> None:
    """Write events."""
    rows = [asdict(one) for one in said]
    if rows:
        at.execute(table.insert(), rows)


def read(at: sql.Connection, table: sql.Table, wanted: Wanted) -> Iterator[Said]:
    """Yield events, the newest first."""
    columns = [table.c[name] for name in Said.__slots__]
    found = sql.select(*columns).where(table.c.at >= wanted.since).order_by(table.c.at.desc(), table.c.id.desc())
    for column, text in ((table.c.application, wanted.application), (table.c.name, wanted.name)):
        if text:
            found = found.where(column.like(pattern(text), escape="\\") if "*" in text else column == text)
    for column, text in ((table.c.namespace, wanted.namespace), (table.c.reason, wanted.reason)):
        if text:
            found = found.where(column == text)
    if wanted.queue:
        found = found.where(below(table.c.queue, wanted.queue))
    for row in at.execute(found.limit(wanted.most)).mappings():
        yield Said(**row)


def below(column: sql.ColumnElement[str], queue: str) -> sql.ColumnElement[bool]:
    """Return the condition that a column has the path of a queue, or of one below it."""
    return sql.or_(column == queue, column.like(pattern(f"{queue}.*"), escape="\\"))


def pattern(text: str) -> str:
    """Return the pattern of LIKE for a text in which ``*`` stands for any letters; a backslash escapes."""
    for special in "\\%_":
        text = text.replace(special, f"\\{special}")
    return text.replace("*", "%")
