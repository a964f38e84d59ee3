"""The documentation as a site: every page is in its index, and every link between pages leads somewhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def build(docs: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(docs), str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_is_made_without_a_warning_and_leads_nowhere_else(tmp_path: Path) -> None:
    done = build(DOCS, tmp_path / "site")
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "site" / "reasons.html").read_text()
    assert "QueueMaximum" in text
    assert 'src="http' not in text, "it loads nothing from elsewhere"
    assert "../charts" not in (tmp_path / "site" / "page.html").read_text(), "what is not on the site is named, not linked"


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(DOCS / "conf.py", docs)
    (docs / "index.md").write_text("# Index\n\n```{toctree}\n\none\n```\n")
    (docs / "one.md").write_text("# One\n\n[there](#one) [page](two.md) [heading](index.md#nowhere)\n")
    done = build(docs, tmp_path / "site")
    assert done.returncode == 1
    assert "two.md" in done.stderr
    assert "nowhere" in done.stderr
