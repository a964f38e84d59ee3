"""By hand: ``python -m tests.fuzz --objects 200000 --seed 1``. Prints what went wrong, with the fewest steps that show it."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from pathlib import Path
from pprint import pformat

sys.path[:0] = [str(Path(__file__).parents[1])]

from fuzz.runs import a_run  # noqa: E402
from fuzz.smaller import smaller  # noqa: E402 - the tests are no package


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--objects", type=int, default=10_000, help="how many objects are made, at least")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the next one has the next number")
    parser.add_argument("--length", type=int, default=200, help="steps of a run")
    parser.add_argument("--shown", type=int, default=5, help="different failures that are made smaller and shown")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    start, made, seed, failures = time.perf_counter(), 0, given.seed, Counter[str]()
    while made < given.objects:
        steps, failure, count = a_run(seed, given.length)
        made += count
        if failure is not None:
            failures[failure.kind] += 1
            if failures[failure.kind] == 1 and len(failures) <= given.shown:
                few = smaller(steps, failure)
                print(
                    f"seed {seed}, {len(steps)} steps made {len(few)}: {failure}\n{pformat(few, width=150, compact=True)}\n",
                    flush=True,
                )
        seed += 1
    seconds = time.perf_counter() - start
    print(
        f"{made} objects in {seed - given.seed} runs and {seconds:.0f} s: {sum(failures.values())} failures, {len(failures)} kinds"
    )
    for kind, count in failures.most_common():
        print(f"  {count} times {kind}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
