"""Which nodes have which images, for those images that pods would like to find: a column of sizes for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from treadle.core.model import NodeSpec
    from treadle.core.model.nodes import NodeImage

MOST_IMAGES = 1024
"""Images of which it is known which nodes have them; beyond that all are found out again when they are asked for."""


class Images:
    """The sizes of images by row, 0 where a node has not got one. ``version`` counts the changes."""

    __slots__ = ("_columns", "version")

    def __init__(self) -> None:
        self._columns: dict[str, NDArray[np.int64]] = {}
        self.version = 0

    def see(self, row: int, images: Sequence[NodeImage]) -> None:
        """Take over the images of a node."""
        if not self._columns:
            return
        has = {name: size for names, size in images for name in names}
        for name, column in list(self._columns.items()):
            if row >= len(column):
                del self._columns[name]
                self.version += 1
            elif column[row] != has.get(name, 0):
                column[row] = has.get(name, 0)
                self.version += 1

    def sizes(self, name: str, specs: Sequence[NodeSpec | None]) -> NDArray[np.int64]:
        """Return the size of an image on every node."""
        found = self._columns.get(name)
        if found is None or len(found) != len(specs):
            if len(self._columns) >= MOST_IMAGES:
                self._columns.clear()
            found = self._columns[name] = np.zeros(len(specs), dtype=np.int64)
            for row, spec in enumerate(specs):
                for names, size in spec.images if spec is not None else ():
                    if name in names:
                        found[row] = size
            self.version += 1
        return found

    def forget(self) -> None:
        """Forget all: rows have other numbers now."""
        self._columns.clear()
        self.version += 1
