"""What may be set: the schema is made from one declaration and the command's own options, and helm refuses all else by name."""

import importlib.util
import inspect
import json
import re
from typing import Annotated

import pytest
import yaml
from msgspec import Meta

from chart.rendering import CHART, ROOT, deployment, template
from treadle.api.identity import Source
from treadle.cli.run import run

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())


@pytest.fixture(scope="module")
def maker():
    """charts/schema.py, which is a script and no module of a package."""
    spec = importlib.util.spec_from_file_location("chart_schema", ROOT / "charts" / "schema.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaves(schema, path=()):
    """(path, schema) of every value."""
    for name, below in schema["properties"].items():
        if below.get("additionalProperties") is False and below["type"] == "object" and "requests" not in below["properties"]:
            yield from leaves(below, (*path, name))
        else:
            yield (*path, name), below


LEAVES = {path: below for path, below in leaves(SCHEMA) if path != ("global",)}


def test_the_schema_is_what_its_declaration_makes(maker):
    assert (CHART / "values.schema.json").read_text() == maker.made()


def test_the_values_and_the_schema_have_the_same_names_each_with_a_description():
    def names(values, path=()):
        for name, value in values.items():
            here = (*path, name)
            yield from [here] if here in LEAVES or not isinstance(value, dict) else names(value, here)

    assert set(names(VALUES)) == set(LEAVES)
    assert [path for path, below in LEAVES.items() if len(below.get("description", "")) < 5] == []


WRONG = {"boolean": "yes", "integer": "many", "number": "much", "string": ["listed"], "array": "one", "object": "flat"}


def values_file(folder, pairs):
    tree = {}
    for path, value in pairs:
        below = tree
        for name in path[:-1]:
            below = below.setdefault(name, {})
        below[path[-1]] = value
    file = folder / "values.yaml"
    file.write_text(json.dumps(tree))
    return f"--values={file}"


def refused(arguments):
    answer = template(arguments)
    assert answer.returncode != 0
    return set(re.findall(r"at '/([\w/]*)'", answer.stderr)), answer.stderr


def test_a_value_of_another_kind_is_refused_by_name_wherever_it_stands(tmp_path):
    named, _ = refused(values_file(tmp_path, ((path, WRONG[below["type"]]) for path, below in LEAVES.items())))
    assert named >= {"/".join(path) for path in LEAVES}


def test_a_value_out_of_bounds_is_refused_by_name_wherever_there_are_bounds(tmp_path):
    beyond = {
        "enum": lambda _: "nonsense",
        "minimum": lambda least: least - 1,
        "maximum": lambda most: most + 1,
        "exclusiveMinimum": lambda least: least,
        "minLength": lambda _: "",
        "maxLength": lambda most: "x" * (most + 1),
        "pattern": lambda _: " no name at all ?",
        "minItems": lambda _: [],
    }
    bounded = [(path, word, below[word]) for path, below in LEAVES.items() for word in beyond if word in below]
    assert {word for _, word, _ in bounded} == set(beyond)
    for word, value in beyond.items():
        wrong = [(path, value(bound)) for path, found, bound in bounded if found == word]
        named, said = refused(values_file(tmp_path, wrong))
        assert named >= {"/".join(path) for path, _ in wrong}, (word, said)


def test_an_unknown_value_is_refused_by_name_at_every_level(tmp_path):
    levels = {path[:depth] for path in LEAVES for depth in range(len(path))}
    _, said = refused(values_file(tmp_path, [((*path, f"x{number}"), 1) for number, path in enumerate(sorted(levels))]))
    assert {f"x{number}" for number in range(len(levels))} <= set(re.findall(r"'(x\d+)'", said))


def test_what_is_in_lists_is_looked_at(tmp_path):
    wrong = [
        (("networkPolicy", "clients"), [{"host": "example"}]),
        (("networkPolicy", "apiServerPorts"), [0]),
        (("imagePullSecrets",), [{}]),
        (("ingress", "paths"), ["relative"]),
        (("tls", "names"), [""]),
        (("identity", "controllers"), ['a"b']),
    ]
    named, _ = refused(values_file(tmp_path, wrong))
    assert named >= {"/".join((*path, "0")) for path, _ in wrong}


def test_each_option_that_the_chart_gives_is_one_of_treadle_run():
    known = {f"--{name.replace('_', '-')}" for name in inspect.signature(run).parameters}
    text = (CHART / "templates" / "deployment.yaml").read_text()
    given = set(re.findall(r"^ +- (--[\w-]+)", text, re.MULTILINE))
    assert len(given) > 15
    assert given <= known
    (container,) = deployment()["template"]["spec"]["containers"]
    assert {one.partition("=")[0] for one in container["args"] if one != "run"} <= given


def test_choices_bounds_and_words_of_an_option_are_those_of_its_command(maker):
    def command(*, source: Source, days: Annotated[float, Meta(gt=2)], hosts: tuple[str, ...], eta: bool) -> None:
        """Do something.

        Parameters
        ----------
        source:
            Whose it is.
        days:
            How long,
            in days.
        hosts:
            Names.
        eta:
            Whether.
        """

    options = maker.options_of(command)
    assert maker.option("source", options) == {
        "description": "Whose it is.",
        "type": "string",
        "enum": [one.value for one in Source],
    }
    assert maker.option("days", options) == {"description": "How long, in days.", "type": "number", "exclusiveMinimum": 2}
    assert maker.option("hosts", options, each={"minLength": 1})["items"] == {"type": "string", "minLength": 1}
    assert maker.option("eta", options) == {"description": "Whether.", "type": "boolean"}
    assert maker.option("eta", options, said_there=False) == {"type": "boolean"}
    with pytest.raises(ValueError, match="exclusiveMinimum is said by the command"):
        maker.option("days", options, exclusiveMinimum=1)
    with pytest.raises(LookupError, match="there is no option gone"):
        maker.option("gone", options)
    assert LEAVES["history", "days"]["exclusiveMinimum"] == 0
    assert "SQLite in a volume of each copy" in LEAVES["history", "url"]["description"], "the chart's word for an empty one"
    assert LEAVES["identity", "source"]["enum"] == [one.value for one in Source]


def test_a_value_without_a_word_about_it_is_no_schema(maker):
    with pytest.raises(LookupError, match="replicaCount has no comment"):
        maker._object({"replicaCount": maker.whole(0, 1)}, {}, "")
    assert maker.descriptions("# -- Of a.\n# And more.\na:\n  # -- Of b.\n  b: 1\n\n  c: 2\n") == {
        "a": "Of a. And more.",
        "a.b": "Of b.",
    }
