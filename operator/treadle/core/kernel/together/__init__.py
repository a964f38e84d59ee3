"""Applications whose pods that wait are placed together, as a set."""
