"""The rankers in force: one for all queues of a policy, and another one for all leaves."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.rules.policies import Cluster, Policy, Ranker


class Rankers:
    """The rankers of policies for one cluster, each made when it is first asked for.

    The interpreter fits code to the types that it meets. What ranks queues and applications in turn fits neither, so leaves,
    which rank applications, have functions with code of their own. Either kind ranks both, if it must.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._made: dict[tuple[Policy, bool], Ranker] = {}

    def of(self, policy: Policy, *, leaf: bool) -> Ranker:
        """Return the ranker for the children of a queue with this policy."""
        ranker = self._made.get((policy, leaf))
        if ranker is None:
            ranker = policy.ranker(self._cluster)
            if leaf and isinstance(ranker, FunctionType):
                ranker = _with_own_code(ranker)
            self._made[policy, leaf] = ranker
        return ranker


def _with_own_code(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__.replace(), function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
