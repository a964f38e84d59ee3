"""``treadle convert``: YARN's configuration files as our objects."""

import sys
from pathlib import Path

import yaml

from treadle.convert.allocations import read
from treadle.convert.errors import AllocationError
from treadle.convert.objects import convert as convert_file
from treadle.convert.objects import properties
from treadle.runtime.policies import PolicyUnusable, load_policies


def convert(allocations: Path, yarn_site: Path | None = None, /) -> None:
    """Print Scheduler and Queue objects for a fair-scheduler.xml, and, as comments, what has no counterpart.

    A file that Hadoop would refuse is refused with the line, and nothing is printed.

    Parameters
    ----------
    allocations:
        The FairScheduler's allocation file.
    yarn_site:
        The yarn-site.xml beside it, for cluster-wide settings.
    """
    shown = allocations
    try:
        load_policies()
        file = read(allocations.read_bytes())
        shown = yarn_site or allocations
        site = properties(yarn_site.read_bytes()) if yarn_site is not None else {}
        converted = convert_file(file, site)
    except PolicyUnusable as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None
    except AllocationError as error:
        print(f"{shown}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except (OSError, ValueError) as error:
        print(f"{shown}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    print(yaml.safe_dump_all(converted.objects, sort_keys=False), end="")
    for note in converted.notes:
        print(f"# {note}")
