"""What a queue that is made is like: what is said of it, the template of its kind, the common one."""

from __future__ import annotations

from core.rules.capacity.trees import weight
from treadle.core.model.capacity import (
    Capacity,
    CapacityQueueSpec,
    FlexibleCreation,
    Kind,
    Portion,
)
from treadle.core.rules.capacity.auto.templates import dynamic_spec


def test_a_queue_without_a_template_weighs_one_and_its_users_may_have_all_of_it() -> None:
    spec = dynamic_spec(CapacityQueueSpec("root.flex.x"), FlexibleCreation(), leaf=True)
    assert spec.partitions[""].guaranteed == Capacity(Portion(Kind.WEIGHT, 1.0))
    assert (spec.user_limit_factor, spec.master_share) == (-1, 1.0)


def test_what_is_said_about_a_queue_goes_before_its_kinds_template_and_that_before_the_common_one() -> None:
    creation = FlexibleCreation(
        common=weight("t", 2, max_applications=1, priority=1, user_limit=10.0),
        leaf=CapacityQueueSpec("t", max_applications=2, priority=0),
    )
    spec = dynamic_spec(CapacityQueueSpec("root.flex.x", max_applications=3), creation, leaf=True)
    assert (spec.max_applications, spec.priority, spec.user_limit) == (3, 0, 10.0)
    assert spec.partitions[""].guaranteed == Capacity(Portion(Kind.WEIGHT, 2.0))


def test_a_parents_template_is_not_for_leaves() -> None:
    creation = FlexibleCreation(parent=CapacityQueueSpec("t", priority=7))
    assert dynamic_spec(CapacityQueueSpec("root.flex.x"), creation, leaf=True).priority is None
    assert dynamic_spec(CapacityQueueSpec("root.flex.x"), creation, leaf=False).priority == 7
