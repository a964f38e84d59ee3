"""The live page: complete in itself, fed by events, and safe from the names that users choose."""

from __future__ import annotations

import json
import re
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from embedded import browser
from treadle.web import page
from treadle.web.server import serve

STATIC = Path(page.__file__).parent / "static"
FILES = ["treadle.css", "treadle.js", "icon.svg"]
HOSTILE = "<img src=x onerror=document.body.dataset.hacked=1>"


def queue(used: int, fair: int, **more: object) -> dict:
    amounts = {"used": used, "fair_share": fair, "steady_fair_share": fair, "guaranteed": 0, "maximum": None, "pending": 1000}
    return {
        "resources": {"cpu": amounts},
        "applications": {"running": 2, "pending": 1},
        "running_pods": 3,
        "waiting_pods": 4,
        "weight": 1.0,
        "policy": "drf",
        "state": "Running",
        "leaf": True,
        **more,
    }


def tree(name: str = "root.dev", waiting: str = "nightly") -> dict:
    reason = {
        "pod": f"default/{waiting}",
        "application": f"default/{waiting}",
        "queue": name,
        "reason": waiting,
        "message": waiting,
    }
    return {
        "at": 1.0,
        "title": waiting,
        "cluster": {"nodes": 2, "resources": {"cpu": 8000}},
        "pods": {"waiting": 4, "bound": 3, "created": 7, "finished": 0},
        "queues": {"root": queue(3000, 8000, leaf=False), name: queue(3000, 2000)},
        "waiting": [{**reason, "pods": 4, "applications": 1, "ahead": 9}],
    }


async def read(url: str) -> tuple[str, str, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 200
        return await answer.text(), answer.content_type, answer.headers["Content-Security-Policy"]


async def test_the_page_its_script_and_its_style_are_served_with_their_types_and_allow_nothing_from_outside():
    async with serve("127.0.0.1", 0, page.page_routes(tree)) as url:
        types = {name: (await read(f"{url}{name}"))[1] for name in ["/", *(f"/static/{file}" for file in FILES)]}
        policy = (await read(f"{url}/"))[2]

    assert types == {
        "/": "text/html",
        "/static/treadle.css": "text/css",
        "/static/treadle.js": "text/javascript",
        "/static/icon.svg": "image/svg+xml",
    }
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy


@pytest.mark.parametrize("file", ["index.html", *FILES])
def test_no_file_of_the_page_refers_to_anything_outside(file):
    text = (STATIC / file).read_text().replace("http://www.w3.org/2000/svg", "")  # the name of a language, not an address

    assert not re.search(r"https?:|url\(|@import|['\"(]//", text)
    for place in re.findall(r"(?:src|href)=\"([^\"]*)\"", text):
        assert place.startswith(("/static/", "/api/")), place


def test_every_file_of_the_page_is_served():
    assert {file.name for file in STATIC.iterdir()} == {"index.html", *FILES}


def test_the_script_never_makes_markup_of_text():
    script = (STATIC / "treadle.js").read_text()

    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc|setTimeout\(['\"]", script
    )
    assert "onerror" not in script
    assert "textContent" in script
    assert not re.search(r"\son\w+=|<style|style=|<script>", (STATIC / "index.html").read_text())


async def test_the_stream_delivers_the_tree_again_and_again_and_asks_for_a_quick_return():
    numbers = iter(range(100))
    async with (
        serve("127.0.0.1", 0, page.page_routes(lambda: {**tree(), "at": next(numbers)}, every=0.01)) as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/api/stream") as answer,
    ):
        assert answer.content_type == "text/event-stream"
        lines = [(await answer.content.readline()).decode().strip() for _ in range(8)]

    assert lines[0] == "retry: 1000"
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert lines.count("event: tree") == 2
    assert events[0]["queues"].keys() == {"root", "root.dev"}
    assert events[0]["at"] < events[1]["at"]


async def test_many_readers_cost_one_look_at_the_core():
    looks = []
    async with serve("127.0.0.1", 0, page.page_routes(lambda: looks.append(1) or tree(), every=3600)) as url:
        bodies = {(await read(f"{url}/api/tree"))[0] for _ in range(5)}

    assert len(looks) == len(bodies) == 1
    assert json.loads(bodies.pop()) == tree()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_have_enough_contrast_in_both_themes(theme):
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6});", block))
        for block in re.findall(r":root \{(.*?)\}", (STATIC / "treadle.css").read_text(), re.DOTALL)
    )
    colours = light if theme == "light" else light | dark

    for name in ("text", "soft", "bad", "accent"):
        for ground in ("card", "ground"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for name in ("used", "over", "fair", "guaranteed"):
        assert contrast(colours[name], colours["card"]) >= 3, name


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@browser.needed
async def test_a_browser_shows_the_queues_and_why_pods_wait_in_words_that_a_screen_reader_gets_too(tmp_path):
    async with serve("127.0.0.1", 0, page.page_routes(tree, every=0.1)) as url, browser.opened(url, tmp_path) as shown:
        await shown.until("document.getElementById('status').textContent === 'live'")
        rows = await shown.ask(
            "[...document.querySelectorAll('#queues tbody tr')].map(row => row.innerText.split(/\\s+/).join(' '))"
        )
        label = await shown.ask("document.querySelectorAll('#queues [role=img]')[1].getAttribute('aria-label')")
        waiting = await shown.ask("[...document.querySelectorAll('#waiting tbody td')].map(cell => cell.textContent)")

    assert [row.split()[0] for row in rows] == ["root", "dev"]
    assert label == "root.dev uses 3 of 8 cpu, fair share 2, pending 1"
    assert waiting == ["nightly", "nightly", "4", "nightly", "root.dev", "9"]
    assert shown.errors == []


@browser.needed
async def test_a_browser_shows_hostile_names_as_text(tmp_path):
    async with (
        serve("127.0.0.1", 0, page.page_routes(lambda: tree(f"root.{HOSTILE}", HOSTILE), every=0.1)) as url,
        browser.opened(url, tmp_path) as shown,
    ):
        await shown.until("document.getElementById('status').textContent === 'live'")
        text = await shown.ask("document.getElementById('waiting').textContent + document.getElementById('queues').textContent")
        made = await shown.ask("document.querySelectorAll('main img, main script').length")
        hacked = await shown.ask("document.body.dataset.hacked || ''")

    assert text.count(HOSTILE) >= 3
    assert (made, hacked, shown.errors) == (0, "", [])


@browser.needed
async def test_a_browser_says_that_the_connection_is_lost_and_comes_back_by_itself(tmp_path):
    async with AsyncExitStack() as stack:
        async with serve("127.0.0.1", 0, page.page_routes(tree, every=0.1)) as url:
            shown = await stack.enter_async_context(browser.opened(url, tmp_path))
            await shown.until("document.getElementById('status').textContent === 'live'")
        await shown.until("document.getElementById('status').dataset.state === 'lost'")
        async with serve("127.0.0.1", int(url.rpartition(":")[2]), None, page.page_routes(tree, every=0.1)):
            await shown.until("document.getElementById('status').dataset.state === 'live'")
