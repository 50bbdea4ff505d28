"""Columns of numbers, and what becomes of them where there is no room."""

import pytest

from rig.displays.table import Row, by_kind, cells, columns, inert, markdown

ROWS = [
    Row("", ["first", "second", "third"]),
    Row("success", ["1.0%", "20.0%", "-"]),
    Row("calls", ["7", "8", "9"]),
]


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


def test_details_are_indented_below_their_row() -> None:
    rows = [Row("", ["a"]), *by_kind("faults", [{"missing call": 2, "wrong tool": 1}])]
    assert columns(rows) == [
        "                a",
        "faults          3",
        "  missing call  2",
        "  wrong tool    1",
    ]


def test_cells_stand_left_and_what_is_in_them_is_inert() -> None:
    assert cells(("NAME", "SIZE"), [("a", "1"), ("bad\x1b", "22")]) == [
        "NAME     SIZE",
        "a        1",
        "bad\\x1b  22",
    ]


def test_markdown_can_be_read_as_it_is() -> None:
    assert markdown(("model", "n"), [("a|b".replace("|", "\\|"), "10")]).splitlines() == [
        "| model |   n |",
        "| ----- | --: |",
        "| a\\|b  |  10 |",
    ]
    assert inert("a_b\n*c*") == "a\\_b \\*c\\*"
