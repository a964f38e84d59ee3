"""Resources fit where every demanded amount is free (plugin NodeResourcesFit); a demand of zero fits even an overcommitted node."""

import numpy as np

from treadle.core.units.resources import PODS, Demand, Vector


def fits(free: Vector, demand: Demand) -> bool:
    """Whether one node's free amounts cover a demand. Positions beyond the node's vector count as nothing free."""
    return all(free[position] >= value for position, value in demand)


def fitting(
    free: "np.ndarray[tuple[int, int], np.dtype[np.int64]]", demand: Demand
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return for the columns ``free[type, node]`` which nodes cover a demand."""
    mask = np.ones(free.shape[1], dtype=np.bool_)
    for position, value in demand:
        mask &= free[position] >= value
    return mask


def shortages(
    free: "np.ndarray[tuple[int, int], np.dtype[np.int64]]", demand: Demand, names: list[str]
) -> dict[str, "np.ndarray[tuple[int], np.dtype[np.bool_]]"]:
    """Return for the columns ``free[type, node]`` which nodes are short of what, in kube-scheduler's words."""
    return {
        "Too many pods" if position == PODS else f"Insufficient {names[position]}": free[position] < value
        for position, value in demand
    }
