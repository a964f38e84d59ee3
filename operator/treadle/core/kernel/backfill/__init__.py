"""Backfilling: short pods run in room that is kept for others, until those begin."""
