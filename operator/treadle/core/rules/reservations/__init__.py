"""Reservations: capacity promised for a time to come, how it is planned and kept, and how much recurring jobs will need (Rayon, Morpheus)."""
