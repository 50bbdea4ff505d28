"""A toolbox as a user may write it: two tools, a world of one table, and a module beside it."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from rig.core.registry import Registry
from rig.world import Match, Response, Text, Toolbox, ToolError, World, tool

from .ids import NOTE_IDS

NOTE = Text("note", like="task")


class Desk(World):
    """Notes that nobody owns."""

    schema: ClassVar[str] = "CREATE TABLE notes (note_id TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL);\n"


@tool("Desk", action=True, returns="note_id", match=Match(Response.IGNORED, {"text": NOTE}))
def add_note(world: Desk, text: Annotated[str, Field(description="what to note")], copies: int = 1) -> Any:
    """Write a note down."""
    if not text:
        raise ToolError("An empty note is none.")
    note_id = world.draw("AddNote", NOTE_IDS)
    world.database.table("notes").insert({"note_id": note_id, "text": text})
    if copies > 3:
        raise ToolError("The desk is full.")
    return {"note_id": note_id}


@tool(
    "Desk",
    action=False,
    returns="notes: list of {note_id, text}",
    match=Match(Response.IDS, ids=("notes", "note_id")),
)
def find_notes(world: Desk) -> Any:
    """List all notes."""
    return {"notes": list(world.database.table("notes").rows)}


def register(registry: Registry) -> None:
    registry.toolboxes.add(Toolbox("notes", [add_note, find_notes], new_world=Desk))
