"""An application never falls below its fair share by preemption."""

from __future__ import annotations

import pytest

from core.rules.fair.eaters import CLUSTER, DRF, FAIR
from treadle.core.rules.fair.victims import keeps_share
from treadle.core.rules.policies import Policy


@pytest.mark.parametrize(
    ("policy", "going", "demand", "keeps"),
    [
        (FAIR, [0, 0, 0], [100, 50, 1], True),
        (FAIR, [0, 0, 0], [101, 1, 1], False),
        (FAIR, [60, 0, 0], [40, 0, 0], True),
        (FAIR, [60, 0, 0], [41, 0, 0], False),
        (DRF, [0, 0, 0], [110, 11, 1], False),
        (DRF, [0, 0, 0], [110, 10, 1], True),
    ],
    ids=[
        "down to the share",
        "below it",
        "with what goes already",
        "below it with what goes already",
        "drf, below it in both types",
        "drf, as long as the dominant type is at the share",
    ],
)
def test_a_container_may_be_taken_if_the_rest_is_at_least_the_share(
    policy: Policy, going: list[int], demand: list[int], keeps: bool
) -> None:
    assert keeps_share(policy, CLUSTER, [500, 50, 5], [400, 40, 4], going, demand) is keeps
