"""What a stored run tells is what its runner told."""

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import small_talks
from hypothesis import given
from hypothesis import strategies as st

from rig.core.events import (
    ArmFinished,
    ArmReady,
    ArmStarted,
    CallJudged,
    ConversationFinished,
    Event,
    Notice,
    PieceGenerated,
    PredictionMade,
    RunFinished,
    RunStarted,
    Speed,
    TurnFinished,
    Where,
)
from rig.core.meters import Costs
from rig.core.models import Model, Prediction, Usage
from rig.core.tasks import PlayedTurn, Step
from rig.methods.scripted import Scripted
from rig.plugins.replay.moments import Moment, turn_moments
from rig.plugins.replay.player import Player


def moments_of(played: PlayedTurn) -> list[Moment]:
    [talk, *_] = small_talks.conversations()
    return list(turn_moments(Where(0, talk.name), talk, played))


def replayed(store: Path, **choices: object) -> list[Event]:
    events: list[Event] = []
    Player(store, "abcde", speed=math.inf, **choices).play(events.append)  # type: ignore[arg-type]
    return events


def essence(events: list[Event]) -> list[Event]:
    """Events without pieces, and without what the store has otherwise than the runner tells it.

    Seconds spent storing and displaying, memory and energy are known for the whole arm only, a later turn can
    move the ground truth that an earlier call holds, and text that is no Unicode is stored escaped.
    """
    found: list[Event] = []
    for event in events:
        match event:
            case PieceGenerated() | Notice():
                continue
            case TurnFinished():
                event = replace(event, speed=_without_costs(event.speed))
            case ConversationFinished() | ArmFinished():
                event = replace(event, speed=_without_costs(event.speed))
            case CallJudged(verdict=verdict):
                event = replace(event, verdict=replace(verdict, ground_truth=None, reason=""), rejudged=())
            case PredictionMade(prediction=prediction):
                event = replace(event, prediction=_storable(prediction))
            case RunStarted():
                event = replace(event, arms=())
            case _:
                pass
        found.append(event)
    return found


def _without_costs(speed: Speed) -> Speed:
    # Sums of seconds may differ in their last digit, by the order in which they are added up.
    seconds = ("prefill_s", "decode_s", "tools_s", "scoring_s")
    rounded = {name: round(getattr(speed, name), 9) for name in seconds}
    return replace(speed, store_s=0.0, wall_s=0.0, **rounded, **asdict(Costs()))


def _storable(prediction: Prediction) -> Prediction:
    def escaped(text: str) -> str:
        return text.encode("utf-8", "backslashreplace").decode()

    return replace(
        prediction,
        raw=escaped(prediction.raw),
        reply=None if prediction.reply is None else escaped(prediction.reply),
        error_detail=escaped(prediction.error_detail),
    )


def _erratic() -> Model:
    return Scripted(small_talks.erratic)


@pytest.mark.parametrize(
    "models",
    [
        (small_talks.oracle,),
        (_erratic,),
        (small_talks.oracle, _erratic),
        (small_talks.unloadable, _erratic),
        (_erratic, small_talks.unloadable, small_talks.oracle),
    ],
)
@pytest.mark.parametrize("repeats", [1, 2])
def test_a_replay_is_the_run_again(
    tmp_path: Path, models: tuple[Callable[..., Any], ...], repeats: int
) -> None:
    path = tmp_path / "runs.sqlite"
    loaders = [each if each is small_talks.unloadable else each() for each in models]
    happened = small_talks.play(small_talks.plan(path, *loaders, repeats=repeats))
    assert essence(replayed(path)) == essence(happened)


def test_from_its_end_a_run_is_known_and_not_told(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    happened = small_talks.play(small_talks.plan(path, _erratic()))
    player = Player(path, "abcde", at_end=True)
    events: list[Event] = []
    player.play(events.append)
    kinds = [type(event) for event in events]
    assert kinds == [RunStarted, ArmStarted, ArmReady, ArmFinished, RunFinished]
    assert [cell.conversation for cell in player.earlier] == [one.name for one in small_talks.conversations()]
    assert isinstance(events[0], RunStarted)
    assert events[0].finished_turns == player.stored.turns == player.stored.turns_done
    assert essence(events)[-2:] == essence(happened)[-2:]


@st.composite
def predictions(draw: st.DrawFn) -> Prediction:
    tokens = draw(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12))
    raw = draw(st.text(min_size=sum(chars for chars, _ in tokens), max_size=40))
    exact = draw(st.booleans())
    return Prediction(
        raw=raw,
        reply=raw,
        usage=Usage(
            completion_tokens=len(tokens), prefill_s=draw(st.floats(0, 9)), decode_s=draw(st.floats(0, 9))
        ),
        token_chars=tuple(chars for chars, _ in tokens) if exact else (),
        token_forced=tuple(forced for _, forced in tokens) if exact else (),
    )


@given(predictions())
def test_pieces_are_the_beginning_of_the_text_and_take_the_time_it_took(prediction: Prediction) -> None:
    usage = prediction.usage
    wall_s = usage.prefill_s + usage.decode_s + 1
    moments = moments_of(PlayedTurn(1, (Step(prediction),), wall_s))
    pieces = [moment.event for moment in moments if isinstance(moment.event, PieceGenerated)]
    assert prediction.raw.startswith("".join(piece.text for piece in pieces))
    assert sum(piece.tokens for piece in pieces) == usage.completion_tokens
    if not prediction.token_chars:
        assert "".join(piece.text for piece in pieces) == prediction.raw
    if usage.completion_tokens and not all(prediction.token_forced or [False]):
        waited = sum(moment.after_s for moment in moments)
        assert waited == pytest.approx(usage.prefill_s + usage.decode_s)
    assert isinstance(moments[-1].event, PredictionMade)


def test_forced_tokens_come_with_the_one_before_them() -> None:
    prediction = Prediction(
        raw='{"a": 1}',
        reply="x",
        usage=Usage(completion_tokens=5, prefill_s=2.0, decode_s=4.0),
        token_chars=(2, 2, 1, 2, 1),
        token_forced=(True, False, True, True, False),
    )
    told = [
        (moment.after_s, event.text, event.tokens, event.forced)
        for moment in moments_of(PlayedTurn(1, (Step(prediction),)))
        if isinstance(event := moment.event, PieceGenerated)
    ]
    assert told == [
        (0, "", 0, False),
        (2.0, '{"', 1, True),
        (2.0, 'a"', 1, False),
        (0.0, ": 1"[:3], 2, True),
        (2.0, "}", 1, False),
    ]


@pytest.mark.parametrize("wall_s", [0.01, 1.0, 60.0])
def test_the_moments_of_a_turn_take_the_time_of_the_turn(tmp_path: Path, wall_s: float) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE turns SET wall_s = ?", [wall_s])
    waits: list[float] = []

    class Told(Player):
        def sleep(self, seconds: float) -> None:
            waits.append(seconds)

    player = Told(path, "abcde")
    player.play(lambda event: None)
    assert sum(waits) == pytest.approx(player.position_s) == pytest.approx(8 * wall_s)
