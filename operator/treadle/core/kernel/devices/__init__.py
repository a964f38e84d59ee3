"""Devices as scheduling sees them (dynamic resource allocation): what is known of them, what pods' claims come to, which devices suit, and the claims that are being allocated."""
