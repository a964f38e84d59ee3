"""The stream of the page: all that somebody may see, then what changed, one piece for all who see the same."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aiohttp
import pytest

from core.builders import Scenario
from kube.access import until
from page.large import large
from page.serving import Shown
from rest.reviewing import ReviewingApi
from treadle.core.model import AccessList
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.page import stream, viewers
from treadle.page.admitting import Asked
from treadle.page.packing import HEAD, packed
from treadle.rest.asking import Asker

ALL = "topics=queues,applications,nodes"


def listed(*users: str) -> AccessList:
    return AccessList(frozenset(users), frozenset(), frozenset())


def busy() -> Scenario:
    """Two teams, of which each sees its own queue, and the root's administrator all."""
    s = Scenario().node("n", cpu=2).node("m", cpu=1)
    s.queue("root", submit=listed(), administer=listed("boss"))
    s.queue("root.data", view=listed("ann")).queue("root.data.etl", submit=listed("*")).queue(
        "root.web", view=listed("bob"), submit=listed("*")
    )
    s.pods(4, "e", "root.data.etl", application="etl").pod("w", "root.web", application="web")
    return planned(s)


def planned(s: Scenario) -> Scenario:
    s.wait(1)
    s.confirm(s.plan())
    s.wait(1).plan()
    return s


@pytest.fixture
async def shown() -> AsyncIterator[Shown]:
    async with Shown(busy()).served() as one:
        yield one


class Guarded:
    """A page for those whom an API server knows; what the API server answers is forgotten by ``forget``."""

    def __init__(self, api: ReviewingApi, client: Client) -> None:
        self.api, self.clock, self.unready = api, 0.0, ""
        self.scenario = busy()
        asker = Asker(Reviews(client, lambda: self.clock))
        self.shown = Shown(self.scenario, Asked(asker, lambda: self.scenario.core.view, lambda: self.unready))


@pytest.fixture
async def guarded(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Guarded]:
    monkeypatch.setattr(stream, "RECHECK", 0.1)
    api = ReviewingApi()
    await api.start()
    api.tokens = {name: {"username": name} for name in ("ann", "bob", "boss", "eve", "lister", "root")}
    api.rights.add(("root", "view", ""))
    api.core_rights.add(("lister", "list", "nodes", ""))
    try:
        async with Client(Access(api.url)) as client:
            one = Guarded(api, client)
            async with one.shown.served():
                yield one
    finally:
        await api.stop()


async def test_all_is_told_first_and_then_what_changed(shown: Shown) -> None:
    async with shown.reading(ALL) as reader:
        name, said = await reader.event()
        assert (name, reader.queues) == ("full", ["root", "root.data", "root.data.etl", "root.web"])
        assert said["cluster"]["total"]["cpu"] == 3000
        assert reader.known["nodes"]["n"]["used"]["cpu"] == 2000
        assert reader.known["applications"]["ns/etl"]["waiting"] == 2
        name, said = await reader.event()
        assert (name, said.keys()) == ("change", {"cluster"})
        shown.scenario.queue("root.new").without_queue("root.web").node("k", cpu=8)
        planned(shown.scenario)
        while "root.new" not in reader.queues or reader.known["applications"]["ns/etl"].get("waiting"):
            assert (await reader.event())[0] == "change"
        assert reader.known["nodes"].keys() == {"k", "m", "n"}
        shown.scenario.without_node("k").gone(*(f"e-{number}" for number in range(4)))
        while "k" in reader.known["nodes"] or "ns/etl" in reader.known["applications"]:
            await reader.event()


async def test_a_row_that_did_not_change_is_not_sent_again(shown: Shown) -> None:
    shown.scenario.queue("root.idle")
    async with shown.reading(ALL) as reader:
        await reader.event()
        planned(shown.scenario.pod("x", "root.web", application="other"))
        told = {row["name"] for row in (await reader.until_said("queues"))["rows"]}
        assert "root.web" in told
        assert "root.idle" not in told


async def test_an_application_that_waits_has_a_reason_a_place_in_line_and_who_is_ahead(shown: Shown) -> None:
    shown.scenario.pods(2, "late", "root.data.etl", application="late")
    planned(shown.scenario)
    async with shown.reading(ALL) as reader:
        await reader.event()
    late, etl = (reader.known["applications"][f"ns/{name}"] for name in ("late", "etl"))
    assert (late["reason"], late["place"], late["line"]) == ("Unschedulable", 1, 2)
    assert (etl["place"], etl["ahead"]) == (2, ["ns/late"])
    assert "Insufficient" in late["message"]


