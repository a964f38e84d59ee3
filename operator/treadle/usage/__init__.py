"""From where it is known what nodes and their pods use: one module for each source that a Scheduler may name."""
