"""What there is of queues and applications, told to whoever may see it: by roles, by lists of queues, by namespaces."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from core.builders import Scenario
from rest.telling import Told, listed, telling
from treadle.rest.state import APPLICATIONS, QUEUES


def busy() -> Scenario:
    """Queues of three teams on a node of two cores: etl's application has one of two pods, web's waits."""
    s = Scenario().node("n", cpu=2)
    s.queue("root", submit=listed(), administer=listed("boss"))
    s.queue("root.data", view=listed("ann", groups=("ops",)), submit=listed("*")).queue("root.data.etl").queue("root.data.lab")
    s.queue("root.web", view=listed(namespaces=("shop",)), submit=listed("*"))
    s.queue("root.open", submit=listed("*"), administer=listed("eve"))
    s.pods(2, "e", "root.data.etl", application="etl").pod("w", "root.web", application="web")
    s.wait(1).plan()
    s.core.refresh_shares(s.now)
    return s


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    async with telling(busy()) as one:
        yield one


DATA = ["root.data", "root.data.etl", "root.data.lab"]
ALL = ["root", *DATA, "root.open", "root.web"]


@pytest.mark.parametrize(
    ("who", "seen"),
    [
        ("ann", [*DATA, "root.open"]),
        ("bob", [*DATA, "root.open"]),
        ("boss", ["root", *DATA, "root.open", "root.web"]),
        ("eve", ["root.open"]),
        ("shop", ["root.open", "root.web"]),
        ("stranger", ["root.open"]),
    ],
)
async def test_lists_of_queues_say_who_sees_them_and_without_one_whoever_may_submit_does(
    told: Told, who: str, seen: list[str]
) -> None:
    assert await told.names(who, QUEUES) == seen


async def test_the_verb_view_shows_all_queues_and_on_one_queue_those_below_it(told: Told) -> None:
    told.api.rights.add(("root", "view", ""))
    assert await told.names("root", QUEUES) == ALL
    assert await told.refusal("root", QUEUES, queue="root.dta") == (404, "queue: there is no queue root.dta")
    told.api.named_rights.add(("eve", "view", "root.data"))
    assert await told.names("eve", QUEUES) == ["root.open"], "a question for each queue would be one request each"
    assert await told.names("eve", QUEUES, queue="root.data") == DATA
    assert await told.names("eve", QUEUES, queue="root.data.lab") == ["root.data.lab"]


async def test_a_queue_that_one_may_not_view_is_refused_whether_it_is_there_or_not(told: Told) -> None:
    words = "User ann may not view queue {}: neither it nor a queue above it allows that"
    for name in ("root.web", "root.nothing", "web"):
        assert await told.refusal("ann", QUEUES, queue=name) == (403, words.format(name))
        assert await told.refusal("ann", APPLICATIONS, queue=name) == (403, words.format(name))


async def test_a_long_name_of_nothing_asks_the_api_server_for_one_right_only(told: Told) -> None:
    assert (await told.refusal("ann", QUEUES, queue=".".join("a" * 250)))[0] == 403
    asked = [one["spec"]["resourceAttributes"] for one in told.api.reviews if one["kind"] == "SubjectAccessReview"]
    assert asked == [{"group": "treadle.dev", "resource": "queues", "verb": "view"}]


async def test_a_queue_is_told_as_its_status_says_it(told: Told) -> None:
    _, said = await told.ask("ann", QUEUES, queue="root.data.etl")
    (one,) = said["queues"]
    assert (one["leaf"], one["dynamic"], one["waitingPods"], one["state"]) == (True, False, 1, "Running")
    assert (one["used"]["cpu"], one["pending"]["cpu"], one["applications"]) == ("1", "1", {"running": 1, "pending": 0})


async def test_applications_are_seen_by_their_queues_with_why_they_wait_and_when_they_end(told: Told) -> None:
    _, said = await told.ask("ann", APPLICATIONS)
    (one,) = said["applications"]
    assert (one["namespace"], one["name"], one["queue"], one["phase"]) == ("ns", "etl", "root.data.etl", "Running")
    assert (one["pods"], one["waiting"]["reason"]) == ({"running": 0, "pending": 1}, "Unschedulable")
    assert one["eta"] == {"asOf": "ns/etl"}
    assert await told.names("boss", APPLICATIONS) == ["etl", "web"]
    assert await told.names("boss", APPLICATIONS, queue="root.web") == ["web"]
    assert await told.names("eve", APPLICATIONS) == []


async def test_whoever_may_list_the_applications_of_a_namespace_sees_all_of_it(told: Told) -> None:
    assert await told.names("eve", APPLICATIONS, namespace="ns") == []
    told.api.rights.add(("bob", "list", "ns"))
    assert await told.names("bob", APPLICATIONS, namespace="ns") == ["etl", "web"]
    assert await told.names("bob", APPLICATIONS, namespace="ns", queue="root.web") == ["web"]
    assert await told.names("bob", APPLICATIONS, namespace="other") == []
    assert await told.names("bob", APPLICATIONS) == ["etl"]


async def test_lists_are_told_in_pages(told: Told) -> None:
    seen, after = [], ""
    for _ in range(3):
        _, said = await told.ask("boss", QUEUES, limit="2", **({"continue": after} if after else {}))
        seen.append([one["name"] for one in said["queues"]])
        after = said["continue"]
    assert ([name for page in seen for name in page], after) == (ALL, "")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"limit": "0"}, "limit: '0' is not a number from 1 to 500"),
        ({"limit": "501"}, "limit: '501' is not a number from 1 to 500"),
        ({"limit": "٣"}, "limit: '٣' is not a number from 1 to 500"),
        ({"namespace": "a/b"}, "namespace: 'a/b' is not the name of a namespace"),
        ({"namespace": ""}, "namespace: '' is not the name of a namespace"),
        ({"queue": "root.\n"}, "queue: 'root.\\n' names nothing; allowed are 512 letters"),
        ({"que": "root"}, "que: unknown parameter; allowed are queue, namespace, limit, continue"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(told: Told, query: dict[str, str], words: str) -> None:
    assert await told.refusal("boss", APPLICATIONS, **query) == (400, words)


async def test_nobody_without_a_token_is_told_anything_and_a_copy_that_stands_by_says_who_leads(told: Told) -> None:
    assert (await told.ask("", QUEUES))[0] == 401
    assert (await told.ask("nobody", APPLICATIONS))[0] == 401
    told.leader = "treadle-7"
    status, words = await told.refusal("boss", QUEUES)
    assert (status, "treadle-7 leads" in words) == (503, True)
