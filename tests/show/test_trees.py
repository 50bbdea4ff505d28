"""Steps that form a tree are drawn as one, and steps that form a line are left alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import GIVE_UP, astray, calls_in, searched

from rig.core.events import Event, WentBack, Where
from rig.core.models import Prediction, Request
from rig.core.tasks import Step
from rig.methods.scripted import called, replied
from rig.plugins.replay.moments import Moment, turn_moments
from rig.show.steps import back, parent_of
from rig.show.story import branches
from tui.live.layout import BlockLayout, Column, plain
from tui.live.state import RunState
from tui.stored.reader import outline
from tui.stored.record import Record, read_record

Rig = Callable[..., Any]


def steps(*parents: int | None) -> list[Step]:
    return [Step(replied("x"), parent=parent) for parent in parents]


def parents_of(made: list[Step]) -> list[int]:
    return [parent_of(number, step) for number, step in enumerate(made)]


def drawn(*parents: int | None) -> list[str]:
    return [f"{lines}{number + 1}" for number, lines in branches(parents_of(steps(*parents)))]


def test_a_line_is_no_tree() -> None:
    assert drawn() == drawn(None, None) == drawn(-1, 0, 1) == []
    assert back(1, steps(None, None)[1]) is None


def test_a_tree_is_set_in_where_several_steps_follow_one() -> None:
    assert drawn(-1, 0, 1, 1, 3, 0, 5) == ["1", "|- 2", "|  |- 3", "|  `- 4", "|     5", "`- 6", "   7"]
    assert drawn(-1, 0, -1, 2) == ["|- 1", "|  2", "`- 3", "   4"]


def test_where_a_search_goes_back_to_is_said() -> None:
    made = steps(-1, 0, 0, -1)
    told = [back(number, step) for number, step in enumerate(made)]
    assert [each.text if each else "" for each in told] == [
        *("", ""),
        *("again from step 1", "again from the beginning"),
    ]


@given(st.lists(st.integers(-3, 40), max_size=40))
def test_every_step_is_drawn_once_and_after_what_it_follows(parents: list[int]) -> None:
    made = steps(*parents)
    rows = branches(parents_of(made))
    if rows:
        order = [number for number, _ in rows]
        assert sorted(order) == list(range(len(made)))
        for number, step in enumerate(made):
            parent = parent_of(number, step)
            assert parent < 0 or order.index(parent) < order.index(number)


def test_of_a_search_without_an_answer_it_is_said_what_counts(rig: Rig, tmp_path: Path) -> None:
    def lost(request: Request) -> Prediction:
        return GIVE_UP if calls_in(request) else called("FindAlarms", {})

    store = tmp_path / "runs.sqlite"
    for search, legend in (("cot@2", "were tried last"), ("dfs_w2", "are what counts")):
        run = searched(store, lost, search, "later-alarm")
        shown = rig("show", run.id, "later-alarm", "--runs", store).out
        assert f"those with * {legend}, without an answer:" in shown


def test_a_search_is_shown_as_a_tree_by_every_display(rig: Rig, tmp_path: Path) -> None:
    store, told = tmp_path / "runs.sqlite", list[Event]()
    run = searched(store, astray(), "dfs_w2", "later-alarm", emit=told.append)
    shown = rig("show", run.id, "later-alarm", "--runs", store).out
    assert "tree of 8 steps; those with * lead to the answer:" in shown
    tree = shown[shown.index("tree of 8 steps") :].splitlines()[1:9]
    drawn_as = ["|- 1.", "|  |- 2.", "|  |  3.", "|  `- 4.", "|     5.", "`- 6. *", "   7. *", "   8. *"]
    for line, begins in zip(tree, drawn_as, strict=True):
        assert line.startswith(f"  {begins} ")
    assert "back: again from step 1" in shown
    turns = rig("show", run.id, "later-alarm", "--json", "--runs", store).json["transcripts"][0]["turns"]
    follows = [step["follows"] for turn in turns if turn["role"] == "assistant" for step in turn["steps"]]
    assert follows == [-1, 0, 1, 0, 3, -1, 5, 6]
    rig("report", run.id, "-o", tmp_path / "report.html", "--runs", store)
    assert "again from step 1" in (tmp_path / "report.html").read_text()

    live = RunState()
    live.apply_all(told)
    [conversation] = live.conversations.values()
    assert conversation.transcript is not None
    column = Column(conversation.transcript, BlockLayout(80))
    column.update()
    assert 'back        again from step 1, AddAlarm {"time": "03:01:00"}' in plain(column.lines)
    record = read_record(store, run.id, Where(0, "later-alarm"))
    assert [each.event for each in replayed(record)] == [each for each in told if isinstance(each, WentBack)]
    rows = outline(record)
    assert [row.text for row in rows if row.step is not None][:3] == [
        "|- AddAlarm",
        "|  |- AddAlarm",
        "|  |  Finish",
    ]


def replayed(record: Record) -> list[Moment]:
    moments = turn_moments(record.where, record.transcript.conversation, record.transcript.turns[0])
    return [each for each in moments if isinstance(each.event, WentBack)]


@pytest.mark.parametrize("parent", ["0", 0.0, b"0", -2, 2, 10**30])
def test_a_parent_that_cannot_be_is_the_step_before(parent: Any) -> None:
    """As a damaged store may have it."""
    assert parent_of(2, Step(replied("x"), parent=parent)) == 1
