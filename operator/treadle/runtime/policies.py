"""Scheduling policies of one's own: installed packages name them under the entry point group ``treadle.policies``."""

import logging
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from treadle.core.errors import InvalidSpec
from treadle.core.rules.fair.policies import BUILT_IN, POLICIES, register
from treadle.core.rules.policies import Policy

GROUP = "treadle.policies"
PARTS = ("compare", "ranker", "counts", "shares", "headroom", "weigh")


class PolicyUnusable(Exception):
    """An installed policy cannot be used; the message names the package's entry point and what is wrong."""


RAISED: Final = (Exception, SystemExit)
"""What code that others wrote may raise and that is an error like any other: one that calls ``sys.exit`` would end the process."""


def is_installed(name: str) -> bool:
    """Whether a policy was installed by an administrator."""
    return name in POLICIES and type(POLICIES[name]) not in BUILT_IN


def load_policies(found: list[EntryPoint] | None = None) -> list[str]:
    """Register every policy that is installed; returns their names. Raises ``PolicyUnusable``.

    An entry point is a class without arguments or an object; its name must be that of the policy.
    """
    names = []
    for entry in sorted(found if found is not None else entry_points(group=GROUP), key=lambda entry: entry.name):
        where = f"scheduling policy {entry.name!r} ({entry.value})"
        try:
            loaded = entry.load()
            policy: Policy = loaded() if isinstance(loaded, type) else loaded
        except RAISED as error:
            raise PolicyUnusable(f"{where} cannot be loaded: {error}") from error
        if getattr(policy, "name", None) != entry.name or getattr(type(policy), "compare", Policy.compare) is Policy.compare:
            raise PolicyUnusable(f"{where}: it must have the name {entry.name!r} and a method compare")
        missing = [part for part in PARTS if not callable(getattr(policy, part, None))]
        if missing:
            raise PolicyUnusable(
                f"{where}: {', '.join(missing)} is missing; a policy is a subclass of {Policy.__module__}.Policy"
            )
        try:
            register(policy)
        except InvalidSpec as error:
            raise PolicyUnusable(f"{where}: {error}") from error
        names.append(entry.name)
        logging.getLogger(__name__).info("scheduling policy %s is known", entry.name)
    return names
