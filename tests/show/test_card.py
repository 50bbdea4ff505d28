"""The end of a run on one screen."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import graded_talks
import pytest
import small_talks
import stored_runs

from rig.methods.scripted import Scripted
from rig.plugins.twins.notes import as_note
from rig.show import signs
from rig.show.card import Card, ending
from rig.store import Runs


@pytest.fixture
def card(tmp_path: Path) -> Card:
    """Of a run of two arms, the second of which is wrong."""
    with Runs.open(stored_runs.write(tmp_path / "runs.sqlite")) as runs:
        return Card.of(runs, "abcde")


def test_it_has_a_row_for_each_arm_with_the_verdict(card: Card) -> None:
    text = card.text(100)
    title, _, *_, heading, first, second = text.splitlines()[:6]
    assert "run abcde" in title
    assert heading.split()[0] == "model"
    assert {"success", "diff", "tok/s", "verdict"} <= set(heading.split())
    assert "> reference" in first
    assert second.split()[0] == card.run.arms[1].name
    assert any(kind in second for kind in ("loss", "cannot tell", "no loss"))


def test_metrics_are_those_that_the_method_declares(card: Card) -> None:
    shown = card.run.declaration.shown("lines")
    words = card.text(150).split()
    for metric in shown:
        assert metric.title.split()[-1] in words
    other = card.run.declaration._replace(
        success="", metrics=tuple(each._replace(label="needle", noun="needle") for each in shown[:1])
    )
    text = Card(card.run.__class__(**{**_parts(card.run), "declaration": other}), "runs.sqlite").text(100)
    assert "needle" in text
    assert "recall" not in text


def _parts(run: object) -> dict[str, object]:
    return {name: getattr(run, name) for name in run.__dataclass_fields__}  # type: ignore[attr-defined]


def test_why_a_served_arm_differs_is_a_table_by_turns(card: Card) -> None:
    causes = [
        {"cause": kind, "detail": "tools\x1b[31m", "conversation": "c", "repeat": 0, "turn": turn}
        for kind, turn in (("prompt", 1), ("prompt", 3), ("chance", 3))
    ]
    told = {"reference": "a", "alike": 5, "follows": 0, "others": 0, "causes": causes}
    first, second = card.run.arms
    run = replace(card.run, arms=(first, replace(second, notes={"attribution": as_note(told)})))
    lines = replace(card, run=run).text(100).splitlines()
    (row,) = (number for number, line in enumerate(lines) if "not faithful to a: 5 of 8" in line)
    assert lines[row + 1].split() == ["differing", "all", "turn", "1", "turn", "3"]
    assert lines[row + 2].split()[:4] == ["prompt", "2", "1", "1"]
    assert lines[row + 3].split()[:4] == ["chance", "1", "-", "1"]
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("ascii_only", [True, False], ids=["ascii", "unicode"])
def test_no_line_but_a_command_is_longer_than_the_terminal_is_wide(
    card: Card, width: int, *, ascii_only: bool
) -> None:
    signs.use(ascii_only=ascii_only)
    lines = card.text(width).splitlines()
    assert all(len(line) <= width for line in lines if not line.startswith("next"))
    assert all(line.isascii() for line in lines) == ascii_only
    if width >= 80:
        assert len(lines) <= 22  # below 24 rows, with room for a prompt


def test_it_is_transposed_where_the_terminal_is_narrow(card: Card) -> None:
    lines = card.text(46).splitlines()
    starts = [line.split()[0] for line in lines if line]
    assert starts.index("model") < starts.index("success") < starts.index("verdict")
    assert "> reference" in next(line for line in lines if line.startswith("verdict"))


def test_the_commonest_faults_come_first_and_are_three(card: Card) -> None:
    line = next(line for line in card.text(120).splitlines() if line.startswith("faults"))
    counts = [int(part.rsplit(maxsplit=1)[1]) for part in line.removeprefix("faults").split("|")]
    assert counts == sorted(counts, reverse=True)
    assert 1 <= len(counts) <= 3


def test_the_next_command_follows_from_how_it_ended(card: Card, tmp_path: Path) -> None:
    assert "next      rig compare abcde --runs" in card.text(100)
    alone = tmp_path / "alone.sqlite"
    small_talks.play(small_talks.plan(alone, Scripted(small_talks.erratic), run="aaaaa"))
    with Runs.open(alone) as runs:
        found = Card.of(runs, "aaaaa")
        assert found.comparison is None
        assert f"next      rig show aaaaa {found.failing} --runs" in found.text(100)
        assert "verdict" not in found.text(100).splitlines()[2]
        recorded = Card.of(runs, "aaaaa", is_kept=False).text(100)
    assert "next      rig run MODEL" in recorded
    assert "--runs" not in recorded


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:

    store = stored_runs.write(tmp_path / "runs.sqlite")
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE runs SET finished = NULL")
    with Runs.open(store) as runs:
        text = Card.of(runs, "abcde").text(100)
    assert text.startswith("! run abcde interrupted")
    assert "rig run --resume abcde" in text


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("a-model-with-a-very-long-name-indeed temperature={}", "..temperature={}"),
        ("a_model_with_a_very_long_name_without_any_marks{}", "..marks{}"),
    ],
)
def test_names_lose_what_is_alike_and_stay_apart(card: Card, name: str, cut: str) -> None:
    arms = [
        arm.__class__(**{**_parts(arm), "name": name.format(number)})
        for number, arm in enumerate(card.run.arms)
    ]
    run = card.run.__class__(**{**_parts(card.run), "arms": tuple(arms)})
    rows = Card(run, card.store, card.comparison).text(80).splitlines()[3:6]
    names = [row.split("  ")[0] for row in rows[-2:]]
    assert names == [cut.format(number) for number in range(2)]


def test_all_numbers_are_printed_where_they_are_asked_for(card: Card) -> None:
    store = Path(card.store)
    full = ending(card.run, store, 100, full=True)
    assert "prompt from cache" in full
    assert f"run abcde is stored in {store}" in full
    short = ending(card.run, store, 100, full=False)
    assert len(short.splitlines()) < 22 < len(full.splitlines())
    assert "is stored in" not in ending(card.run, store, 100, full=True, is_kept=False)


def test_what_files_and_models_say_cannot_steer_the_terminal(card: Card) -> None:
    arm = card.run.arms[0]
    hostile = arm.__class__(**{**_parts(arm), "name": "a\x1b[2J\nb", "failure": "no\x1b]0;x\x07 memory"})
    run = card.run.__class__(**{**_parts(card.run), "arms": (hostile, *card.run.arms[1:])})
    text = Card(run, card.store, card.comparison).text(100)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "! failed" in text


def test_rates_beside_a_difference_are_of_the_same_conversations(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    graded_talks.play(store, graded_talks.model(12, range(6, 12)), graded_talks.model(12, {1}), number=12)
    graded_talks.forget(store, 1, range(6, 12))
    with Runs.open(store) as runs:
        lines = Card.of(runs, "abcde").text(100).splitlines()
    rows = [line.split()[2:4] for line in lines if line.startswith("arm")]
    assert rows == [["100.0%", "-"], ["83.3%", "-16.7"]]
    assert any("compared on the 6 conversations that all have finished" in line for line in lines)
