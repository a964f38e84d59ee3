"""Service accounts of a real API server, their tokens, and the chart installed for one of them."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from chart.binaries import program
from cluster.control_plane import ControlPlane

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def account(plane: ControlPlane, namespace: str, name: str) -> None:
    code, answer = plane.api("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
    assert code == 201, answer


def token(plane: ControlPlane, namespace: str, name: str, *audiences: str) -> str:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    code, answer = plane.api("POST", path, {"spec": {"audiences": list(audiences)} if audiences else {}})
    assert code == 201, answer
    said: str = answer["status"]["token"]
    return said


def minted(plane: ControlPlane, valid: str, left: int) -> str:
    """A token like a valid one, signed by the same key, that has so many seconds left; below 0 its time is over."""
    head, said, _ = valid.split(".")
    claims = json.loads(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)))
    now = int(time.time())
    claims |= {"iat": now - 7200, "nbf": now - 7200, "exp": now + left}
    text = f"{head}.{_encoded(json.dumps(claims).encode())}"
    key = serialization.load_pem_private_key((plane.folder / "sa.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    pair = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{_encoded(b''.join(one.to_bytes(32, 'big') for one in pair))}"


def _encoded(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def reads_metrics(plane: ControlPlane, namespace: str, name: str, role: str = "treadle-metrics-reader") -> None:
    """Bind a service account to a ClusterRole."""
    body = {
        "metadata": {"name": f"{name}-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    code, answer = plane.api("POST", f"{RBAC}/clusterrolebindings", body)
    assert code == 201, answer


def installed(plane: ControlPlane, folder: Path, *more: str) -> Path:
    """Install the chart, with ``more`` values of it set, and return a kubeconfig that has a token of its service account and nothing else."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "HELM_CACHE_HOME": str(folder),
        "HELM_CONFIG_HOME": str(folder),
        "HELM_DATA_HOME": str(folder),
    }
    command = [str(program("helm")), "--kubeconfig", str(plane.kubeconfig), "--namespace=treadle-system"]
    own = ("rest.enabled=true", "crds.install=false", "serviceAccount.create=false", "serviceAccount.name=treadle")
    sets = f"--set={','.join((*own, *more))}"
    done = subprocess.run(
        [*command, "install", "treadle", str(CHART), sets], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # As a scheduler with the chart's arguments makes it: without these lists nobody writes a queue.
    lists = "/apis/treadle.dev/v1alpha1/namespaces/treadle-system/administratorlists"
    made = {"apiVersion": "treadle.dev/v1alpha1", "kind": "AdministratorList", "metadata": {"name": "treadle-administrators"}}
    assert plane.api("POST", lists, made)[0] in {201, 409}
    said = json.loads(Path(plane.kubeconfig).read_text())
    said["users"][0]["user"] = {"token": token(plane, "treadle-system", "treadle")}
    path = folder / "treadle.kubeconfig"
    path.write_text(json.dumps(said))
    return path
