"""The picture in docs/reservations.md of a plan, as ``treadle plan --svg`` draws it from the objects in ``docs/pictures/plan.json``.

``python tests/bench/plan_picture.py`` writes ``docs/pictures/plan.svg``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from treadle.controllers.plan_picture import plan_picture
from treadle.controllers.reservations import milliseconds

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def drawn(found: dict[str, Any]) -> str:
    """Return the picture."""
    return plan_picture(found["queue"], found["reservations"], milliseconds(found["from"]), milliseconds(found["until"]))


def main() -> None:
    (FOLDER / "plan.svg").write_text(drawn(json.loads((FOLDER / "plan.json").read_text())))


if __name__ == "__main__":
    main()
