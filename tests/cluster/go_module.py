"""Programs that a Go module beside the tests pins, built once into a cache outside the checkout."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class GoMissingError(Exception):
    """Something has to be built and there is no Go toolchain; the text is what a person should read."""


def cache() -> Path:
    """The folder of all that is built for tests; it may not exist yet."""
    named = os.environ.get("TREADLE_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treadle"


@dataclass(frozen=True)
class GoModule:
    """A module in ``folder`` and the packages that are built of it, by the name of the program.

    ``kind`` is its folder in the cache, ``named`` the modules whose versions name the folder below it, and ``missing_go`` what is said where there is no
    toolchain. Checksums of all modules are in its ``go.sum``, so the same programs are built everywhere.
    """

    folder: Path
    packages: Mapping[str, str]
    kind: str
    named: tuple[str, ...]
    flags: str = "-s -w"
    tags: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    missing_go: str = "no Go toolchain to build with"

    def version(self, module: str) -> str:
        """Version of ``module`` (as v1.2.3). Raises ``LookupError``."""
        found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", (self.folder / "go.mod").read_text(), re.MULTILINE)
        if found is None:
            raise LookupError(f"{self.folder / 'go.mod'} does not require {module}")
        return found.group(1)

    def binaries(self) -> Path:
        """The cache folder of exactly these versions; it may not exist yet."""
        digest = hashlib.sha256((self.folder / "go.mod").read_bytes() + (self.folder / "go.sum").read_bytes()).hexdigest()[:10]
        versions = "_".join(
            f"{re.sub('/v[0-9]+$', '', one).removesuffix('/server').rpartition('/')[2]}-{self.version(one)}" for one in self.named
        )
        return cache() / self.kind / f"{versions}_{platform.machine()}_{digest}"

    def missing(self) -> list[str]:
        """Names of the programs that the cache lacks."""
        return [name for name in self.packages if not (self.binaries() / name).exists()]

    def build(self) -> Path:
        """Build what is missing and return the folder. Raises ``GoMissingError`` where something is missing and there is no ``go``."""
        folder = self.binaries()
        if not self.missing():
            return folder
        go = shutil.which("go")
        if go is None:
            raise GoMissingError(self.missing_go)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs at once build it once
            for name in self.missing():
                print(f"building {name} into {folder}", file=sys.stderr, flush=True)
                unfinished = folder / f".{name}.{os.getpid()}"
                command = [go, "build", "-trimpath", *(["-tags", self.tags] if self.tags else []), "-ldflags", self.flags]
                command += ["-o", str(unfinished), self.packages[name]]
                subprocess.run(command, cwd=self.folder, env={**os.environ, "CGO_ENABLED": "0", **self.environment}, check=True)
                unfinished.rename(folder / name)
        return folder


def kubernetes_flags(version: str) -> str:
    """Link flags that tell Kubernetes' programs their version: without them /version answers ``v0.0.0-master+$Format:%H$``, which tools cannot compare."""
    major, minor, _ = version.lstrip("v").split(".", 2)
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    flags = [f"-X k8s.io/component-base/version.{key}={value}" for key, value in values.items()]
    return " ".join(["-s -w", *flags, f"-X k8s.io/client-go/pkg/version.gitVersion={version}"])
