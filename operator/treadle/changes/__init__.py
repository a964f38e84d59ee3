"""Changes of several Queues at once: all or nothing, logged, and undone (YARN's OrgQueue, YARN-5734)."""
