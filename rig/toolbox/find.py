"""Finding a toolbox: by its name among those that are registered, or by the place of its code."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from rig import plugins
from rig.errors import RigError
from rig.paths import real
from rig.toolbox.own.folder import hash_of, holds_toolbox, load_folder
from rig.toolbox.toolbox import Toolbox
from rig.words import did_you_mean


def find_toolbox(text: str | None) -> Toolbox:
    """The toolbox of this name, or the one at this place; None means the first, which is rig's own.

    Its code is run. Raises RigError if there is none, or more than one.
    """
    known: Mapping[str, Toolbox] = plugins.registered().toolboxes
    if text is None:
        return next(iter(known.values()))
    if text in known:
        return known[text]
    if not Path(text).exists():
        there_are = ", ".join(known)
        raise RigError(
            f"no toolbox is called {text!r}{did_you_mean(text, known)}; choose from: {there_are}"
            " (your own: --toolbox DIR)"
        )
    if (toolbox := _of_folder(Path(text))) is not None:
        return toolbox
    found: list[Toolbox] = list(plugins.at(text).toolboxes.values())
    if len(found) != 1:
        raise RigError(f"{text}: registers {len(found)} toolboxes; --toolbox takes a place with one")
    return found[0]


def _of_folder(place: Path) -> Toolbox | None:
    """The toolbox that the files of a folder make; None if it has none, or registers it itself."""
    return _loaded(real(place), hash_of(place)) if holds_toolbox(place) else None


@lru_cache(maxsize=8)
def _loaded(place: Path, sha256: str) -> Toolbox | None:
    return load_folder(place)
