"""The agent acts alone: what the rules say is carried out in a thread, so that samples go on meanwhile."""

import sys
import threading
from collections.abc import Callable

from treadle.agent.alone import Amount, Watch, victims
from treadle.agent.evicting import Refused, Server
from treadle.agent.sampler import Sample

SIZE_LASTS = 600.0
"""Seconds for which it is known what a node has."""
AGAIN = 10.0
"""Seconds after which the API server is asked again that did not answer."""


class Acting:
    """Looks at each sample while no scheduler asks, and asks pods to go. ``evicted`` counts those that were asked."""

    def __init__(self, watch: Watch, server: Server, node: str, clock: Callable[[], float]) -> None:
        self.watch, self.evicted = watch, 0
        self._server, self._node, self._clock = server, node, clock
        self._size: Amount | None = None
        self._known_until = float("-inf")
        self._not_before = float("-inf")
        self._told = False
        self._thread: threading.Thread | None = None

    def asked(self, by: str, now: float) -> None:
        """Take note of who asked for a sample."""
        if by.partition("/")[0] == "treadle":
            self.watch.asked = now

    def turn(self, now: float, sample: Sample | None) -> None:
        """Look at a sample."""
        alone = self.watch.alone(now)
        if alone != self._told:
            self._told = alone
            for_long = (
                f"no scheduler has asked for {now - self.watch.asked:.0f} s: opportunistic pods go by the agent's own limits"
            )
            _say(for_long if alone else "a scheduler asks again, and decides who goes")
        lacking = self.watch.look(now, self._size, sample)
        if not alone or now < self._not_before or (self._thread is not None and self._thread.is_alive()):
            return
        if now >= self._known_until:
            self._begin(self._learn)
        elif lacking is not None and sample is not None:
            found, known = lacking, sample
            self._begin(lambda: self._free(found, known))

    def settle(self) -> None:
        """Wait until what was begun is done."""
        if self._thread is not None:
            self._thread.join()

    def _begin(self, what: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=self._safely, args=(what,), name="acting", daemon=True)
        self._thread.start()

    def _safely(self, what: Callable[[], None]) -> None:
        try:
            what()
        except (Refused, OSError, KeyError, ValueError, TypeError) as error:
            self._not_before = self._clock() + AGAIN
            _say(f"nobody can be asked to go: {type(error).__name__}: {error}")

    def _learn(self) -> None:
        self._size = self._server.size(self._node)
        self._known_until = self._clock() + SIZE_LASTS

    def _free(self, lacking: Amount, sample: Sample) -> None:
        why = f"opportunistic: no scheduler has asked for {self._clock() - self.watch.asked:.0f} s, and {self._in_words(lacking, sample)}"
        going = victims(self._server.opportunistic(self._node), sample.pods, lacking)
        self.watch.removed(self._clock())
        if not going:
            _say(f"{why}; there is no opportunistic pod that would free any of it")
        for one in going:
            try:
                self._server.evict(one)
            except Refused as refused:  # a disruption budget, for one
                _say(f"{one.namespace}/{one.name} does not go: {refused}")
                continue
            self.evicted += 1
            _say(f"{one.namespace}/{one.name} was asked to go: {why}")
            self._server.tell(one, why, self._node)

    def _in_words(self, lacking: Amount, sample: Sample) -> str:
        most, size = self.watch.limits, self._size or Amount(0, 0)
        words = []
        if lacking.cpu:
            words.append(f"{sample.all.cpu}m of its {size.cpu}m cpu, more than {most.cpu}%")
        if lacking.memory:
            words.append(f"{sample.all.memory} of its {size.memory} bytes of memory, more than {most.memory}%")
        return f"pods of node {self._node} use {' and '.join(words)}"


def _say(text: str) -> None:
    print(f"treadle agent: {text}", file=sys.stderr, flush=True)
