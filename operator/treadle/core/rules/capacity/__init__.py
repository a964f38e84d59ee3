"""The rules of YARN's CapacityScheduler: capacities, user limits, limits of masters, orders, states, partitions, preemption.

Nothing here places anything.
"""
