"""Queues that are made when applications ask for them: templates, creation, entitlements of managed leaves, removal (Hadoop's auto-created queues)."""
