"""What the image promises, read from the Dockerfile, as no daemon is needed for that."""

import json
import re

import pytest

from chart import recipe
from chart.recipe import ROOT


@pytest.fixture(scope="module")
def instructions():
    return recipe.instructions(recipe.DOCKERFILE.read_text())


def last(instructions, keyword):
    return [rest for word, rest in instructions if word == keyword][-1]


def test_there_are_two_stages_on_one_base_that_a_digest_can_replace(instructions):
    assert [rest for word, rest in instructions if word == "FROM"] == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]
    assert instructions[0] == ("ARG", "PYTHON_IMAGE=python:3.13-slim")


def test_the_user_is_a_number_and_not_root(instructions):
    user, group = last(instructions, "USER").split(":")
    assert int(user) > 0
    assert int(group) > 0


def test_dependencies_come_from_the_lock_by_hash(instructions):
    installs = [rest for word, rest in instructions if word == "RUN" and " install " in rest]
    assert installs == [
        'pip --python /opt/treadle/bin/python install --require-hashes --only-binary=:all: --no-compile --requirement "$LOCK"'
    ]
    assert ("ARG", "LOCK=requirements.lock") in instructions


def test_it_starts_in_exec_form_so_that_a_signal_reaches_it(instructions):
    assert json.loads(last(instructions, "ENTRYPOINT")) == ["treadle"]
    assert json.loads(last(instructions, "CMD")) == ["run"]


def test_it_runs_on_a_read_only_root(instructions):
    assert "PYTHONDONTWRITEBYTECODE=1" in last(instructions, "ENV")
    assert any(word == "RUN" and "compileall" in rest for word, rest in instructions)


def test_it_is_labelled(instructions):
    labels = last(instructions, "LABEL")
    for name in ("title", "description", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{name}=" in labels


def test_the_version_is_that_of_the_package(instructions):
    import treadle

    assert ("ARG", f"VERSION={treadle.__version__}") in instructions


def test_no_host_is_named():
    text = (ROOT / "Dockerfile").read_text() + (ROOT / ".dockerignore").read_text()
    assert not re.search(r"https?://|index-url|extra-index|trusted-host", text)


def test_what_is_copied_is_let_into_the_build(instructions):
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [rest.split() for word, rest in instructions if word == "COPY" and "--from" not in rest]
    assert {source for *sources, _ in copied for source in sources} == allowed
    assert all((ROOT / source).exists() for source in allowed)
