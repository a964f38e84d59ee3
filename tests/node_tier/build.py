"""The image of Treadle by its Dockerfile, without a container engine: its instructions are carried out over this machine's files, of which nothing is changed.

The build stage runs in a mount namespace of its own, changed to a root whose lower layer is the machine's and whose upper one is in memory, with
the base's interpreter below /usr/local. So what the Dockerfile says is what is tried, and a change of it is tried without a change here.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chart.recipe import DOCKERFILE, ROOT, instructions, stages
from cluster.go_module import cache
from node_tier import base_image, images

REFERENCE = "localhost/treadle:tried"
KEPT = 3
"""Images in the cache: several checkouts of the project use it."""
PREPARED = """\
set -e
mount -t tmpfs tmpfs {work}
mkdir {work}/upper {work}/over {work}/root
mount -t overlay overlay -o lowerdir=/,upperdir={work}/upper,workdir={work}/over {work}/root
cp -a {base}/usr/local/. {work}/root/usr/local/
for one in dev proc; do mount --rbind /$one {work}/root/$one; done
set +e
chroot {work}/root /bin/sh -e {script}
status=$?
set -e
test $status = 0
mkdir -p {to}
{copies}
"""


class BuildError(Exception):
    """The Dockerfile has something that cannot be carried out here, or it failed; the text says what."""


@dataclass(frozen=True, slots=True)
class Image:
    """A Docker archive and the bytes of its layers as a registry keeps them: of the base, and of what the Dockerfile adds."""

    archive: Path
    base: int
    added: int


def treadle() -> Image:
    """The image of this checkout, made once for the same sources. Raises ``BuildError``."""
    folder = cache() / "image"
    folder.mkdir(parents=True, exist_ok=True)
    key = _key()
    archive, told = folder / f"{key}.tar", folder / f"{key}.json"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            told.write_text(json.dumps(_build(archive)))
            for old in sorted(folder.glob("*.tar"), key=lambda one: one.stat().st_mtime)[:-KEPT]:
                old.with_suffix(".json").unlink(missing_ok=True)
                old.unlink()
    return Image(archive, **json.loads(told.read_text()))


def _key() -> str:
    digest = hashlib.sha256(str(base_image.interpreter()).encode())
    sources = [path for path in (ROOT / "operator/treadle").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    here = [Path(module.__file__ or "") for module in (images, base_image)]
    for path in sorted([DOCKERFILE, *ROOT.glob("requirements*.lock"), Path(__file__), *here, *sources]):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _build(archive: Path) -> dict[str, int]:
    first, last = stages(instructions(DOCKERFILE.read_text()))
    with tempfile.TemporaryDirectory(prefix="treadle-build-") as name:
        folder = Path(name)
        base_image.write(folder / "base")
        copies = [rest.split()[1:] for word, rest in last if word == "COPY"]
        _carry_out(first, copies, folder)
        layers = [images.of_folder(folder / "base"), images.of_folder(folder / "added")]
        unfinished = archive.with_suffix(".part")
        images.write(unfinished, REFERENCE, layers, settings(last))
        unfinished.rename(archive)
        return dict(zip(("base", "added"), map(images.compressed, layers), strict=True))


def settings(stage: list[tuple[str, str]]) -> dict[str, Any]:
    """What the last stage says of its containers, as an image's configuration has it."""
    environment = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}
    found: dict[str, Any] = {}
    for word, rest in stage:
        match word:
            case "ENV":
                for name, value in _pairs(rest).items():
                    environment[name] = re.sub(r"\$(\w+)", lambda one: environment[one[1]], value)
            case "USER":
                found["User"] = rest
            case "WORKDIR":
                found["WorkingDir"] = rest
            case "ENTRYPOINT" | "CMD":
                found[word.title()] = json.loads(rest)
            case "FROM" | "ARG" | "LABEL" | "COPY" | "EXPOSE":
                pass
            case _:
                raise BuildError(f"{word} {rest}: only the build stage is carried out")
    return {**found, "Env": [f"{name}={value}" for name, value in environment.items()]}


def _pairs(rest: str) -> dict[str, str]:
    return {name: value for name, _, value in (one.partition("=") for one in shlex.split(rest))}


def _carry_out(stage: list[tuple[str, str]], copies: list[list[str]], folder: Path) -> None:
    """Carry the build stage out and have what the last stage copies of it below ``folder/added``."""
    for name in ("work", "added"):
        (folder / name).mkdir()
    script = folder / "build.sh"
    script.write_text("\n".join([_pip(folder), *(_line(word, rest, folder) for word, rest in stage)]))
    parts = {
        "work": folder / "work",
        "base": folder / "base",
        "script": script,
        "to": folder / "added",
        "copies": "\n".join(
            f"mkdir -p $(dirname {folder}/added{to}) && cp -a {folder}/work/root{source} {folder}/added{to}"
            for source, to in copies
        ),
    }
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", PREPARED.format(**parts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the image could not be built: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def _pip(folder: Path) -> str:
    """Lay the tests' own pip beside the base's interpreter: base images have one."""
    import pip

    there = f"/usr/local/lib/{base_image.interpreter().name}/site-packages"
    start = "#!/usr/local/bin/python3\nimport sys\nfrom pip._internal.cli.main import main\nsys.exit(main())\n"
    (folder / "pip").write_text(start)
    return (
        f"unset PYTHONPATH PYTHONHOME VIRTUAL_ENV\nexport PATH=/usr/local/bin:$PATH\nmkdir -p {there}\ncp -R {Path(pip.__file__).parent} {there}/pip\n"
        f"cp {folder}/pip /usr/local/bin/pip\nchmod 0755 /usr/local/bin/pip"
    )


def _line(word: str, rest: str, folder: Path) -> str:
    match word:
        case "FROM":
            return ""
        case "ARG":
            name, _, value = rest.partition("=")
            return f"export {name}={shlex.quote(value)}"
        case "ENV":
            return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in _pairs(rest).items())
        case "WORKDIR":
            return f"mkdir -p {rest}\ncd {rest}"
        case "RUN":
            return f"(\n{rest}\n)"
        case "COPY":
            *sources, to = rest.split()
            # The context without what .dockerignore leaves out.
            context = folder / "context"
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, context / source, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
                else:
                    context.mkdir(exist_ok=True)
                    shutil.copy(ROOT / source, context / source)
            if len(sources) == 1 and (ROOT / sources[0]).is_dir():
                return f"mkdir -p {to}\ncp -R {context / sources[0]}/. {to}/"
            return f"cp {' '.join(str(context / one) for one in sources)} {to}"
        case _:
            raise BuildError(f"{word} {rest}: this cannot be carried out here")
