"""The heat map: every arm is in sight in any width, with a sign and a colour in each cell; and curves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import seeing

from rig.plugins.groups.groups import Groups, Share
from rig.plugins.groups.text import MARKS
from rig.show import signs
from rig.show.signs import LEVELS
from tui.live.layout import plain
from tui.screens.pages import HeatScreen, TextScreen
from tui.text.lines import HEAT, curve, width_of

ARMS = tuple(f"smollm2-135m-tools-f16-q{number}" for number in range(9))
ROWS = (
    ("AddAlarm", tuple(Share(part, 8) for part in range(9))),
    ("a tool with quite a long name", (Share(),) * 9),
)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_arm_has_a_coloured_sign_however_narrow(width: int, *, ascii_only: bool) -> None:
    signs.use(ascii_only=ascii_only)
    lines = HeatScreen("title", [Groups("tool", ARMS, ROWS)]).lines_of(width)
    row = next(line for line in lines if "AddAlarm" in line[0][0])
    cells = [(text, tint) for text, tint in row if tint in HEAT]
    assert len(cells) == len(ARMS)
    for text, tint in cells:
        assert text.rstrip()[-1] == MARKS[HEAT.index(tint)]
    assert all(width_of(line) <= width for line in lines[1:])
    unknown = next(line for line in lines if "a tool" in line[0][0])
    assert not [tint for _, tint in unknown if tint in HEAT]


@pytest.mark.slow
async def test_arms_beyond_the_edge_and_wide_texts_are_shifted_to() -> None:
    arms = tuple(f"arm{number}" for number in range(60))
    rows = (("AddAlarm", tuple(Share(number % 2, 1) for number in range(60))),)
    text = f"{'漢' * 70}end"
    for screen, last in (
        (HeatScreen("title", [Groups("tool", arms, rows)]), str(MARKS[-1])),
        (TextScreen("t", text), "end"),
    ):
        async with seeing(screen, (80, 24)) as seen:
            whole = screen.lines_of(80)
            widest = max(map(width_of, whole))
            assert widest > 80
            assert max(map(width_of, screen.page.lines)) == widest
            await seen.press(*["right"] * 20)
            assert max(map(width_of, screen.page.lines)) < 80
            assert any(plain([line]).endswith(last) for line in screen.page.lines)
            await seen.press(*["left"] * 20)
            assert screen.page.lines == whole


def test_arms_are_called_by_what_differs() -> None:
    heads = HeatScreen("title", [Groups("tool", ARMS, ROWS)]).lines_of(200)[1]
    assert [text.strip() for text, _ in heads[1:]] == [f"{signs.ELLIPSIS}q{number}" for number in range(9)]


def test_without_scores_it_says_so() -> None:
    assert "No conversation" in HeatScreen("title", []).lines_of(80)[0][0][0]


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 60))
def test_a_curve_ends_where_the_rate_is(outcomes: list[bool], width: int) -> None:
    drawn = curve(outcomes, width)
    assert len(drawn) == min(len(outcomes), width)
    if outcomes:
        levels = str(LEVELS)
        assert drawn[-1] == levels[round((len(levels) - 1) * sum(outcomes) / len(outcomes))]


def test_only_all_is_100_percent_and_only_none_is_0() -> None:
    shares = (Share(999, 1000), Share(1000, 1000), Share(1, 1000), Share(0, 1000))
    lines = HeatScreen("title", [Groups("suite", ARMS[:4], (("medium", shares),))]).lines_of(60)
    row = next(line for line in lines if line and "medium" in line[0][0])
    cells = [text.split()[0] for text, tint in row if tint in HEAT]
    assert cells == ["99%", "100%", "1%", "0%"]
