from tui.pace import Pace
from tui.themes import DARK, LIGHT, THEMES, default_theme, next_theme


def test_repaints_are_no_faster_than_ten_a_second_and_four_over_ssh() -> None:
    assert Pace({}).next_s(0.0) == 0.1
    assert Pace({"SSH_CONNECTION": "10.0.0.1 22"}).next_s(0.0) == 0.25


def test_expensive_repaints_are_rarer_but_never_stop() -> None:
    assert Pace({}).next_s(0.006) == 0.3
    assert Pace({}).next_s(60.0) == 0.5


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
