"""The states of a pod, and the steps between them: the whole automaton."""

from __future__ import annotations

from enum import Enum
from typing import Final


class PodState(Enum):
    """Where a pod stands.

    IDLE: not to be placed now (gated, being deleted, refused by the server until the watch says more).
    WAITING: in an ask. DELAYED: a bind failed and it is tried again at a later time. ASSUMED: placed and counted, bind under way.
    BOUND: the API says that it is on a node (ours or foreign).
    """

    IDLE = "idle"
    WAITING = "waiting"
    DELAYED = "delayed"
    ASSUMED = "assumed"
    BOUND = "bound"

    __hash__ = object.__hash__  # that of an enumeration is computed from the name, each time


ASSUMED = PodState.ASSUMED
"""For where it is named at every placement: an enumeration looks its members up slowly."""


IDLE, WAITING, DELAYED, BOUND = PodState.IDLE, PodState.WAITING, PodState.DELAYED, PodState.BOUND

TRANSITIONS: Final[frozenset[tuple[PodState, PodState]]] = frozenset(
    {
        (IDLE, WAITING),  # enqueue: it is ours and may be placed
        (IDLE, DELAYED),  # a bind failed and was taken back; it is tried again later
        (IDLE, BOUND),  # it was seen on a node
        (WAITING, WAITING),  # it goes to the ask of another partition
        (WAITING, ASSUMED),  # assume: a node was decided
        (WAITING, IDLE),  # withdraw, or set aside
        (DELAYED, WAITING),  # its time has come
        (DELAYED, IDLE),  # withdraw
        (ASSUMED, BOUND),  # the watch confirms it
        (ASSUMED, IDLE),  # forget, or withdraw
        (BOUND, ASSUMED),  # what another core had decided and not heard of is counted like what is bound, and then assumed
        (BOUND, IDLE),  # withdraw
    }
)
"""The steps there are; ``PodTable.move`` takes no other."""
