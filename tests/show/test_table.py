"""Columns of numbers, and what becomes of them where there is no room."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.show.signs import ELLIPSIS
from rig.show.table import Row, by_kind, cells, columns, ends, fitted, inert, markdown, middle

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


def test_a_cell_is_one_line_and_a_wide_character_takes_two_cells() -> None:
    assert cells(("NAME", "SIZE"), [("a\n  b\tc", "1"), ("日本語 e\u0301", "22")]) == [
        "NAME      SIZE",
        "a   b c   1",
        "日本語 e\u0301  22",
    ]
    assert columns([Row("", ["モデル", "b"]), Row("wins", ["1", "2"])]) == [
        "      モデル  b",
        "wins       1  2",
    ]


@pytest.mark.parametrize("width", [1, 12, 20, 60, 400])
def test_cells_without_room_follow_below_with_the_first_column_again(width: int) -> None:
    header = ("name", *(f"arm {number}" for number in range(6)))
    rows = [(name, *(f"{name}{number}" for number in range(6))) for name in ("one", "two")]
    lines = cells(header, rows, width)
    assert max(map(len, lines)) <= max(width, len("name  arm 0"))
    blocks = "\n".join(lines).split("\n\n")
    assert all(block.startswith("name  arm ") and "\none " in block for block in blocks)
    words = [word for line in lines for word in re.split("  +", line) if word]
    assert {*header, *(cell for row in rows for cell in row)} == set(words)
    assert (len(blocks) == 1) == (width >= len(cells(header, rows)[0]))


def test_markdown_can_be_read_as_it_is() -> None:
    assert markdown(("model", "n"), [("a|b".replace("|", "\\|"), "10")]).splitlines() == [
        "| model |   n |",
        "| ----- | --: |",
        "| a\\|b  |  10 |",
    ]
    assert inert("a_b\n*c*") == "a\\_b \\*c\\*"


def narrow(width: int) -> list[str]:
    return fitted(
        [
            Row("", [f"a-long-name-of-an-arm temperature={number}" for number in range(4)]),
            Row("success", [f"{number}1.5% (50.2 to 90.1)" for number in range(4)]),
            Row("agreement by conversation: ICC3 of success", ["0.50"] * 4),
            Row("faults", ["7", "8", "9", "10"]),
        ],
        width,
    )


def test_four_arms_with_intervals_stand_beside_one_another_in_80_cells() -> None:
    lines = narrow(80)
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if "51.5%" in line or "01.5%" in line] == ["success"]
    heading = lines[0].split()
    assert len(set(heading)) == len(heading) == 4
    below = lines[2].split("  ")
    assert [part.strip() for part in below if part.strip()] == ["50.2-90.1"] * 4
    assert lines[-1].split() == ["faults", "7", "8", "9", "10"]


def test_names_lose_what_they_begin_alike_with_before_they_lose_their_middles() -> None:
    names = ["Qwen2.5-1.5B-Instruct-Q8_0", "Qwen2.5-1.5B-Instruct-Q5_K_M", "Qwen2.5-1.5B-Instruct-IQ2_S"]
    assert ends(names, 40) == names
    assert ends(names, 12) == [f"{ELLIPSIS}{name}" for name in ("Q8_0", "Q5_K_M", "IQ2_S")]
    assert ends(["a-long-name-of-one", "another"], 9) == [middle("a-long-name-of-one", 9), "another"]
    assert ends(["the-only-long-name"], 9) == [middle("the-only-long-name", 9)]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.integers(4, 40))
def test_names_in_little_room_fit_into_it(names: list[str], room: int) -> None:
    assert all(len(name) <= room for name in ends(names, room))


def test_nothing_changes_where_there_is_room() -> None:
    rows = [Row("", ["one", "two"]), Row("success", ["50.0% (1.0 to 2.0)", "1"])]
    assert fitted(rows, 80) == fitted(rows) == columns(rows)


@given(st.text(max_size=60), st.integers(3, 40))
def test_a_text_without_its_middle_keeps_its_ends(text: str, room: int) -> None:
    shown = middle(text, room)
    assert len(shown) <= max(room, 3)
    if len(text) <= room:
        assert shown == text
    else:
        assert text.endswith(shown[-1])
        assert ".." in shown
