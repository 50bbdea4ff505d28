"""pip, run in a separate process with the Python that runs rig."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_pip(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> str | None:
    """Run pip, with `folder` for what is temporary; why it failed, in one line, or None."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments],
        stdout=sys.stderr.fileno() if sys.stderr.isatty() else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(folder), **(environment or {})},
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    faults = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["no reason given"]
    return faults[-1].removeprefix("ERROR: ")
