"""Who the scheduler says it is to a Prometheus: a token, or a name and a password, from files as a mounted Secret has them.

They are sent to one address alone, which whoever runs the scheduler says: who may edit the Scheduler names the Prometheus, and must not learn them by naming another server. They are read
anew each time, since Secrets are replaced, and no message and no log has them.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from treadle.usage.many import Failed

TOKEN, USERNAME, PASSWORD = "token", "username", "password"
"""The names of the files, which are those that Secrets of the usual types have as keys."""
LONGEST = 16 * 1024
"""Bytes of a file."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files in a ``folder``, for a server at ``address`` and what is below its path."""

    folder: Path
    address: str

    def are_for(self, url: str) -> bool:
        """Whether they are for what is asked at a URL."""
        try:
            wanted, asked = _parts(self.address), _parts(url)
        except ValueError:  # no port of this world
            return False
        (*server, below), (*other, path) = wanted, asked
        steps = unquote(path).split("/")
        return server == other and (path == below or path.startswith(f"{below}/")) and "." not in steps and ".." not in steps

    def headers(self) -> dict[str, str]:
        """Read the header that says who asks; may block. Raises ``Failed``, which names the file and not what is in it."""
        token, name, password = (self._read(one) for one in (TOKEN, USERNAME, PASSWORD))
        if token is not None and name is None and password is None:
            if not (token.isascii() and token.isprintable() and " " not in token):
                raise Failed(f"{self.folder / TOKEN} has more than a token in it; allowed are the printable characters of ASCII")
            return {"Authorization": f"Bearer {token}"}
        if token is None and name is not None and password is not None:
            if ":" in name:
                raise Failed(f"{self.folder / USERNAME}: a name with a colon in it cannot be sent")
            return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}
        there = ", ".join(file for file, text in ((TOKEN, token), (USERNAME, name), (PASSWORD, password)) if text is not None)
        raise Failed(
            f"{self.folder} has {there or 'none of the files'}; allowed are {TOKEN}, or {USERNAME} and {PASSWORD}, none of them empty"
        )

    def _read(self, name: str) -> str | None:
        """Return what a file says without the line break at its end; None where there is none, or an empty one."""
        path = self.folder / name
        try:
            with path.open("rb") as file:
                found = file.read(LONGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Failed(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
        if len(found) > LONGEST:
            raise Failed(f"{path} is longer than {LONGEST} bytes")
        try:
            return found.decode().rstrip("\r\n") or None
        except UnicodeDecodeError:
            raise Failed(f"{path} is no text in UTF-8") from None


def _parts(url: str) -> tuple[str, str | None, int | None, str]:
    """Return scheme, host, port and path. Raises ``ValueError``."""
    found = urlsplit(url)
    return found.scheme, found.hostname, found.port or _PORTS.get(found.scheme), found.path.rstrip("/")
