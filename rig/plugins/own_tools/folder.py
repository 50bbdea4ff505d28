"""The toolbox of a folder: what tools.json declares, what toolbox.py does, and the conversations there."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from rig.config.schemes import LIVE, Scheme, ServerUse
from rig.core import registry
from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import read_bytes
from rig.core.paths import real
from rig.plugins.documents.folders import files_below
from rig.plugins.matching import agreement
from rig.plugins.matching.parts import SchemaPart
from rig.plugins.matching.values import value_pairs
from rig.plugins.own_tools.code import loaded
from rig.plugins.own_tools.functions import tool_of
from rig.plugins.own_tools.listing import UNSAID, Listing, ToolDeclaration, read_listing
from rig.world.rules import Rule, TrueCall
from rig.world.spec import FREE_TEXT, Tool, ToolError, ToolFunction
from rig.world.toolbox import Toolbox, ToolFolders
from rig.world.world import RECORDED_CALLS, World

DONE: Mapping[str, Json] = {"status": "ok"}
"""The answer to a true call where nothing is recorded and its tool declares no default."""


class RecordedWorld(World):
    """A world that holds the true calls of the current conversation, and which of them have been answered."""

    schema: ClassVar[str] = (
        f"CREATE TABLE {RECORDED_CALLS} (number INTEGER PRIMARY KEY, tool TEXT NOT NULL, call TEXT NOT NULL,"
        " hash INTEGER NOT NULL, answered INTEGER NOT NULL DEFAULT 0);\n"
        f"CREATE INDEX {RECORDED_CALLS}_same ON {RECORDED_CALLS} (tool, hash, answered, number);\n"
    )

    def remember(self, recorded: Iterable[TrueCall]) -> None:
        table = self.database.table(RECORDED_CALLS)
        for number, truth in enumerate(recorded, table.count):
            call = {
                "arguments": truth.arguments,
                "match": {name: rule.as_json() for name, rule in truth.rules.items()},
                "outcome": truth.outcome.as_json() if truth.recorded else None,
            }
            row = {"number": number, "tool": truth.name, "call": json.dumps(call), "answered": 0}
            table.insert({**row, "hash": _hash(truth.arguments)})


def _hash(arguments: Json) -> int:
    text = json.dumps(arguments, sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), signed=True)


def answer(declared: ToolDeclaration, world: World, /, **arguments: Json) -> Json:
    """Answer a call of a tool that has no code from the recorded calls, or with the declared default."""
    fitting = _same(declared, world, arguments) or _fitting(declared, world, arguments)
    if fitting is None:
        if declared.default is UNSAID:
            raise ToolError(f"{declared.name} has no answer to this call.")
        return declared.default
    number, outcome = fitting
    world.database.table(RECORDED_CALLS).update(number, {"answered": 1})
    if outcome is None:
        return dict(DONE) if declared.default is UNSAID else declared.default
    if outcome["exception"] is not None:
        raise ToolError(str(outcome["exception"]))
    return outcome["response"]


_Fitting = tuple[int, JsonObject | None]
"""The number of a recorded call and what it returned."""


def _same(declared: ToolDeclaration, world: World, arguments: JsonObject) -> _Fitting | None:
    """Return the very same call: the first that is not yet answered, else the latest.

    It is looked up, since a conversation of thousands of calls would compare each with all others.
    """
    for answered, order in ((0, "ASC"), (1, "DESC")):
        row = world.database.execute(
            f"SELECT number, call FROM {RECORDED_CALLS} WHERE tool = ? AND hash = ? AND answered = ?"
            f" ORDER BY number {order} LIMIT 1",
            [declared.name, _hash(arguments), answered],
        ).fetchone()
        if row is not None:
            true = parse_json(row[1])
            if true["arguments"] == arguments and _fits(declared, true, arguments):
                return row[0], true["outcome"]
    return None


def _fitting(declared: ToolDeclaration, world: World, arguments: JsonObject) -> _Fitting | None:
    """Return the call that agrees with this one best."""
    calls = world.database.execute(
        f"SELECT number, answered, call FROM {RECORDED_CALLS} WHERE tool = ? ORDER BY number", [declared.name]
    )
    fitting = []
    for number, answered, text in calls.fetchall():
        true = parse_json(text)
        if _fits(declared, true, arguments):
            # An equal call comes first, then one not yet answered, else the latest.
            rank = true["arguments"] != arguments, bool(answered), -number if answered else number
            fitting.append((rank, number, true["outcome"]))
    return min(fitting, key=itemgetter(0))[1:] if fitting else None


def _fits(declared: ToolDeclaration, true: JsonObject, arguments: JsonObject) -> bool:
    """Return whether a call agrees with this true one in all but free texts, which are not judged here."""
    expected, ruled = true["arguments"], {name: agreement.parse(rule) for name, rule in true["match"].items()}
    for name in {**expected, **ruled}:
        rule = ruled.get(name) or declared.match.get(name) or Rule("exact")
        both = value_pairs(declared.parameters, name, expected, arguments)
        part = SchemaPart(declared.parameters, declared.parameters).member(name)
        if not rule.is_text and not any(agreement.agrees(rule, *values, part) for values in both):
            return False
    return True


LISTING, CODE, CONVERSATIONS = "tools.json", "toolbox.py", "conversations"


def holds_toolbox(place: Path) -> bool:
    """Return whether a folder declares tools."""
    return (place / LISTING).is_file() or holds_code(place)


def holds_code(place: Path) -> bool:
    """Return whether a folder has code that runs when its tools are loaded or called."""
    return (place / CODE).is_file() or _scheme_of(place) is not None


def load_folder(place: Path, use: ServerUse = LIVE) -> Toolbox | None:
    """Load the toolbox of a folder; None if its code registers one itself. Raises RigError, with the place.

    This runs the code of toolbox.py, and starts servers as `use` says.
    """
    place = real(place)
    if (scheme := _scheme_of(place)) is not None:
        if (place / CODE).is_file():
            raise RigError(
                f"{place}: has {scheme.marker} and {CODE}; keep servers and functions in two folders"
            )
        toolbox: Toolbox = scheme.toolbox_of(
            place, use, (place / CONVERSATIONS,), hash_of(place), place / LISTING
        )
        return toolbox
    module = loaded(place / CODE, place) if (place / CODE).is_file() else None
    if module is not None and hasattr(module, "register"):
        return None
    listing = read_listing(place / LISTING) if (place / LISTING).is_file() else Listing("rig", ())
    written: dict[str, Tool] = {}
    declared_in = vars(module).values() if module is not None else ()
    # A function can have several names.
    for coded in {id(of): of for of in declared_in if isinstance(of, Tool | ToolFunction)}.values():
        tool = tool_of(coded) if isinstance(coded, ToolFunction) else coded
        if written.setdefault(tool.name, tool) is not tool:
            raise RigError(f"{place / CODE}: there are two tools named {tool.name}")
    tools = []
    for declared in listing.tools:
        # With the function of the same name, else with recorded answers.
        own = written.pop(declared.name, None)
        tools.append(declared.made(place.name, own.function if own else partial(answer, declared)))
    tools += [replace(tool, plugin=place.name) for tool in written.values()]
    if not tools:
        raise RigError(f"{place / CODE}: declares no tool; put @tool before a function")
    return Toolbox(
        place.name,
        tools,
        new_world=_world(module, place),
        suites=(place / CONVERSATIONS,),
        texts=(FREE_TEXT,),
        sha256=hash_of(place),
        left_out=listing.left_out,
    )


def files_of(place: Path) -> list[Path]:
    """Return the files that define what the tools of a folder do."""
    if (scheme := _scheme_of(place)) is not None:
        return [path for path in (place / scheme.marker, place / LISTING) if path.is_file()]
    code = (path for path in files_below(place, ".py") if "__pycache__" not in path.parts)
    return sorted(path for path in (place / LISTING, *code) if path.is_file())


def hash_of(place: Path) -> str:
    """Return a hash of the files that define what the tools of a folder do."""
    place = real(place)
    digest = hashlib.sha256(os.fsencode(place.name))
    for path in files_of(place):
        digest.update(os.fsencode(f"\0{path.relative_to(place)}\0") + read_bytes(path))
    return digest.hexdigest()


def _world(module: ModuleType | None, place: Path) -> type[RecordedWorld]:
    """Return the world class of these tools, with the tables and rows that the SQL in `TABLES` makes."""
    tables = getattr(module, "TABLES", "")
    if not isinstance(tables, str):
        raise RigError(f"{place / CODE}: TABLES has to be a text with SQL")
    world = type("OwnWorld", (RecordedWorld,), {"schema": f"{RecordedWorld.schema}{tables}\n;\n"})
    try:
        world().close()
    except sqlite3.Error as error:
        raise RigError(f"{place / CODE}: TABLES: {error}") from error
    return world


@lru_cache(maxsize=8)
def _loaded(place: Path, marks: object, use: ServerUse) -> Toolbox | None:
    return load_folder(place, use)


def _marks(place: Path) -> tuple[object, ...]:
    """Return a value that changes whenever a folder's toolbox does."""
    state = files_below(place, "") if _scheme_of(place) else []
    return hash_of(place), *((path, path.lstat().st_mtime_ns, path.lstat().st_size) for path in state)


class _Folders(ToolFolders):
    def load(self, place: Path, use: ServerUse) -> Toolbox | None:
        return _loaded(real(place), _marks(place), use) if holds_toolbox(place) else None

    def hash_of(self, place: Path) -> str | None:
        return hash_of(place) if holds_toolbox(place) else None


FOLDERS = _Folders()


def _scheme_of(folder: Path) -> Scheme | None:
    """Return the scheme whose toolbox a folder is; None if it is of none."""
    schemes = registry.registered().schemes
    for name in schemes:
        marker = schemes.attribute(name, "marker")
        if marker and (folder / marker).is_file() and schemes[name].holds(folder):
            scheme: Scheme = schemes[name]
            return scheme
    return None
