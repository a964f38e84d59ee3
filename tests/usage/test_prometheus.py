"""What a Prometheus tells: a value for each node by a label, whose age is bounded, and what is wrong is said by its field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from treadle.core.model.opportunistic import PrometheusSettings
from treadle.core.views.opportunistic import Wanted
from treadle.usage.credentials import LONGEST, Credentials
from treadle.usage.prometheus import Prometheus, _duration
from treadle.usage.source import Look, NodeUse
from usage.pages import Page, Pages

QUERY = "/prefix/api/v1/query"
NODES = Wanted(("a", "b"))


def vector(**values: Any) -> Page:
    found = [{"metric": {"host": name}, "value": [1000.5, value]} for name, value in values.items()]
    return 200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": found}}).encode()


class Server:
    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.by_query: dict[str, Page] = {"C": vector(a="1.5", b="0"), "M": vector(a="1048576", b="2e9")}
        pages.answers[QUERY] = lambda query: self.by_query[query["query"]]

    async def look(self, wanted: Wanted = NODES, credentials: Credentials | None = None) -> Look:
        queries = (("cpu", "C"), ("memory", "M"))
        source = Prometheus(PrometheusSettings(f"{self.pages.url}/prefix", queries, "host", 30.0), 60.0, credentials)
        try:
            return await source.look(wanted)
        finally:
            await source.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Pages() as pages:
        yield Server(pages)


async def test_each_node_has_what_the_queries_say_of_it(server: Server) -> None:
    found = await server.look()
    assert found.nodes == [
        NodeUse("a", (("cpu", 1500), ("memory", 1 << 20)), 970.5, 30.0),
        NodeUse("b", (("cpu", 0), ("memory", 2 * 10**9)), 970.5, 30.0),
    ]
    assert (found.trouble, found.partly) == ("", "")


async def test_no_value_is_looked_back_for_further_than_half_of_the_age_and_it_counts_as_that_old(server: Server) -> None:
    found = await server.look()
    assert [query["lookback_delta"] for _, query in server.pages.asked] == ["30s", "30s"]
    assert {one.at for one in found.nodes} == {1000.5 - 30.0}


@pytest.mark.parametrize(("seconds", "said"), [(30.0, "30s"), (0.25, "250ms"), (1_000_000.0, "1000000s"), (1.5, "1500ms")])
def test_times_are_written_as_prometheus_reads_them(seconds: float, said: str) -> None:
    assert _duration(seconds) == said


async def test_a_node_of_which_one_resource_is_not_told_is_not_told_of(server: Server) -> None:
    server.by_query["M"] = vector(a="1")
    assert [one.node for one in (await server.look()).nodes] == ["a"]


async def test_series_of_nobody_are_named(server: Server) -> None:
    server.by_query["C"] = vector(a="1", b="1", **{"10.0.0.1:9100": "3", "": "1"})
    found = await server.look()
    assert len(found.nodes) == 2
    words = "spec.opportunistic.usage.prometheus.nodeLabel: host has values that name no node: '', '10.0.0.1:9100'"
    assert found.partly == words


async def test_queries_that_yield_nothing_are_told(server: Server) -> None:
    server.by_query = {"C": vector(), "M": vector()}
    assert (await server.look()).partly == "spec.opportunistic.usage.prometheus: the queries yield nothing"


@pytest.mark.parametrize("value", ["NaN", "+Inf", "many", "1e300"])
async def test_what_is_no_amount_leaves_its_node_unknown(server: Server, value: str) -> None:
    server.by_query["C"] = vector(a=value, b="-3")
    assert (await server.look()).nodes == [NodeUse("b", (("cpu", 0), ("memory", 2 * 10**9)), 970.5, 30.0)]


@pytest.mark.parametrize(
    ("query", "page", "words"),
    [
        ("C", (400, b'{"status":"error","errorType":"bad_data","error":"parse error"}'), "cpuQuery: 400 parse error"),
        ("M", (503, b"<html>"), "memoryQuery: 503, and the answer is not Prometheus'"),
        ("M", (200, b'{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}'), "memoryQuery: yields a scalar"),
        ("C", (200, b'{"status":"success","data":{"resultType":"vector","result":7}}'), "cpuQuery: the vector cannot be read"),
        ("C", (200, b'{"status":"success"}'), "cpuQuery: yields a nothing; allowed is an instant vector"),
    ],
)
async def test_a_bad_answer_is_told_by_its_field(server: Server, query: str, page: Page, words: str) -> None:
    server.by_query[query] = page
    found = await server.look()
    assert found.nodes == ()
    assert found.trouble.startswith(f"spec.opportunistic.usage.prometheus.{words}")


async def test_two_values_for_one_node_are_refused(server: Server) -> None:
    series = [{"metric": {"host": "a", "cpu": str(number)}, "value": [1, "1"]} for number in range(2)]
    server.by_query["C"] = 200, json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}}).encode()
    words = "spec.opportunistic.usage.prometheus.cpuQuery: yields more than one value for node a: aggregate by host"
    assert (await server.look()).trouble == words


async def test_a_server_that_is_not_there_is_told() -> None:
    with Pages() as pages:
        server = Server(pages)
    assert (await server.look()).trouble.startswith("spec.opportunistic.usage.prometheus.cpuQuery: GET /api/v1/query")


# -- a Prometheus that wants to know who asks


def secret(folder: Path, **files: str) -> Path:
    """A folder as a mounted Secret is one."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


