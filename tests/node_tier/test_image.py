"""The image that the Dockerfile makes: its size, and who runs in it."""

from __future__ import annotations

import io
import json
import tarfile

from node_tier.build import Image, settings

MEGABYTE = 1_000_000


def test_the_image_is_small(image: Image) -> None:
    assert image.added < 85 * MEGABYTE, "what the Dockerfile adds"
    assert image.base + image.added < 150 * MEGABYTE, "all that a node fetches"


def test_no_compiled_file_has_a_time_so_that_two_builds_are_the_same_and_none_is_compiled_again_at_a_start(image: Image) -> None:
    """PEP 552: 1 stands for a hash of the source that is not compared when the file is used."""
    with tarfile.open(image.archive) as archive:
        manifest = archive.extractfile("manifest.json")
        assert manifest is not None
        last = archive.extractfile(json.load(manifest)[0]["Layers"][-1])
        assert last is not None
        kinds: dict[int, str] = {}
        with tarfile.open(fileobj=io.BytesIO(last.read())) as layer:
            for entry in layer:
                if entry.name.endswith(".pyc"):
                    compiled = layer.extractfile(entry)
                    assert compiled is not None
                    kinds[int.from_bytes(compiled.read(8)[4:], "little")] = entry.name
    assert list(kinds) == [1], kinds


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
