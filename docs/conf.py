"""How the documentation becomes a site: ``make docs``."""

import re

from sphinx.application import Sphinx

import treadle

project = "Treadle"
release = version = treadle.__version__
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"Treadle {release}"
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 4
exclude_patterns = ["pictures/*.json"]

_OUTSIDE = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\.\./([^)\s]+)\)")
"""A link to what is in the repository and not in the documentation."""


def _name_what_is_outside(_: Sphinx, __: str, source: list[str]) -> None:
    """Write links that lead out of the documentation as words: there is nothing of it on the site."""
    source[0] = _OUTSIDE.sub(lambda found: found[1] if found[2] in found[1] else f"{found[1]} (`{found[2]}`)", source[0])


def setup(app: Sphinx) -> None:
    """Take part in the reading."""
    app.connect("source-read", _name_what_is_outside)
