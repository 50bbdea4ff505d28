"""The scripted user, and the oracle."""

from collections.abc import Iterator

import pytest
from small_scenarios import Heard, scenario

from rig.core.models import Prediction
from rig.methods.scripted import Oracle, replied
from rig.plugins.autode.scripted_user import (
    FAILED,
    ScriptedUser,
    answer,
    hearing,
    missing,
    similarity,
    true_step,
)
from rig.plugins.autode.talk import AutoDeSettings

TASK = scenario({"deviceType": "tablet", "room": "hall", "startTime": "at dusk", "dimmed": True})
PUSH = "Can you do that for me, please?"


@pytest.fixture(autouse=True)
def no_encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for cached in (similarity, hearing):
        cached.cache_clear()
    monkeypatch.setattr("rig.plugins.autode.scripted_user.encoder", lambda: lambda *_: 0.0)
    monkeypatch.setattr("rig.plugins.autode.scripted_user.Hearing", lambda: None)
    yield
    for cached in (similarity, hearing):
        cached.cache_clear()


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        ("Which room?", "It's hall."),
        ("Which device, and which room?", "The device type is tablet and the room is hall."),
        ("Should it be dimmed?", "Yes, please."),
        ("Which colour?", "I don't know the colour."),
        ("Which room and which colour?", "It's hall. I don't know the colour."),
        ("I need more information.", "The device type is tablet and the start time is at dusk."),
        ("Is that correct?", "Yes, please."),
        ("What is your shoe size?", "Sorry, I don't know that."),
        ("You can find the switch on the wall.", PUSH),
    ],
)
def test_the_user_says_what_was_asked_for_and_no_more(heard: str, said: str) -> None:
    assert answer(TASK, ["Light in the hall, please."], heard, lambda *_: 0.0) == said


def test_the_user_asks_once_and_then_ends_it() -> None:
    heard = Heard(TASK, [replied("Use the switch.")] * 3, [replied(PUSH)])
    heard.turn()
    heard.turn()
    assert answer(TASK, [PUSH], "Use the switch.", lambda *_: 0.0) == FAILED
    user = ScriptedUser([TASK])
    playing = heard.episode.play()
    assert user.predict(next(playing).request, lambda _: None).reply == FAILED


def test_long_values_are_sentences_of_their_own() -> None:
    task = scenario({"room": "The one at the end of the long corridor."})
    assert answer(task, [], "Which room?", lambda *_: 0.0) == "The one at the end of the long corridor."


def test_missing_are_the_values_that_nobody_said() -> None:
    assert missing(TASK, ["On my tablet", "at dusk!"]) == ["room", "dimmed"]


@pytest.mark.parametrize(
    "settings", [AutoDeSettings(), AutoDeSettings(compat=True), AutoDeSettings(form="func")]
)
def test_the_oracle_asks_for_what_is_missing_and_then_calls(settings: AutoDeSettings) -> None:
    oracle, user = Oracle([TASK], true_step), ScriptedUser([TASK])
    heard = Heard(TASK, [], settings=settings)
    predicted: list[Prediction] = []
    while heard.episode.next_turn is not None:
        playing = heard.episode.play()
        ask = next(playing)
        while True:
            model = user if ask.role == "user" else oracle
            predicted.append(model.predict(ask.request, lambda _: None))
            try:
                ask = playing.send(predicted[-1])
            except StopIteration:
                break
    assert [each.text for each in heard.said[1:]] == [
        "Could you tell me the device type and the room?",
        "The device type is tablet and the room is hall.",
        "Could you tell me the start time and the dimmed?",
        "The start time is at dusk and the dimmed is yes.",
    ]
    counts = heard.counts
    assert (counts["successes"], counts["f1"], counts["redundant_questions"]) == (1, 1, 0)
