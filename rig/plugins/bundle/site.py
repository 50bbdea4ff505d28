"""The documentation as HTML pages that a browser opens from the disk, with search and without a network."""

import os
import subprocess
import sys
from pathlib import Path

from rig.core.errors import RigError, did_you_mean
from rig.core.paths import CHECKOUT, DOCUMENTATION, expanded

START = "index.html"


def build(folder: Path) -> None:
    """Write the site to a folder.

    Raises RigError outside a checkout, or if mkdocs is missing or fails.
    """
    if CHECKOUT is None:
        raise RigError("the documentation can only be built in a checkout of rig")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=CHECKOUT, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        if "No module named mkdocs" in lines[-1]:
            raise RigError("the documentation is built with mkdocs, which is not installed; run `make docs`")
        raise RigError(f"the documentation cannot be built: {lines[-1]}")


def site() -> Path:
    """Return the folder of built pages: `$RIG_DOCS`, else those of an installed rig, else the checkout's
    `site/`, built now if it is not there yet.

    Raises RigError if there are none.
    """
    chosen = os.environ.get("RIG_DOCS")
    folder = expanded(chosen) if chosen else DOCUMENTATION
    if not chosen and not (folder / START).is_file():
        if CHECKOUT is None:
            raise RigError(
                "no documentation is inside this rig; `make wheel` or `rig bundle` of a checkout packs it"
            )
        build(folder)
    if not (folder / START).is_file():
        raise RigError(f"{folder}: there is no documentation ($RIG_DOCS names this folder)")
    return folder


def pages(folder: Path) -> dict[str, Path]:
    """Return the pages of a built site by name, such as `comparing`, with the lab's last.

    Where the lab has a page of the same name as another, it is called `lab/NAME`.
    """
    paths = (path for path in folder.glob("*/**/*.html") if "assets" not in path.parts)
    by_name: dict[str, Path] = {}
    for path in sorted(paths, key=lambda path: (path.parent.name == "lab", path)):
        by_name[f"lab/{path.stem}" if path.stem in by_name else path.stem] = path
    return {**by_name, "changelog": folder / "changelog.html"}


def page(folder: Path, name: str | None) -> Path:
    """Return the page of this name, or the first one. Raises RigError if no page has that name."""
    if name is None:
        return folder / START
    by_name = pages(folder)
    if name not in by_name:
        raise RigError(f"no page is called {name}{did_you_mean(name, by_name)}; `rig docs --list` lists them")
    return by_name[name]
