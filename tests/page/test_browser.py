"""The page in a real Chromium: what it shows, keeps in its address, and does with keys, names that are markup, many queues and a phone."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from core.builders import Scenario, limits
from embedded import browser
from kube.access import until
from page.axe import complaints
from page.large import large
from page.pictures import taken
from page.serving import LIVE, Shown
from rest.reserved import BEGINS, reservation
from rest.reviewing import ReviewingApi
from rest.reviewing import queue as a_queue
from treadle.controllers.ledger import Ledger
from treadle.core import Core
from treadle.core.effects import Evict
from treadle.core.model import FairSettings, Settings
from treadle.core.model.reservations import PlanSpec
from treadle.history.runs import Run, Step
from treadle.history.said import Said
from treadle.history.store import Store
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.page.admitting import Asked
from treadle.rest.asking import Asker
from treadle.rest.preemptions import Preemptions

pytestmark = browser.needed

HOSTILE = "<img src=x onerror=name='hacked'>"
ROWS = "[...document.querySelectorAll('#tree .grid-body .grid-row')].sort((a, b) => a.index - b.index)"
PATHS = f"{ROWS}.map(row => row.dataset.path)"
VIEWS = ["#/queues", "#/applications", "#/nodes", "#/queue/root.data.etl", "#/application/ns/nightly", "#/preemptions"]


def busy() -> Scenario:
    """Two departments on twelve nodes; one application of etl has what there is, others wait behind it."""
    s = Scenario().nodes(12, cpu=8, memory=32)
    s.queue("root").queue("root.data", weight=3.0).queue("root.web", maximum=limits(cpu="24"))
    s.queue("root.data.etl", minimum=limits(cpu="16")).queue("root.data.lab").queue("root.web.shop")
    s.pods(60, "n", "root.data.etl", application="nightly", user="ann")
    s.pods(8, "f", "root.web.shop", application="front", cpu=3, user="bob")
    s.wait(1)
    s.confirm(s.plan())
    s.pods(30, "r", "root.data.etl", application="report", cpu=2, user="cleo").pods(
        9, "t", "root.data.lab", application="train", cpu=6
    )
    s.wait(1)
    s.confirm(s.plan())
    s.wait(1).plan()
    return s


def contended(kept: str = "") -> Shown:
    """An application that has all but what another queue was owed: it lost pods for that, and others of its pods wait."""
    now = time.time()
    s = Scenario(Settings(epoch=now - 3600.0)).nodes(3, cpu=8, memory=32)
    s.scheduler(fair=FairSettings(preemption=True, fair_share_timeout=5.0, fair_share_threshold=1.0))
    s.queue("root").queue("root.etl").queue("root.web", minimum=limits(cpu="6"), min_share_timeout=5.0)
    s.wait(600).pods(20, "n", "root.etl", application="nightly", user="ann", created=now - 3400)
    s.wait(900)
    s.confirm(s.plan())
    s.pods(3, "later", "root.etl", application="nightly", cpu=2, user="ann", created=now - 2000)
    s.wait(600)
    s.confirm(s.plan())
    s.wait(600).pods(3, "w", "root.web", application="front", cpu=2, user="bob", created=now - 800)
    shown = Shown(s, kept=kept)
    shown.preempted = Preemptions(lambda: s.core.view, lambda: now - 300)
    for _ in range(2):
        s.wait(10).plan()
        for effect in s.effects:
            if isinstance(effect, Evict):
                shown.preempted.note(effect)
    return shown


def reserved() -> Shown:
    """A queue that takes reservations, of which two come again."""
    s = Scenario().nodes(12, cpu=8, memory=32)
    s.queue("root").queue("root.plan", minimum=limits(cpu="48"), plan=PlanSpec()).queue("root.web")
    s.pods(20, "w", "root.web", application="front", cpu=2).wait(1)
    s.confirm(s.plan())
    s.wait(1).plan()
    shown, ledger = Shown(s), Ledger("treadle", lambda _: None)
    shown.now = BEGINS
    ledger.seen("Queue", a_queue("root.plan", cpu="48", memory="200Gi"))
    for made in (
        reservation("nightly", 2, 6, cpu="30", period="24h"),
        reservation("hourly", 0.5, 0.75, cpu="8", period="1h"),
        reservation("report", 9, 12, cpu="20"),
        reservation("training", 10, 30, cpu="16"),
    ):
        ledger.seen("Reservation", made)
    shown.entries.update(ledger.entries)
    return shown


def crowded() -> Scenario:
    """Four hundred nodes in racks that are used to different parts by others, of which some are cordoned."""
    s = Scenario()
    s.core = Core(Settings(), validate=False)
    s.queue("root")
    for number in range(400):
        s.node(f"rack-{number // 20:02}-{number % 20:02}", cpu=16, memory=64, unschedulable=number % 61 == 7)
        used = (number * 7 + number // 20 * 5) % 17
        if used:
            s.pod(f"p{number}", node=f"rack-{number // 20:02}-{number % 20:02}", cpu=used, scheduler="other", application="")
    s.wait(1).plan()
    return s


@asynccontextmanager
async def looking(scenario: Scenario, folder: Path, hash_: str = "") -> AsyncIterator[tuple[Shown, browser.Page]]:
    async with Shown(scenario).served() as shown, browser.opened("about:blank", folder) as page:
        await page.show(f"{shown.url}/{hash_}")
        await page.until(LIVE)
        yield shown, page


async def test_queues_are_shown_in_words_that_a_screen_reader_gets_too(tmp_path):
    async with looking(busy(), tmp_path) as (_, page):
        await page.until(f"{PATHS}.length === 6")
        assert await page.ask(PATHS) == ["root", "root.data", "root.data.etl", "root.data.lab", "root.web", "root.web.shop"]
        assert await page.ask(f"{ROWS}[5].querySelector('[role=img]').getAttribute('aria-label')") == (
            "root.web.shop uses 24 of 96 cpu, fair share 24, pending 0"
        )
        assert await page.ask(f"{ROWS}.map(row => row.getAttribute('aria-level')).join('')") == "123323"
        assert page.errors == []


async def test_hostile_names_are_shown_as_text(tmp_path):
    scenario = busy().queue(f"root.{HOSTILE}")
    scenario.pod(f"p{HOSTILE}", f"root.{HOSTILE}", application=HOSTILE, user=HOSTILE).node(f"n{HOSTILE}")
    async with looking(scenario, tmp_path) as (shown, page):
        found = ""
        for view in ("#/queues", "#/applications", "#/nodes", f"#/queue/root.{HOSTILE}", f"#/application/ns/{HOSTILE}"):
            await page.show(f"{shown.url}/{quote(view, '#/')}")
            await page.until(LIVE)
            found += str(await page.ask("document.body.textContent"))
        assert found.count(HOSTILE) >= 5
        assert await page.ask("document.querySelectorAll('main img, main script').length") == 0
        assert (await page.ask("window.name"), page.errors) == ("", [])


async def test_what_is_looked_for_sorted_and_folded_is_in_the_address_and_a_reload_keeps_it(tmp_path):
    async with looking(busy(), tmp_path) as (shown, page):
        await page.until(f"{PATHS}.length === 6")
        await page.ask(f"{ROWS}[1].querySelector('.fold').click()")
        await page.until(f"{PATHS}.join() === 'root,root.data,root.web,root.web.shop'")
        await page.ask("document.querySelector('#tree .used .sort').click()")
        await page.until("document.querySelector('#tree .cell.used').getAttribute('aria-sort') === 'descending'")
        address = str(await page.ask("location.href"))
        assert "turned=root.data" in address
        await page.show(address)
        await page.until(f"{PATHS}.join() === 'root,root.data,root.web,root.web.shop'")
        await page.ask("document.getElementById('search').focus()")
        await page.press("s", "h", "o", "p")
        await page.until(f"{PATHS}.join() === 'root,root.web,root.web.shop'")
        assert await page.ask("document.getElementById('found').textContent") == "1 of 6 queues"
        await page.show(str(await page.ask("location.href")))
        await page.until(f"{PATHS}.join() === 'root,root.web,root.web.shop'")
        await page.show(f"{shown.url}/#/queues?only=waiting")
        await page.until(f"{PATHS}.join() === 'root,root.data,root.data.etl,root.data.lab'")
        assert page.errors == []


async def test_the_tree_is_walked_folded_and_entered_by_keys(tmp_path):
    current = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).dataset.path"
    async with looking(busy(), tmp_path) as (_, page):
        await page.until(f"{PATHS}.length === 6")
        await page.ask("document.querySelector('#tree .grid').focus()")
        await page.press("ArrowDown")
        assert await page.ask(current) == "root.data"
        await page.press("ArrowLeft")
        await page.until(f"{PATHS}.length === 4")
        assert await page.ask(current) == "root.data"
        await page.press("ArrowRight")
        await page.until(f"{PATHS}.length === 6")
        await page.press("ArrowRight")
        assert await page.ask(current) == "root.data.etl"
        await page.press("ArrowLeft", "End")
        assert await page.ask(current) == "root.web.shop"
        await page.press("Enter")
        await page.until("location.hash === '#/queue/root.web.shop'")


async def test_a_queue_has_its_limits_users_reasons_and_applications(tmp_path):
    async with looking(busy(), tmp_path, "#/queue/root.data.etl") as (_, page):
        text = "document.getElementById('view-queue').innerText.replace(/\\s+/g, ' ').replaceAll('\u2013', '-')"
        await page.until(f"{text}.includes('report')")
        found = str(await page.ask(text))
        assert "cpu default 66 54 36 16 -" in found
        assert "Unschedulable 27 pods of 1 application " in found
        assert "0/12 nodes are available: 12 Insufficient cpu." in found
        assert "ann 1 60 - 60 cpu" in found
        assert "cleo 1 3 27 6 cpu" in found
        await page.ask("[...document.querySelectorAll('#view-queue .of-queue a')].find(a => a.textContent === 'report').click()")
        await page.until("location.hash === '#/application/ns/report'")
        await page.until("document.getElementById('view-application').innerText.includes('number 1 of 1')")
        assert page.errors == []


async def test_an_application_has_its_pods_a_time_line_of_them_and_what_was_preempted_of_it(tmp_path):
    shown = contended()
    text = "document.getElementById('view-application').innerText.replace(/\\s+/g, ' ').replaceAll('\u2013', '-')"
    label = "document.querySelector('#view-application svg.times').getAttribute('aria-label')"
    async with shown.served(), browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/#/application/ns/nightly")
        await page.until(f"{text}.includes('later-2') && {text}.includes('Preempted of it')")
        found = str(await page.ask(text))
        why = "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."
        assert f"later-2 Waiting for 35 minutes - cpu 2, memory 1Gi {why}" in found
        assert "n-0 Placed for 35 minutes node-0 cpu 1, memory 1Gi -" in found
        assert "n-17 Placed, asked to go for 35 minutes" in found
        assert "ns/front queue root.web is owed what queue root.etl holds beyond its fair share" in found
        assert str(await page.ask(label)).startswith("23 pods from 57 minutes ago until now, 22 have a node, 1 wait, 0 have gone")
        bars = "[...document.querySelectorAll('svg.times g')].map(g => [...g.querySelectorAll('rect')].slice(0, 2).map(r => +r.getAttribute('width')))"
        made = await page.ask(bars)
        assert isinstance(made, list)
        assert len(made) == 23
        waited, ran = made[0]
        assert (waited / (waited + ran), waited + ran) == (pytest.approx(1300 / 3400, abs=0.03), pytest.approx(1000, abs=1))
        shown.scenario.gone("n-17")
        await page.until(f"{label}.includes('1 have gone')")
        await page.ask("[...document.querySelectorAll('#view-application a')].find(a => a.textContent === 'node-1').click()")
        await page.until("location.hash === '#/nodes?q=node-1'")
        assert page.errors == []


async def test_runs_of_an_application_are_shown_from_the_history(tmp_path):
    url, now = f"sqlite:///{tmp_path}/history", time.time()
    store = Store(url)
    steps = [Step(now - 7200, {"cpu": 1000}, 1, (0, 0, 0)), Step(now - 7100, {"cpu": 4000}, 4, (0, 0, 0))]
    ended = Run("ns/nightly", "root.data.etl", "ann", now - 7260, now - 7200, now - 7200, now - 3600, 4, 3, 1, 0, "Failed", steps)
    store.write([ended], [], [], now)
    store.close()
    shown = Shown(busy(), kept=url)
    text = "document.getElementById('view-application').innerText.replace(/\\s+/g, ' ')"
    async with shown.served(), browser.opened("about:blank", tmp_path / "profile") as page:
        await page.show(f"{shown.url}/#/application/ns/nightly")
        await page.until(f"{text}.includes('2 hours ago 60 s 60 minutes 4 3 1 0 Failed')")
        bars = "[...document.querySelectorAll('svg.times')].at(-1).querySelectorAll('rect.used').length"
        assert await page.ask(bars) == 1


async def test_pods_that_ended_before_anybody_looked_are_in_the_time_line(tmp_path):
    shown = contended()
    bars = "[...document.querySelectorAll('#view-application svg.times')][0].querySelectorAll('g')"
    for uid in [uid for name, uid in shown.scenario.core.view.pods_of("ns/nightly") if name in {"n-0", "later-2"}]:
        shown.departed.note(uid)
        shown.scenario.gone(uid)
    async with shown.served(), browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/#/application/ns/nightly")
        await page.until(f"[...{bars}].filter(bar => bar.textContent.includes('has gone')).length === 2")
        label = str(await page.ask("document.querySelector('#view-application svg.times').getAttribute('aria-label')"))
        assert "2 have gone" in label
        titles = await page.ask(f"[...{bars}].map(bar => bar.textContent).filter(words => words.includes('has gone')).sort()")
        assert isinstance(titles, list)
        assert [title.partition(":")[0] for title in titles] == ["later-2", "n-0"]
        assert ["has had a node" in title for title in titles] == [False, True], "one of them has waited to its end"
        assert page.errors == []


async def test_preemptions_are_listed_searched_and_lead_to_whom_they_concern(tmp_path):
    shown = contended()
    rows = "document.querySelectorAll('#view-preemptions tbody tr').length"
    async with shown.served(), browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/#/preemptions")
        await page.until(f"{rows} === {len(list(shown.preempted))}")
        await page.show(f"{shown.url}/#/preemptions?q=n-17")
        await page.until(f"{rows} === 1")
        cells = "[...document.querySelector('#view-preemptions tbody tr').cells].map(cell => cell.textContent).filter((_, at) => at !== 1).join(' | ')"
        why = "queue root.web is owed what queue root.etl holds beyond its fair share"
        assert await page.ask(cells) == f"n-17 | ns/nightly | root.etl | node-2 | ns/front | {why}"
        await page.ask("[...document.querySelectorAll('#view-preemptions a')].find(a => a.textContent === 'ns/front').click()")
        await page.until("location.hash === '#/application/ns/front'")
        assert page.errors == []


async def test_the_plan_of_a_queue_is_a_row_of_bars_for_each_reservation_and_a_table(tmp_path):
    shown, plan = reserved(), "[...document.querySelectorAll('.gantt .gantt-row')]"
    async with shown.served(), browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/#/queue/root.plan")
        await page.until(f"{plan}.length === 4")
        bars = (
            f"{plan}.map(row => row.querySelector('.gantt-name').textContent + ' ' + row.querySelectorAll('rect').length).join()"
        )
        assert await page.ask(bars) == "ns/hourly 24,ns/nightly 1,ns/report 1,ns/training 1"
        first = f"[...{plan}[1].querySelectorAll('rect')].map(bar => +bar.getAttribute('x')).join()"
        assert float(str(await page.ask(first))) == pytest.approx(1000 * 2 / 24, abs=0.1)
        label = "document.querySelector('svg.total').getAttribute('aria-label')"
        assert str(await page.ask(label)).startswith("root.plan has 48 cpu, of which 44 are promised at the most from")
        text = "[...document.querySelectorAll('#view-queue table')].map(table => table.innerText.replace(/\\s+/g, ' ')).join(' ')"
        assert "every 24 hours cpu 30" in str(await page.ask(text))
        await page.show(f"{shown.url}/#/queue/root.plan?ahead=72")
        await page.until(f"{plan}.length === 4 && {plan}[1].querySelectorAll('rect').length === 3")
        await page.show(f"{shown.url}/#/queue/root.web")
        await page.until(
            f"{LIVE} && [...document.querySelectorAll('#view-queue h3')].every(e => e.textContent !== 'What is promised' || e.parentElement.hidden)"
        )
        assert page.errors == []


@pytest.mark.parametrize(("theme", "width"), [("light", 1100), ("dark", 320)])
async def test_the_checker_of_accessibility_finds_nothing_in_a_plan_and_it_fits_a_phone(tmp_path, theme, width):
    shown = reserved()
    async with shown.served(), browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/#/queue/root.plan", width, 800, theme)
        await page.until("document.querySelectorAll('.gantt .gantt-row').length === 4")
        assert await complaints(page) == []
        assert await page.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


async def test_what_was_preempted_before_is_from_the_history_and_nothing_is_there_twice(tmp_path):
    url, now = f"sqlite:///{tmp_path}/history", time.time()
    store = Store(url)
    note = "Preempted: queue root.web is owed what queue root.etl holds beyond its fair share"
    store.write(
        [],
        [],
        [],
        now,
        told=[
            Said(now - age, "Preempted", "Pod", "ns", name, "ns/nightly", "root.etl", note)
            for age, name in ((7200, "n-17"), (310, "n-16"))
        ],
    )
    store.close()
    shown = contended(url)
    rows = "[...document.querySelectorAll('#view-preemptions tbody tr')].map(row => [...row.cells].slice(0, 2).map(cell => cell.textContent).join(' '))"
    async with shown.served(), browser.opened("about:blank", tmp_path / "profile") as page:
        await page.show(f"{shown.url}/#/preemptions")
        remembered = len(list(shown.preempted))
        await page.until(f"{rows}.length === {remembered + 1}")
        found = await page.ask(rows)
        assert isinstance(found, list)
        assert found[-1] == "n-17 2 hours ago"
        assert sorted(row.split()[0] for row in found[:-1]) == sorted(one.name for one in shown.preempted)
        assert "n-16" in {one.name for one in shown.preempted}


async def test_applications_are_found_by_reason_and_by_user(tmp_path):
    names = "[...document.querySelectorAll('#list .grid-body .grid-row')].map(row => row.dataset.name).sort().join()"
    async with looking(busy(), tmp_path, "#/applications") as (shown, page):
        await page.until(f"{names} === 'ns/front,ns/nightly,ns/report,ns/train'")
        await page.ask("document.querySelector('#reasons button').click()")
        await page.until(f"{names} === 'ns/report,ns/train'")
        await page.show(f"{shown.url}/#/applications?user=bob")
        await page.until(f"{names} === 'ns/front'")


async def test_nodes_are_a_map_and_a_list(tmp_path):
    scenario = busy().node("cordoned", unschedulable=True)
    async with looking(scenario, tmp_path, "#/nodes") as (shown, page):
        rows = "document.querySelectorAll('#map .grid-body .grid-row').length"
        await page.until(f"{rows} === 13")
        assert "13 nodes, 12 of them at least 95% used, 1 take no pods now" in str(
            await page.ask("document.getElementById('map').innerText")
        )
        pixel = "[...document.querySelector('canvas').getContext('2d').getImageData({}, 8, 1, 1).data].join()"
        full, empty = [await page.ask(pixel.format(place)) for place in (60, 1200)]
        assert full != empty
        await page.show(f"{shown.url}/#/nodes?q=cord")
        await page.until(f"{rows} === 1")


async def test_the_page_says_that_the_connection_is_lost_and_comes_back_by_itself(tmp_path):
    shown = Shown(busy())
    async with browser.opened("about:blank", tmp_path) as page:
        async with shown.served():
            url = shown.url
            await page.show(f"{url}/")
            await page.until(LIVE)
        await page.until("document.getElementById('status').dataset.state === 'lost'")
        async with shown.served(int(url.rpartition(":")[2])):
            await page.until(LIVE)


async def test_a_page_that_was_left_reads_no_stream_and_goes_on_when_one_comes_back(tmp_path):
    async with looking(busy(), tmp_path) as (shown, page):
        for view in ("#/queues", "#/nodes", "#/applications"):
            await page.show(f"{shown.url}/{view}")
            await page.until(LIVE)
        await until(lambda: len(shown.stream.viewers.all) == 1)
        await page.call("Page.navigate", url="about:blank")
        await until(lambda: not shown.stream.viewers.all)
        await page.ask("setTimeout(() => history.back()); 0")  # nothing is asked of a page that is about to go
        await until(lambda: len(shown.stream.viewers.all) == 1)
        await page.until(f"location.hash === '#/applications' && {LIVE}")


async def test_a_token_is_asked_for_kept_for_the_tab_alone_and_forgotten_when_it_counts_no_more(tmp_path):
    api, scenario = ReviewingApi(), busy()
    await api.start()
    api.rights.add(("alice", "view", ""))
    form = "!document.getElementById('sign-in').hidden"
    enter = "document.getElementById('token').value = '{}'; document.querySelector('#sign-in button').click()"
    try:
        async with Client(Access(api.url)) as client, browser.opened("about:blank", tmp_path) as page:
            admit = Asked(Asker(Reviews(client)), lambda: scenario.core.view, str)
            async with Shown(scenario, admit).served() as shown:
                await page.show(f"{shown.url}/#/queues?q=lab")
                await page.until(form)
                assert await complaints(page) == []
                await page.ask(enter.format("nobody"))
                await page.until(
                    "document.getElementById('token-problem').textContent === 'This token counts for nobody, or not any more.'"
                )
                await page.ask(enter.format("alice"))
                await page.until(LIVE)
                assert await page.ask("sessionStorage.length + ' ' + localStorage.length + document.cookie") == "1 0"
                await page.show(f"{shown.url}/#/queues?q=lab")
                await page.until(f"{PATHS}.join() === 'root,root.data,root.data.lab'")
                await page.ask("document.getElementById('sign-out').click()")
                await page.until(form)
                assert await page.ask("sessionStorage.length") == 0
                assert "root" not in str(await page.ask("document.querySelector('main').innerText"))
    finally:
        await api.stop()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_checker_of_accessibility_finds_nothing(tmp_path, theme):
    async with looking(busy(), tmp_path) as (shown, page):
        for view in VIEWS:
            await page.show(f"{shown.url}/{view}", theme=theme)
            await page.until(f"{LIVE} && document.querySelector('.grid-row, .fact') !== null")
            if view.startswith("#/application/"):
                await page.until("document.querySelectorAll('#view-application tbody tr').length > 9")
            assert await complaints(page) == [], view


@pytest.mark.parametrize("width", [320, 390])
async def test_a_phone_scrolls_down_and_not_aside(tmp_path, width):
    async with looking(busy(), tmp_path) as (shown, page):
        for view in VIEWS:
            await page.show(f"{shown.url}/{view}", width, 800)
            await page.until(LIVE)
            assert await page.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), view


async def painted(page: browser.Page, url: str) -> float:
    """The milliseconds from the beginning of a load until rows are shown, the least of three: other programs may be in the way of one."""
    found = []
    for number in range(3):
        await page.show(url.replace("#", f"?{number}#"))
        await page.until(f"{LIVE} && {ROWS}.length > 0")
        found.append(float(str(await page.ask("performance.getEntriesByName('shown')[0].startTime"))))
    return min(found)


async def frame_time(page: browser.Page, *, scrolling: bool) -> float:
    """The milliseconds between two frames at the middle of sixty, while the tree is scrolled through or not."""
    scroll = "grid.scrollTop = at * 90;" if scrolling else ""
    frames = (
        "(async () => { const grid = document.querySelector('#tree .grid'); const times = []; let last = 0; window.middle = undefined;"
        f"for (let at = 0; at < 60; at += 1) {{ {scroll} const now = await new Promise(requestAnimationFrame);"
        "if (last) times.push(now - last); last = now; } window.middle = times.sort((a, b) => a - b)[30]; })(); 0"
    )
    await page.ask(frames)
    return float(str(await page.until("window.middle")))


async def test_five_thousand_queues_are_there_as_soon_as_six_and_in_few_elements(tmp_path):
    """Within a second on a machine that has time for it; on one that has not, hardly later than a page of six queues is."""
    async with looking(busy(), tmp_path / "small") as (shown, page):
        small = await painted(page, f"{shown.url}/#/queues")
    async with looking(large(), tmp_path / "large") as (shown, page):
        assert len(shown.scenario.core.view.paths()) == 5001
        assert await painted(page, f"{shown.url}/#/queues?turned=root.d000") < max(1000.0, 3 * small)
        assert await page.ask("document.querySelectorAll('*').length") < 1000
        assert await page.ask("document.querySelector('#tree .grid').getAttribute('aria-rowcount')") == str(1 + 1 + 50 + 99)
        await page.ask("document.querySelector('#tree .grid').focus()")
        await page.press("End")
        assert (
            await page.ask("document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).dataset.path")
            == "root.d049"
        )
        resting = await frame_time(page, scrolling=False)
        assert await frame_time(page, scrolling=True) < max(50.0, 4 * resting)
        assert page.errors == []


@pytest.mark.parametrize(
    ("name", "view", "width", "height", "theme"),
    [
        ("page-queues", "#/queues", 1100, 620, "light"),
        ("page-queue", "#/queue/root.data.etl", 1100, 1000, "light"),
        ("page-nodes", "#/nodes", 1100, 760, "dark"),
        ("page-phone", "#/queues", 390, 760, "dark"),
    ],
)
async def test_pictures_of_the_documentation_are_made(tmp_path, name, view, width, height, theme):
    """With TREADLE_PICTURES set they are written; what they show is the same each time."""
    async with looking(crowded() if name == "page-nodes" else busy(), tmp_path) as (shown, page):
        await page.show(f"{shown.url}/{view}", width, height, theme)
        await page.until(f"{LIVE} && document.querySelector('.grid-body .grid-row') !== null")
        assert (await taken(page, name)).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "view", "height", "until_"),
    [
        (
            "page-application",
            "#/application/ns/nightly",
            1330,
            "document.querySelectorAll('#view-application tbody tr').length > 20",
        ),
        ("page-plan", "#/queue/root.plan", 840, "document.querySelectorAll('.gantt .gantt-row').length === 4"),
    ],
)
async def test_pictures_of_what_is_asked_for_are_made(tmp_path, name, view, height, until_):
    shown = reserved() if name == "page-plan" else contended()
    async with shown.served(), browser.opened("about:blank", tmp_path) as page:
        await page.show(f"{shown.url}/{view}", 1100, height)
        await page.until(f"{LIVE} && {until_}")
        if name == "page-plan":
            await page.ask("document.querySelector('.gantt').parentElement.scrollIntoView()")
        assert (await taken(page, name)).startswith(b"\x89PNG")
