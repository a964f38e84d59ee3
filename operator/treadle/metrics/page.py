"""The part of docs/metrics.md that is made from the table, between two marks; what stands around them is written by hand."""

from pathlib import Path

from treadle.metrics.table import GROUPS, Declared

PAGE = Path("docs/metrics.md")
BEGIN, END = "<!-- made by `treadle metrics --write` from the table of metrics -->", "<!-- end of what is made -->"


class NoMarks(Exception):
    """The page has not the two marks between which the tables belong."""


def tables() -> str:
    """Return the tables of all metrics as Markdown, one for each group."""
    return "\n".join(_table(group, declared) for group, declared in GROUPS.items())


def _table(group: str, declared: tuple[Declared, ...]) -> str:
    rows = [f"### {group}\n", "| metric | type | labels | unit | meaning | there |", "| --- | --- | --- | --- | --- | --- |"]
    for one in declared:
        labels, when = ", ".join(one.labels), f"where {one.when}" if one.when else "always"
        rows.append(f"| `{one.name}` | {one.kind} | {labels} | {one.unit} | {one.help} | {when} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    """Return the page with the tables of now. Raises ``NoMarks``."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoMarks(f"{PAGE} needs the lines {BEGIN!r} and {END!r}: the tables are written between them")
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"
