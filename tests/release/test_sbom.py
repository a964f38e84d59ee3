"""What a release says that it is made of is exactly what its lock has."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "release" / "sbom.py"
EPOCH = "1700000000"


def write(target, *arguments, epoch=EPOCH):
    command = [sys.executable, str(SCRIPT), *arguments, str(target)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"SOURCE_DATE_EPOCH": epoch, "PATH": ""}, timeout=120
    )


@pytest.fixture(scope="module", params=["requirements.lock", "requirements-solver.lock"])
def document(request, tmp_path_factory):
    target = tmp_path_factory.mktemp("sbom") / "treadle.cdx.json"
    answer = write(target, "--lock", str(ROOT / request.param))
    assert answer.returncode == 0, answer.stderr
    return (ROOT / request.param).read_text(), json.loads(target.read_text()), target.read_bytes(), request.param


def test_it_names_the_packages_of_the_lock_with_their_hashes_and_no_others(document):
    lock, made, _, _ = document
    wanted = {}
    name = None
    for line in lock.splitlines():
        if found := re.match(r"([a-z0-9.-]+)==(\S+)", line):
            name = found.groups()
        if found := re.search(r"--hash=sha256:(\w+)", line):
            wanted.setdefault(name, set()).add(found[1])
    said = {(one["name"], one["version"]): {each["content"] for each in one["hashes"]} for one in made["components"]}
    assert said == wanted
    assert {each["alg"] for one in made["components"] for each in one["hashes"]} == {"SHA-256"}
    assert {one["purl"] for one in made["components"]} == {f"pkg:pypi/{name}@{version}" for name, version in wanted}


def test_each_has_a_licence_and_what_is_not_everywhere_says_where(document):
    _, made, _, _ = document
    assert [one["name"] for one in made["components"] if not one.get("licenses")] == []
    licences = {one["name"]: one["licenses"] for one in made["components"]}
    assert licences["kopf"] == [{"license": {"id": "MIT"}}]
    assert licences["cryptography"] == [{"expression": "Apache-2.0 OR BSD-3-Clause"}]
    marked = {(one["name"], one["version"]): one["properties"][0]["value"] for one in made["components"] if "properties" in one}
    assert {name for name, _ in marked} >= {"numpy", "uvloop"}
    assert sum(name == "numpy" for name, _ in marked) == 2


def test_it_is_about_treadle_which_depends_on_all_of_them(document):
    _, made, _, _ = document
    import treadle

    about = made["metadata"]["component"]
    assert (about["name"], about["version"], about["licenses"]) == (
        "treadle",
        treadle.__version__,
        [{"license": {"id": "Apache-2.0"}}],
    )
    (edges,) = [one["dependsOn"] for one in made["dependencies"] if one["ref"] == about["bom-ref"]]
    assert set(edges) == {one["bom-ref"] for one in made["components"]}
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["timestamp"].startswith("2023-11-14T22:13:20")


def test_the_same_lock_gives_the_same_bytes(document, tmp_path):
    _, _, text, lock = document
    assert write(tmp_path / "again.json", "--lock", str(ROOT / lock)).returncode == 0
    assert (tmp_path / "again.json").read_bytes() == text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rich>=15\n", "not a package with its hashes: 'rich>=15'"),
        ("rich==15.0.0 \\\n    # via cyclopts\n", "not a package with its hashes: 'rich==15.0.0"),
        (f"no-such-thing==1.0 \\\n    --hash=sha256:{'a' * 64}\n", "no-such-thing is not installed"),
    ],
)
def test_a_lock_that_says_less_is_refused_with_the_line(tmp_path, line, said):
    (tmp_path / "lock").write_text(line)
    answer = write(tmp_path / "made.json", "--lock", str(tmp_path / "lock"))
    assert answer.returncode == 1
    assert said in answer.stderr
    assert not (tmp_path / "made.json").exists()


def test_a_package_that_says_no_licence_is_not_passed_over(monkeypatch):
    spec = importlib.util.spec_from_file_location("release_sbom", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "release_sbom", script)
    spec.loader.exec_module(script)
    said = importlib.import_module("email.message").Message()
    monkeypatch.setattr(script.importlib.metadata, "metadata", lambda _: said)
    with pytest.raises(LookupError, match="quiet says no licence"):
        script.licence("quiet")
    said["Classifier"] = "License :: OSI Approved :: BSD License"
    assert script.licence("quiet") == "BSD License"
    said["License"] = "BSD-3-Clause"
    assert script.licence("quiet") == "BSD-3-Clause"
