"""Reminders: the user's list of things to do."""

from typing import Annotated

from pydantic import Field

from rig.calls import Json, JsonObject
from rig.toolbox.declare import tool
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.formats import Instant, read_instant
from rig.toolbox.spec import Equality, Match, Response
from rig.tooltalk.session import TOKEN, caller
from rig.tooltalk.texts import TASK
from rig.tooltalk.world import World
from rig.tooltalk.world.identifiers import REMINDER_IDS

PLUGIN = "Reminder"


def _reminder(world: World, username: str, reminder_id: str) -> JsonObject:
    # ToolTalk looks into the user's list without asking whether there is one: a KeyError.
    upstream = None if world.reminders.knows(username) else repr(username)
    reminder = world.reminders.get(username, reminder_id)
    if reminder is None:
        raise ToolError(f"There is no reminder {shown(reminder_id)}.", upstream)
    return reminder


@tool(
    PLUGIN,
    action=True,
    injected=TOKEN,
    returns="reminder_id",
    match=Match(Response.IGNORED, {"task": TASK, "due_date": Equality.DATE}),
)
def add_reminder(
    world: World,
    task: Annotated[str, Field(description="what to do")],
    due_date: Annotated[Instant | None, Field(description="when it is due, YYYY-MM-DD HH:MM:SS")] = None,
) -> Json:
    """Add a reminder to the user's list."""
    username = caller(world).username
    world.reminders.open(username)
    if due_date is not None:
        read_instant(due_date, "due_date")
    reminder_id = world.draw("AddReminder", REMINDER_IDS)
    world.reminders.put(
        username,
        {"reminder_id": reminder_id, "task": task, "due_date": due_date, "status": "pending"},
    )
    return {"reminder_id": reminder_id}


@tool(PLUGIN, action=True, injected=TOKEN, returns="status")
def complete_reminder(
    world: World, reminder_id: Annotated[str, Field(description="id from GetReminders")]
) -> Json:
    """Mark a pending reminder as complete."""
    username = caller(world).username
    if _reminder(world, username, reminder_id)["status"] == "complete":
        raise ToolError(f"The reminder {shown(reminder_id)} is complete already.")
    world.reminders.change(username, reminder_id, "status", "complete")
    return {"status": "success"}


@tool(PLUGIN, action=True, injected=TOKEN, returns="status")
def delete_reminder(
    world: World, reminder_id: Annotated[str, Field(description="id from GetReminders")]
) -> Json:
    """Delete a reminder."""
    username = caller(world).username
    _reminder(world, username, reminder_id)
    world.reminders.remove(username, reminder_id)
    return {"status": "success"}


@tool(
    PLUGIN,
    action=False,
    injected=TOKEN,
    returns="reminders: list of {reminder_id, task, due_date, status: pending or complete}",
    match=Match(Response.IDS, ids=("reminders", "reminder_id"), whole=True),
)
def get_reminders(world: World) -> Json:
    """List all the user's reminders."""
    return {"reminders": world.reminders.all(caller(world).username)}
