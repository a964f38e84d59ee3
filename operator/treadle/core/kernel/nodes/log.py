"""A log of rows, of which the newest entries are kept: a reader that is further behind looks at all nodes."""

from __future__ import annotations

LEAST = 4096
"""Entries that are kept at least."""


class Log:
    """Rows in the order in which something happened to them.

    ``end`` is how many there ever were: the position after the newest.
    """

    __slots__ = ("_rows", "end")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self.end = 0

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, nodes: int) -> None:
        """Add a row; as many entries are kept as there are ``nodes``, and some thousand if those are fewer."""
        rows = self._rows
        rows.append(row)
        self.end += 1
        if len(rows) > LEAST and len(rows) > 2 * nodes:
            del rows[: len(rows) // 2]

    def since(self, position: int) -> list[int] | None:
        """Return the entries from a position on, None if some of them have been dropped."""
        first = position - (self.end - len(self._rows))
        return self._rows[first:] if first >= 0 else None

    def cut(self, end: int) -> None:
        """Drop the entries from a position on, which is the end again; nobody may have read them."""
        count = self.end - end
        if count > len(self._rows):
            self.forget()
        elif count:
            del self._rows[-count:]
            self.end = end

    def forget(self) -> None:
        """Drop all entries and end one further, so that no position that a reader has is up to date."""
        self._rows.clear()
        self.end += 1
