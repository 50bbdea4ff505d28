"""Finding a toolbox: by its name among those that are registered, or by the place of its code."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from rig import plugins
from rig.errors import RigError, did_you_mean
from rig.paths import real
from rig.toolbox.own.folder import hash_of, holds_toolbox, load_folder
from rig.toolbox.toolbox import Toolbox


def find_toolbox(text: str | None) -> Toolbox:
    """The toolbox of this name, or the one at this place; None means the first, which is rig's own.

    Its code is run. Raises RigError if there is none, or more than one.
    """
    registered: Mapping[str, Toolbox] = plugins.registered().toolboxes
    if text is None:
        return next(iter(registered.values()))
    if text in registered:
        return registered[text]
    place = Path(text)
    if not place.exists():
        there_are = ", ".join(registered)
        raise RigError(
            f"no toolbox is called {text!r}{did_you_mean(text, registered)}; choose from: {there_are}"
            " (your own: --toolbox DIR)"
        )
    if holds_toolbox(place) and (toolbox := _loaded(real(place), hash_of(place))) is not None:
        return toolbox
    toolboxes: list[Toolbox] = list(plugins.at(text).toolboxes.values())
    if len(toolboxes) != 1:
        raise RigError(f"{text}: registers {len(toolboxes)} toolboxes; --toolbox takes a place with one")
    return toolboxes[0]


@lru_cache(maxsize=8)
def _loaded(place: Path, sha256: str) -> Toolbox | None:
    return load_folder(place)
