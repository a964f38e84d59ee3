"""What a scheduling policy of one's own is written against; ``docs/policies.md`` shows how one is made known."""

from treadle.core.rules.policies import Cluster, Compare, Key, Policy, Ranked, Ranker, Schedulable, Sharer

__all__ = ["Cluster", "Compare", "Key", "Policy", "Ranked", "Ranker", "Schedulable", "Sharer"]
