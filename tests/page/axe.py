"""axe-core, the checker of accessibility: one script, from npm by the hash of the lock, kept in the cache."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from chart.binaries import folder
from embedded.browser import Page

HERE = Path(__file__).resolve().parent / "axe"
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}"


def script() -> str:
    """Return the script; skips where there is no npm."""
    lock = (HERE / "package-lock.json").read_text()
    cached = folder().parent / "axe"
    done, found = cached / "done", cached / "axe.min.js"
    if not done.exists() or done.read_text() != lock:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("there is no npm")
        with tempfile.TemporaryDirectory() as made:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, made)
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            ran = subprocess.run(command, cwd=made, capture_output=True, text=True, check=False, timeout=300)
            assert ran.returncode == 0, ran.stdout + ran.stderr
            cached.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(made) / "node_modules" / "axe-core" / "axe.min.js", found)
        done.write_text(lock)
    return found.read_text()


async def complaints(page: Page) -> list[str]:
    """Return what is wrong with a page as it is shown now."""
    await page.ask(f"{script()}; 0")
    await page.ask(f"window.axed = null; axe.run(document, {RULES}).then(found => {{ window.axed = found; }}); 0")
    await page.until("window.axed !== null")
    found = await page.ask(
        "axed.violations.flatMap(rule => rule.nodes.map(node => rule.id + ': ' + node.html.slice(0, 200) + ' ' + node.failureSummary))"
    )
    assert isinstance(found, list)
    return found
