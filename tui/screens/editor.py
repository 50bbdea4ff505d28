"""Open a file at a line in the user's editor, while the application is suspended."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rig.core.errors import RigError

_WITH_LINE = {
    **dict.fromkeys(("code", "codium", "code-insiders", "cursor", "windsurf"), ("-g",)),
    **dict.fromkeys(("zed", "zeditor", "subl", "hx", "helix", "mate"), ()),
}
"""The editors that take FILE:LINE, by name, each with the words before it. All others take +LINE FILE."""


def command(environment: Mapping[str, str], file: Path, line: int) -> list[str]:
    """Return the words that open a file at a line in $VISUAL or else $EDITOR.

    Raises RigError if neither is set, and if its quotes have no end.
    """
    place = f"{file}:{line}"
    name = "VISUAL" if environment.get("VISUAL", "").strip() else "EDITOR"
    try:
        words = shlex.split(environment.get(name, ""))
    except ValueError as error:
        raise RigError(f"${name} cannot be read ({error}); the conversation is in {place}") from error
    if not words:
        raise RigError(f"set $EDITOR to open {place} with this key")
    editor = Path(words[0]).stem
    # Absolute, so that no file's name is read as an option.
    file = file.absolute()
    if editor in _WITH_LINE:
        return [*words, *_WITH_LINE[editor], f"{file}:{line}"]
    return [*words, f"+{line}", str(file)]


def edit(words: list[str]) -> None:
    """Run an editor in the terminal until it ends. Raises RigError if it cannot be started, or fails."""
    try:
        # The application paints on stderr, because stdout may be a pipe.
        code = subprocess.run(words, stdout=sys.__stderr__, check=False).returncode
    except (OSError, ValueError) as error:
        raise RigError(f"cannot start {words[0]}: {error}; set $EDITOR to another editor") from error
    if code:
        raise RigError(f"{words[0]} ended with exit code {code}")
