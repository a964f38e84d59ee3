"""Questions to processes of their own: the loop takes facts and packs them in slices, and one process, which lives for one question, does all else."""

from __future__ import annotations

import asyncio
import io
import pickle
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

SLICE = 200
"""Facts that are taken and packed before others have their turn."""
MOST = 200_000
"""Facts beyond which nothing is asked."""
LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class Packed:
    """A question with its facts, how many seconds of the loop that took, and the longest slice of them."""

    body: bytes
    took: float
    longest: float


async def pack(question: object, facts: Iterable[object]) -> Packed:
    """Pack a question and the facts, in slices. Raises ``RuntimeError`` where they are too many."""
    buffer = io.BytesIO()
    packer = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    packer.dump(question)
    left, count, took, longest = iter(facts), 0, 0.0, 0.0
    while True:
        start = time.perf_counter()
        part = list(islice(left, SLICE))
        if part:
            packer.dump(part)
        spent = time.perf_counter() - start
        took, count, longest = took + spent, count + len(part), max(longest, spent)
        if not part:
            return Packed(buffer.getvalue(), took, longest)
        if count > MOST:
            raise RuntimeError(f"more than {MOST} objects are known")
        await asyncio.sleep(0)


async def ask(command: Sequence[str], packed: bytes, patience: float) -> Any:
    """Return what a process answers that is begun for this. Raises ``RuntimeError`` where it fails, or does not answer within ``patience`` seconds; it is ended then."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        answer, words = await asyncio.wait_for(child.communicate(packed), patience)
    except TimeoutError:
        raise RuntimeError(f"the process that looks ahead did not answer within {patience:g} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        last = words.decode(errors="replace").strip().rpartition("\n")[2][:LONGEST_WORDS]
        raise RuntimeError(f"the process that looks ahead ended with {child.returncode}: {last}")
    return pickle.loads(answer)  # noqa: S301 - of the process that was begun here
