"""A real Prometheus that scrapes a scheduler every second, and what it answers."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

import yaml

from cluster.client import eventually
from cluster.control_plane import PROMETHEUS, Process, free_port

JOB = "treadle"


class Prometheus:
    """Starts, asks and ends one; ``targets`` are addresses as host:port, ``labels`` what is put on all that is scraped, ``job`` too."""

    def __init__(self, folder: Path, *targets: str, rules: Path | None = None, token: Path | None = None, **labels: str) -> None:
        self.port = free_port()
        scrape: dict[str, Any] = {"job_name": JOB, "static_configs": [{"targets": list(targets), "labels": labels}]}
        settings: dict[str, Any] = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": [scrape]}
        if token is not None:
            scrape["authorization"] = {"credentials_file": str(token)}
        if rules is not None:
            settings["rule_files"] = [str(rules)]
        file = folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(settings))
        self._command = [
            str(PROMETHEUS.build() / "prometheus"),
            f"--config.file={file}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        self._log = folder / "prometheus.log"

    def __enter__(self) -> Self:
        self._process = Process("prometheus", self._command, self._log)
        eventually(self._ready, 60, "prometheus ready")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer. ``AssertionError`` with Prometheus' words where it refuses."""
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{query}: {error.read().decode()}") from error

    def answers(self, expression: str) -> bool:
        """Whether a query has an answer that is a number."""
        found = self.get("/api/v1/query", query=expression)["result"]
        return any(not math.isnan(float(one["value"][1])) for one in found)

    def values(self, metric: str, label: str) -> set[str]:
        """The values of a label of a metric."""
        return set(self.get(f"/api/v1/label/{label}/values", **{"match[]": metric}))