async def test_a_token_is_sent_and_read_anew_each_time(server: Server, tmp_path: Path) -> None:
    credentials = Credentials(secret(tmp_path, token="sesame\n"), server.pages.url)
    assert len((await server.look(credentials=credentials)).nodes) == 2
    secret(tmp_path, token="another")
    await server.look(credentials=credentials)
    assert server.pages.authorizations == ["Bearer sesame"] * 2 + ["Bearer another"] * 2


async def test_a_name_and_a_password_are_sent(server: Server, tmp_path: Path) -> None:
    credentials = Credentials(secret(tmp_path, username="aladdin", password="open: sésame\r\n"), f"{server.pages.url}/prefix/")
    await server.look(credentials=credentials)
    assert set(server.pages.authorizations) == {"Basic YWxhZGRpbjpvcGVuOiBzw6lzYW1l"}


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1", "https://127.0.0.1", "http://localhost", "{}/pre", "{}/prefix/more", "http://127.0.0.1:99999"],
)
async def test_no_other_address_is_sent_them_and_that_is_said_where_it_lets_nobody_in(
    server: Server, tmp_path: Path, address: str
) -> None:
    server.by_query["C"] = (401, b"<html>")
    credentials = Credentials(secret(tmp_path, token="sesame"), address.format(server.pages.url))
    found = await server.look(credentials=credentials)
    words = "401, and nothing was sent to let it in: the scheduler's credentials are for another address"
    assert found.trouble == f"spec.opportunistic.usage.prometheus.cpuQuery: {words}"
    assert set(server.pages.authorizations) == {None}


def test_what_is_below_an_address_is_told_by_its_path_as_it_will_be_read() -> None:
    credentials = Credentials(Path("none"), "https://one/prefix")
    assert credentials.are_for("https://one:443/prefix/more")
    assert not credentials.are_for("https://one/prefix/../more")
    assert not credentials.are_for("https://one/prefix/%2e%2e/more")
    assert not credentials.are_for("https://one.two/prefix")
    assert not credentials.are_for("http://one:443/prefix")


@pytest.mark.parametrize(
    ("refusal", "words"), [(401, "401, with the scheduler's credentials"), (403, "403, with the scheduler's")]
)
async def test_a_server_that_does_not_let_them_in_is_told(server: Server, tmp_path: Path, refusal: int, words: str) -> None:
    server.by_query["C"] = (refusal, b"no")
    found = await server.look(credentials=Credentials(secret(tmp_path, token="sesame"), server.pages.url))
    assert words in found.trouble
    server.by_query["C"] = (refusal, b"no")
    assert f"{refusal}, and nothing was sent to let it in" in (await server.look()).trouble


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "has none of the files; allowed are token, or username and password"),
        ({"token": "\n"}, "has none of the files"),
        ({"username": "a"}, "has username; allowed are token, or username and password"),
        ({"token": "hush", "username": "a", "password": "hush"}, "has token, username, password; allowed are"),
        ({"token": "hush hush"}, "token has more than a token in it"),
        ({"token": "hush\nhush"}, "token has more than a token in it"),
        ({"token": "hüsh"}, "token has more than a token in it"),
        ({"token": "hush" * LONGEST}, f"token is longer than {LONGEST} bytes"),
        ({"username": "a:b", "password": "hush"}, "username: a name with a colon in it cannot be sent"),
    ],
)
async def test_credentials_that_cannot_be_used_are_told_and_never_shown(
    server: Server, tmp_path: Path, files: dict[str, str], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    credentials = Credentials(secret(tmp_path, **files), server.pages.url)
    found = await server.look(credentials=credentials)
    assert found.trouble.startswith("spec.opportunistic.usage.prometheus: the scheduler's credentials: ")
    assert words in found.trouble
    assert server.pages.asked == []
    assert "hush" not in found.trouble + caplog.text + repr(credentials)


async def test_bytes_that_are_no_text_are_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    found = await server.look(credentials=Credentials(tmp_path, server.pages.url))
    assert "token is no text in UTF-8" in found.trouble
    (tmp_path / "token").unlink()
    (tmp_path / "token").mkdir()
    assert "token cannot be read: " in (await server.look(credentials=Credentials(tmp_path, server.pages.url))).trouble
