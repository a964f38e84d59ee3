"""A headless Chromium, spoken to by its DevTools protocol: open a page, ask it things. Nothing is downloaded; without one, tests skip."""

from __future__ import annotations

import asyncio
import base64
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
needed = pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-port=0",
]


class Page:
    """One open page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.errors: list[str] = []
        self._socket, self._number = socket, 0

    async def call(self, method: str, **params: object) -> dict:
        """Send one command and return its result; what the page complains of meanwhile is kept in ``errors``."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            answer = await self._socket.receive_json()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(answer["params"]["exceptionDetails"]["exception"]["description"])
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.errors.append(answer["params"]["entry"]["text"])
            if answer.get("id") == self._number:
                return answer["result"]

    async def ask(self, expression: str) -> object:
        """Evaluate an expression in the page."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    async def until(self, expression: str, seconds: float = 30) -> object:
        """Evaluate until the answer is true."""
        deadline = time.monotonic() + seconds
        while not (found := await self.ask(expression)):
            assert time.monotonic() < deadline, f"{expression} did not become true; the page says {self.errors}"
            await asyncio.sleep(0.1)
        return found

    async def show(self, url: str, width: int = 1280, height: int = 860, theme: str = "light") -> None:
        """Open an address in a window of a size and a theme; one that differs in what is after # alone is loaded anew as well."""
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=url)

    async def press(self, *keys: str) -> None:
        """Press keys by their names, such as ArrowDown or Enter, or type letters."""
        for key in keys:
            text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
            await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            await self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def picture(self) -> bytes:
        """Return a picture of what is in the window, as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])


@asynccontextmanager
async def opened(url: str, folder: Path) -> AsyncIterator[Page]:
    """Open ``url`` in a Chromium of its own, with ``folder`` for its profile."""
    assert PROGRAM is not None
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *FLAGS,
        f"--user-data-dir={folder}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = await _port(folder / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                target = next(one for one in await answer.json() if one["type"] == "page")
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                for domain in ("Runtime", "Log", "Page"):
                    await page.call(f"{domain}.enable")
                await page.call("Page.navigate", url=url)
                yield page
    finally:
        process.terminate()
        await process.wait()


async def _port(file: Path) -> int:
    deadline = time.monotonic() + 60
    while not (said := _said(file)):
        assert time.monotonic() < deadline, "chromium did not start"
        await asyncio.sleep(0.05)
    return int(said.split()[0])


def _said(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""
