"""The weather in some cities: today, in the next days, and by month. Degrees are Fahrenheit."""

from datetime import date, timedelta
from typing import Annotated

from pydantic import Field

from rig.calls import Json, JsonObject
from rig.toolbox.declare import tool
from rig.toolbox.errors import ToolError, shown
from rig.toolbox.formats import Month
from rig.toolbox.spec import Equality, Match
from rig.tooltalk.world import World

PLUGIN = "Weather"

_FORECAST_DAYS = 3


def _place(location: str) -> str:
    return location.lower().strip()


def _unknown(place: str) -> ToolError:
    return ToolError(f"The weather of {shown(place)} is not known.")


def _day(world: World, place: str, day: date) -> JsonObject:
    weather = world.climate.day(place, day)
    if weather is None:
        raise ToolError(f"The weather of {shown(place)} on {day} is not known.", repr(day))
    return weather


@tool(
    PLUGIN,
    action=False,
    returns="weather: {date, high, low, conditions}",
    match=Match(arguments={"location": Equality.PLACE}),
)
def current_weather(
    world: World, location: Annotated[str, Field(description="city name, e.g. New York")]
) -> Json:
    """Get a city's weather today."""
    place = _place(location)
    if not world.climate.knows_days(place):
        raise _unknown(place)
    return {"weather": _day(world, place, world.now.date())}


@tool(
    PLUGIN,
    action=False,
    returns="forecast: list of {date, high, low, conditions}",
    match=Match(arguments={"location": Equality.PLACE}),
)
def forecast_weather(
    world: World, location: Annotated[str, Field(description="city name, e.g. New York")]
) -> Json:
    """Get a city's weather forecast for the next 3 days."""
    place = _place(location)
    if not world.climate.knows_days(place):
        raise _unknown(place)
    today = world.now.date()
    if (date.max - today).days < _FORECAST_DAYS:
        raise ToolError("The calendar ends before the forecast does.")
    days = [today + timedelta(days=number) for number in range(1, _FORECAST_DAYS + 1)]
    return {"forecast": [_day(world, place, day) for day in days]}


@tool(
    PLUGIN,
    action=False,
    returns="weather: usual and record temperatures, rainfall, snow days",
    match=Match(arguments={"location": Equality.PLACE, "month": Equality.PLACE}),
)
def historic_weather(
    world: World,
    location: Annotated[str, Field(description="city name, e.g. New York")],
    month: Annotated[Month, Field(description="full month name, e.g. March")],
) -> Json:
    """Get a city's usual and record weather in a month."""
    place = _place(location)
    if not world.climate.knows_months(place):
        raise _unknown(place)
    weather = world.climate.month(place, month.lower())
    if weather is None:
        raise ToolError(f"The usual weather of {shown(place)} in {shown(month)} is not known.")
    return {"weather": weather}
