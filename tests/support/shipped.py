"""Shipped conversations as JSON, free to be changed and written somewhere else."""

import json
from pathlib import Path
from typing import Any

from rig.core.paths import CONVERSATIONS

Source = dict[str, Any]


def easy(tool: str) -> Source:
    """The easy conversation of a tool."""
    source: Source = json.loads((CONVERSATIONS / "easy" / f"{tool}-easy.json").read_text("utf-8"))
    return source


def write(directory: Path, *sources: Source | str) -> Path:
    """Write conversations (JSON or raw text), each under its name, else under its `__stem__`."""
    directory.mkdir(exist_ok=True)
    for number, source in enumerate(sources):
        stem = f"raw{number}" if isinstance(source, str) else source.pop("__stem__", source["name"])
        text = source if isinstance(source, str) else json.dumps(source)
        (directory / f"{stem}.json").write_text(text, "utf-8")
    return directory
