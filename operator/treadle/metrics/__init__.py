"""Prometheus metrics: names and what they mean in one place, values from a snapshot of the core."""
