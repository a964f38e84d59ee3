"""``python -m tests.recordings``: record every log anew, after a change that was meant to change decisions."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from recordings.log import LOGS
from recordings.reserved import reserved
from recordings.workloads import recordings


def main() -> None:
    """Write all logs and say how much each holds."""
    for name, core in chain(recordings(), reserved()):
        path = LOGS / f"{name}.jsonl.gz"
        core.save(path)
        effects = sum(len(line[3]) for line in core.lines if line[0] == "plan")
        sys.stdout.write(f"{name}: {len(core.lines)} lines, {effects} effects, {path.stat().st_size // 1024} KiB\n")


main()
