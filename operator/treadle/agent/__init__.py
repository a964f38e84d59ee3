"""The node agent: what pods use of their node, second by second, read from cgroup v2.

It is a program of its own that runs beside the kubelet on every node, so it stays small: it imports nothing of Treadle and little of the standard library.
"""
