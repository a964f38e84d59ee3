"""What all tiers share."""

from __future__ import annotations

import os

# No proxy stands between a test and the loopback servers that it starts.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"
