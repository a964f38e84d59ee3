"""The page that `treadle run` serves, on a real API server: its tokens, and the lists of the queues, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.accounts import account, installed, token
from cluster.client import ApiClient
from cluster.treadle_process import Cluster, Treadle, pod
from embedded import browser
from treadle.page.stream import PATH

TREE: dict[str, dict[str, Any]] = {
    "root.etl": {"viewAcl": {"serviceAccounts": ["etl/lead"]}},
    "root.secret": {"viewAcl": {}},
}


@browser.needed
async def test_a_token_of_the_api_server_shows_what_its_owner_may_see(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "2", "16Gi")
    plane = cluster.plane
    for path, spec in TREE.items():
        cluster.queues({"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": path}, "spec": spec})
    for namespace, name in (("treadle-system", "treadle"), ("etl", "lead")):
        plane.create_namespace(namespace)
        account(plane, namespace, name)
    kubeconfig = installed(plane, tmp_path)
    for name in ("first", "second"):
        body = pod(name, "root.etl", name, cpu="2", memory="1Gi")
        body["metadata"]["namespace"] = "etl"
        assert plane.api("POST", "/api/v1/namespaces/etl/pods", body)[0] == 201
    history = f"--history=sqlite:///{tmp_path}/history"
    with Treadle(kubeconfig, tmp_path, "--page", "--default-access=namespace", history) as running:
        url = f"http://127.0.0.1:{running.wait_ready().port}"
        client = ApiClient(url)
        assert client.request("GET", PATH)[0] == 401
        client.close()
        async with browser.opened(f"{url}/#/queue/root.etl", tmp_path / "browser") as page:
            await page.until("!document.getElementById('sign-in').hidden")
            await page.ask(f"document.getElementById('token').value = {token(plane, 'etl', 'lead')!r}")
            await page.ask("document.querySelector('#sign-in button').click()")
            text = "document.getElementById('view-queue').innerText"
            await page.until(f"{text}.includes('second') && {text}.includes('Insufficient cpu')")
            await page.ask("location.hash = '#/queues'")
            paths = "[...document.querySelectorAll('#tree .grid-body .grid-row')].map(row => row.dataset.path)"
            await page.until(f"{paths}.includes('root.etl')")
            assert "root.secret" not in str(await page.ask(paths))
            await page.ask("location.hash = '#/nodes'")
            await page.until("document.getElementById('map').innerText.includes('whoever may list them')")


@browser.needed
async def test_a_change_of_a_queue_is_previewed_and_made_by_the_page_and_its_pods_are_shown(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "4", "16Gi")
    plane = cluster.plane
    spec = {"fair": {"maxResources": {"cpu": "1"}}}
    cluster.queues({"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.etl"}, "spec": spec})
    for name in ("first", "second"):
        assert (
            plane.api("POST", "/api/v1/namespaces/default/pods", pod(name, "root.etl", "nightly", cpu="1", memory="1Gi"))[0]
            == 201
        )
    plane.create_namespace("treadle-system")
    arguments = (
        "--namespace=treadle-system",
        "--publish-administrators=treadle-administrators",
        "--rest",
        "--page",
        "--queue-changes=treadle-queue-changes",
    )
    with Treadle(plane.scheduler_kubeconfig("treadle-system"), tmp_path, *arguments) as running:
        url = f"http://127.0.0.1:{running.wait_ready().port}"
        async with browser.opened(f"{url}/#/application/default/nightly", tmp_path / "browser") as page:
            await page.until("!document.getElementById('sign-in').hidden")
            await page.ask(f"document.getElementById('token').value = {plane.token!r}")
            await page.ask("document.querySelector('#sign-in button').click()")
            pods = "document.querySelector('#view-application tbody').innerText.replace(/\\s+/g, ' ')"
            await page.until(f"{pods}.includes('second Waiting') && {pods}.includes('first Placed')")
            await page.ask("location.hash = '#/queue/root.etl'")
            press = "[...document.querySelectorAll('.editor button')].filter(b => b.textContent === '{}').at({}).click()"
            await page.until("document.querySelector('.editor') && !document.querySelector('.editor').hidden")
            await page.ask(press.format("Edit", 0))
            await page.until("!document.querySelector('.editor form').hidden")
            field = "document.getElementById('edit-spec-fair-maxResources')"
            assert await page.ask(f"{field}.value") == "cpu=1"
            await page.ask(f"{field}.value = 'cpu=2'; {field}.dispatchEvent(new Event('input'))")
            await page.ask(press.format("Preview", 0))
            await page.until("document.querySelector('.preview').innerText.includes('1 pod would be placed')", 60)
            await page.ask(press.format("Apply…", 0))
            await page.ask(press.format("Apply", 0))
            await page.until("document.querySelector('.editor').innerText.includes('Change 1 is made.')", 60)
            written = plane.api("GET", "/apis/treadle.dev/v1alpha1/queues/root.etl")[1]["spec"]["fair"]["maxResources"]
            assert written == {"cpu": "2"}
            await page.ask("location.hash = '#/application/default/nightly'")
            await page.until(f"{pods}.includes('second Placed')")
