"""``treadle completion``: commands and options completed by a shell."""

from __future__ import annotations

from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print what a shell needs to complete commands and options: source it, as in `source <(treadle completion bash)`.

    Parameters
    ----------
    shell:
        The shell.
    """
    from treadle.cli.commands import app

    print(app.generate_completion(shell=shell))
