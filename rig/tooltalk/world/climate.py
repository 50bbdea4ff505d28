"""The weather of the world: day by day, and by month."""

from datetime import date

from sqlite_utils import Database

from rig.calls import JsonObject
from rig.toolbox.values import encode

_DAY = ("date", "high", "low", "conditions")
_MONTH = ("min_temp", "max_temp", "record_min_temp", "record_max_temp", "avg_rainfall", "snow_days")


class Climate:
    """The tables `weather` and `historic_weather`. Places and months are named in lower case.

    Temperatures are in degrees Fahrenheit, rainfall in inches.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def knows_days(self, location: str) -> bool:
        """Whether there is weather of any day for this place."""
        return self._database.table("weather").count_where("location = ?", [encode(location)]) > 0

    def day(self, location: str, day: date) -> JsonObject | None:
        """`{date, high, low, conditions}` of one day, None where it is not known."""
        return self._one("weather", _DAY, "date", location, day.isoformat())

    def knows_months(self, location: str) -> bool:
        """Whether there is weather of any month for this place."""
        return self._database.table("historic_weather").count_where("location = ?", [encode(location)]) > 0

    def month(self, location: str, month: str) -> JsonObject | None:
        """Averages and records of a month, None where they are not known."""
        return self._one("historic_weather", _MONTH, "month", location, month)

    def _one(
        self, table: str, columns: tuple[str, ...], by: str, location: str, value: str
    ) -> JsonObject | None:
        rows = self._database.execute(
            f"SELECT {', '.join(columns)} FROM {table} WHERE location = ? AND {by} = ?",
            [encode(location), encode(value)],
        ).fetchall()
        return dict(zip(columns, rows[0], strict=True)) if rows else None
