"""The page's files: complete in themselves, asked for by their names alone, and of colours that can be told apart."""

from __future__ import annotations

import re
from pathlib import Path

import aiohttp
import pytest

from treadle.page import files
from treadle.web.server import serve

STATIC = Path(files.__file__).parent / "static"
FILES = sorted(file.name for file in STATIC.iterdir())
SCRIPTS = [name for name in FILES if name.endswith(".js")]


async def test_every_file_is_served_with_its_type_and_allows_nothing_from_outside():
    found = {}
    async with serve("127.0.0.1", 0, files.routes()) as url, aiohttp.ClientSession() as session:
        for name in FILES:
            async with session.get(f"{url}/{'' if name == 'index.html' else f'static/{name}'}") as answer:
                assert await answer.read() == (STATIC / name).read_bytes()
                found[name] = answer.content_type, answer.headers["Content-Security-Policy"]

    kinds = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    for name, (kind, policy) in found.items():
        assert kind == kinds[name.rpartition(".")[2]]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy


def test_all_modules_are_loaded_at_once():
    loaded = re.findall(r'<link rel="modulepreload" href="static/([^"]+)">', (STATIC / "index.html").read_text())
    assert loaded == [name for name in SCRIPTS if name != "main.js"]


async def test_a_file_that_a_browser_has_is_not_sent_again_and_one_that_it_has_not_is_compressed():
    async with serve("127.0.0.1", 0, files.routes()) as url, aiohttp.ClientSession(auto_decompress=False) as session:
        async with session.get(f"{url}/static/grid.js", headers={"Accept-Encoding": "gzip"}) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert len(await answer.read()) < (STATIC / "grid.js").stat().st_size / 2
            tag = answer.headers["ETag"]
        async with session.get(f"{url}/static/grid.js", headers={"If-None-Match": tag}) as answer:
            assert (answer.status, await answer.read()) == (304, b"")
        async with session.get(f"{url}/static/grid.js", headers={"Accept-Encoding": "identity"}) as answer:
            assert await answer.read() == (STATIC / "grid.js").read_bytes()


@pytest.mark.parametrize("file", FILES)
def test_no_file_of_the_page_refers_to_anything_outside(file):
    text = (STATIC / file).read_text().replace("http://www.w3.org/2000/svg", "")  # the name of a language, not an address

    assert not re.search(r"https?:|url\(|@import|['\"(]//", text)
    for place in re.findall(r"(?:src|href)=\"([^\"]*)\"", text):
        assert place.startswith(("static/", "#/")), place
    for place in re.findall(r"from \"([^\"]*)\"", text):
        assert place.removeprefix("./") in FILES


@pytest.mark.parametrize("file", SCRIPTS)
def test_no_script_makes_markup_of_text(file):
    script = (STATIC / file).read_text()

    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc|setTimeout\(['\"]", script
    )
    assert "onerror" not in script
    assert not re.search(r"\son\w+=|<style|style=|<script>", (STATIC / "index.html").read_text())


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
    for name in ("used", "over", "fair", "guaranteed", "edge"):
        assert contrast(colours[name], colours["card"]) >= 3, name


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
