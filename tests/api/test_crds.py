"""The CRDs that are made from the models, without a server."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from treadle.api import crds
from treadle.api.objects import KINDS, parse
from treadle.cli.commands import app

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "type", "format", "pattern", "description", "default", "enum", "required", "properties", "items", "additionalProperties", "anyOf", "minimum",
    "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
    "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations",
}  # fmt: skip


def nodes(schema, path=""):
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def schema_of(kind):
    return crds.crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_the_files_checked_in_are_those_of_the_models():
    assert crds.stale(ROOT) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_structural(kind):
    for path, node in nodes(schema_of(kind)):
        assert set(node) <= ALLOWED, path
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert node.get("default", "") is not None, path


@pytest.mark.parametrize("kind", KINDS)
def test_everything_a_user_writes_is_bounded(kind):
    for path, node in nodes(schema_of(kind)["properties"]["spec"]):
        if node.get("x-kubernetes-int-or-string") or (node["type"] == "string" and "enum" not in node):
            assert "maxLength" in node, path
        if node.get("type") == "array":
            assert "maxItems" in node, path
            assert "x-kubernetes-list-type" in node, path
        if "additionalProperties" in node:
            assert "maxProperties" in node, path


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_has_words_of_its_own(kind):
    for path, node in nodes(schema_of(kind)):
        for rule in node.get("x-kubernetes-validations", ()):
            assert rule.get("message") or rule.get("messageExpression"), path
            assert "\n" not in rule["rule"], path


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_at_the_root_never_stops_a_write_to_an_old_object(kind):
    for rule in schema_of(kind).get("x-kubernetes-validations", ()):
        assert rule["optionalOldSelf"]
        assert "oldSelf.hasValue()" in rule["rule"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_not_acted_on_has_a_default(kind):
    defaults = {path: node["default"] for path, node in nodes(schema_of(kind)["properties"]["spec"]) if "default" in node}
    assert {path: value for path, value in defaults.items() if value != {}} == {
        "Scheduler": {".discipline": "Fair", ".nodes.partitions[].exclusive": True, ".nodes.scoring": "Pack"},
        "Queue": {".state": "Running", ".fair.weight": "1", ".fair.schedulingPolicy": "drf"},
        "Application": {},
        "Reservation": {".expression.interpreter": "All", ".expression.requests[].concurrency": 1},
    }[kind]


def test_short_names_are_one_a_kind_and_listed_together():
    names = [crds.crd(kind)["spec"]["names"] for kind in KINDS]
    assert [name["shortNames"] for name in names] == [["tsched"], ["tq"], ["tapp"], ["tres"]]
    assert {tuple(name["categories"]) for name in names} == {("treadle",)}


def test_a_union_that_has_no_structural_form_is_an_error_of_ours():
    with pytest.raises(TypeError, match="a union of 2 types has no structural schema"):
        crds.structural({"anyOf": [{"type": "string"}, {"type": "object"}]}, {})


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_every_object_of_ours_in_the_examples_is_valid(path):
    documents = list(yaml.safe_load_all(path.read_text()))
    assert documents
    for document in documents:
        if document["apiVersion"].startswith("treadle.dev/"):
            parse(document["kind"], document)


def test_the_command_prints_all_four(capsys):
    assert run("crds") == 0
    made = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [crd["spec"]["names"]["kind"] for crd in made] == list(KINDS)


def test_a_file_that_differs_or_is_left_over_fails_the_check_by_name(tmp_path, capsys):
    shutil.copytree(ROOT / "crds", tmp_path / "crds")
    shutil.copytree(ROOT / "charts/treadle/files/crds", tmp_path / "charts/treadle/files/crds")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "fields.md", tmp_path / "docs")
    assert run("crds", "--check", "--root", str(tmp_path)) == 0
    changed = tmp_path / "crds" / "treadle.dev_queues.yaml"
    changed.write_text(changed.read_text().replace("tq", "queue"))
    (tmp_path / "crds" / "old.yaml").write_text("")
    assert run("crds", "--check", "--root", str(tmp_path)) == 1
    said = capsys.readouterr().err
    assert str(changed) in said
    assert "old.yaml" in said
    assert run("crds", "--write", "--root", str(tmp_path)) == 0
    assert capsys.readouterr().out == f"wrote {changed}\n"


def test_outside_a_checkout_the_command_says_what_it_misses(tmp_path, capsys):
    assert run("crds", "--check", "--root", str(tmp_path)) == 2
    assert "there is no folder crds in" in capsys.readouterr().err


def test_writing_and_checking_exclude_each_other(capsys):
    assert run("crds", "--check", "--write") == 2
    assert "exclude each other" in capsys.readouterr().err


def test_help_loads_no_command():
    code = "import sys; from treadle.cli.commands import app; app(['--help'], result_action='return_value'); print(*sorted(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Print, write or check the CustomResourceDefinitions." in answer
    assert not {"pydantic", "yaml", "numpy", "aiohttp", "kopf", "kubernetes", "treadle.cli.crds"} & set(
        answer.splitlines()[-1].split()
    )


def test_the_version_is_that_of_the_package(capsys):
    import treadle

    run("--version")
    assert capsys.readouterr().out.strip() == treadle.__version__


def run(*arguments):
    return app(list(arguments), result_action="return_value")