async def test_applications_are_told_of_one_queue_and_below_and_topics_that_nobody_wants_are_not_computed(shown: Shown) -> None:
    async with shown.reading("topics=applications&queue=root.data") as reader:
        _, said = await reader.event()
        assert (reader.known["applications"].keys(), "nodes" in said) == ({"ns/etl"}, False)
        assert shown.stream.board.rows["nodes"] == {}


async def test_without_gzip_the_same_is_told_in_the_clear(shown: Shown) -> None:
    async with shown.reading(ALL, **{"Accept-Encoding": "identity"}) as reader:
        assert "Content-Encoding" not in reader.answer.headers
        assert (await reader.event())[0] == "full"
        assert (await reader.event())[0] == "change"


def test_pieces_of_one_stream_can_be_read_by_whoever_comes_late() -> None:
    pieces = [packed(text) for text in (b"one" * 99, b"two" * 99, b"one" * 99)]
    for first in range(3):
        reader = zlib.decompressobj(16 + zlib.MAX_WBITS)
        assert reader.decompress(HEAD) == b""
        assert [reader.decompress(piece)[:3] for piece in pieces[first:]] == [b"one", b"two", b"one"][first:]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("topics=pods", "topics: 'pods' is not told of; allowed are queues, applications, nodes"),
        ("queue=root%0a", "queue: 'root\\n' names nothing; allowed are 512 letters"),
        ("topic=queues", "topic: unknown parameter; allowed are topics, queue"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(shown: Shown, query: str, words: str) -> None:
    assert await shown.refusal(query) == (400, words)


async def test_a_copy_that_stands_by_says_who_leads_and_closes_so_that_another_one_may_be_reached(shown: Shown) -> None:
    async with shown.reading() as reader:
        await reader.event()
        shown.leader = "treadle-7"
        while (event := await reader.event())[0] != "bye":
            pass
        assert event[1] == {"status": 503, "message": "this copy stands by and decides nothing; treadle-7 leads"}
        with pytest.raises(EOFError):
            await reader.event()
    assert (await shown.refusal())[0] == 503
    async with aiohttp.ClientSession() as session, session.get(f"{shown.url}{stream.PATH}") as answer:
        assert answer.headers["Connection"] == "close"


async def test_so_many_pages_are_served_and_no_more(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_VIEWERS", 2)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await (await stack.enter_async_context(shown.reading())).event()
        assert await shown.refusal() == (503, "2 pages are open, and no more are served at once")
    await until(lambda: not shown.stream.viewers.all)
    async with shown.reading() as reader:
        assert (await reader.event())[0] == "full"


async def test_nothing_is_computed_while_nobody_looks(shown: Shown) -> None:
    async with shown.reading() as reader:
        await reader.event()
        ticking = shown.stream._ticking
        assert ticking is not None
    await until(lambda: not shown.stream.viewers.all)
    await until(ticking.done)


async def test_all_who_see_the_same_get_one_piece(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    monkeypatch.setattr(viewers, "packed", lambda body: made.append(body) or packed(body))
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(shown.reading()) for _ in range(5)]
        for reader in readers:
            await reader.event()
        made.clear()
        shown.scenario.queue("root.new")
        for reader in readers:
            while "root.new" not in reader.queues:
                await reader.event()
        assert sum(b"root.new" in body for body in made) == 1


async def test_who_does_not_read_is_hung_up_on_and_nothing_is_kept_for_them() -> None:
    viewer = viewers.Viewer(viewers.Wish(frozenset({"queues"})), None)
    taken = [viewer.put(b"piece") for _ in range(viewers.MOST_OWED + 1)]
    assert taken == [True] * viewers.MOST_OWED + [False]
    assert [viewer.owed.get_nowait() for _ in range(viewer.owed.qsize())][-1] is None


async def test_an_error_of_a_tick_ends_no_stream(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown.reading() as reader:
        await reader.event()
        with monkeypatch.context() as broken:
            failed = asyncio.Event()

            async def fail(_: object) -> None:
                failed.set()
                raise RuntimeError("broken")

            broken.setattr(shown.stream.board, "tick", fail)
            await failed.wait()
        assert (await reader.event())[0] == "change"


async def test_little_is_sent_while_little_changes_of_five_thousand_queues() -> None:
    scenario = large()
    async with Shown(scenario).served() as shown, shown.reading("topics=queues,applications") as reader:
        await reader.event()
        assert (len(reader.queues), reader.bytes < 300_000) == (5001, True)
        reader.bytes = 0
        await reader.event()
        assert reader.bytes < 500
        reader.bytes = 0
        planned(scenario.gone(*(f"p{number}-0" for number in range(5))))
        changed = 0
        while changed < 5:
            changed += len((await reader.event())[1].get("applications", {}).get("rows", ()))
        assert reader.bytes < 20_000


# ---- who sees what


@pytest.mark.parametrize(
    ("who", "queues", "applications", "nodes", "cluster"),
    [
        ("ann", ["root.data", "root.data.etl"], ["ns/etl"], False, False),
        ("bob", ["root.web"], ["ns/web"], False, False),
        ("eve", [], [], False, False),
        ("lister", [], [], True, True),
        ("boss", ["root", "root.data", "root.data.etl", "root.web"], ["ns/etl", "ns/web"], False, True),
        ("root", ["root", "root.data", "root.data.etl", "root.web"], ["ns/etl", "ns/web"], True, True),
    ],
)
async def test_everybody_is_told_what_they_may_see(
    guarded: Guarded, who: str, queues: list[str], applications: list[str], nodes: bool, cluster: bool
) -> None:
    async with guarded.shown.reading(ALL, who) as reader:
        _, said = await reader.event()
    assert (reader.queues, sorted(reader.known["applications"])) == (queues, applications)
    assert said["nodes"] == {"rows": list(reader.known["nodes"].values())} if nodes else said["nodes"] == {"refused": True}
    assert ("cluster" in said) is cluster


async def test_what_is_gone_is_told_to_those_only_who_saw_it(guarded: Guarded) -> None:
    async with guarded.shown.reading(ALL, "ann") as ann, guarded.shown.reading(ALL, "boss") as boss:
        await ann.event()
        await boss.event()
        guarded.scenario.gone("w").without_queue("root.web")
        while "ns/web" in boss.known["applications"]:
            await boss.event()
        guarded.scenario.queue("root.data.new")
        while "root.data.new" not in ann.queues:
            assert "web" not in str(await ann.event())


async def test_a_new_queue_is_shown_at_once_to_whoever_may_see_it_and_to_nobody_else(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "RECHECK", 3600.0)
    async with guarded.shown.reading(ALL, "ann") as ann, guarded.shown.reading(ALL, "bob") as bob:
        await ann.event()
        await bob.event()
        guarded.scenario.queue("root.data.new").queue("root.new", view=listed("bob"))
        while "root.data.new" not in ann.queues:
            await ann.event()
        while "root.new" not in bob.queues:
            await bob.event()
        assert (ann.queues, bob.queues) == (["root.data", "root.data.etl", "root.data.new"], ["root.new", "root.web"])


async def test_a_view_that_is_withdrawn_or_given_is_told_anew_after_a_while(guarded: Guarded) -> None:
    async with guarded.shown.reading(ALL, "ann") as reader:
        await reader.event()
        guarded.scenario.queue("root.data", view=listed("bob")).queue("root.web", view=listed("ann"), submit=listed("*"))
        while reader.queues != ["root.web"]:
            await reader.event()
        assert reader.known["applications"].keys() == {"ns/web"}


async def test_a_token_that_ends_ends_its_stream(guarded: Guarded) -> None:
    async with guarded.shown.reading(ALL, "boss") as reader:
        await reader.event()
        del guarded.api.tokens["boss"]
        guarded.clock += 3600
        while (event := await reader.event())[0] != "bye":
            pass
        assert event[1]["status"] == 401


async def test_nobody_without_a_token_is_told_anything_nor_before_all_is_known(guarded: Guarded) -> None:
    assert (await guarded.shown.refusal())[0] == 401
    assert (await guarded.shown.refusal(token="nobody"))[0] == 401
    guarded.unready = "the first lists"
    assert await guarded.shown.refusal(token="boss") == (503, "nothing can be told yet: the first lists")


async def test_a_user_has_so_many_pages_and_leaves_room_for_others(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_OF_ONE", 1)
    async with guarded.shown.reading(token="ann") as reader:
        await reader.event()
        assert await guarded.shown.refusal(token="ann") == (429, "User ann has 1 pages open, and no more are served at once")
        async with guarded.shown.reading(token="bob") as other:
            assert (await other.event())[0] == "full"
