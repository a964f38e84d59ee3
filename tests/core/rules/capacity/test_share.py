"""What a queue has of one partition, before anything is computed."""

from __future__ import annotations

from treadle.core.rules.capacity.share import Share


def test_a_share_has_nothing_of_any_type_and_no_weight_before_it_is_defined() -> None:
    share = Share(4)
    assert (share.minimum, share.maximum, share.weight, share.absolute) == ([0] * 4, [0] * 4, -1.0, 0.0)
    assert share.minimum is not share.maximum
