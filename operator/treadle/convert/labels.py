"""Node labels, which are our partitions, as YARN's own tools write them.

``yarn cluster --list-node-labels`` prints ``Node Labels: <gpu:exclusivity=true>,<fast:exclusivity=false>``; ``yarn rmadmin
-addToClusterNodeLabels`` takes ``gpu(exclusive=true),fast(exclusive=false)``, and plain names, which are exclusive
(``CommonNodeLabelsManager``).
"""

import re
from typing import Final

from treadle.convert.names import NameRefused, clean

_LISTED: Final = re.compile(r"<([^<>:\s]+):exclusivity=(\w+)>")
_WRITTEN: Final = re.compile(r"([^\s,()<>:=]+)(?:\(exclusive=(\w+)\))?")
_HEADING: Final = re.compile(r"^.*Node Labels:", re.MULTILINE)
_ALLOWED: Final = "<gpu:exclusivity=true>,<fast:exclusivity=false> or gpu(exclusive=true),fast(exclusive=false)"


class LabelsUnreadable(Exception):
    """A file of node labels that cannot be read; the message says what is allowed."""


def read(text: str) -> dict[str, bool]:
    """Return whether each node label is exclusive, in the order of the text. Raises ``LabelsUnreadable``."""
    listed = _LISTED.findall(text)
    if listed:
        return {name: _exclusive(name, said) for name, said in listed}
    rest = _HEADING.sub("", text)
    found = {}
    for part in re.split(r"[,\n]", rest):
        if not part.strip():
            continue
        match = _WRITTEN.fullmatch(part.strip())
        if match is None:
            raise LabelsUnreadable(f"{part.strip()!r} is not a node label; allowed are {_ALLOWED}")
        found[match[1]] = _exclusive(match[1], match[2] or "true")
    return found


def _exclusive(name: str, said: str) -> bool:
    if said.lower() not in {"true", "false"}:
        raise LabelsUnreadable(f"node label {name}: {said!r} is neither true nor false")
    return said.lower() == "true"


class Partitions:
    """Our name for each node label. No two may have one."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}

    def of(self, label: str) -> str:
        """Return our name for a node label. Raises ``NameRefused``."""
        if label in {"", "*"}:
            return label
        if label not in self._ours:
            ours = clean(label, "label")
            other = next((theirs for theirs, name in self._ours.items() if name == ours), None)
            if other is not None:
                raise NameRefused(f"node labels {other} and {label} would both be called {ours}; rename one")
            self._ours[label] = ours
        return self._ours[label]

    @property
    def renamed(self) -> dict[str, str]:
        """Those whose name changed."""
        return {theirs: ours for theirs, ours in self._ours.items() if theirs != ours}
