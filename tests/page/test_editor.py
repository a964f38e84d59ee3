"""The form for a queue in a real Chromium: what it previews, says of mistakes, writes as a manifest, and changes after a word only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from embedded import browser
from page.axe import complaints
from page.editing import by_capacity, editing, limited
from page.pictures import taken
from page.serving import LIVE, Shown
from rest.changes import GuardedApi

pytestmark = browser.needed

TEXT = "document.querySelector('.editor').innerText.replace(/\\s+/g, ' ')"
MAXIMUM = "edit-spec-fair-maxResources"


class Form:
    """The form of a queue that is open."""

    def __init__(self, page: browser.Page, shown: Shown, api: GuardedApi) -> None:
        self.page, self.shown, self.api = page, shown, api

    async def press(self, text: str, within: str = ".editor form, .editor > button") -> None:
        buttons = f"[...document.querySelectorAll('{within}')].flatMap(e => e.tagName === 'BUTTON' ? [e] : [...e.querySelectorAll('button')])"
        await self.page.ask(f"{buttons}.find(button => button.textContent === '{text}').click()")

    async def write(self, field: str, text: str) -> None:
        typed = f"input.value = '{text}'; input.dispatchEvent(new Event('input'));"
        await self.page.ask(f"{{ const input = document.getElementById('{field}'); {typed} }}")

    async def begin(self) -> None:
        await self.press("Edit")
        await self.page.until(f"!document.querySelector('.editor form').hidden && document.getElementById('{MAXIMUM}') !== null")

    async def says(self, text: str) -> None:
        await self.page.until(f"{TEXT}.includes({msgspec.json.encode(text).decode()})")

    @property
    def spec(self) -> dict[str, Any]:
        return dict(self.api.get("queues", "root.data.etl")["spec"]["fair"])


@asynccontextmanager
async def opened(folder: Path, width: int = 1100, theme: str = "light") -> AsyncIterator[Form]:
    async with editing() as (shown, api), browser.opened("about:blank", folder) as page:
        await page.show(f"{shown.url}/#/queue/root.data.etl", width, 800, theme)
        await page.until(LIVE)
        form = Form(page, shown, api)
        await form.begin()
        yield form


async def test_an_edit_is_looked_at_written_as_a_manifest_and_made_after_a_word_that_names_it(tmp_path):
    async with opened(tmp_path) as form:
        page = form.page
        assert await page.ask(f"document.getElementById('{MAXIMUM}').value") == "cpu=40"
        await form.write(MAXIMUM, "cpu=60")
        await form.press("Preview")
        await form.says("20 pods would be placed, 0 would wait, and 0 would be asked to go.")
        await form.says("root.data.etl cpu 40 60 40 60")
        await form.says("n-40 Would be placed ns/nightly root.data.etl node-5 0 s")
        written = yaml.safe_load(str(await page.ask("document.querySelector('.editor pre').textContent")))
        assert written["spec"] == {"fair": {"maxResources": {"cpu": "60"}}}
        assert (written["kind"], written["metadata"]) == ("Queue", {"name": "root.data.etl"})
        await form.press("Apply…")
        asked = "document.querySelector('dialog').innerText"
        assert "Change root.data.etl?\nspec.fair.maxResources: cpu=40 becomes cpu=60" in str(await page.ask(asked))
        await form.press("Cancel", "dialog")
        assert form.spec["maxResources"] == {"cpu": "40"}
        await form.press("Apply…")
        await form.press("Apply", "dialog")
        await form.says("Change 1 is made.")
        assert form.spec["maxResources"] == {"cpu": "60"}
        assert page.errors == []


async def test_a_mistake_is_told_at_its_field_and_nothing_is_made(tmp_path):
    problem = f"document.getElementById('{MAXIMUM}-problem').textContent"
    async with opened(tmp_path) as form:
        await form.write(MAXIMUM, "cpu")
        words = "spec.fair.maxResources: cpu is no amount of a resource, such as cpu=10, memory=40Gi, or memory=50%"
        await form.page.until(f"{problem} === '{words}'")
        await form.write(MAXIMUM, "cpu=many")
        assert await form.page.ask(problem) == ""
        await form.press("Preview")
        await form.page.until(f"{problem}.includes('maxResources')")
        assert (
            await form.page.ask("document.activeElement.id + document.activeElement.getAttribute('aria-invalid')")
            == f"{MAXIMUM}true"
        )
        await form.press("Apply…")
        await form.press("Apply", "dialog")
        await form.page.until(f"{problem}.includes('maxResources')")
        assert form.spec["maxResources"] == {"cpu": "40"}


async def test_under_the_capacity_discipline_the_form_has_its_fields(tmp_path):
    scenario, written = by_capacity()
    async with editing(scenario, written, "Capacity") as (shown, api), browser.opened("about:blank", tmp_path) as page:
        form = Form(page, shown, api)
        await page.show(f"{shown.url}/#/queue/root.prod")
        await page.until(LIVE)
        await form.press("Edit")
        await page.until("!document.querySelector('.editor form').hidden")
        fields = (
            "[...document.querySelectorAll('.editor input')].map(input => `${input.id.split('-').at(-1)}=${input.value}`).join()"
        )
        assert await page.ask(fields) == (
            "guaranteed=40%,maximum=50%,userLimitFactor=,maximumApplications=,priority=,maxRunningApplications=,state="
        )
        await form.write("edit-spec-capacity-maximum", "100%")
        await form.write("edit-spec-capacity-userLimitFactor", "5")
        await form.press("Preview")
        await form.says("7 pods would be placed")
        await form.says("root.prod cpu 6400m 6400m 7 14")
        await form.write("edit-spec-capacity-guaranteed", "41%")
        await form.press("Preview")
        problems = "[...document.querySelectorAll('.editor .problem')].map(e => e.textContent).filter(Boolean)"
        (problem,) = await page.until(f"{problems}.length && {problems}")
        assert "the children's sum is 101%; it must be 0 or 100" in problem


async def test_what_somebody_else_has_written_meanwhile_is_not_written_over(tmp_path):
    async with opened(tmp_path) as form:
        there = form.api.get("queues", "root.data.etl")
        form.api.update("queues", {**there, "spec": {**there["spec"], "maxRunningApplications": 7}})
        await form.write(MAXIMUM, "cpu=60")
        await form.press("Apply…")
        await form.press("Apply", "dialog")
        await form.says("Somebody has changed queues or the Scheduler since you began. Close, and begin again.")
        assert form.spec["maxResources"] == {"cpu": "40"}
        await form.press("Close")
        await form.begin()
        assert await form.page.ask("document.getElementById('edit-spec-maxRunningApplications').value") == "7"


async def test_who_may_not_read_or_write_a_queue_is_told_so_in_the_words_of_the_api_server(tmp_path):
    async with opened(tmp_path) as form:
        form.api.refusals["PUT", "root.data.etl", True] = (403, "ann may not write root.data.etl")
        await form.write(MAXIMUM, "cpu=60")
        await form.press("Preview")
        await form.says("ann may not write root.data.etl")
        await form.press("Close")
        form.api.refusals["GET", "root.data.etl", False] = (403, "ann may not get queues")
        await form.press("Edit")
        await form.says("ann may not get queues")


async def test_what_is_emptied_is_not_in_the_manifest_and_an_edit_of_nothing_is_none(tmp_path):
    async with opened(tmp_path) as form:
        await form.press("Apply…")
        await form.says("Nothing is changed.")
        assert await form.page.ask("document.querySelector('dialog').open") is False
        await form.write(MAXIMUM, "")
        await form.write("edit-spec-fair-weight", "2.5")
        await form.write("edit-spec-maxRunningApplications", "3")
        written = yaml.safe_load(str(await form.page.ask("document.querySelector('.editor pre').textContent")))
        assert written["spec"] == {"fair": {"weight": "2.5"}, "maxRunningApplications": 3}


async def test_without_what_if_there_is_no_form_and_without_changes_nothing_to_apply(tmp_path):
    async with editing() as (shown, _), browser.opened("about:blank", tmp_path) as page:
        hidden = "document.querySelector('.editor').hidden"
        shown.offers.remove("changes")
        await page.show(f"{shown.url}/#/queue/root.data.etl")
        await page.until(f"{LIVE} && !{hidden}")
        assert (
            await page.ask("[...document.querySelectorAll('.editor button')].find(b => b.textContent === 'Apply…').hidden")
            is True
        )
        shown.offers.clear()
        await page.show(f"{shown.url}/#/queue/root.data.etl")
        await page.until(f"{LIVE} && {hidden}")


@pytest.mark.parametrize(("width", "theme"), [(1100, "light"), (320, "dark")])
async def test_the_checker_of_accessibility_finds_nothing_in_the_form_and_it_fits_a_phone(tmp_path, width, theme):
    async with opened(tmp_path, width, theme) as form:
        await form.write(MAXIMUM, "cpu=60")
        await form.press("Preview")
        await form.says("20 pods would be placed")
        await form.page.ask("document.querySelector('.editor details').open = true")
        assert await complaints(form.page) == []
        assert await form.page.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        await form.press("Apply…")
        assert await complaints(form.page) == []


async def test_manifests_are_yaml_that_says_the_same(tmp_path):
    said = {
        "spec": {"a": [], "b": {}, "c": [1, {"d": ["yes", "no", "1e3", "0x1", "2030-01-01", "~", "null"]}, [["deep"], -0.5, None, True]]},
        "words": ["", " x", "a: b", "# c", "- d", "é\n\t\"'\\", "<img src=x>", "*", "&e", "%f", "@g", "`h", "[i", "{j", "|", ">", "12", "root.etl"],
        "treadle.dev/x": {"y/n": "on", "on": "y", "1": "60%"},
    }  # fmt: skip
    async with Shown(limited()).served() as shown, browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/")
        await page.until(LIVE)
        text = msgspec.json.encode(said).decode()
        await page.ask(f"window.made = ''; import('/static/yaml.js').then(({{ yaml }}) => {{ window.made = yaml({text}); }}); 0")
        assert yaml.safe_load(str(await page.until("window.made"))) == said


async def test_the_picture_of_the_documentation_is_made(tmp_path):
    async with opened(tmp_path) as form:
        await form.page.show(f"{form.shown.url}/#/queue/root.data.etl", 1100, 760)
        await form.page.until(LIVE)
        await form.begin()
        await form.write(MAXIMUM, "cpu=60")
        await form.press("Preview")
        await form.says("20 pods would be placed")
        await form.page.ask("document.querySelector('.editor').scrollIntoView()")
        assert (await taken(form.page, "page-change")).startswith(b"\x89PNG")
