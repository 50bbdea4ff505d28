"""How far a run is, and how long it will still take."""

import random

import pytest

from rig.core.events import (
    ArmInfo,
    ArmStarted,
    ConversationFinished,
    ConversationInfo,
    ConversationSkipped,
    RunStarted,
    Speed,
    TurnFinished,
    TurnStarted,
    Where,
)
from rig.plugins.lines.pace import Remaining, TimedProgress

WHERE = Where(0, "alarms")


def _left(progress: TimedProgress) -> float | None:
    return progress.remaining and progress.remaining.seconds


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def progress(clock: list[float]) -> TimedProgress:
    """Two arms, two conversations of three turns, of which two turns were made before."""
    begun = TimedProgress(lambda: clock[0])
    infos = tuple(ConversationInfo(name, 3, 3) for name in ("alarms", "login"))
    begun.tell(RunStarted("abcde", "runs.sqlite", (ArmInfo("a"), ArmInfo("b")), infos, finished_turns=2))
    return begun


def test_time_is_told_once_a_turn_was_made(progress: TimedProgress, clock: list[float]) -> None:
    assert (progress.done, progress.total, _left(progress)) == (2, 12, None)
    clock[0] = 100.0  # loading a model is no measure of turns
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    assert _left(progress) is None
    clock[0] = 110.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    assert (progress.done, _left(progress)) == (3, 90.0)


def test_skipped_turns_are_not_waited_for(progress: TimedProgress, clock: list[float]) -> None:
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    clock[0] = 10.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    progress.tell(ConversationSkipped(WHERE, 2))
    assert (progress.done, progress.total, _left(progress)) == (3, 12, 70.0)


def test_conversations_are_counted_where_nobody_knows_the_turns() -> None:
    now = 0.0
    begun = TimedProgress(lambda: now)
    infos = tuple(ConversationInfo(name, turns, 0) for name, turns in (("a", 0), ("b", 3), ("c", 0)))
    begun.tell(RunStarted("abcde", "runs.sqlite", (ArmInfo("m"),), infos, 2, 5, 2))
    assert (begun.unit, begun.done, begun.total) == ("conversations", 2, 6)
    begun.tell(TurnStarted(Where(0, "c"), 0, (), (), ""))
    begun.tell(TurnFinished(Where(0, "c"), 0, {}, Speed()))
    assert (begun.done, _left(begun)) == (2, None)
    now = 10.0
    begun.tell(ConversationFinished(Where(0, "c"), {}, {}, Speed()))
    assert (begun.done, _left(begun)) == (3, 30.0)
    begun.tell(ConversationSkipped(Where(0, "a", 1), 0))
    assert _left(begun) == 20.0


def told(tokens: list[list[int]], seconds: list[list[float]]) -> list[tuple[float, Remaining]]:
    """A run of one turn in each conversation: (what was really left, what was said) after each turn."""
    now = 0.0
    progress = TimedProgress(lambda: now)
    names = [f"talk{number}" for number in range(len(tokens[0]))]
    infos = tuple(ConversationInfo(name, 1, 1) for name in names)
    progress.tell(
        RunStarted("abcde", "runs.sqlite", tuple(ArmInfo(str(n)) for n in range(len(tokens))), infos)
    )
    total = sum(map(sum, seconds))
    found = []
    for arm, row in enumerate(tokens):
        progress.tell(ArmStarted(arm))
        made = 0
        for name, count, took in zip(names, row, seconds[arm], strict=True):
            progress.tell(TurnStarted(Where(arm, name), 1, (), (), ""))
            now += took
            made += count
            speed = Speed(completion_tokens=made, decode_s=1.0)
            progress.tell(TurnFinished(Where(arm, name), 1, {}, speed))
            assert progress.remaining is not None
            found.append((total - now, progress.remaining))
    return found


def test_what_later_arms_take_is_told_by_the_tokens_of_the_first() -> None:
    tokens = [[10, 10, 10, 200, 200], [10, 10, 10, 200, 200]]
    seconds = [[1.0, 1, 1, 20, 20], [2.0, 2, 2, 40, 40]]
    second = told(tokens, seconds)[5:]
    for left, said in second:
        assert said.seconds == pytest.approx(left)


def test_the_interval_holds_what_is_left_nearly_always() -> None:
    draw = random.Random(1)
    inside = counted = 0
    for _ in range(30):
        tokens = [draw.randint(20, 120) for _ in range(40)]
        seconds = [count * draw.uniform(0.9, 1.1) / 40 for count in tokens]
        for left, said in told([tokens], [seconds])[7:-1]:
            counted += 1
            inside += said.low <= left <= said.high
            assert said.low <= said.seconds <= said.high
    assert inside / counted > 0.9


def test_it_counts_down_within_a_turn_and_no_further_than_the_turns_after_it(
    progress: TimedProgress, clock: list[float]
) -> None:
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    clock[0] = 10.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    assert _left(progress) == 90.0
    clock[0] = 14.0
    assert _left(progress) == 86.0
    clock[0] = 20.0
    assert _left(progress) == 80.0


def test_a_turn_that_takes_longer_than_others_says_that_others_will(
    progress: TimedProgress, clock: list[float]
) -> None:
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    clock[0] = 10.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    clock[0] = 100.0
    assert _left(progress) == pytest.approx(50.0 * 8)


def test_one_turn_gives_no_interval(progress: TimedProgress, clock: list[float]) -> None:
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    clock[0] = 10.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    assert progress.remaining == Remaining.exactly(90.0)


def test_between_two_arms_it_stands_still(progress: TimedProgress, clock: list[float]) -> None:
    progress.tell(TurnStarted(WHERE, 1, (), (), ""))
    clock[0] = 10.0
    progress.tell(TurnFinished(WHERE, 1, {}, Speed()))
    progress.tell(ArmStarted(1))
    clock[0] = 500.0
    assert _left(progress) == 90.0
