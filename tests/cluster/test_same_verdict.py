"""What the API server and the models accept of our kinds is the same: objects by chance, valid ones and such as are wrong at a boundary."""

from __future__ import annotations

import copy
import os
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from cluster.client import ApiClient
from fuzz.schema import QUEUES, Style, drawn
from treadle.api.objects import PLURALS, InvalidObject, parse

Json = dict[str, Any]
SHARES = {"Scheduler": 4, "Queue": 8, "Application": 3, "Reservation": 3}
ODD = [
    "", " ", "0", "-0", "1", "-1", "-0.5", "1.0000001", "0.0000001", "1e3", "1E", "1E2", "1e-9", "1Ki", "1ki", "1K", "12E", "0x1", "\u0661", "1 ", " 1", "+1", "+5%",
    "999999999%", "100.0000001%", "100.000001%", "101%", "-1%", "%", "1%%", "50%", "0.5", ".5", "5.", "1.5", "1,5", "[memory=1]", "[cpu=1]", "[memory=1,memory=2]",
    "[memory=1w]", "[memory=-1]", "[memory=101%]", "[memory=1,cpu=80w]", "[memory=x]", "[]", "80w", "10001w", "999999999w", "1w1", "8EiB", "8Ei", "9E", "4611686018427387904",
    "9223372036854775808", "10000000000000000000000", "1n", "1u", "1m", "999999999h", "1h1", "1d", "0s", "s", "a", "A", "root", "root.", "root.a", "root..a", "root.A",
    "a" * 63, "a" * 64, "x" * 253, "x" * 257, "é" * 200, "日" * 256, "\n", "a\n", "%user", "u:a:b", "u:%user:%user", "u::", "*", "true", "profile.treadle.dev/large", "profile.treadle.dev/",
    "[profile.treadle.dev/large=1]", "[memory=1,profile.treadle.dev/x=1.5]", "[profile.treadle.dev/x=9999999999]", "[cpu=1,profile.treadle.dev/=1]", "minimum", "none", "2026-12-01", "2026-12-01T01:00:00",
    "2026-12-01T01:00:00Z", "2026-12-01t01:00:00z", "2026-12-01T24:00:00Z", "2026-12-01T01:00:00+0100", "2026-W49-2T01:00:00Z", "2026-12-01T01:00:00.123456789Z",
    "2026-12-01T01:00:00.123456Z", "2026-12-01T01:00:00ztz", "2026-12-01T01:00:00Ztz", "2026-02-30T01:00:00Z", "0000-12-01T01:00:00Z", "2026-12-01T01:00:00+24:00", "2026-12-01T01:00:60Z",
    "2026-12-01T01:00:00+23:59", "2026-12-01T01:00Z", "2026-12-01T01:00:00,5Z", "\u0662026-12-01T01:00:00Z", "20261201T010000Z",
]  # fmt: skip
NUMBERS: list[Any] = [
    0,
    1,
    -1,
    100,
    101,
    2**31 - 1,
    2**31,
    -(2**31),
    -(2**31) - 1,
    2**62,
    2**63 - 1,
    10**9,
    10**9 + 1,
    1_000_001,
    0.5,
    1.0,
    1e30,
]
ANYTHING: list[Any] = [
    True,
    None,
    [],
    {},
    [""],
    {"": "1"},
    {"cpu": 1},
    {"a b": "1"},
    {"x" * 64: "1"},
    {"acme.org/": "1"},
    {"é": "1"},
    ["a", "a"],
    ["*", "gpu"],
]


def mutated(body: Json, chance: Random) -> Json:
    """Return an object in which something has another value, or is gone, or there twice."""
    body = copy.deepcopy(body)
    places = [place for place in _places(body["spec"]) if place]
    if not places or chance.random() < 0.05:
        body["spec"][chance.choice(["state", "unknown", "fair", "queue"])] = chance.choice(ANYTHING)
        return body
    path = chance.choice(places)
    holder: Any = body["spec"]
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    old = holder[key]
    match chance.choice(["text", "text", "number", "anything", "gone", "twice", "longer"]):
        case "gone":
            del holder[key]
        case "twice" if isinstance(holder, list):
            holder.append(copy.deepcopy(old))
        case "longer" if isinstance(old, str):
            holder[key] = old + chance.choice([" ", "\n", "0", "%", "w", "]", "é", old])
        case "number":
            holder[key] = chance.choice(NUMBERS)
        case "anything":
            holder[key] = copy.deepcopy(chance.choice(ANYTHING))
        case _ if isinstance(old, dict):
            holder[key] = {**old, chance.choice(ODD): chance.choice([*ODD, *old.values()] or ODD)}
        case _:
            holder[key] = chance.choice(ODD)
    return body


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += _places(each, (*path, key))
    return found


def objects(count: int, seed: int) -> list[Json]:
    chance = Random(seed)
    found = []
    for number in range(count):
        style = Style(chance)
        style.odd, style.full = chance.choice([0.05, 0.5]), chance.choice([0.05, 0.15, 0.3])
        kind = chance.choices(list(SHARES), list(SHARES.values()))[0]
        namespace = "verdicts" if kind in {"Application", "Reservation"} else ""
        name = f"{chance.choice(QUEUES)}.n{number}" if kind == "Queue" else f"n{number}"
        body = drawn(kind, name, chance, style, namespace)
        found.append(body if chance.random() < 0.3 else mutated(body, chance))
    return found


def verdict(body: Json) -> str:
    """What the model says against an object, empty if nothing."""
    try:
        parse(body["kind"], body)
    except InvalidObject as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def client(plane):
    plane.create_namespace("verdicts")
    client = ApiClient(plane.url, ca=plane.ca, token=plane.token)
    yield client
    client.close()


def test_the_api_server_and_the_models_accept_the_same_objects(client: ApiClient) -> None:
    """``TREADLE_VERDICTS`` is how many objects are tried, ``TREADLE_SEED`` which."""
    bodies = objects(int(os.environ.get("TREADLE_VERDICTS", "400")), int(os.environ.get("TREADLE_SEED", "1")))

    def ask(body: Json) -> tuple[int, str]:
        where = f"namespaces/{body['metadata']['namespace']}/" if "namespace" in body["metadata"] else ""
        path = f"/apis/treadle.dev/v1alpha1/{where}{PLURALS[body['kind']]}"
        status, answer = client.request("POST", path, body, {"dryRun": "All", "fieldValidation": "Strict"})
        if status == 201:
            stored = verdict(answer)  # with what the server filled in, and without what it drops
            return status, stored
        return status, answer.get("message", "")

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask, bodies))
    differing = []
    for body, (status, words) in zip(bodies, answers, strict=True):
        ours = words if status == 201 else verdict(body)
        if (status == 201) != (not ours):
            differing.append(
                f"server {status}: {words[:400] if status != 201 else 'accepts'}\n  model: {(ours or 'accepts')[:400]}\n  {str(body['spec'])[:700]}"
            )
    accepted = sum(status == 201 for status, _ in answers)
    assert accepted > len(bodies) / 5
    assert accepted < len(bodies) * 4 / 5
    assert not differing, f"{len(differing)} of {len(bodies)} differ:\n" + "\n".join(differing[:40])
