"""The check of definitions, which must make sense together, when few of them change: only what these can break is looked at.

The definitions that were accepted last are kept as a tree. Edits are put into it, and what rules say about the queues that they
touch, their siblings and those below is asked again. Whatever is refused, or cannot be done in place, is decided, and worded, by
a check of the whole.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.definitions import ROOT, Made, check_made, tree_of
from treadle.core.errors import InvalidSpec
from treadle.core.model import DEFAULT_QUEUE
from treadle.core.rules.capacity.auto.templates import partitions_named
from treadle.core.rules.capacity.edits import NotInPlace, edit
from treadle.core.rules.capacity.validation import check_children

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.core.model import QueueSpec
    from treadle.core.model.capacity import CapacityQueueSpec, CapacitySettings
    from treadle.core.rules.capacity.edits import Edited
    from treadle.core.rules.capacity.queue import CapacityQueue
    from treadle.core.rules.capacity.tree import CapacityTree

FEWEST = 3
"""Definitions below which every check is one of the whole: a root alone, or with its default queue, is a case of its own."""


class Checked:
    """The definitions that were accepted last."""

    def __init__(self) -> None:
        self._tree: CapacityTree | None = None
        self._queues: dict[str, CapacityQueue] = {}
        self._wanted: dict[str, QueueSpec] = {}
        self._named: Counter[tuple[str, str]] = Counter()
        """How many definitions name each resource type and partition: every queue of a tree knows all of them."""
        self._made: frozenset[str] = frozenset()

    def check(self, wanted: Mapping[str, QueueSpec], settings: CapacitySettings, kept: Callable[[], Sequence[Made]]) -> None:
        """Raise ``InvalidSpec`` as ``definitions.check`` does."""
        made = kept()
        if self._follows(wanted, settings, made):
            self._made = frozenset(one.path for one in made)
            return
        self.forget()
        tree = tree_of(wanted, settings)
        queues = tree.queues()
        try:
            check_made(tree, queues, made)
        except InvalidSpec:
            tree.give_up()
            raise
        self._tree, self._queues, self._wanted = tree, queues, dict(wanted)
        self._named = Counter(name for spec in tree.specs.values() for name in _names(spec))
        self._made = frozenset(one.path for one in made)

    def forget(self) -> None:
        """Let go of the tree: the next check is one of the whole."""
        if self._tree is not None:
            self._tree.give_up()
        self._tree, self._queues, self._wanted = None, {}, {}

    def _follows(self, wanted: Mapping[str, QueueSpec], settings: CapacitySettings, made: Sequence[Made]) -> bool:
        """Put what changed into the tree; returns whether that could be done and is accepted.

        If not, the tree is of no use any more.
        """
        tree, before = self._tree, self._wanted
        default = wanted.get(DEFAULT_QUEUE)
        if tree is None or tree.context.settings is not settings or len(wanted) < FEWEST or len(before) < FEWEST:
            return False
        if (default is not None and default.capacity is None) or len(tree.specs) != len(before):
            return False
        said: dict[str, CapacityQueueSpec] = {}
        for path in sorted((path for path, spec in wanted.items() if before.get(path) is not spec), key=_depth):
            given = wanted[path].capacity
            if given is None or path == ROOT:
                return False
            said[path] = given
        gone = sorted(before.keys() - wanted.keys(), key=_depth, reverse=True)
        if not self._names_stay(tree, said, gone):
            return False
        try:
            edited = edit(tree, self._queues, gone, said)
            for parent in {**dict.fromkeys(edited.parents), **edited.defined}:
                if parent.children:
                    check_children(parent, parent.children)
            check_made(tree, self._queues, self._to_check(edited, made))
        except (InvalidSpec, NotInPlace):
            return False
        for path in gone:
            del before[path]
        before.update((path, wanted[path]) for path in said)
        return True

    def _names_stay(self, tree: CapacityTree, said: Mapping[str, CapacityQueueSpec], gone: Sequence[str]) -> bool:
        """Count the resource types and partitions that definitions name; returns whether these are the same as before."""
        change: Counter[tuple[str, str]] = Counter()
        for path in (*said, *gone):
            if path in tree.specs:
                change.subtract(_names(tree.specs[path]))
        for spec in said.values():
            change.update(_names(spec))
        same = all(bool(self._named[name]) == bool(self._named[name] + more) for name, more in change.items())
        self._named.update(change)
        return same

    def _to_check(self, edited: Edited, made: Sequence[Made]) -> list[Made]:
        """Return the queues that were made below those that an edit touched, and where any was made since the last check."""
        touched = {*(queue.path for queue in edited.parents), *(queue.path for queue in edited.defined)}
        declared = {one.path: self._declared_above(one.path) for one in made}
        touched.update(above for path, above in declared.items() if path not in self._made)
        return [one for one in made if declared[one.path] in touched]

    def _declared_above(self, path: str) -> str:
        above = path.rpartition(".")[0]
        while above and above not in self._queues:
            above = above.rpartition(".")[0]
        return above


def _depth(path: str) -> int:
    return path.count(".")


def _names(spec: CapacityQueueSpec) -> list[tuple[str, str]]:
    """Return the resource types and the partitions that a definition names, once for each time."""
    found = [("partition", name) for name in partitions_named(spec)]
    made = (spec.flexible.common, spec.flexible.leaf, spec.flexible.parent, spec.managed.template if spec.managed else None)
    for one in (spec, *made):
        if one is not None:
            for share in one.partitions.values():
                found += [("type", name) for name in (*share.guaranteed.types, *share.maximum.types)]
            found += [("type", name) for name in one.max_allocation]
    return found
