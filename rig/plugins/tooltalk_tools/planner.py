"""The user's alarms, calendar and list of reminders."""

from datetime import datetime
from typing import Annotated, Literal

from rig.core.calls import Json, JsonObject
from rig.plugins.tooltalk_tools.arguments import Instant, Time, read_instant, read_range, read_time
from rig.plugins.tooltalk_tools.world import (
    ALARM_IDS,
    EVENT,
    EVENT_IDS,
    LOCATION,
    REMINDER_IDS,
    TASK,
    TOKEN,
)
from rig.plugins.tooltalk_tools.world import (
    ToolTalkWorld as World,
)
from rig.world.rules import Rule
from rig.world.spec import Composed, Equality, Match, Response, Text, ToolError, quoted, tool

_FORM = "YYYY-MM-DD HH:MM:SS"
_SUCCESS = {"status": "success"}


@tool(
    "Alarm",
    action=True,
    injected=TOKEN,
    returns="alarm_id",
    match=Match(Response.IGNORED, {"time": Equality.TIME}),
)
def add_alarm(world: World, time: Annotated[Time, "HH:MM:SS, 24-hour, e.g. 07:30:00"]) -> Json:
    """Set an alarm for a time of day."""
    read_time(time, "time")
    username = world.caller().username
    world.alarms.open(username)
    alarm_id = world.draw("AddAlarm", ALARM_IDS)
    world.alarms.put(username, {"alarm_id": alarm_id, "time": time})
    return {"alarm_id": alarm_id}


@tool("Alarm", action=True, injected=TOKEN, returns="status")
def delete_alarm(world: World, alarm_id: Annotated[str, "id from FindAlarms, e.g. 1a2b-3c4d"]) -> Json:
    """Delete an alarm."""
    if not world.alarms.remove(world.caller().username, alarm_id):
        raise ToolError(f"There is no alarm {quoted(alarm_id)}.")
    return dict(_SUCCESS)


@tool(
    "Alarm",
    action=False,
    injected=TOKEN,
    returns="alarms: list of {alarm_id, time}",
    match=Match(Response.IDS, others=False, ids=("alarms", "alarm_id")),
)
def find_alarms(
    world: World,
    start_range: Annotated[Time | None, "earliest time, HH:MM:SS"] = None,
    end_range: Annotated[Time | None, "latest time, HH:MM:SS"] = None,
) -> Json:
    """List the user's alarms, all or those in a time range."""
    username = world.caller().username
    if not world.alarms.knows(username):
        return {"alarms": []}
    start, end = read_range(read_time, start_range=start_range, end_range=end_range)
    alarms = []
    for alarm in world.alarms.all(username):
        time = read_time(alarm["time"], "time")
        if (start is None or start <= time) and (end is None or time <= end):
            alarms.append(alarm)
    return {"alarms": alarms}


def _check_span(world: World, start: datetime, end: datetime) -> None:
    if start > end:
        raise ToolError("The start must not be later than the end.")
    if start < world.now or end < world.now:
        raise ToolError("Start and end must not be in the past.")


def _with_caller(attendees: list[str], username: str) -> list[str]:
    return attendees if username in attendees else attendees + [username]  # noqa: RUF005 - text must fail


def _of_event(prefix: str = "") -> dict[str, Equality | Text | Rule]:
    """How the arguments that an event is made of, or changed by, are compared."""
    instants = dict.fromkeys(("start_time", "end_time"), Equality.INSTANT)
    texts = {"name": EVENT, "description": EVENT, "location": LOCATION}
    every: dict[str, Equality | Text | Rule] = {**texts, **instants, "attendees": Equality.USERS}
    return {f"{prefix}{name}": how for name, how in every.items()}


@tool(
    "Calendar",
    action=True,
    injected=TOKEN,
    returns="event_id",
    match=Match(Response.IGNORED, _of_event()),
)
def create_event(
    world: World,
    name: Annotated[str, "title"],
    event_type: Annotated[Literal["meeting", "event"], Composed(), "meeting if others attend"],
    start_time: Annotated[Instant, f"{_FORM}, 24-hour, not in the past"],
    end_time: Annotated[Instant, Composed("time of day"), _FORM],
    description: Annotated[str | None, "details"] = None,
    location: Annotated[str | None, "where it is held"] = None,
    attendees: Annotated[list[str] | None, "usernames; required for a meeting"] = None,
) -> Json:
    """Put an event into the user's calendar."""
    if event_type not in ("meeting", "event"):
        raise ToolError(f"event_type must be meeting or event; got '{quoted(event_type)}'.")
    if event_type == "meeting" and not attendees:
        raise ToolError("A meeting needs attendees.")
    username = world.caller().username
    _check_span(world, read_instant(start_time, "start_time"), read_instant(end_time, "end_time"))
    if attendees is not None:
        attendees = _with_caller(attendees, username)
    event_id = world.draw("CreateEvent", EVENT_IDS)
    world.events.open(username)
    kind = {"event_id": event_id, "name": name, "event_type": event_type}
    when = {"start_time": start_time, "end_time": end_time}
    about = {"location": location, "description": description, "attendees": attendees}
    world.events.put(username, {**kind, **when, **about})
    return {"event_id": event_id}


@tool("Calendar", action=True, injected=TOKEN, returns="status")
def delete_event(world: World, event_id: Annotated[str, "id from QueryCalendar"]) -> Json:
    """Delete an event from the user's calendar."""
    if not world.events.remove(world.caller().username, event_id):
        raise ToolError(f"There is no event {quoted(event_id)}.")
    return dict(_SUCCESS)


