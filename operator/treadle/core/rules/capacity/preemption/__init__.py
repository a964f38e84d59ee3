"""Hadoop's ``ProportionalCapacityPreemptionPolicy``: what every queue should ideally have, and which containers are taken from those that have more."""
