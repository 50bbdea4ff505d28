"""`rig start`, which is also `rig` alone in a terminal: choose files, and run them."""

from __future__ import annotations

import shlex

from rig.cli.output import say
from rig.cli.verbs import verb


@verb()
def command() -> int | None:
    """Choose among the model files on this machine, and run them. `rig` alone does the same.

    rig lists the GGUF files of this folder, and those of LM Studio, Ollama, Hugging Face, llama.cpp and rig
    itself, with their sizes and types, whether they fit, and whether their templates have tools. Pick some,
    and say which tools and how long it may take: rig shows the one command that does it, and runs it when you
    press Enter. It reads headers alone, starts no server, and uses no network.
    """
    from rig.cli import cli
    from rig.plugins.start.screen import StartScreen
    from tui.watch import show

    chosen = show(StartScreen(), lambda: None)
    if not isinstance(chosen, str):
        return None
    say(f"$ rig {chosen}", err=True)
    code: int | None = cli.main(args=shlex.split(chosen), prog_name="rig", standalone_mode=False)
    return code