@tool(
    "Calendar",
    action=True,
    injected=TOKEN,
    returns="status",
    match=Match(Response.EQUAL, _of_event("new_")),
)
def modify_event(
    world: World,
    event_id: Annotated[str, "id from QueryCalendar"],
    new_name: Annotated[str | None, "new title"] = None,
    new_start_time: Annotated[Instant | None, f"{_FORM}; needs new_end_time"] = None,
    new_end_time: Annotated[Instant | None, Composed("time of day"), f"{_FORM}; needs new_start_time"] = None,
    new_description: Annotated[str | None, "new details"] = None,
    new_location: Annotated[str | None, "new place"] = None,
    new_attendees: Annotated[list[str] | None, "usernames of all who attend"] = None,
) -> Json:
    """Change an event. What is not given stays as it is."""
    username = world.caller().username
    if world.events.get(username, event_id) is None:
        raise ToolError(f"There is no event {quoted(event_id)}.")

    def change(field: str, value: Json) -> None:
        if value is not None:
            world.events.change(username, event_id, field, value)

    # ToolTalk writes each field before it looks at the next, which shows when a later one is refused.
    change("name", new_name)
    if new_start_time is not None:
        if new_end_time is None:
            raise ToolError("new_start_time needs new_end_time.")
        start = read_instant(new_start_time, "new_start_time")
        _check_span(world, start, read_instant(new_end_time, "new_end_time"))
        change("start_time", new_start_time)
    elif new_end_time is not None:
        raise ToolError("new_end_time needs new_start_time.")
    change("end_time", new_end_time)
    change("description", new_description)
    change("location", new_location)
    if new_attendees is not None:
        change("attendees", _with_caller(new_attendees, username))
    return dict(_SUCCESS)


@tool(
    "Calendar",
    action=False,
    injected=TOKEN,
    returns="events: list of {event_id, name, event_type, start_time, end_time, ...}",
    match=Match(Response.IDS, others=False, ids=("events", "event_id")),
)
def query_calendar(
    world: World,
    start_time: Annotated[Instant, f"{_FORM}, 24-hour"],
    end_time: Annotated[Instant, _FORM],
) -> Json:
    """List the user's events that overlap a span of time."""
    username = world.caller().username
    if not world.events.knows(username):
        raise ToolError("The user has no calendar yet.")
    start, end = read_instant(start_time, "start_time"), read_instant(end_time, "end_time")
    if start > end:
        raise ToolError("start_time must not be later than end_time.")
    events = []
    for event in world.events.all(username):
        begins = read_instant(event["start_time"], "start_time")
        ends = read_instant(event["end_time"], "end_time")
        if start <= begins <= end or start <= ends <= end or (begins <= start and end <= ends):
            events.append(event)
    return {"events": events}


_REMINDER_ID = Annotated[str, "id from GetReminders"]


def _reminder(world: World, username: str, reminder_id: str) -> JsonObject:
    # ToolTalk looks into the user's list without asking whether there is one: a KeyError.
    upstream = None if world.reminders.knows(username) else repr(username)
    reminder = world.reminders.get(username, reminder_id)
    if reminder is None:
        raise ToolError(f"There is no reminder {quoted(reminder_id)}.", upstream)
    return reminder


@tool(
    "Reminder",
    action=True,
    injected=TOKEN,
    returns="reminder_id",
    match=Match(Response.IGNORED, {"task": TASK, "due_date": Equality.DATE}),
)
def add_reminder(
    world: World,
    task: Annotated[str, "what to do"],
    due_date: Annotated[Instant | None, f"when it is due, {_FORM}"] = None,
) -> Json:
    """Add a reminder to the user's list."""
    username = world.caller().username
    world.reminders.open(username)
    if due_date is not None:
        read_instant(due_date, "due_date")
    reminder_id = world.draw("AddReminder", REMINDER_IDS)
    reminder = {"reminder_id": reminder_id, "task": task, "due_date": due_date, "status": "pending"}
    world.reminders.put(username, reminder)
    return {"reminder_id": reminder_id}


@tool("Reminder", action=True, injected=TOKEN, returns="status")
def complete_reminder(world: World, reminder_id: _REMINDER_ID) -> Json:
    """Mark a pending reminder as complete."""
    username = world.caller().username
    if _reminder(world, username, reminder_id)["status"] == "complete":
        raise ToolError(f"The reminder {quoted(reminder_id)} is complete already.")
    world.reminders.change(username, reminder_id, "status", "complete")
    return dict(_SUCCESS)


@tool("Reminder", action=True, injected=TOKEN, returns="status")
def delete_reminder(world: World, reminder_id: _REMINDER_ID) -> Json:
    """Delete a reminder."""
    username = world.caller().username
    _reminder(world, username, reminder_id)
    world.reminders.remove(username, reminder_id)
    return dict(_SUCCESS)


@tool(
    "Reminder",
    action=False,
    injected=TOKEN,
    returns="reminders: list of {reminder_id, task, due_date, status: pending or complete}",
    match=Match(Response.IDS, ids=("reminders", "reminder_id"), whole=True),
)
def get_reminders(world: World) -> Json:
    """List all the user's reminders."""
    return {"reminders": world.reminders.all(world.caller().username)}
