"""Programs that look over what is shipped, built of pinned Go modules into the cache."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from cluster.control_plane import cluster_tests_required
from cluster.go_module import GoMissingError, GoModule

SCANNERS = GoModule(
    folder=Path(__file__).resolve().parent / "tools",
    packages={
        "kube-score": "github.com/zegl/kube-score/cmd/kube-score",
        "actionlint": "github.com/rhysd/actionlint/cmd/actionlint",
    },
    kind="scanners",
    named=("github.com/zegl/kube-score", "github.com/rhysd/actionlint"),
    missing_go="no Go toolchain to build kube-score and actionlint with",
)


@cache
def scanner(name: str) -> Path:
    """The path of a scanner. Skips the test where it cannot be built, or fails it where CI says that everything has to run."""
    try:
        return SCANNERS.build() / name
    except (GoMissingError, subprocess.CalledProcessError) as error:
        if cluster_tests_required():
            pytest.fail(f"TREADLE_CLUSTER_TESTS=required, but: {error}", pytrace=False)
        pytest.skip(str(error))
