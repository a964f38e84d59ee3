"""How the command starts: with what it needs and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAM = """
import sys
from treadle.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([name for name in sys.modules if name.startswith("treadle.core.kernel")], file=sys.stderr)
"""


def test_files_are_converted_without_loading_the_scheduler_that_places_pods() -> None:
    for example in ("fair-scheduler.xml", "capacity-scheduler.xml"):
        found = subprocess.run(
            [sys.executable, "-c", PROGRAM, "convert", str(next(EXAMPLES.rglob(example)))],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (found.returncode, found.stderr) == (0, "[]\n")
        assert "kind: Queue" in found.stdout
