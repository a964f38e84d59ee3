"""Recorded event logs: what a core was told and what it answered, which must stay equal to the bit while its code is rearranged."""
