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
