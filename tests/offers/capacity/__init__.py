"""YARN's CapacityScheduler over nodes that offer themselves, one container at a time (``CapacityScheduler.allocateContainersToNode``).

What a queue or a user may have, and who comes first, is in ``core.capacity``; here is how one node's room is given away.
"""
