"""``treadle top``: the tree of queues, drawn again and again."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Literal

from cyclopts import Parameter

from treadle.cli.asking import refuse
from treadle.cli.leader import HERE, Where
from treadle.cli.queues import drawn, known

CLEAR = "\x1b[H\x1b[2J"
DAY = 86_400.0


def top(
    queue: str = "root",
    /,
    *,
    every: float = 2.0,
    once: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[Literal["table", "wide"], Parameter(name=["--output", "-o"])] = "table",
    where: Where = HERE,
) -> None:
    """Draw the tree of queues as `treadle queues` does, again and again until it is interrupted.

    Parameters
    ----------
    queue:
        The queue at the top.
    every:
        Seconds between two times, 0.5 at least.
    once:
        Once alone.
    output:
        A table, or a wide one.
    """
    if not 0 < every <= DAY:
        refuse(f"--every: {every:g} is not a number of seconds up to {DAY:g}", 2)
    try:
        while True:
            lines = list(drawn(known(queue, where), queue, output))
            clear = CLEAR if sys.stdout.isatty() else ""
            print(f"{clear}{time.strftime('%H:%M:%S')}  {queue}\n" + "\n".join(lines), flush=True)
            if once:
                return
            time.sleep(max(0.5, every))
    except KeyboardInterrupt:
        return
