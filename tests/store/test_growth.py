"""What readers ask of a store: no more questions for many conversations, and only what they need."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graded_talks
import pytest

from rig.compare.arms import choose, common_graders, read
from rig.compare.compare import compare
from rig.store import Runs, StoredRun


def _store(tmp_path: Path, number: int, repeats: int = 1) -> Path:
    path = tmp_path / f"{number}-{repeats}.sqlite"
    arms = [graded_talks.model(number, {place}, acts=place == 1) for place in range(3)]
    graded_talks.play(path, *arms, number=number, repeats=repeats)
    return path


def _asked(path: Path, read: Callable[[Runs, StoredRun], object]) -> tuple[int, int]:
    """How many questions reading asks of a run, and in how many steps SQLite answers them."""
    asked, steps = 0, 0

    def question(_: str) -> None:
        nonlocal asked
        asked += 1

    def step() -> None:
        nonlocal steps
        steps += 1

    with Runs.open(path) as runs:
        connection: sqlite3.Connection = runs._database.conn
        connection.set_trace_callback(question)
        connection.set_progress_handler(step, 100)
        read(runs, runs.get("latest"))
        connection.set_progress_handler(None, 0)
        connection.set_trace_callback(None)
    return asked, steps


READERS: dict[str, Callable[[Runs, StoredRun], Any]] = {
    "get": lambda runs, run: run,
    "cells": lambda runs, run: runs.cells(run),
    "scores": lambda runs, run: runs.scores(run),
    "scored cells": lambda runs, run: list(runs.scored_cells(run, run.arms[0].grader)),  # type: ignore[arg-type]
    "comparison": lambda runs, run: compare(runs, [run.id]),
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_more_conversations_are_no_more_questions_and_as_much_more_work(tmp_path: Path, reader: str) -> None:
    few, many, most = (_asked(_store(tmp_path, number), READERS[reader]) for number in (6, 24, 96))
    assert few[0] == many[0] == most[0]
    assert most[1] - many[1] <= 4.4 * (many[1] - few[1])
    assert many[1] < most[1]


@pytest.mark.slow
def test_arms_that_nobody_asked_for_are_not_read(tmp_path: Path) -> None:
    path = _store(tmp_path, 24)

    def of_arms(*names: str) -> int:
        def scored(runs: Runs, run: StoredRun) -> None:
            chosen = [each for each in choose(runs, [run.id]) if each.arm.name in names]
            steps.append(len(read(runs, chosen, common_graders(runs, chosen)[0])))

        return _asked(path, scored)[1]

    steps: list[int] = []
    with Runs.open(path) as runs:
        first, second, third = (arm.name for arm in runs.get("latest").arms)
    one, two, three = of_arms(first), of_arms(first, second), of_arms(first, second, third)
    assert steps == [1, 2, 3]
    assert two - one == pytest.approx(three - two, rel=0.1)
    assert two > one


@pytest.mark.slow
def test_what_is_alike_is_held_once(tmp_path: Path) -> None:
    with Runs.open(_store(tmp_path, 24, repeats=2)) as runs:
        run = runs.get("latest")
        grader = run.arms[0].grader
        assert grader is not None
        cells = list(runs.scored_cells(run, grader, {0}))
    assert len(cells) == 48
    # Of the first arm, one conversation went otherwise.
    assert len({id(cell.counts) for cell in cells}) == 2
    assert len({id(cell.turns) for cell in cells}) == 2
    assert len({cell.conversation for cell in cells if cell.counts["successes"] == 0}) == 1


def test_sums_of_an_arm_are_exact_whatever_is_added(tmp_path: Path) -> None:
    """Shares are added as Python adds them, one score after the other; whole numbers have no limit."""
    path = _store(tmp_path, 6, repeats=2)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE counts SET value = 1.0 / (score + 2) WHERE name = 'soft_successes'")
        database.execute("UPDATE counts SET value = 9223372036854775807 WHERE name = 'actions'")
    with Runs.open(path) as runs:
        run = runs.get("latest")
        for arm, score in zip(run.arms, runs.scores(run), strict=True):
            cells = [cell.counts for cell in runs.cells(run) if cell.arm == arm.position and cell.counts]
            assert len(cells) == 12
            # Scores are numbered in the order in which conversations were finished.
            assert arm.counts["soft_successes"] == sum(each["soft_successes"] for each in cells)
            assert arm.counts["actions"] == 12 * (2**63 - 1)
            assert score.counts == arm.counts


@pytest.mark.parametrize("share", [0.46795476594943197, 0.5308934685835069, 1 / 3, 5e-324, 2**53 + 2.0])
def test_shares_are_read_to_their_last_digit(tmp_path: Path, share: float) -> None:
    """SQLite would round some of them where it writes numbers as text."""
    path = _store(tmp_path, 1)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE counts SET value = ? WHERE name = 'soft_successes'", [share])
    with Runs.open(path) as runs:
        run = runs.get("latest")
        grader = run.arms[0].grader
        assert grader is not None
        assert {cell.counts["soft_successes"] for cell in runs.scored_cells(run, grader)} == {share}
