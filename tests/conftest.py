"""What all tiers share."""

from __future__ import annotations

import asyncio
import os

# No proxy stands between a test and the loopback servers that it starts.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"

# looptime asks for the loop before every test, and a policy that was never told of one makes a loop that nobody closes.
asyncio.set_event_loop(None)
