"""The calendar: meetings with others and events of one's own."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from rig.calls import Json
from rig.toolbox.declare import tool
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.formats import Instant, read_instant
from rig.toolbox.spec import Composed, Equality, Match, Response
from rig.tooltalk.session import TOKEN, caller
from rig.tooltalk.texts import EVENT, LOCATION
from rig.tooltalk.world import World
from rig.tooltalk.world.identifiers import EVENT_IDS

PLUGIN = "Calendar"

_FORM = "YYYY-MM-DD HH:MM:SS"


def _check_span(world: World, start: datetime, end: datetime) -> None:
    if start > end:
        raise ToolError("The start must not be later than the end.")
    if start < world.now or end < world.now:
        raise ToolError("Start and end must not be in the past.")


def _with_caller(attendees: list[str], username: str) -> list[str]:
    return attendees if username in attendees else attendees + [username]  # noqa: RUF005 - text must fail


@tool(
    PLUGIN,
    action=True,
    injected=TOKEN,
    returns="event_id",
    match=Match(
        Response.IGNORED,
        {
            "name": EVENT,
            "description": EVENT,
            "location": LOCATION,
            "start_time": Equality.INSTANT,
            "end_time": Equality.INSTANT,
            "attendees": Equality.USERS,
        },
    ),
)
def create_event(
    world: World,
    name: Annotated[str, Field(description="title")],
    event_type: Annotated[
        Literal["meeting", "event"], Composed(), Field(description="meeting if others attend")
    ],
    start_time: Annotated[Instant, Field(description=f"{_FORM}, 24-hour, not in the past")],
    end_time: Annotated[Instant, Composed("time of day"), Field(description=_FORM)],
    description: Annotated[str | None, Field(description="details")] = None,
    location: Annotated[str | None, Field(description="where it is held")] = None,
    attendees: Annotated[list[str] | None, Field(description="usernames; required for a meeting")] = None,
) -> Json:
    """Put an event into the user's calendar."""
    if event_type not in ("meeting", "event"):
        raise ToolError(f"event_type must be meeting or event; got '{shown(event_type)}'.")
    if event_type == "meeting" and not attendees:
        raise ToolError("A meeting needs attendees.")
    username = caller(world).username
    _check_span(world, read_instant(start_time, "start_time"), read_instant(end_time, "end_time"))
    if attendees is not None:
        attendees = _with_caller(attendees, username)
    event_id = world.draw("CreateEvent", EVENT_IDS)
    world.events.open(username)
    world.events.put(
        username,
        {
            "event_id": event_id,
            "name": name,
            "event_type": event_type,
            "start_time": start_time,
            "end_time": end_time,
            "location": location,
            "description": description,
            "attendees": attendees,
        },
    )
    return {"event_id": event_id}


@tool(PLUGIN, action=True, injected=TOKEN, returns="status")
def delete_event(world: World, event_id: Annotated[str, Field(description="id from QueryCalendar")]) -> Json:
    """Delete an event from the user's calendar."""
    if not world.events.remove(caller(world).username, event_id):
        raise ToolError(f"There is no event {shown(event_id)}.")
    return {"status": "success"}


@tool(
    PLUGIN,
    action=True,
    injected=TOKEN,
    returns="status",
    match=Match(
        Response.EQUAL,
        {
            "new_name": EVENT,
            "new_description": EVENT,
            "new_location": LOCATION,
            "new_start_time": Equality.INSTANT,
            "new_end_time": Equality.INSTANT,
            "new_attendees": Equality.USERS,
        },
    ),
)
def modify_event(
    world: World,
    event_id: Annotated[str, Field(description="id from QueryCalendar")],
    new_name: Annotated[str | None, Field(description="new title")] = None,
    new_start_time: Annotated[Instant | None, Field(description=f"{_FORM}; needs new_end_time")] = None,
    new_end_time: Annotated[
        Instant | None, Composed("time of day"), Field(description=f"{_FORM}; needs new_start_time")
    ] = None,
    new_description: Annotated[str | None, Field(description="new details")] = None,
    new_location: Annotated[str | None, Field(description="new place")] = None,
    new_attendees: Annotated[list[str] | None, Field(description="usernames of all who attend")] = None,
) -> Json:
    """Change an event. What is not given stays as it is."""
    username = caller(world).username
    if world.events.get(username, event_id) is None:
        raise ToolError(f"There is no event {shown(event_id)}.")

    def change(field: str, value: Json) -> None:
        world.events.change(username, event_id, field, value)

    # ToolTalk writes each field before it looks at the next, which shows when a later one is refused.
    if new_name is not None:
        change("name", new_name)
    if new_start_time is not None:
        if new_end_time is None:
            raise ToolError("new_start_time needs new_end_time.")
        start = read_instant(new_start_time, "new_start_time")
        _check_span(world, start, read_instant(new_end_time, "new_end_time"))
        change("start_time", new_start_time)
    if new_end_time is not None:
        if new_start_time is None:
            raise ToolError("new_end_time needs new_start_time.")
        change("end_time", new_end_time)
    if new_description is not None:
        change("description", new_description)
    if new_location is not None:
        change("location", new_location)
    if new_attendees is not None:
        change("attendees", _with_caller(new_attendees, username))
    return {"status": "success"}


@tool(
    PLUGIN,
    action=False,
    injected=TOKEN,
    returns="events: list of {event_id, name, event_type, start_time, end_time, ...}",
    match=Match(Response.IDS, others=False, ids=("events", "event_id")),
)
def query_calendar(
    world: World,
    start_time: Annotated[Instant, Field(description=f"{_FORM}, 24-hour")],
    end_time: Annotated[Instant, Field(description=_FORM)],
) -> Json:
    """List the user's events that overlap a span of time."""
    username = caller(world).username
    if not world.events.knows(username):
        raise ToolError("The user has no calendar yet.")
    start, end = read_instant(start_time, "start_time"), read_instant(end_time, "end_time")
    if start > end:
        raise ToolError("start_time must not be later than end_time.")
    found = []
    for event in world.events.all(username):
        begins = read_instant(event["start_time"], "start_time")
        ends = read_instant(event["end_time"], "end_time")
        if start <= begins <= end or start <= ends <= end or (begins <= start and end <= ends):
            found.append(event)
    return {"events": found}
