"""Delay scheduling: how long an application is kept from looser places for the sake of better ones (Hadoop's ``FSAppAttempt``).

Per key there is an allowed level. It starts at the host and is loosened one step when the key was passed over often enough: more
often than a part of the number of nodes, or longer than a delay. A container that is placed closer than allowed tightens it
again.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import IntEnum

from treadle.core.units.amounts import f32

Key = Hashable
"""What an application's asks are told apart by."""


class Level(IntEnum):
    """How close to where it wants to be a container is, or may be."""

    NODE = 0
    RACK = 1
    ANYWHERE = 2


class Locality:
    """The allowed levels of an application's keys."""

    __slots__ = ("allowed", "chances", "since")

    def __init__(self) -> None:
        self.allowed: dict[Key, Level] = {}
        self.chances: dict[Key, int] = {}
        self.since: dict[Key, float] = {}

    def offered(self, key: Key) -> None:
        """Count a chance that a key was given."""
        self.chances[key] = self.chances.get(key, 0) + 1

    def by_chances(self, key: Key, nodes: int, of_node: float, of_rack: float) -> Level:
        """Return the level allowed to a key; the thresholds are parts of the number of nodes, negative for no delay at all."""
        of_node, of_rack = f32(min(of_node, 1.0)), f32(min(of_rack, 1.0))
        if of_node < 0 or of_rack < 0:
            return Level.ANYWHERE
        level = self.allowed.get(key)
        if level is None:
            self.allowed[key] = Level.NODE
            return Level.NODE
        if level is Level.ANYWHERE:
            return level
        if self.chances.get(key, 0) > nodes * (of_node if level is Level.NODE else of_rack):
            level = self.allowed[key] = Level(level + 1)
            self.chances[key] = 0
        return level

    def by_time(self, key: Key, now: float, node_delay: float, rack_delay: float) -> Level:
        """Return the level allowed to a key; the delays are in the unit of ``now``, negative for none at all."""
        if node_delay < 0 or rack_delay < 0:
            return Level.ANYWHERE
        level = self.allowed.get(key)
        if level is None:
            self.allowed[key], self.since[key] = Level.NODE, now
            return Level.NODE
        if level is not Level.ANYWHERE and now - self.since.get(key, now) > (node_delay if level is Level.NODE else rack_delay):
            level = self.allowed[key] = Level(level + 1)
            self.since[key] = now
            self.chances[key] = 0
        return level

    def placed(self, key: Key, level: Level) -> None:
        """Note how close a container was placed: from now on nothing looser is allowed until the delay is over again."""
        allowed = self.allowed.get(key)
        if allowed is not None and level < allowed:
            self.allowed[key] = level
