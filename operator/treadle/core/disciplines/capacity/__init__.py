"""The rules of the capacity discipline at work on the live tree: its queues' capacities, users and order.

The tree, usage and pods are the same as for the fair one.
"""
