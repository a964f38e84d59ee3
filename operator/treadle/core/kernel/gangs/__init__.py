"""Gangs: pods of an application of which a minimum starts together or none does."""
