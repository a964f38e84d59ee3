"""Things that are for some nodes, by the labels of these: those that may be for a node are found without a look at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.core.kernel.nodes.rules.affinity import holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from treadle.core.model import NodeSpec, Requirement
    from treadle.core.model.volumes import NodeTerms

T = TypeVar("T")


def on(node: NodeSpec, terms: NodeTerms) -> bool:
    """Whether a node's labels satisfy one of some terms (``MatchNodeSelectorTerms``)."""
    return any(term and all(holds(one, node) for one in term) for term in terms)


def anchors(terms: Iterable[Iterable[Requirement]] | None) -> list[Requirement] | None:
    """Return for each term a requirement that names values of a label, None if one has none: whatever the terms admit has one of these."""
    if terms is None:
        return None
    found = []
    for term in terms:
        one = next((one for one in term if one.operator == "In" and not one.field), None)
        if one is None:
            return None
        found.append(one)
    return found


class NearNodes(Generic[T]):
    """Things by their terms about nodes."""

    def __init__(self) -> None:
        self._by: dict[str, dict[str, dict[T, None]]] = {}
        self._anywhere: dict[T, None] = {}

    def add(self, thing: T, terms: Iterable[Iterable[Requirement]] | None) -> None:
        """Add a thing for the nodes that some terms admit; None: for all."""
        found = anchors(terms)
        if found is None:
            self._anywhere[thing] = None
            return
        for one in found:
            for value in one.values:
                self._by.setdefault(one.key, {}).setdefault(value, {})[thing] = None

    def remove(self, thing: T, terms: Iterable[Iterable[Requirement]] | None) -> None:
        """Take a thing out that was added with the same terms."""
        found = anchors(terms)
        if found is None:
            self._anywhere.pop(thing, None)
            return
        for one in found:
            values = self._by.get(one.key, {})
            for value in one.values:
                things = values.get(value, {})
                things.pop(thing, None)
                if not things:
                    values.pop(value, None)
            if not values:
                self._by.pop(one.key, None)

    def near(self, node: NodeSpec) -> Iterator[T]:
        """Return what may be for a node; some of it may come twice."""
        yield from self._anywhere
        for key, values in self._by.items():
            value = node.labels.get(key)
            if value is not None:
                yield from values.get(value, ())

    def __bool__(self) -> bool:
        return bool(self._anywhere or self._by)
