"""The command ``treadle``."""

import sys


def main() -> None:
    """Run the command line; the exit status is 0, 1 for a command's own failure, or 2 for a usage error.

    The agent runs on every node, so it is begun without what reads the other commands, unless its options are not plain.
    """
    if sys.argv[1:2] == ["agent"]:
        from treadle.agent.command import plain_options

        options = plain_options(sys.argv[2:])
        if options is not None:
            from treadle.cli.agent import serve

            sys.exit(serve(options))
    from treadle.cli.commands import app

    app()
