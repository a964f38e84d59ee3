"""``treadle metrics``: what there is to be watched, from the table of metrics."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from treadle.metrics.page import PAGE, NoMarks, page, tables


def metrics(
    *,
    write: Annotated[bool, Parameter(negative="")] = False,
    check: Annotated[bool, Parameter(negative="")] = False,
    root: Path = Path(),
) -> int:
    """Print the metrics of a scheduler as tables of Markdown, or keep a checkout's docs/metrics.md up to date.

    Parameters
    ----------
    write
        Write the tables into docs/metrics.md instead of printing.
    check
        Compare them instead; exit 1 if they differ.
    root
        The checkout.
    """
    if write and check:
        print("treadle metrics: --write and --check exclude each other", file=sys.stderr)
        return 2
    if not write and not check:
        print(tables(), end="")
        return 0
    path = root / PAGE
    if not path.is_file():
        print(
            f"treadle metrics: there is no {PAGE} in {root.resolve()}; run in a checkout or name one with --root", file=sys.stderr
        )
        return 2
    text = path.read_text(encoding="utf-8")
    try:
        made = page(text)
    except NoMarks as error:
        print(f"treadle metrics: {error}", file=sys.stderr)
        return 2
    if write:
        path.write_text(made, encoding="utf-8")
        print(f"wrote {path}")
        return 0
    if made != text:
        print(f"{path} differs from the table of metrics: run `treadle metrics --write`", file=sys.stderr)
        return 1
    return 0
