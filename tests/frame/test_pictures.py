"""Pictures in the documentation are what their scripts draw from the numbers that lie beside them."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from bench import optimum_picture
from bench.together_picture import FOLDER, drawn


def test_the_picture_of_the_solver_is_drawn_from_what_was_measured() -> None:
    assert (FOLDER / "together.svg").read_text() == drawn(json.loads((FOLDER / "together.json").read_text()))


def test_it_is_well_formed_and_has_a_title() -> None:
    root = ET.parse(FOLDER / "together.svg").getroot()

    assert root.tag.endswith("svg")
    assert root[0].text


@pytest.mark.parametrize("name", ["optimum.svg", "optimum-load.svg"])
def test_the_pictures_of_places_beside_the_best_are_drawn_from_what_was_measured(name: str) -> None:
    picture = optimum_picture.drawn(json.loads((FOLDER / "optimum.json").read_text()))[name]

    assert (FOLDER / name).read_text() == picture
    assert ET.fromstring(picture)[0].tag.endswith("title")
