"""YARN's way to decide: a node offers itself and the queue tree is walked for that node alone (FairScheduler ``attemptScheduling``).

The second driver over the same rules as the live cycle: policies, shares, limits, starvation and choice of victims are those of ``core.fair`` and ``core.tree``.
What is placed differs: resource requests with counts for hosts, racks and anywhere, on nodes that report by heartbeats.
It decides the conformance cases as Hadoop did, and serves whoever wants to know what YARN would do.
"""
