"""The toolbox of a folder: what tools.json declares, what toolbox.py does, and the conversations there."""

import hashlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

from rig.calls import Json
from rig.errors import RigError
from rig.files import read_bytes
from rig.paths import real
from rig.toolbox.own.functions import match_of
from rig.toolbox.own.guard import loaded
from rig.toolbox.own.listing import read_listing
from rig.toolbox.own.recorded import RecordedWorld, answer
from rig.toolbox.spec import FREE_TEXT, Tool
from rig.toolbox.toolbox import Toolbox

LISTING, CODE, CONVERSATIONS = "tools.json", "toolbox.py", "conversations"


def holds_toolbox(place: Path) -> bool:
    """Whether a folder has tools of its own."""
    return place.is_dir() and any((place / name).is_file() for name in (LISTING, CODE))


def holds_code(place: Path) -> bool:
    """Whether a folder has code that is run when its tools are loaded."""
    return (place / CODE).is_file()


def load_folder(place: Path) -> Toolbox | None:
    """The toolbox of a folder; None if its code registers one itself. Raises RigError, with the place.

    The code of toolbox.py is run.
    """
    place = real(place)
    module = loaded(place / CODE, place) if holds_code(place) else None
    if module is not None and hasattr(module, "register"):
        return None
    listed = read_listing(place / LISTING).tools if (place / LISTING).is_file() else ()
    written: dict[str, Tool] = {}
    for tool in vars(module).values() if module is not None else ():
        if isinstance(tool, Tool) and written.setdefault(tool.name, tool) is not tool:
            raise RigError(f"{place / CODE}: there are two tools named {tool.name}")
    tools = []
    for declared in listed:
        # With the function of the same name, else with recorded answers.
        coded = written.pop(declared.name, None)
        function: Callable[..., Json] = partial(answer, declared) if coded is None else coded.function
        text, schema, match = declared.description, declared.parameters, match_of(declared.match)
        tools.append(
            Tool(declared.name, "", text, schema, declared.returns, declared.action, match, function)
        )
    tools += written.values()
    if not tools:
        raise RigError(f"{place / CODE}: declares no tool; put @tool before a function")
    return Toolbox(
        place.name,
        [replace(tool, plugin=place.name) for tool in tools],
        new_world=_world(module, place),
        suites=(place / CONVERSATIONS,),
        texts=(FREE_TEXT,),
        sha256=hash_of(place),
    )


def files_of(place: Path) -> list[Path]:
    """The files that say what the tools of a folder do."""
    code = (path for path in place.rglob("*.py") if "__pycache__" not in path.parts)
    return sorted(path for path in (place / LISTING, *code) if path.is_file())


def hash_of(place: Path) -> str:
    """A hash of all that says what the tools of a folder do."""
    place = real(place)
    digest = hashlib.sha256(os.fsencode(place.name))
    for path in files_of(place):
        digest.update(os.fsencode(f"\0{path.relative_to(place)}\0") + read_bytes(path))
    return digest.hexdigest()


def _world(module: ModuleType | None, place: Path) -> type[RecordedWorld]:
    """The world of these tools: the tables that `TABLES` makes, with the rows that it puts there."""
    tables = getattr(module, "TABLES", "")
    if not isinstance(tables, str):
        raise RigError(f"{place / CODE}: TABLES has to be a text with SQL")
    world = type("OwnWorld", (RecordedWorld,), {"schema": f"{RecordedWorld.schema}{tables}\n;\n"})
    try:
        world().close()
    except sqlite3.Error as error:
        raise RigError(f"{place / CODE}: TABLES: {error}") from error
    return world
