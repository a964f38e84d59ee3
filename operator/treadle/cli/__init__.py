"""The command ``treadle``."""

import io
import os
import sys

CLOSED = 141
"""The status of a command whose output was closed before its end, which a shell has for one that SIGPIPE ended."""


def main() -> None:
    """Run the command line; the exit status is 0, 1 for a command's own failure, 2 for a usage error, or ``CLOSED``.

    The agent runs on every node, so it is begun without what reads the other commands, unless its options are not plain.
    """
    if sys.argv[1:2] == ["agent"]:
        from treadle.agent.command import plain_options

        options = plain_options(sys.argv[2:])
        if options is not None:
            from treadle.cli.agent import serve

            sys.exit(serve(options))
    from treadle.cli.commands import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # bars and branches are in no other encoding than Unicode's
            stream.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # What is left to write is written nowhere, or the interpreter would complain of it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED)
