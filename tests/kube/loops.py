"""Tests on both event loops that there are: what sockets and TLS do differs between them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop


def on_either_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on the event loop of asyncio, and on that of the running scheduler."""

    def run(loop: Callable[[], asyncio.AbstractEventLoop], **arguments: Any) -> None:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(test(**arguments))

    wanted = inspect.signature(test)
    first = inspect.Parameter("loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run.__signature__ = wanted.replace(parameters=[first, *wanted.parameters.values()])  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = test.__name__, test.__doc__
    run.pytestmark = getattr(test, "pytestmark", [])  # type: ignore[attr-defined]
    both = [asyncio.new_event_loop, uvloop.new_event_loop]
    return pytest.mark.parametrize("loop", both, ids=["asyncio", "uvloop"])(run)
