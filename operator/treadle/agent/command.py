"""The command line of the agent, and its life: a sample a second until SIGTERM."""

import contextlib
import os
import resource
import signal
import sys
import time

from treadle.agent.pages import JSON_TYPE, METRICS_TYPE, alone_page, metrics_page, quoted, sample_page
from treadle.agent.port import Answer, Port
from treadle.agent.rows import TYPE_CHECKING, NamedTuple
from treadle.agent.sampler import Sample, Sampler

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.agent.acting import Acting

EVERY = 1.0
"""Seconds between samples."""
OLD_AFTER = 5.0
"""Seconds after which a sample is not shown any more."""
PLAIN = "text/plain"


class Unusable(Exception):
    """An option makes no sense; the message names it, its value and what is allowed."""


class AgentOptions(NamedTuple):
    """How to run: ``listen`` is ``host:port``, ``cgroups`` the mount of cgroup v2, ``pods`` the cgroup of all pods below it (empty: found), ``node`` our name.

    ``alone`` is by which limits to act alone (empty: never), ``server`` the API server's ``host:port`` and ``credentials`` a folder with its token and authority
    (empty for both: what a pod is given).
    """

    listen: str = "0.0.0.0:9101"
    cgroups: str = "/sys/fs/cgroup"
    pods: str = ""
    node: str = ""
    alone: str = ""
    server: str = ""
    credentials: str = ""


def plain_options(arguments: list[str]) -> AgentOptions | None:
    """Read ``--name=value`` and ``--name value``; None for anything else (help, an unknown option), which the command line proper answers."""
    found: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if not name.startswith("--") or name[2:] not in AgentOptions._fields:
            return None
        following = value if equals else next(rest, None)
        if following is None:
            return None
        found[name[2:]] = following
    return AgentOptions(**found)


def address(text: str) -> tuple[str, int]:
    """Return the host and the port of ``host:port``. Raises ``Unusable``."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise Unusable(f"--listen: {text!r} is not host:port, such as 0.0.0.0:9101, [::]:9101 or :9101")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)  # noqa: S104 - what an absent host means


class Agent:
    """A sampler and its last sample, which threads of the port read. ``clock`` is in seconds and never put back: the system's, if none is given."""

    def __init__(self, options: AgentOptions, clock: "Callable[[], float] | None" = None) -> None:
        self.node = options.node or os.environ.get("NODE_NAME", "") or os.uname().nodename
        self.sampler = Sampler(options.cgroups, options.pods)
        self.sample: Sample | None = None
        self._clock = clock or time.monotonic
        self._turned = self._clock()
        self._sampled = float("-inf")
        self._told = self.sampler.problem
        self.acting = _acting(options, self.node, self._clock) if options.alone else None

    def turn(self) -> None:
        """Take one sample. Why there is none is said once."""
        now = self._clock()
        sample = self.sampler.take(time.time(), now)
        self._turned = now
        self.sample = sample
        if sample is not None:
            self._sampled = now
        if self.sampler.problem != self._told:
            self._told = self.sampler.problem
            print(f"treadle agent: {self._told or 'samples are taken'}", file=sys.stderr, flush=True)
        if self.acting is not None:
            self.acting.turn(now, sample)

    def answer(self, path: str, by: str = "") -> Answer:
        """Answer a GET of the program ``by``."""
        now = self._clock()
        sample = self.sample if now - self._sampled < OLD_AFTER else None
        if path == "/healthz":
            stuck = now - self._turned
            return (200, PLAIN, "ok\n") if stuck < OLD_AFTER else (503, PLAIN, f"no sample was tried for {stuck:.0f} s\n")
        if path == "/metrics":
            acting = self.acting
            alone = "" if acting is None else alone_page(alone=acting.watch.alone(now), evicted=acting.evicted)
            return 200, METRICS_TYPE, metrics_page(sample) + alone
        if path == "/sample":
            if self.acting is not None:
                self.acting.asked(by, now)
            if sample is None:
                why = self.sampler.problem or f"the last sample is {now - self._sampled:.0f} s old"
                return 503, JSON_TYPE, f'{{"node":{quoted(self.node)},"problem":{quoted(why)}}}\n'
            return 200, JSON_TYPE, sample_page(sample, self.node)
        return 404, PLAIN, "there is /sample, /metrics and /healthz\n"

    def run(self) -> None:
        """Take samples until ``KeyboardInterrupt``. One that is late is not made up for."""
        due = time.monotonic()
        try:
            while True:
                self.turn()
                due = max(due + EVERY, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
        finally:
            self.sampler.close()


def _acting(options: AgentOptions, node: str, clock: "Callable[[], float]") -> "Acting":
    """Return what acts alone. What it needs is imported here, so that an agent that never acts has no use for the memory. Raises ``Unusable``."""
    from treadle.agent.acting import Acting
    from treadle.agent.alone import Unclear, Watch, limits
    from treadle.agent.evicting import CREDENTIALS, Server, address

    try:
        most = limits(options.alone)
    except Unclear as unclear:
        raise Unusable(f"--alone: {unclear}") from None
    where, credentials = options.server or address(), options.credentials or CREDENTIALS
    if not where:
        raise Unusable(
            "--server: empty, and KUBERNETES_SERVICE_HOST names no API server; to act alone one is needed, as host:port"
        )
    try:
        server = Server(where, credentials)
    except OSError as error:
        raise Unusable(f"--credentials: {credentials!r} has no ca.crt that can be read: {error}") from None
    return Acting(Watch(most, clock()), server, node, clock)


def run(options: AgentOptions) -> None:
    """Run until SIGTERM or SIGINT. Raises ``Unusable``."""
    host, port = address(options.listen)
    _many_files()
    agent = Agent(options)
    try:
        server = Port(host, port, agent.answer)
    except OSError as error:
        raise Unusable(f"--listen: cannot serve on {options.listen}: {error.strerror or error}") from error
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    with server:
        server.begin()
        with contextlib.suppress(KeyboardInterrupt):
            agent.run()


def _many_files() -> None:
    """Six files are open for each pod: allow ourselves what we may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
