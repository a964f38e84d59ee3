"""The form for a reservation in a real Chromium: what it says while one types, and the manifest that comes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import yaml

from embedded import browser
from page.axe import complaints
from page.editing import EPOCH, editing, reservable
from page.pictures import taken
from page.serving import LIVE, Shown
from rest.changes import GuardedApi
from rest.reviewing import queue
from treadle.api.objects import parse
from treadle.controllers.ledger import Ledger

pytestmark = browser.needed

VERDICT = "document.querySelector('.reserve .verdict').textContent"
TIMES = {"arrival": "2030-03-17T20:00", "deadline": "2030-03-17T23:00"}


class Form:
    def __init__(self, page: browser.Page, shown: Shown, api: GuardedApi) -> None:
        self.page, self.shown, self.api = page, shown, api

    async def press(self, text: str) -> None:
        found = f"[...document.querySelectorAll('.reserve button')].find(button => button.textContent.includes('{text}'))"
        await self.page.until(f"{found} !== undefined")
        await self.page.ask(f"{found}.click()")

    async def write(self, **fields: str) -> None:
        for field, text in fields.items():
            typed = f"input.value = '{text}'; input.dispatchEvent(new Event('input'));"
            await self.page.ask(f"{{ const input = document.getElementById('reserve-{field}'); {typed} }}")

    async def says(self, text: str) -> None:
        await self.page.until(f"{VERDICT}.includes({msgspec.json.encode(text).decode()})")

    async def invalid(self) -> str:
        return str(
            await self.page.ask("[...document.querySelectorAll('.reserve input[aria-invalid]')].map(input => input.id).join()")
        )


@asynccontextmanager
async def opened(folder: Path, width: int = 1100, theme: str = "light") -> AsyncIterator[Form]:
    async with editing(reservable(), {}) as (shown, api), browser.opened("about:blank", folder) as page:
        api.create("namespaces", {"metadata": {"name": "ns"}})
        ledger = Ledger("treadle", lambda _: None)
        ledger.seen("Queue", queue("root.plan", cpu="8", memory="32Gi"))
        shown.entries.update(ledger.entries)
        shown.now = EPOCH
        await page.show(f"{shown.url}/#/queue/root.plan", width, 800, theme)
        await page.until(f"{LIVE} && !document.querySelector('.reserve').hidden")
        form = Form(page, shown, api)
        await form.press("Reserve…")
        await form.write(namespace="ns", demand="cpu=8", count="2", **TIMES)
        yield form


async def test_it_says_whether_it_would_be_accepted_while_one_types_and_what_would_do_instead(tmp_path: Path) -> None:
    async with opened(tmp_path) as form:
        await form.says("It would be accepted: Mar 17, 08:00 PM until Mar 17, 10:00 PM: cpu 8.")
        await form.write(concurrency="2")
        await form.says("It would be refused: GangTooLarge: ")
        await form.press("With 1 at once it would be accepted")
        await form.says("It would be accepted: ")
        assert await form.page.ask("document.getElementById('reserve-concurrency').value") == "1"
        await form.write(duration="2h")
        await form.says("It would be refused: ")
        assert form.api.list("reservations", "ns") == [], "nothing is made"
        assert form.page.errors == []


async def test_the_manifest_says_what_the_fields_do(tmp_path: Path) -> None:
    async with opened(tmp_path) as form:
        await form.write(name="report", recurrence="24h", demand="cpu=2, memory=4Gi")
        written = yaml.safe_load(str(await form.page.ask("document.querySelector('.reserve pre').textContent")))
        request = {"demand": {"cpu": "2", "memory": "4Gi"}, "count": 2, "concurrency": 1, "duration": "1h"}
        assert written["metadata"] == {"name": "report", "namespace": "ns"}
        assert written["spec"] == {
            "queue": "root.plan", "arrival": "2030-03-17T20:00:00Z", "deadline": "2030-03-17T23:00:00Z", "recurrence": "24h",
            "expression": {"requests": [request]},
        }  # fmt: skip
        assert parse("Reservation", written).kind == "Reservation"


async def test_a_mistake_is_told_and_its_field_marked(tmp_path: Path) -> None:
    async with opened(tmp_path) as form:
        await form.write(demand="cpu")
        await form.says("demand: cpu is no amount of a resource")
        assert await form.invalid() == "reserve-demand"
        await form.write(demand="cpu=1", duration="soon")
        await form.says("duration")
        await form.page.until("document.querySelector('.reserve input[aria-invalid]') !== null")
        assert await form.invalid() == "reserve-duration"
        await form.write(duration="1h")
        await form.says("It would be accepted")
        assert await form.invalid() == ""
        form.api.refusals["POST", "reservations", True] = (403, "ann may not make reservations")
        await form.write(count="3")
        await form.says("reservation: ann may not make reservations")


async def test_a_queue_that_takes_none_has_no_form(tmp_path: Path) -> None:
    async with opened(tmp_path) as form:
        await form.page.show(f"{form.shown.url}/#/queue/root.web")
        await form.page.until(f"{LIVE} && document.querySelector('.reserve').hidden")


@pytest.mark.parametrize(("width", "theme"), [(1100, "light"), (320, "dark")])
async def test_the_checker_of_accessibility_finds_nothing_and_it_fits_a_phone(tmp_path: Path, width: int, theme: str) -> None:
    async with opened(tmp_path, width, theme) as form:
        await form.write(concurrency="2")
        await form.says("It would be refused")
        await form.page.ask("document.querySelector('.reserve details').open = true")
        assert await complaints(form.page) == []
        assert await form.page.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


async def test_the_picture_of_the_documentation_is_made(tmp_path: Path) -> None:
    async with opened(tmp_path) as form:
        await form.write(concurrency="2")
        await form.says("It would be refused")
        await form.page.ask("document.querySelector('.reserve').scrollIntoView()")
        assert (await taken(form.page, "page-reserve")).startswith(b"\x89PNG")
