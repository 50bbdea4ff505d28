"""How far a run is, and how long it will still take."""

import pytest

from rig.displays.progress import Progress
from rig.events import (
    ArmInfo,
    ConversationFinished,
    ConversationInfo,
    ConversationSkipped,
    RunStarted,
    Speed,
    TurnFinished,
    TurnStarted,
    Where,
)

WHERE = Where(0, "alarms")


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def progress(clock: list[float]) -> Progress:
    """Two arms, two conversations of three turns, of which two turns were made before."""
    told = Progress(lambda: clock[0])
    infos = tuple(ConversationInfo(name, 3, 3) for name in ("alarms", "login"))
    told.tell(RunStarted("abcde", "runs.sqlite", (ArmInfo("a"), ArmInfo("b")), infos, finished_turns=2))
    return told


def test_time_is_told_once_a_turn_was_made(progress: Progress, clock: list[float]) -> None:
    assert (progress.done, progress.total, progress.remaining_s) == (2, 12, None)
    clock[0] = 100.0  # loading a model is no measure of turns
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    assert progress.remaining_s is None
    clock[0] = 110.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    assert (progress.done, progress.remaining_s) == (3, 90.0)


def test_skipped_turns_are_not_waited_for(progress: Progress, clock: list[float]) -> None:
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    clock[0] = 10.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    progress.tell(ConversationSkipped(WHERE, 2))
    assert (progress.done, progress.total, progress.remaining_s) == (3, 12, 70.0)


def test_conversations_are_counted_where_nobody_knows_the_turns() -> None:
    now = 0.0
    told = Progress(lambda: now)
    infos = tuple(ConversationInfo(name, turns, 0) for name, turns in (("a", 0), ("b", 3), ("c", 0)))
    told.tell(RunStarted("abcde", "runs.sqlite", (ArmInfo("m"),), infos, 2, 5, 2))
    assert (told.unit, told.done, told.total) == ("conversations", 2, 6)
    told.tell(TurnStarted(Where(0, "c"), 0, (), (), ""))
    told.tell(TurnFinished(Where(0, "c"), 0, {}, Speed()))
    assert (told.done, told.remaining_s) == (2, None)
    now = 10.0
    told.tell(ConversationFinished(Where(0, "c"), {}, {}, Speed()))
    assert (told.done, told.remaining_s) == (3, 30.0)
    told.tell(ConversationSkipped(Where(0, "a", 1), 0))
    assert told.remaining_s == 20.0
