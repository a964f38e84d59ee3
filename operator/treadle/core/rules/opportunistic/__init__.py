"""Opportunistic pods: they use what is idle and give it back in time (YARN's opportunistic containers, Mercury, Yaq, over-allocation)."""
