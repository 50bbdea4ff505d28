"""The weather in some cities: today, in the next days, and by month.

Degrees are Fahrenheit, and rainfall is in inches. The world has places and months in lower case.
"""

from datetime import date, timedelta
from typing import Annotated, TypeAlias

from rig.core.calls import Json, JsonObject
from rig.plugins.tooltalk_tools.arguments import Month
from rig.plugins.tooltalk_tools.world import ToolTalkWorld as World
from rig.world.spec import Equality, Match, ToolError, quoted, tool
from rig.world.world import encode

_FORECAST_DAYS = 3

City: TypeAlias = Annotated[str, "city name, e.g. New York"]


def _place(world: World, table: str, location: str) -> str:
    """The name of a place in a table. Raises ToolError if it has no weather there."""
    place = location.lower().strip()
    if not world.database.table(table).count_where("location = ?", [encode(place)]):
        raise ToolError(f"The weather of {quoted(place)} is not known.")
    return place


def _weather(world: World, table: str, place: str, column: str, value: str) -> JsonObject | None:
    """The one record of a place in which a column has this value, without the place."""
    rows = world.database.table(table).rows_where(
        f"location = ? AND {column} = ?", [encode(place), encode(value)]
    )
    return next(({name: row[name] for name in row if name != "location"} for row in rows), None)


def _day(world: World, place: str, day: date) -> JsonObject:
    weather = _weather(world, "weather", place, "date", day.isoformat())
    if weather is None:
        raise ToolError(f"The weather of {quoted(place)} on {day} is not known.", repr(day))
    return weather


@tool(
    "Weather",
    action=False,
    returns="weather: {date, high, low, conditions}",
    match=Match(arguments={"location": Equality.PLACE}),
)
def current_weather(world: World, location: City) -> Json:
    """Get a city's weather today."""
    place = _place(world, "weather", location)
    return {"weather": _day(world, place, world.now.date())}


@tool(
    "Weather",
    action=False,
    returns="forecast: list of {date, high, low, conditions}",
    match=Match(arguments={"location": Equality.PLACE}),
)
def forecast_weather(world: World, location: City) -> Json:
    """Get a city's weather forecast for the next 3 days."""
    place = _place(world, "weather", location)
    today = world.now.date()
    if (date.max - today).days < _FORECAST_DAYS:
        raise ToolError("The calendar ends before the forecast does.")
    days = [today + timedelta(days=number) for number in range(1, _FORECAST_DAYS + 1)]
    return {"forecast": [_day(world, place, day) for day in days]}


@tool(
    "Weather",
    action=False,
    returns="weather: usual and record temperatures, rainfall, snow days",
    match=Match(arguments={"location": Equality.PLACE, "month": Equality.PLACE}),
)
def historic_weather(
    world: World, location: City, month: Annotated[Month, "full month name, e.g. March"]
) -> Json:
    """Get a city's usual and record weather in a month."""
    place = _place(world, "historic_weather", location)
    weather = _weather(world, "historic_weather", place, "month", month.lower())
    if weather is None:
        raise ToolError(f"The usual weather of {quoted(place)} in {quoted(month)} is not known.")
    del weather["month"]
    return {"weather": weather}
