"""Preemption in a cluster: who is owed something, which pods have to go for it, and the room that is kept meanwhile."""
