"""``treadle agent``: what the pods of this node use. Imports nothing but the agent, which has to stay small."""

import sys

from treadle.agent.command import AgentOptions, Unusable, run


def agent(
    *,
    listen: str = "0.0.0.0:9101",
    cgroups: str = "/sys/fs/cgroup",
    pods: str = "",
    node: str = "",
    alone: str = "",
    server: str = "",
    credentials: str = "",
) -> int:
    """Tell what the pods of this node use, second by second, until SIGTERM. It asks nobody and needs no rights but to read cgroups, unless it may act alone.

    Parameters
    ----------
    listen:
        Where to serve /sample, /metrics and /healthz, as host:port.
    cgroups:
        Where cgroup v2 is mounted.
    pods:
        The cgroup of all pods below it; found if absent.
    node:
        The name of the node in samples; NODE_NAME of the environment, or the host's, if absent.
    alone:
        By which limits opportunistic pods are evicted while no scheduler asks, such as cpu=85,memory=80,after=60,borne=5; never if absent.
    server:
        The API server as host:port, for that; the cluster's own if absent.
    credentials:
        A folder with the files token and ca.crt, for that; those of the pod's service account if absent.
    """
    return serve(AgentOptions(listen, cgroups, pods, node, alone, server, credentials))


def serve(options: AgentOptions) -> int:
    """Run the agent and return the exit status."""
    try:
        run(options)
    except Unusable as error:
        print(f"treadle: {error}", file=sys.stderr)
        return 2
    return 0
