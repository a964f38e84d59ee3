"""Kubernetes' binary form of objects, ``application/vnd.kubernetes.protobuf``: the messages that we know, and how they are read."""

from treadle.kube.binary.objects import KINDS, MAGIC, NotUnderstood, event, read

__all__ = ["KINDS", "MAGIC", "NotUnderstood", "event", "read"]
