"""The recipe of the image for two architectures fits the Dockerfile and the release."""

import json
import re
from pathlib import Path

import treadle

ROOT = Path(__file__).resolve().parents[2]
BAKE = json.loads((ROOT / "docker-bake.json").read_text())
IMAGE = BAKE["target"]["image"]


def test_it_is_for_both_architectures_with_its_parts_and_its_origin_attested():
    assert IMAGE["platforms"] == ["linux/amd64", "linux/arm64"]
    assert IMAGE["attest"] == ["type=provenance,mode=max", "type=sbom"]
    assert "rewrite-timestamp=true" in IMAGE["output"][0]
    assert BAKE["group"]["default"]["targets"] == list(BAKE["target"])


def test_every_variable_is_declared_and_every_argument_is_one_of_the_dockerfile():
    used = set(re.findall(r"\$\{(\w+)\}", json.dumps(BAKE["target"])))
    assert used == set(BAKE["variable"])
    dockerfile = set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert set(IMAGE["args"]) - {"SOURCE_DATE_EPOCH"} <= dockerfile, "SOURCE_DATE_EPOCH is BuildKit's own"
    assert BAKE["variable"]["VERSION"]["default"] == treadle.__version__
    base = re.search(r"^ARG PYTHON_IMAGE=(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert BAKE["variable"]["PYTHON_IMAGE"]["default"] == base[1]


def test_a_release_sets_what_only_it_knows():
    release = (ROOT / ".github" / "workflows" / "release.yaml").read_text()
    for name in set(BAKE["variable"]):
        assert re.search(rf"\b{name}(=|:)|export [^\n]*\b{name}\b", release), name


def test_labels_of_dockerfile_and_recipe_are_those_of_the_open_container_initiative():
    labels = set(re.findall(r"org\.opencontainers\.image\.([\w.]+)=", (ROOT / "Dockerfile").read_text()))
    labels |= {name.removeprefix("org.opencontainers.image.") for name in IMAGE["labels"]}
    assert labels == {"title", "description", "licenses", "version", "revision", "source", "created", "base.name"}


def test_every_locked_package_has_a_file_for_each_architecture():
    """A wheel for arm64 cannot be told from its hash: what is compiled has several files at least."""
    lock = (ROOT / "requirements.lock").read_text()
    compiled = (
        "aiohttp",
        "cel-expr-python",
        "cryptography",
        "httptools",
        "msgspec",
        "numpy",
        "protobuf",
        "pydantic-core",
        "uvloop",
    )
    for name in compiled:
        block = re.search(rf"^{name}==.*?(?=^\S)", lock, re.MULTILINE | re.DOTALL)
        assert block[0].count("--hash=") > 2, name
