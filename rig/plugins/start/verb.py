"""`rig start`, which is also `rig` alone in a terminal: choose files, and run them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from rig.cli.options import json_option
from rig.cli.output import print_json, say
from rig.cli.verbs import verb


@verb()
def command(*, as_json: bool = json_option("Print the files as JSON, and ask nothing.")) -> int | None:
    """Choose among the model files on this machine, and run them. `rig` alone does the same.

    rig lists the GGUF files of this folder, and those of LM Studio, Ollama, Hugging Face, llama.cpp and rig
    itself, with their sizes and types, whether they fit, and whether their templates have tools. Pick some,
    and say which tools and how long it may take: rig shows the one command that does it, and runs it when you
    press Enter. It reads headers alone, starts no server, and uses no network.
    """
    from rig.cli import cli
    from rig.plugins.llama.memory.plan import machine_memory
    from rig.plugins.start.places import find, fit, read
    from rig.plugins.start.screen import StartScreen
    from tui.watch import show

    if as_json:
        memory = machine_memory()
        files = [
            {
                "path": str(file.path),
                "name": file.name,
                "place": file.place,
                "size": file.size,
                "fit": fit(file.size, memory),
                **read(file.path)._asdict(),
            }
            for file in find(os.environ, Path.home())
        ]
        print_json({"files": files, "memory": {"free": memory.free, "total": memory.total}})
        return None
    chosen = show(StartScreen(), lambda: None)
    if not isinstance(chosen, str):
        return None
    say(f"$ rig {chosen}", err=True)
    code: int | None = cli.main(args=shlex.split(chosen), prog_name="rig", standalone_mode=False)
    return code
