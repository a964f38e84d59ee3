"""Reservations at work: what is promised on the queues that take them, and who is told."""
