"""``treadle demo``: a whole cluster in one process, to look at."""

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Literal

import uvloop
from cyclopts import Parameter
from cyclopts.validators import Number

from treadle.runtime.demo import DemoFailed, DemoOptions, demonstrating, words
from treadle.runtime.demo_examples import ExamplesMissing


def demo(
    *,
    headless: Annotated[bool, Parameter(negative="")] = False,
    seconds: Annotated[float | None, Parameter(validator=Number(gt=0))] = None,
    json_line: Annotated[bool, Parameter(name="--json", negative="")] = False,
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 8088,
    speed: Annotated[float, Parameter(validator=Number(gt=0, lte=1000))] = 1.0,
    example: Literal["classic", "trace"] = "classic",
    keep: Annotated[bool, Parameter(negative="")] = False,
    log_level: Literal["debug", "info", "warning", "error"] = "warning",
) -> None:
    """Show Treadle at work on a cluster that is pretended in this process; nothing else is needed.

    An API server on loopback, nodes, kubelets and work that never ends; Treadle itself is the real one. Open the page that is
    printed, and use kubectl with the KUBECONFIG that is printed. Ctrl-C ends it.

    Parameters
    ----------
    headless:
        Serve no page.
    seconds:
        End after so many seconds; without it the demo runs until it is ended.
    json_line:
        End with one line of JSON on stdout, and print nothing else there.
    port:
        The page's port on 127.0.0.1; 0 for any that is free.
    speed:
        How many times faster than usual pods run and arrive.
    example:
        classic: an organisation with production and development, Spark-like applications and Jobs. trace: a slice of a production
        GPU cluster.
    keep:
        Clear away nothing that has finished.
    log_level:
        Logs go to stderr.
    """
    level = getattr(logging, log_level.upper())
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("kopf").setLevel(max(level, logging.ERROR))
    options = DemoOptions(example, None if headless else port, speed, keep=keep)
    try:
        uvloop.run(_show(options, seconds, json_line=json_line))
    except (DemoFailed, ExamplesMissing) as error:
        print(f"treadle: {error}", file=sys.stderr)
        raise SystemExit(1) from None


async def _show(options: DemoOptions, seconds: float | None, *, json_line: bool) -> None:
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    said = sys.stderr if json_line else sys.stdout
    async with demonstrating(options) as shown:
        if shown.url:
            print(f"The queue tree, live:  {shown.url}", file=said)
        print(f"For kubectl:           export KUBECONFIG={shown.kubeconfig}", file=said, flush=True)
        await _until(ending, seconds, shown.problem)
        summary, problem = shown.summary(), shown.problem()
    if problem:
        raise DemoFailed(problem)
    print(json.dumps(summary) if json_line else words(summary), flush=True)


async def _until(ending: asyncio.Event, seconds: float | None, problem: Callable[[], str]) -> None:
    loop = asyncio.get_running_loop()
    until = float("inf") if seconds is None else loop.time() + seconds
    while not ending.is_set() and not problem() and (left := until - loop.time()) > 0:
        try:
            async with asyncio.timeout(min(left, 0.5)):
                await ending.wait()
        except TimeoutError:
            pass
