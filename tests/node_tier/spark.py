"""Spark on a real node: an image of its files, Java's and an interpreter's, and its own spark-submit."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from node_tier import base_image, images
from node_tier.real_node import RealNode

SPARK = Path(os.environ.get("TREADLE_SPARK", "")).resolve()
"""Where PyPI's pyspark has been unpacked."""
REFERENCE = "localhost/spark:tried"
PYTHON, JAVA_HOME, SPARK_HOME, JOB = "/usr/local/bin/python3", "/opt/java", "/opt/spark", "/opt/job.py"
USER = "185"
"""As in Spark's own images."""
LEFT_OUT = ("jmods", "man", "docs", "include", "legal", "src.zip", "ct.sym", "libatk-wrapper.so")
"""Of Java, what is not for running programs."""


def missing() -> str:
    """Return why Spark cannot be run here; empty where it can."""
    if not (SPARK / "pyspark").is_dir():
        return "TREADLE_SPARK names no folder with pyspark; use make spark"
    return "" if shutil.which("java") else "Spark needs Java"


def imported(node: RealNode, job: str) -> None:
    """Give a node the image of Spark, with a job of Python in it."""
    with tempfile.TemporaryDirectory(prefix="treadle-spark-") as name:
        folder = Path(name)
        base_image.write(folder / "base")
        _write(folder / "spark", job)
        settings = {
            "User": USER,
            "WorkingDir": "/tmp",
            "Entrypoint": [PYTHON, "/opt/start.py"],
            "Env": [
                "PATH=/usr/local/bin:/usr/bin:/bin",
                f"JAVA_HOME={JAVA_HOME}",
                f"SPARK_HOME={SPARK_HOME}",
                f"PYTHONPATH={SPARK_HOME}/python",
                f"SPARK_SCALA_VERSION={_scala()}",  # as bin/load-spark-env.sh says
            ],
        }
        layers = [images.of_folder(folder / "base"), images.of_folder(folder / "spark")]
        images.write(folder / "image.tar", REFERENCE, layers, settings)
        assert node.has_image(folder / "image.tar")


def _scala() -> str:
    (jar,) = (SPARK / "pyspark/jars").glob("spark-launcher_*.jar")
    return jar.name.split("_")[1].split("-")[0]


def _write(folder: Path, job: str) -> None:
    java = Path(shutil.which("java") or "").resolve().parents[1]
    shutil.copytree(java, folder / JAVA_HOME[1:], ignore=shutil.ignore_patterns(*LEFT_OUT), ignore_dangling_symlinks=True)
    base_image.add(folder, base_image.libraries([java / "bin/java", *java.glob("lib/*.so"), *java.glob("lib/server/*.so")]))
    spark = folder / SPARK_HOME[1:]
    shutil.copytree(SPARK / "pyspark/jars", spark / "jars")
    skipped = shutil.ignore_patterns("jars", "bin", "sbin", "examples", "data", "licenses", "__pycache__", "tests")
    shutil.copytree(SPARK / "pyspark", spark / "python/pyspark", ignore=skipped)
    shutil.copytree(SPARK / "py4j", spark / "python/py4j", ignore=skipped)
    shutil.copy(Path(__file__).with_name("spark_start.py"), folder / "opt/start.py")
    (folder / JOB[1:]).write_text(job)
    (folder / "etc").mkdir(exist_ok=True)
    (folder / "etc/passwd").write_text(f"root:x:0:0::/root:/bin/sh\nspark:x:{USER}:0::/tmp:/bin/sh\n")
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)


def submit(node: RealNode, log: Path, options: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start spark-submit in cluster mode; it ends when the driver has."""
    all_of_them = {"spark.pyspark.python": PYTHON, "spark.kubernetes.container.image": REFERENCE, **options}
    arguments = [part for name, value in all_of_them.items() for part in ("--conf", f"{name}={value}")]
    command = [str(SPARK / "pyspark/bin/spark-submit"), "--master", f"k8s://{node.plane.url}", "--deploy-mode", "cluster"]
    environment = {
        **os.environ,
        "KUBECONFIG": str(node.plane.kubeconfig),
        "SPARK_HOME": str(SPARK / "pyspark"),
        "PYTHONPATH": str(SPARK),
    }
    with log.open("w") as out:
        return subprocess.Popen([*command, *arguments, f"local://{JOB}"], stdout=out, stderr=out, env=environment)
