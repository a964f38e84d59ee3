"""The queue tree in force: queues, applications, the order of what waits, partitions, admission and limits."""
