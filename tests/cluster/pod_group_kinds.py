"""The PodGroup kinds of Volcano and the scheduler-plugins, for an API server that is to have them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VOLCANO, PLUGINS = "scheduling.volcano.sh/v1beta1", "scheduling.x-k8s.io/v1alpha1"


def definition(version: str) -> Json:
    """The kind as its project's CustomResourceDefinition has it, but for the schema."""
    group, _, name = version.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"podgroups.{group}",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **({"subresources": {"status": {}}} if version == PLUGINS else {}),
                }
            ],
        },
    }
