"""Pods as other pods' rules see them: what they are alike in, how many of them are on which node, and in which domain."""
