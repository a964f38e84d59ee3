"""What a release is made of, as a CycloneDX document: every package of a lock with its hashes and its licence.

``sbom.py [--lock requirements.lock] FILE``. Licences are what the installed packages say of themselves. With SOURCE_DATE_EPOCH the same lock gives the same bytes.
"""

import importlib.metadata
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parent.parent
LICENSES = LicenseFactory()


@dataclass(frozen=True, slots=True)
class Locked:
    """A line of a lock: which package, its files' SHA-256, and where it is installed (a marker, empty for everywhere)."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def locked(text: str) -> Iterator[Locked]:
    """Read a lock as uv writes it. Raises ``ValueError`` for a line that is none, and for a package without a hash."""
    for block in re.split(r"\n(?=\S)", text):
        lines = [line for line in block.splitlines() if line.strip() and not line.strip().startswith("#")]
        if not lines:
            continue
        head = re.fullmatch(r"([a-z0-9][a-z0-9._-]*)==(\S+)(?: ; (.+?))? \\", lines[0])
        hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", block)
        if head is None or not hashes:
            raise ValueError(f"not a package with its hashes: {lines[0]!r}")
        yield Locked(head[1], head[2], head[3] or "", tuple(hashes))


def licence(name: str) -> str:
    """Return what the installed package says: an SPDX expression, else the name that it gives, else its classifier. Raises ``LookupError``."""
    try:
        said = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        raise LookupError(f"{name} is not installed, so nobody says its licence: run `make setup`") from None
    classifiers = [one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or [] if one.startswith("License :: ")]
    named = said.get("License") or ""
    found = said.get("License-Expression") or (named if "\n" not in named else "") or " AND ".join(classifiers)
    if not found:
        raise LookupError(f"{name} says no licence")
    return found


def made(lock: Path, now: datetime) -> str:
    """Return the document of a lock as JSON."""
    text = lock.read_text(encoding="utf-8")
    version = importlib.metadata.version("treadle")
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, f"treadle {version} {text}"))
    bom.metadata.timestamp = now
    root = Component(
        name="treadle",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=f"pkg:pypi/treadle@{version}",
        purl=PackageURL("pypi", None, "treadle", version),
        licenses=[LICENSES.make_from_string(licence("treadle"))],
    )
    bom.metadata.component = root
    parts = []
    for one in locked(text):
        purl = PackageURL("pypi", None, one.name, one.version)
        part = Component(
            name=one.name,
            version=one.version,
            type=ComponentType.LIBRARY,
            bom_ref=purl.to_string(),
            purl=purl,
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=content) for content in one.hashes],
            licenses=[LICENSES.make_from_string(licence(one.name))],
            properties=[Property(name="treadle:marker", value=one.marker)] if one.marker else [],
        )
        bom.components.add(part)
        parts.append(part)
    bom.register_dependency(root, parts)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def main(arguments: list[str]) -> int:
    """Write the document; returns the exit status."""
    lock = ROOT / "requirements.lock"
    if arguments[:1] == ["--lock"] and len(arguments) > 1:
        lock, arguments = Path(arguments[1]), arguments[2:]
    if len(arguments) != 1:
        print("usage: sbom.py [--lock LOCK] FILE", file=sys.stderr)
        return 2
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    try:
        text = made(lock, now)
    except (LookupError, ValueError, OSError) as error:
        print(f"sbom.py: {error}", file=sys.stderr)
        return 1
    target = Path(arguments[0])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
