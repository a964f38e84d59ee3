"""Every file that Hadoop was asked about, converted: the objects mean to the core what the file says, or it is refused as Hadoop refuses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convert.command import in_force
from treadle.api.objects import InvalidObject
from treadle.convert.capacity_file import CapacityFileError, read
from treadle.convert.capacity_objects import Sources, convert
from treadle.convert.errors import MappingError
from treadle.convert.mapping import read_rules
from treadle.convert.names import clean
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion

CASES = Path(__file__).resolve().parents[1] / "conformance" / "cases"


def cases() -> Iterator[Any]:
    for name in ("capacity_shares", "auto_queues", "capacity_trace", "mapping", "mapping_corners", "mapping_reading"):
        for case in json.loads((CASES / f"{name}.json").read_text()):
            yield pytest.param(case, id=f"{name}: {case['name']}")


def _in_bytes(found: Capacity) -> Capacity:
    factors = {"memory": 1 << 20, "cpu": 1000}
    return replace(
        found,
        types={
            name: Portion(one.kind, one.value * factors.get(name, 1)) if one.kind is Kind.ABSOLUTE else one
            for name, one in found.types.items()
        },
        written_by_type=bool(found.types),
    )


def meant(spec: CapacityQueueSpec) -> CapacityQueueSpec:
    """What a file says of a queue, in our units and names, without what lists of access say (they are of the Queue)."""
    factors = {"memory": 1 << 20, "cpu": 1000}
    shares = {
        name: PartitionShare(_in_bytes(share.guaranteed), _in_bytes(share.maximum), share.master_share)
        for name, share in spec.partitions.items()
        if not name or share != PartitionShare()
    }
    return replace(
        spec,
        path="",
        children=(),
        partitions=shares,
        max_allocation={name: value * factors.get(name, 1) for name, value in spec.max_allocation.items()},
        state=spec.state if spec.state == "STOPPED" else None,
        max_parallel=None,
        submit=None,
        administer=None,
        flexible=type(spec.flexible)(),
        managed=None,
    )


def as_told(spec: CapacityQueueSpec) -> CapacityQueueSpec:
    """What the core is told of a queue, for a comparison with what the file says."""
    shares = {
        name: replace(share, guaranteed=_unscaled(share.guaranteed), maximum=_unscaled(share.maximum))
        for name, share in spec.partitions.items()
    }
    return replace(spec, path="", partitions=shares, flexible=type(spec.flexible)(), managed=None)


def _unscaled(found: Capacity) -> Capacity:
    return replace(found, types=dict(found.types))


@pytest.mark.parametrize("case", list(cases()))
def test_objects_of_every_conformance_case_mean_what_hadoops_file_says(case: dict[str, Any]) -> None:
    exclusive = {one["name"]: one.get("exclusive", True) for one in case.get("labels", [])}
    listed = ",".join(f"{name}(exclusive={str(value).lower()})" for name, value in exclusive.items())
    if "init_error" in case["expect"]:
        with pytest.raises((CapacityFileError, MappingError)):
            convert(Sources(case["conf"], labels=listed))
        return
    if "%nosuch" in json.dumps(case["conf"]):  # Hadoop takes an unknown variable for a name, which no queue of ours can have
        with pytest.raises(InvalidObject, match=r"spec\.capacity\.(queueMappings|mappingRules).*%nosuch"):
            convert(Sources(case["conf"], labels=listed))
        return
    file = read(case["conf"], case.get("resource_types", []), exclusive)
    scheduler, queues = in_force(convert(Sources(case["conf"], labels=listed)).objects)

    assert scheduler.capacity.partitions == exclusive
    assert len(scheduler.mapping) == len(read_rules(case["conf"]))
    assert len(queues) == len(file.queues)
    for path, spec in file.queues.items():
        ours = queues[".".join(clean(part) for part in path.split("."))]
        if path == "root" and ours.capacity is None:
            assert meant(spec) == meant(CapacityQueueSpec("root", partitions={"": PartitionShare()}))
            continue
        assert ours.capacity is not None
        told = ours.capacity
        if path == "root":  # has the cluster's largest allocation, which in Hadoop is said elsewhere
            told = replace(told, max_allocation=spec.max_allocation)
        assert as_told(told) == meant(spec)
        assert ours.max_running == spec.max_parallel
        assert told.flexible.enabled == spec.flexible.enabled
        assert (told.managed is None) == (spec.managed is None)
