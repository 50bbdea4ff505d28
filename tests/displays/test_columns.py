"""Columns of numbers, and what becomes of them where there is no room."""

import pytest

from rig.displays.table import columns

ROWS = [("", ["first", "second", "third"]), ("success", ["1.0%", "20.0%", "-"]), ("calls", ["7", "8", "9"])]


def test_labels_stand_left_and_cells_right() -> None:
    assert columns(ROWS) == [
        "         first  second  third",
        "success   1.0%   20.0%      -",
        "calls        7       8      9",
    ]


def test_columns_without_room_follow_below_with_labels_and_heading() -> None:
    assert columns(ROWS, 28) == [
        "         first  second",
        "success   1.0%   20.0%",
        "calls        7       8",
        "",
        "         third",
        "success      -",
        "calls        9",
    ]


@pytest.mark.parametrize("width", range(1, 40))
def test_nothing_is_cut_or_left_out_however_narrow(width: int) -> None:
    lines = columns(ROWS, width)
    words = sorted(" ".join(lines).split())
    assert set(words) == set(" ".join(columns(ROWS)).split())
    assert all(len(line) <= max(width, len("success  second")) for line in lines)
