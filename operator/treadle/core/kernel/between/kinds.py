"""Kinds: what the rules of other pods can tell apart about pods, and which counts each kind is in.

A rule names pods by labels and namespaces. Whether it means a pod is found out once for a kind and kept with it, so that a
placement adds to the counts that it is in and looks at no selector. Pods that no rule is about are in none, which is all that they cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.core.kernel.between.tags import marks
from treadle.core.kernel.between.tallies import Tally
from treadle.core.model import selects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from treadle.core.kernel.between.tallies import About
    from treadle.core.model import PodSpec, PodTerm
    from treadle.core.model.pod_rules import WeightedTerm

T = TypeVar("T")
Labels = tuple[tuple[str, str], ...]
ENOUGH = 256
"""Counts up to which it is not asked whether they are in use."""


class Kind:
    """Pods in one namespace with the same labels and tags that carry the same terms of anti-affinity and are, or are not, being deleted.

    ``likes`` are their preferences about other pods, and ``liked_by`` those of others that are about them.
    ``pods`` is how many there are, wherever; ``tallies`` are the counts that they are in while they are on nodes, and
    ``avoided_by`` the terms of others' anti-affinity that are about them.
    """

    __slots__ = ("avoided_by", "carried", "deleting", "labels", "liked_by", "likes", "namespace", "pods", "tallies")

    def __init__(
        self,
        namespace: str,
        labels: Labels,
        carried: tuple[PodTerm, ...],
        likes: tuple[WeightedTerm, ...] = (),
        *,
        deleting: bool,
    ) -> None:
        self.namespace = namespace
        self.labels = labels
        self.carried = carried
        self.deleting = deleting
        self.pods = 0
        self.tallies: tuple[Tally, ...] = ()
        self.avoided_by: tuple[PodTerm, ...] = ()
        self.likes = likes
        self.liked_by: tuple[WeightedTerm, ...] = ()

    @property
    def key(self) -> tuple[str, Labels, tuple[PodTerm, ...], tuple[WeightedTerm, ...], bool]:
        """What it is found by."""
        return self.namespace, self.labels, self.carried, self.likes, self.deleting

    def describes(self, spec: PodSpec) -> bool:
        """Whether a pod is of this kind."""
        rules = spec.constraints.pods
        return (
            self.labels == (spec.labels + marks(spec) if spec.tags or spec.gang else spec.labels)
            and self.deleting == spec.deleting
            and self.carried == (rules.anti_affinity if rules is not None else ())
            and self.likes == (rules.likes if rules is not None else ())
        )


class Index(Generic[T]):
    """Things by a term: those that may be about a pod are found by its namespace and its labels, those that surely are not are left out."""

    def __init__(self) -> None:
        self._exact: dict[tuple[str, str, str], dict[T, None]] = {}
        self._in: dict[str, dict[T, None]] = {}
        self._anywhere: dict[T, None] = {}

    def add(self, term: PodTerm, thing: T) -> None:
        """Add a thing that is about pods that the term is about, or about some of them."""
        if term.selector is None:
            return
        if term.namespace_selector is not None:
            self._anywhere[thing] = None
            return
        exact = next((one for one in term.selector if one.operator == "In"), None)
        for namespace in term.namespaces:
            if exact is None:
                self._in.setdefault(namespace, {})[thing] = None
            else:
                for value in exact.values:
                    self._exact.setdefault((namespace, exact.key, value), {})[thing] = None

    def concerned(self, namespace: str, labels: Mapping[str, str]) -> list[T]:
        """Return what may be about a pod."""
        found = [*self._anywhere, *self._in.get(namespace, ())]
        if self._exact:
            for key, value in labels.items():
                found += self._exact.get((namespace, key, value), ())
        return found


class Kinds:
    """All kinds of pods, and all counts of them.

    ``namespaces`` are the labels of namespaces, and ``relabelled`` counts how often they changed what a rule is about. ``uncounted``
    are counts that were begun and are not yet made up over the pods that are on nodes already. ``avoiding`` are the kinds that a term
    has come up about since those that wait were last looked at. ``coming`` is the kind of a pod that is being taken up, which counts
    for nothing yet.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, Labels, tuple[PodTerm, ...], tuple[WeightedTerm, ...], bool], Kind] = {}
        self._in: dict[str, dict[Kind, None]] = {}
        self._by: dict[str, dict[str, dict[str, dict[Kind, None]]]] = {}
        """Kinds by the value of a label, for those namespaces and labels that a selector has asked for."""
        self._tallies: dict[About, Tally] = {}
        self._carried: dict[PodTerm, Tally] = {}
        self._liking: dict[WeightedTerm, Tally] = {}
        self._likings: Index[WeightedTerm] = Index()
        self._abouts: Index[About] = Index()
        self._terms: Index[PodTerm] = Index()
        self._enough = ENOUGH
        self.namespaces: dict[str, dict[str, str]] = {}
        self.relabelled = 0
        self.uncounted: list[Tally] = []
        self.avoiding: dict[Kind, None] = {}
        self.coming: Kind | None = None

    def of(self, spec: PodSpec) -> Kind:
        """Return the kind of a pod, which is one more of it."""
        rules = spec.constraints.pods
        carried = rules.anti_affinity if rules is not None else ()
        labels = spec.labels + marks(spec) if spec.tags or spec.gang else spec.labels
        likes = rules.likes if rules is not None else ()
        key = (spec.namespace, labels, carried, likes, spec.deleting)
        kind = self._known.get(key)
        if kind is None:
            kind = self._known[key] = Kind(spec.namespace, labels, carried, likes, deleting=spec.deleting)
            self._enter(kind)
        kind.pods += 1
        return kind

    def release(self, kind: Kind) -> None:
        """Take note that there is one pod less of a kind."""
        kind.pods -= 1
        if not kind.pods:
            del self._known[kind.key]
            self.avoiding.pop(kind, None)
            alike = self._in[kind.namespace]
            del alike[kind]
            if not alike:
                del self._in[kind.namespace]
            labels = dict(kind.labels)
            for key, values in self._by.get(kind.namespace, {}).items():
                if key in labels:
                    del values[labels[key]][kind]
                    if not values[labels[key]]:
                        del values[labels[key]]

    def tally(self, about: About) -> Tally:
        """Return the count of the pods that something is about, begun if there is none yet."""
        found = self._tallies.get(about)
        if found is None:
            found = self._tallies[about] = Tally()
            self._abouts.add(about.terms[0], about)
            for kind in self._selected(about.terms[0]):
                if self._is_about(about, kind, dict(kind.labels)):
                    kind.tallies = (*kind.tallies, found)
                    if self._others(kind) and not found.uncounted:
                        found.uncounted = True
                        self.uncounted.append(found)
        return found

    def carriers(self, term: PodTerm) -> Tally:
        """Return the count of the pods that carry a term of anti-affinity."""
        found = self._carried.get(term)
        if found is None:
            found = self._carried[term] = Tally()
            self._terms.add(term, term)
            for kind in self._selected(term):
                kind.avoided_by = (*kind.avoided_by, term)
                if self._others(kind):
                    self.avoiding[kind] = None
        return found

    def likers(self, liking: WeightedTerm) -> Tally:
        """Return the count of the pods that have a preference."""
        found = self._liking.get(liking)
        if found is None:
            found = self._liking[liking] = Tally()
            self._likings.add(liking[1], liking)
            for kind in self._selected(liking[1]):
                kind.liked_by = (*kind.liked_by, liking)
                if self._others(kind):
                    self.avoiding[kind] = None
        return found

    def namespace_labelled(self, name: str, labels: Mapping[str, str]) -> None:
        """Take over the labels of a namespace; if that changes what a rule is about, all counts are begun again."""
        before = self.namespaces.get(name, {})
        if before == labels:
            return
        concerned = [
            term
            for term in (
                *(term for about in self._tallies for term in about.terms),
                *self._carried,
                *(term for _, term in self._liking),
            )
            if term.namespace_selector and selects(term.namespace_selector, before) != selects(term.namespace_selector, labels)
        ]
        if labels:
            self.namespaces[name] = dict(labels)
        else:
            self.namespaces.pop(name, None)
        if concerned:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Begin all counts again, from nothing."""
        self.relabelled += 1
        self.uncounted.clear()
        for tally in self.tallies():
            tally.begin()
            self.uncounted.append(tally)
        for kind in self._known.values():
            before = kind.avoided_by, kind.liked_by
            self._match(kind)
            if (kind.avoided_by, kind.liked_by) != before:
                self.avoiding[kind] = None

    @property
    def crowded(self) -> bool:
        """Whether so many counts have come up since the last look that it is time to see which are in use."""
        return len(self._tallies) + len(self._carried) + len(self._liking) > self._enough

    def prune(self, used: Collection[Tally]) -> None:
        """Forget the counts that no rule looks at: those of terms stay while pods carry them."""
        carried = {term for kind in self._known.values() for term in kind.carried}
        for about in [about for about, tally in self._tallies.items() if tally not in used]:
            self._tallies.pop(about).end()
        for term in [term for term, tally in self._carried.items() if tally not in used and term not in carried]:
            self._carried.pop(term).end()
        liking = {one for kind in self._known.values() for one in kind.likes}
        for one in [one for one, tally in self._liking.items() if tally not in used and one not in liking]:
            self._liking.pop(one).end()
        left = {*self._tallies.values(), *self._carried.values(), *self._liking.values()}
        self.uncounted = [tally for tally in self.uncounted if tally in left]
        for kind in self._known.values():
            kind.tallies = tuple(tally for tally in kind.tallies if tally in left)
            kind.avoided_by = tuple(term for term in kind.avoided_by if term in self._carried)
            kind.liked_by = tuple(one for one in kind.liked_by if one in self._liking)
        self._by.clear()
        self._abouts, self._terms, self._likings = Index(), Index(), Index()
        for about in self._tallies:
            self._abouts.add(about.terms[0], about)
        for term in self._carried:
            self._terms.add(term, term)
        for one in self._liking:
            self._likings.add(one[1], one)
        self._enough = max(ENOUGH, 2 * len(left))

    def close_up(self, moved: list[int]) -> None:
        """Take over the new numbers of all rows, by the old ones."""
        for tally in self.tallies():
            tally.close_up(moved)

    def known(self) -> Iterable[Kind]:
        """Return all kinds."""
        return self._known.values()

    def tallies(self) -> list[Tally]:
        """Return all counts."""
        return [*self._tallies.values(), *self._carried.values(), *self._liking.values()]

    def selected(self, term: PodTerm, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a term is about a pod with these labels in a namespace."""
        return self._within(term, namespace) and selects(term.selector, labels)

    def _others(self, kind: Kind) -> bool:
        """Whether there are pods of a kind beside the one that is being taken up."""
        return kind.pods > (kind is self.coming)

    def _enter(self, kind: Kind) -> None:
        self._in.setdefault(kind.namespace, {})[kind] = None
        labels = dict(kind.labels)
        for key, values in self._by.get(kind.namespace, {}).items():
            if key in labels:
                values.setdefault(labels[key], {})[kind] = None
        for term in kind.carried:
            self.carriers(term)
        for one in kind.likes:
            self.likers(one)
        self._match(kind)

    def _match(self, kind: Kind) -> None:
        """Find out which counts a kind is in, and which terms are about it."""
        labels = dict(kind.labels)
        concerned = self._abouts.concerned(kind.namespace, labels)
        found = [self._tallies[about] for about in concerned if self._is_about(about, kind, labels)]
        found += [self._carried[term] for term in kind.carried]
        found += [self._liking[one] for one in dict.fromkeys(kind.likes)]
        kind.tallies = tuple(found)
        kind.avoided_by = tuple(
            term for term in self._terms.concerned(kind.namespace, labels) if self.selected(term, kind.namespace, labels)
        )
        kind.liked_by = tuple(
            one for one in self._likings.concerned(kind.namespace, labels) if self.selected(one[1], kind.namespace, labels)
        )

    def _is_about(self, about: About, kind: Kind, labels: Mapping[str, str]) -> bool:
        return not (kind.deleting and about.staying) and all(self.selected(term, kind.namespace, labels) for term in about.terms)

    def _within(self, term: PodTerm, namespace: str) -> bool:
        if namespace in term.namespaces:
            return True
        chosen = term.namespace_selector
        return chosen is not None and (not chosen or selects(chosen, self.namespaces.get(namespace, {})))

    def _selected(self, term: PodTerm) -> Iterator[Kind]:
        """Return the kinds that a term is about."""
        if term.selector is None:
            return
        exact = next((one for one in term.selector if one.operator == "In"), None)
        spaces: Iterable[str] = (
            term.namespaces if term.namespace_selector is None else [name for name in self._in if self._within(term, name)]
        )
        for namespace in spaces:
            alike: Iterable[Kind] = self._in.get(namespace, ())
            if exact is not None:
                values = self._values(namespace, exact.key)
                alike = [kind for value in dict.fromkeys(exact.values) for kind in values.get(value, ())]
            for kind in alike:
                if selects(term.selector, dict(kind.labels)):
                    yield kind

    def _values(self, namespace: str, key: str) -> dict[str, dict[Kind, None]]:
        known = self._by.setdefault(namespace, {})
        found = known.get(key)
        if found is None:
            found = known[key] = {}
            for kind in self._in.get(namespace, ()):
                value = dict(kind.labels).get(key)
                if value is not None:
                    found.setdefault(value, {})[kind] = None
        return found
