"""Finding a toolbox: by its name among those that are registered, or by the place of its code."""

from pathlib import Path

from rig import plugins
from rig.errors import RigError
from rig.toolbox.toolbox import Toolbox


def find_toolbox(text: str) -> Toolbox:
    """The toolbox of this name, or the one at this place. Its code runs as any other of yours does.

    Raises RigError where there is none, or more than one.
    """
    known = plugins.registered().toolboxes
    if text in known:
        toolbox: Toolbox = known[text]
        return toolbox
    if not Path(text).exists():
        raise RigError(
            f"no toolbox is called {text!r}; there are: {', '.join(known)} (your own: --toolbox DIR)"
        )
    loaded = plugins.load([text]).toolboxes
    found: list[Toolbox] = [each for name, each in loaded.items() if name not in known]
    if len(found) != 1:
        raise RigError(f"{text}: registers {len(found)} toolboxes; --toolbox takes a place with one")
    return found[0]
