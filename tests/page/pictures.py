"""The pictures of the documentation, which tests make."""

from __future__ import annotations

import os
from pathlib import Path

from embedded import browser

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"


async def taken(page: browser.Page, name: str) -> bytes:
    """Return a picture of what is in the window; with TREADLE_PICTURES set it is written as the documentation's."""
    made = await page.picture()
    if os.environ.get("TREADLE_PICTURES"):
        (FOLDER / f"{name}.png").write_bytes(made)
    return made
