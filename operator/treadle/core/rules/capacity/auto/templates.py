"""What a queue that was made is like: what is said about itself, then the templates of its parent, then defaults.

Hadoop's ``AutoCreatedQueueTemplate`` and ``AbstractLeafQueue.parseAndSetDynamicTemplates`` for flexible creation, the leaf queue
template of ``ManagedParentQueue`` for managed leaves. A template holds no more than what was said in it, so the first that says
something wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from treadle.core.model.capacity import Capacity, CapacityQueueSpec, FlexibleCreation, Kind, PartitionShare, Portion
from treadle.core.rules.capacity.context import DEFAULT

ONE_WEIGHT = Capacity(Portion(Kind.WEIGHT, 1.0))
OWN = frozenset({"path", "children", "partitions", "user_weights", "flexible", "managed"})
"""What comes from no template, or is merged in a way of its own. Hadoop does not look into templates for weights of users."""
NO_LIMIT = -1.0


def dynamic_spec(said: CapacityQueueSpec, creation: FlexibleCreation, *, leaf: bool) -> CapacityQueueSpec:
    """Return the definition of a queue that flexible creation made.

    Without a capacity it has the weight 1. A leaf's users may have all of it, and so may its masters, unless a template says
    otherwise; what is said about the leaf itself does not change this, as in Hadoop.
    """
    special = creation.leaf if leaf else creation.parent
    templates = [each for each in (special, creation.common) if each is not None]
    found = merged(said, templates)
    if leaf:
        factor = first([] if said.user_limit_factor is not None else [each.user_limit_factor for each in templates])
        masters = first([] if said.master_share is not None else [each.master_share for each in templates])
        found = replace(
            found, user_limit_factor=NO_LIMIT if factor is None else factor, master_share=1.0 if masters is None else masters
        )
    names = {DEFAULT, *(said.partitions if creation.partitions is None else creation.partitions)}
    shares = {name: found.partitions.get(name, PartitionShare()) for name in sorted(names)}
    return replace(found, partitions={name: _weighing(share) for name, share in shares.items()})


def imposed_on(said: CapacityQueueSpec, creation: FlexibleCreation, *, leaf: bool) -> dict[str, PartitionShare]:
    """Return what counts where legacy mode is off for a queue that flexible creation made without a capacity: the weight 1, and all of its parent at most."""
    special = creation.leaf if leaf else creation.parent
    found = merged(said, [each for each in (special, creation.common) if each is not None]).partitions
    names = {DEFAULT, *(said.partitions if creation.partitions is None else creation.partitions)}
    every = PartitionShare(ONE_WEIGHT, Capacity(Portion(Kind.PERCENT, 100.0)))
    return {name: every for name in sorted(names) if found.get(name, PartitionShare()).guaranteed == Capacity()}


def entitled_spec(said: CapacityQueueSpec, template: CapacityQueueSpec) -> CapacityQueueSpec:
    """Return the definition of a leaf of a managed parent: the template goes before what is said about the leaf itself."""
    found = merged(replace(template, path=said.path), [said])
    names = template.partitions if len(template.partitions) > 1 else said.partitions or template.partitions
    return replace(found, partitions={name: found.partitions.get(name, PartitionShare()) for name in {DEFAULT: None, **names}})


def merged(spec: CapacityQueueSpec, templates: Iterable[CapacityQueueSpec]) -> CapacityQueueSpec:
    """Return a definition with what it leaves open filled up from templates, the first before the second."""
    for template in templates:
        changes = {
            each.name: _filled(getattr(spec, each.name), getattr(template, each.name))
            for each in fields(spec)
            if each.name not in OWN
        }
        names = [*spec.partitions, *(name for name in template.partitions if name not in spec.partitions)]
        nothing = PartitionShare()
        shares = {name: _share(spec.partitions.get(name, nothing), template.partitions.get(name, nothing)) for name in names}
        of_children = replace(
            spec.flexible,
            max_queues=first([spec.flexible.max_queues, template.flexible.max_queues]),
            removal=first([spec.flexible.removal, template.flexible.removal]),
        )
        spec = replace(spec, partitions=shares, flexible=of_children, **changes)
    return spec


def partitions_named(spec: CapacityQueueSpec) -> list[str]:
    """Return the partitions that a definition names, those in its templates included."""
    managed = spec.managed.template if spec.managed is not None else None
    found: dict[str, None] = {}
    for each in (spec, spec.flexible.common, spec.flexible.leaf, spec.flexible.parent, managed):
        found.update(dict.fromkeys(each.partitions if each is not None else ()))
    return list(found)


def first(values: Iterable[Any]) -> Any:
    """Return the first value that is there."""
    return next((value for value in values if value is not None), None)


def _filled(value: Any, other: Any) -> Any:
    if isinstance(value, Mapping):
        return {**other, **value}
    return other if value is None or value == frozenset() else value


def _share(one: PartitionShare, other: PartitionShare) -> PartitionShare:
    nothing = Capacity()
    return PartitionShare(
        one.guaranteed if one.guaranteed != nothing else other.guaranteed,
        one.maximum if one.maximum != nothing else other.maximum,
        first([one.master_share, other.master_share]),
    )


def _weighing(share: PartitionShare) -> PartitionShare:
    if share.guaranteed != Capacity():
        return share
    return replace(share, guaranteed=ONE_WEIGHT)
