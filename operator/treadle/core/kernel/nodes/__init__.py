"""Nodes: a table of them, shapes of pods, and which node takes which shape."""
