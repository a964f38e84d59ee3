"""YARN's way to decide: a node offers itself and the queue tree is walked for that node alone (FairScheduler ``attemptScheduling``).

The reference beside the core that serves, over the same rules: policies, shares, limits, starvation and choice of victims. It has
what a cluster of pods does not: resource requests with counts for hosts, racks and anywhere, nodes that report by heartbeats,
reservations on nodes. It answers the conformance cases whole, as Hadoop did; ``conformance.live`` lets the core decide the same
cases.
"""
