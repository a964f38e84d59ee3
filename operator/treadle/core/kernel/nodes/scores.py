"""How well a node suits a pod: a number, smaller is better, the same for one node and for columns of nodes.

Pack fills nodes one after the other, so that whole nodes stay free (kube-scheduler's MostAllocated); Spread evens them out
(LeastAllocated). Both look at the fraction of memory and cpu that would be left after the placement.
"""

from collections.abc import Callable
from typing import Any

Score = Callable[[Any, Any, int, int, Any, Any], Any]
"""``(free_memory, free_cpu, memory, cpu, per_memory, per_cpu)``: amounts free and demanded, and 1 / allocatable; numbers or arrays."""


def pack(free_memory: Any, free_cpu: Any, memory: int, cpu: int, per_memory: Any, per_cpu: Any) -> Any:
    """Return the fraction left after the placement: the fullest node first."""
    return (free_memory - memory) * per_memory + (free_cpu - cpu) * per_cpu


def spread(free_memory: Any, free_cpu: Any, memory: int, cpu: int, per_memory: Any, per_cpu: Any) -> Any:
    """Return the fraction taken after the placement, negated: the emptiest node first."""
    return (memory - free_memory) * per_memory + (cpu - free_cpu) * per_cpu


SCORES: dict[str, Score] = {"Pack": pack, "Spread": spread}
