"""Our binder alone, with the placements given: how fast the API server takes binds. Reads placements as JSON lines from standard input."""

import asyncio
import gc
import json
import sys
import time

import uvloop

from treadle.kube import auth
from treadle.kube.binder import Binder, Placement
from treadle.kube.transport import Client


async def bind_all(kubeconfig: str, placements: list[Placement]) -> dict[str, float]:
    outcomes = []
    complete = asyncio.Event()

    def report(outcome: object) -> None:
        outcomes.append(outcome)
        if len(outcomes) == len(placements):
            complete.set()

    async with Client(auth.load(kubeconfig)) as client:
        gc.collect()
        gc.freeze()  # as the running scheduler does
        gc.set_threshold(50_000, 20, 100)
        binder = Binder(client, report)
        running = asyncio.create_task(binder.run())
        start, cpu = time.perf_counter(), time.process_time()
        for placement in placements:
            binder.submit(placement)
        await complete.wait()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return {"bound": binder.bound, "seconds": seconds, "cpu_s": cpu}


if __name__ == "__main__":
    given = [Placement(**json.loads(line)) for line in sys.stdin]
    print(json.dumps(uvloop.run(bind_all(sys.argv[1], given))))
