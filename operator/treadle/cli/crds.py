"""``treadle crds``: the CustomResourceDefinitions, made from the models."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from treadle.api import crds as generator
from treadle.api.objects import KINDS


def crds(
    *,
    write: Annotated[bool, Parameter(negative="")] = False,
    check: Annotated[bool, Parameter(negative="")] = False,
    root: Path = Path(),
) -> int:
    """Print the CustomResourceDefinitions, or keep a checkout's copies of them up to date.

    Parameters
    ----------
    write
        Write crds/ and the chart's copies instead of printing.
    check
        Compare them instead; exit 1 and name the files that differ.
    root
        The checkout.
    """
    if write and check:
        print("treadle crds: --write and --check exclude each other", file=sys.stderr)
        return 2
    if not write and not check:
        print("---\n".join(generator.document(generator.crd(kind)) for kind in KINDS), end="")
        return 0
    if not (root / "crds").is_dir():
        print(
            f"treadle crds: there is no folder crds in {root.resolve()}; run in a checkout or name one with --root",
            file=sys.stderr,
        )
        return 2
    if write:
        for path in generator.write(root):
            print(f"wrote {path}")
        return 0
    stale = generator.stale(root)
    for path in stale:
        print(f"{path} differs from the models: run `treadle crds --write`, or remove it if its kind is gone", file=sys.stderr)
    return 1 if stale else 0
