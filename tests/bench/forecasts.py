"""What a forecast costs: the loop's time for taking facts, and the process that looks ahead.

``python tests/bench/forecasts.py [NODES PODS WAITING]``: pods run on nodes that they fill, and as many wait as the third number says. Half of the applications declare nothing, and
run times of the queue stand for theirs, so that all futures are looked at.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
if not __package__:  # run as a program
    sys.path[:] = [str(HERE.parent), *(entry for entry in sys.path if entry != str(HERE))]

from core.builders import a_node, a_pod, replaced  # noqa: E402
from treadle.core import Core  # noqa: E402
from treadle.core.effects import Bind  # noqa: E402
from treadle.core.events import NodeSeen, PodSeen, QueueSeen  # noqa: E402
from treadle.core.model import QueueSpec, Settings  # noqa: E402
from treadle.forecast.forward import Bounds, foreseen, run  # noqa: E402
from treadle.runtime.forecaster import Forecaster  # noqa: E402


def filled(nodes: int, pods: int, waiting: int) -> Core:
    """A core whose nodes are full."""
    core = Core()
    for number in range(20):
        core.handle(QueueSeen(QueueSpec(f"root.q{number}")), 1000.0)
    for number in range(nodes):
        core.handle(NodeSeen(a_node(f"node-{number}", cpu=pods // nodes)), 1000.0)
    for number in range(pods + waiting):
        application = number // 20
        duration = 0.0 if application % 2 else float(600 + number % 600)
        spec = a_pod(
            f"p-{number}", f"root.q{application % 20}", f"app-{application}", duration=duration, created=float(number + 1)
        )
        core.handle(PodSeen(spec), 1000.0)
    for effect in core.plan(1000.0):
        if isinstance(effect, Bind):
            spec = core.state.pods[effect.uid].spec
            core.handle(
                PodSeen(replaced(spec, node=effect.node, held_in=effect.queue, started=float(400 + hash(effect.uid) % 600))),
                1000.0,
            )
    return core


async def measure(nodes: int, pods: int, waiting: int) -> None:
    """Print what it costs."""
    core = filled(nodes, pods, waiting)
    gc.collect()
    gc.freeze()  # as the service does
    forecaster = Forecaster(core.telling, lambda: core.view, Settings(), clock=lambda: 1000.0)
    for queue in range(20):
        for number in range(64):
            forecaster.ended.note(f"ns/old-{queue}", f"root.q{queue}", 700.0 + 10 * number, 0.0)
    packed, took = await forecaster._pack()
    print(f"facts: {took:.2f} s of the loop, longest slice {forecaster.longest_slice * 1000:.0f} ms, {len(packed) / 1e6:.1f} MB")
    start = time.perf_counter()
    future = run(list(foreseen(core.facts())), Settings(), 1000.0, lambda pod, *_: pod.duration or 900.0, Bounds())
    print(
        f"one future: {time.perf_counter() - start:.1f} s, {len(future.starts)} starts, stopped by {future.stopped or 'nothing'}"
    )
    start = time.perf_counter()
    found = await forecaster._ask(packed)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"process: {time.perf_counter() - start:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of a core, {used.ru_maxrss / 1024:.0f} MiB, "
        f"{found.scenarios} futures, {len(found.applications)} applications, stopped by {found.stopped or 'nothing'}"
    )


if __name__ == "__main__":
    sizes = [int(one) for one in sys.argv[1:4]]
    asyncio.run(measure(*(sizes or [5_000, 20_000, 5_000])))
