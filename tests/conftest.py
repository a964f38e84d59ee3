"""What all tiers share."""

from __future__ import annotations

import asyncio
import os

from hypothesis import settings

from examples import SEARCH

# No proxy stands between a test and the loopback servers that it starts.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

# looptime asks for the loop before every test, and a policy that was never told of one makes a loop that nobody closes.
asyncio.set_event_loop(None)

# How long an example takes depends on what else the machine does, and says nothing about it. What passed passes again: a search
# is begun by hand.
settings.register_profile("treadle", deadline=None, derandomize=not SEARCH)
settings.load_profile("treadle")
