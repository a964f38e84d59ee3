"""The image that the Dockerfile makes: its size, and who runs in it."""

from __future__ import annotations

from node_tier.build import Image, settings

MEGABYTE = 1_000_000


def test_the_image_is_small(image: Image) -> None:
    assert image.added < 85 * MEGABYTE, "what the Dockerfile adds"
    assert image.base + image.added < 150 * MEGABYTE, "all that a node fetches"


def test_what_the_dockerfile_says_of_containers_is_what_they_get() -> None:
    said = [
        ("FROM", "base"),
        ("ENV", "PATH=/opt/treadle/bin:$PATH HOME=/tmp"),
        ("USER", "65532:65532"),
        ("ENTRYPOINT", '["treadle"]'),
    ]
    found = settings(said)
    assert found["User"] == "65532:65532"
    assert found["Entrypoint"] == ["treadle"]
    assert found["Env"][0].startswith("PATH=/opt/treadle/bin:/usr/local/bin:")
    assert found["Env"][1] == "HOME=/tmp"
