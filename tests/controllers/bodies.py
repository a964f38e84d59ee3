"""Objects of our kinds as the API gives them, with versions that a test counts up."""

from __future__ import annotations

import itertools
from typing import Any

Json = dict[str, Any]


class Server:
    """Gives every write a higher resourceVersion, and new specs a higher generation, as the API server does."""

    def __init__(self) -> None:
        self._versions = itertools.count(101)
        self._ages = itertools.count()

    def create(
        self, kind: str, name: str, spec: Json | None = None, *, namespace: str = "", uid: str = "", created: str = ""
    ) -> Json:
        return {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": kind,
            "metadata": {
                "name": name,
                **({"namespace": namespace} if namespace else {}),
                "uid": uid or f"uid-{name}",
                "generation": 1,
                "resourceVersion": str(next(self._versions)),
                "creationTimestamp": created or f"2026-01-01T00:00:{next(self._ages):02}Z",
            },
            "spec": spec or {},
        }

    def edit(self, body: Json, spec: Json) -> Json:
        meta = body["metadata"]
        return {
            **body,
            "spec": spec,
            "metadata": {**meta, "generation": meta["generation"] + 1, "resourceVersion": str(next(self._versions))},
        }

    def status(self, body: Json, status: Json) -> Json:
        return {**body, "status": status, "metadata": {**body["metadata"], "resourceVersion": str(next(self._versions))}}

    def version(self) -> str:
        return str(next(self._versions))
