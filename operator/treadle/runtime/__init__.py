"""The composition root: the only place that wires adapters to the core."""
