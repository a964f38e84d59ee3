"""What the agent says to the API server, and only where it may act alone: which opportunistic pods run here, and that some have to go.

The rest of the agent asks nobody, so this alone imports TLS and JSON. A request is HTTP/1.0 on a connection of its own: there are few, and the answer ends with the connection.
"""

import json
import os
import socket
import ssl
import time

from treadle.agent.alone import LEAST_MEMORY, Amount, Pod
from treadle.agent.rows import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

CREDENTIALS = "/var/run/secrets/kubernetes.io/serviceaccount"
LABEL = "treadle.dev/execution-type"
TIMEOUT = 5.0
MOST_ANSWER = 8 << 20
PAGE = 10
"""Pods of a page of the list: what is read of them at once is most of the memory that acting takes."""
UNITS = {
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "Ti": 1 << 40,
    "Pi": 1 << 50,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "": 1,
}


class Refused(Exception):
    """The API server did not do what it was asked; the message says what it answered."""


class Server:
    """The API server as the pod of the agent sees it. ``address`` is ``host:port``, ``credentials`` a folder with ``token`` and ``ca.crt``."""

    def __init__(self, address: str, credentials: str) -> None:
        self._host, _, self._port = address.rpartition(":")
        self._credentials = credentials
        self._tls = ssl.create_default_context(cafile=f"{credentials}/ca.crt")
        self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # authorities of clusters lack extensions that strictness wants

    def ask(self, method: str, path: str, body: "Any" = None) -> "Any":
        """Send a request and return the decoded answer. Raises ``Refused`` and ``OSError``."""
        with open(f"{self._credentials}/token", encoding="ascii") as file:  # kubelets replace it
            token = file.read().strip()
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.0\r\nHost: {self._host}:{self._port}\r\nAuthorization: Bearer {token}\r\nUser-Agent: treadle-agent\r\n"
            f"Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        host = self._host.strip("[]")
        with (
            socket.create_connection((host, int(self._port)), TIMEOUT) as plain,
            self._tls.wrap_socket(plain, server_hostname=host) as connection,
        ):
            connection.sendall(head.encode() + content)
            answer = b""
            while len(answer) < MOST_ANSWER and (more := connection.recv(65536)):
                answer += more
        first, _, rest = answer.partition(b"\r\n\r\n")
        words = first.split(b" ", 2)
        if len(words) < 3 or not words[1].isdigit():
            raise Refused(f"{method} {path}: the answer is not HTTP")
        try:
            said = json.loads(rest)
        except ValueError:
            said = {"message": rest[:200].decode(errors="replace")}
        if not words[1].startswith(b"2"):
            raise Refused(f"{method} {path}: {words[1].decode()} {said.get('message', '')[:300]}")
        return said

    def size(self, node: str) -> Amount:
        """Return what a node has for pods."""
        have = self.ask("GET", f"/api/v1/nodes/{node}")["status"]["allocatable"]
        return Amount(milli(have["cpu"]), milli(have["memory"]) // 1000)

    def opportunistic(self, node: str) -> list[Pod]:
        """Return the pods of a node that the label says are opportunistic, that request next to nothing, and that are not ending."""
        query = f"fieldSelector=spec.nodeName%3D{node}&labelSelector={LABEL.replace('/', '%2F')}%3Dopportunistic&limit={PAGE}"
        found, more = [], ""
        while True:
            page = self.ask("GET", f"/api/v1/pods?{query}{more}")
            found += [pod(one) for one in page.get("items") or () if gives_way(one)]
            mark = (page.get("metadata") or {}).get("continue")
            if not mark:
                return found
            more = f"&continue={escaped(mark)}"

    def evict(self, one: Pod) -> None:
        """Ask a pod to go, as disruption budgets allow."""
        path = f"/api/v1/namespaces/{one.namespace}/pods/{one.name}/eviction"
        options = {"preconditions": {"uid": one.uid}}
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": one.name, "namespace": one.namespace},
            "deleteOptions": options,
        }
        self.ask("POST", path, body)

    def tell(self, one: Pod, why: str, node: str) -> None:
        """Tell the owner of a pod why it went."""
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{one.name[:200]}-", "namespace": one.namespace},
            "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
            "reportingController": "treadle.dev/agent",
            "reportingInstance": node[:128],
            "action": "Preempting",
            "reason": "Preempted",
            "type": "Normal",
            "note": why[:1000],
            "regarding": {"apiVersion": "v1", "kind": "Pod", "name": one.name, "namespace": one.namespace, "uid": one.uid},
        }
        self.ask("POST", f"/apis/events.k8s.io/v1/namespaces/{one.namespace}/events", event)


def escaped(text: str) -> str:
    """Return a text as a value in a query."""
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}" for byte in text.encode())


def address() -> str:
    """Return where a pod reaches the API server; empty outside of a cluster."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"{f'[{host}]' if ':' in host else host}:{port}" if host else ""


def milli(text: str) -> int:
    """Return a quantity in thousandths: ``1930m``, ``4``, ``2.5``, ``24581256Ki``."""
    if text.endswith("m"):
        return int(text[:-1])
    number = text.rstrip("KMGTPkimu")
    return int(float(number) * 1000) * UNITS[text[len(number) :]]


def pod(seen: "Any") -> Pod:
    """Return a pod of the API as the rules know it."""
    meta = seen["metadata"]
    started = seen.get("status", {}).get("startTime") or meta["creationTimestamp"]
    return Pod(meta["namespace"], meta["name"], meta["uid"], started)


def gives_way(seen: "Any") -> bool:
    """Whether a pod is opportunistic as the scheduler has it: one that requests something counts as guaranteed, whatever it says, and is never asked to go."""
    if seen["metadata"].get("deletionTimestamp") or seen.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return False
    spec = seen["spec"]
    if spec.get("overhead") or spec.get("resourceClaims"):
        return False
    asking = [spec, *spec.get("containers", ()), *spec.get("initContainers", ())]
    requests = [item for one in asking for item in (one.get("resources") or {}).get("requests", {}).items()]
    return all(milli(value) == 0 or (name == "memory" and milli(value) <= LEAST_MEMORY * 1000) for name, value in requests)
