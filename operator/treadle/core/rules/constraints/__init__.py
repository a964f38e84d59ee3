"""The language of YARN's placement constraints."""
