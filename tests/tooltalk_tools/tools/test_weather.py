from datetime import datetime
from typing import Any

import pytest
from small_world import MARCH, SEEDS, fail, log_out, respond

from rig.world.toolbox import Simulator

SPRINGFIELD = list(SEEDS["Weather"]["springfield"].values())


@pytest.fixture(autouse=True)
def nobody(both: Simulator) -> None:
    log_out(both)


@pytest.mark.parametrize("location", ["Springfield", "springfield", " SPRINGFIELD\n"])
def test_weather_of_a_place_however_it_is_written(both: Simulator, location: str) -> None:
    assert respond(both, "CurrentWeather", location=location) == {"weather": SPRINGFIELD[0]}
    assert respond(both, "ForecastWeather", location=location) == {"forecast": SPRINGFIELD[1:]}
    assert respond(both, "HistoricWeather", location=location, month="March") == {"weather": MARCH}


@pytest.mark.parametrize("tool", ["CurrentWeather", "ForecastWeather", "HistoricWeather"])
@pytest.mark.parametrize("location", ["", "Springfield, IL", "Spring field", "\ud800"])
def test_an_unknown_place(both: Simulator, tool: str, location: str) -> None:
    month = {"month": "March"} if tool == "HistoricWeather" else {}
    assert "is not known" in fail(both, tool, location=location, **month)


@pytest.mark.parametrize(
    ("month", "known"), [("march", True), ("MARCH", True), (" March", False), ("Mar", False)]
)
def test_months_are_whole_names(both: Simulator, month: str, known: bool) -> None:
    arguments: dict[str, Any] = {"location": "Springfield", "month": month}
    if known:
        assert respond(both, "HistoricWeather", **arguments) == {"weather": MARCH}
    else:
        assert fail(both, "HistoricWeather", **arguments)


def test_a_day_that_is_missing(both: Simulator, request: pytest.FixtureRequest) -> None:
    upstream = "upstream" in request.node.name
    for tool, day, text in (
        ("CurrentWeather", "2024-03-05", "datetime.date(2024, 3, 5)"),
        ("ForecastWeather", "2024-03-07", "datetime.date(2024, 3, 7)"),
    ):
        error = fail(both, tool, location="Lakeside")
        assert error == (text if upstream else f"The weather of lakeside on {day} is not known.")


@pytest.mark.parametrize("location", [None, 5, ["Springfield"], True])
def test_a_place_of_another_kind(both: Simulator, location: Any) -> None:
    assert fail(both, "CurrentWeather", location=location)


def test_the_end_of_the_calendar(both: Simulator) -> None:
    both.start(datetime.fromisoformat("9999-12-30 00:00:00"))
    assert fail(both, "ForecastWeather", location="Springfield")
