"""Alarms: times of day at which the user is woken."""

from typing import Annotated

from pydantic import Field

from rig.calls import Json
from rig.toolbox.declare import tool
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.formats import Time, read_time
from rig.toolbox.spec import Equality, Match, Response
from rig.tooltalk.session import TOKEN, caller
from rig.tooltalk.world import World
from rig.tooltalk.world.identifiers import ALARM_IDS

PLUGIN = "Alarm"


@tool(
    PLUGIN,
    action=True,
    injected=TOKEN,
    returns="alarm_id",
    match=Match(Response.IGNORED, {"time": Equality.TIME}),
)
def add_alarm(
    world: World, time: Annotated[Time, Field(description="HH:MM:SS, 24-hour, e.g. 07:30:00")]
) -> Json:
    """Set an alarm for a time of day."""
    read_time(time, "time")
    username = caller(world).username
    world.alarms.open(username)
    alarm_id = world.draw("AddAlarm", ALARM_IDS)
    world.alarms.put(username, {"alarm_id": alarm_id, "time": time})
    return {"alarm_id": alarm_id}


@tool(PLUGIN, action=True, injected=TOKEN, returns="status")
def delete_alarm(
    world: World, alarm_id: Annotated[str, Field(description="id from FindAlarms, e.g. 1a2b-3c4d")]
) -> Json:
    """Delete an alarm."""
    if not world.alarms.remove(caller(world).username, alarm_id):
        raise ToolError(f"There is no alarm {shown(alarm_id)}.")
    return {"status": "success"}


@tool(
    PLUGIN,
    action=False,
    injected=TOKEN,
    returns="alarms: list of {alarm_id, time}",
    match=Match(Response.IDS, others=False, ids=("alarms", "alarm_id")),
)
def find_alarms(
    world: World,
    start_range: Annotated[Time | None, Field(description="earliest time, HH:MM:SS")] = None,
    end_range: Annotated[Time | None, Field(description="latest time, HH:MM:SS")] = None,
) -> Json:
    """List the user's alarms, all or those in a time range."""
    username = caller(world).username
    if not world.alarms.knows(username):
        return {"alarms": []}
    start = None if start_range is None else read_time(start_range, "start_range")
    end = None if end_range is None else read_time(end_range, "end_range")
    if start is not None and end is not None and start > end:
        raise ToolError("start_range must not be later than end_range.")
    found = []
    for alarm in world.alarms.all(username):
        time = read_time(alarm["time"], "time")
        if (start is None or start <= time) and (end is None or time <= end):
            found.append(alarm)
    return {"alarms": found}
