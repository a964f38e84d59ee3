"""Who may lose a container under the FairScheduler: an application never falls below its fair share (``FSPreemptionThread``)."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.rules.fair.starvation import below_share
from treadle.core.rules.policies import Cluster, Policy
from treadle.core.units.amounts import minus


def keeps_share(
    policy: Policy, cluster: Cluster, usage: Sequence[int], fair_share: Sequence[int], going: Sequence[int], demand: Sequence[int]
) -> bool:
    """Whether an application stays at its fair share or over it without ``going``, which it loses already, and without ``demand``."""
    return not below_share(policy, cluster, minus(minus(usage, going), demand), fair_share)
