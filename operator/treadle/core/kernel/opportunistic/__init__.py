"""Opportunistic pods in the core: what they were given, which node takes one more, who is removed, what owners are told."""
