"""A port of the node can be had once (plugin NodePorts): 0.0.0.0 clashes with every address of the same protocol and port."""

from collections.abc import Iterable

from treadle.core.model import HostPort

REASON = "node(s) didn't have free ports for the requested pod ports"
ANY = "0.0.0.0"  # noqa: S104 - the wildcard of the rule, nothing is bound here


def clash(wanted: HostPort, taken: HostPort) -> bool:
    """Whether two host ports cannot be on one node."""
    return (
        wanted.port == taken.port
        and wanted.protocol == taken.protocol
        and (wanted.ip == taken.ip or ANY in {wanted.ip, taken.ip})
    )


def free(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """Whether none of the wanted ports clashes with a taken one."""
    held = list(taken)
    return not any(clash(port, other) for port in wanted for other in held)
