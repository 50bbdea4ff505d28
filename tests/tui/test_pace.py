import itertools
import threading
import time

import pytest

from tui.app import DARK, LIGHT, THEMES, default_theme, next_theme
from tui.live.live_run import Pace


def test_repaints_are_no_faster_than_ten_a_second_and_four_over_ssh() -> None:
    assert Pace({}).next_s(0.0, 4) == 0.1
    assert Pace({"SSH_CONNECTION": "10.0.0.1 22"}).next_s(0.0, 4) == 0.25


def test_expensive_repaints_are_rarer_but_never_stop() -> None:
    assert Pace({}).next_s(0.006, free=0.1) == pytest.approx(0.6)
    assert Pace({}).next_s(60.0, free=0.1) == 1.0


def test_a_processor_that_is_free_may_paint_more_often() -> None:
    assert Pace({}).next_s(0.02, free=1.5) == pytest.approx(0.2)
    assert Pace({}).next_s(60.0, free=1.5) == 1.0


def test_what_other_threads_of_the_process_do_is_no_cost_but_takes_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr("tui.live.live_run.available_cores", lambda: 4)
    done = threading.Event()
    other = threading.Thread(target=lambda: all(not done.is_set() for _ in itertools.count()))
    pace = Pace({})
    other.start()
    time.sleep(0.5)
    done.set()
    other.join()
    cost_s, free = pace.spent()
    assert cost_s < 0.1
    assert 2.5 < free < 3.95


def test_the_load_of_other_processes_takes_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (3.5, 0.0, 0.0))
    monkeypatch.setattr("tui.live.live_run.available_cores", lambda: 4)
    pace = Pace({})
    time.sleep(0.02)
    assert pace.spent()[1] == pytest.approx(0.5)


def test_a_light_terminal_gets_the_light_theme() -> None:
    assert default_theme({}) == DARK.name
    assert default_theme({"COLORFGBG": "15;0"}) == DARK.name
    assert default_theme({"COLORFGBG": "0;15"}) == LIGHT.name
    assert default_theme({"COLORFGBG": "0;default;15"}) == LIGHT.name


def test_themes_go_round() -> None:
    name = DARK.name
    seen = [name := next_theme(name) for _ in THEMES]
    assert sorted(seen) == sorted(theme.name for theme in THEMES)
    assert next_theme("no such theme") == DARK.name
