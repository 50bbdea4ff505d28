"""Scenes that teach when to call and when not to: hints, several calls at once, words around a wish."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from benchmarks.teach import words
from benchmarks.teach.scenes import hints, several
from benchmarks.teach.scenes.mail import clause, keyword
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import things
from rig.plugins.author.draft import ToolRefusal
from rig.plugins.tooltalk.conversations import Conversation, Turn

Scene = Callable[[Talk], None]


def _played(scene: Scene, count: int = 40) -> list[Conversation]:
    made = []
    for seed in range(count):
        random = Random(f"{scene.__name__} {seed}")
        talk = Talk(random, things(random), logged_in=True)
        try:
            scene(talk)
        except (IndexError, ToolRefusal):
            continue
        made.append(talk.conversation("scene"))
    assert len(made) > count / 2
    return made


def _answers(made: Conversation) -> list[Turn]:
    return [turn for turn in made.turns if turn.role == "assistant"]


@pytest.mark.parametrize("scene", [scene for scene, _ in hints.SCENES])
def test_a_hint_is_answered_with_an_offer_and_a_no_with_nothing(scene: Scene) -> None:
    played = [_answers(each) for each in _played(scene)]
    assert all(not offer.calls and "?" in offer.text for offer, _ in played)
    declined = [done for _, done in played if not done.calls]
    assert 0 < len(declined) < len(played) / 2
    assert all(len(done.calls) <= 1 for _, done in played)


@pytest.mark.parametrize(
    ("scene", "tool"),
    [
        (several.alarms, "AddAlarm"),
        (several.reminders, "AddReminder"),
        (several.no_alarms, "DeleteAlarm"),
        (several.all_done, "Reminder"),
    ],
)
def test_one_wish_can_take_several_calls_each_with_a_value_of_its_own(scene: Scene, tool: str) -> None:
    lasts = [_answers(each)[-1].calls for each in _played(scene)]
    assert sum(len(calls) > 1 for calls in lasts) > len(lasts) / 3
    for calls in lasts:
        ours = [call for call in calls if tool in call.name and not call.name.startswith("Get")]
        assert len({str(call.arguments) for call in ours}) == len(ours) > 0


@pytest.mark.parametrize(
    ("message", "told", "word"),
    [
        ("I'll bring the ladder tomorrow.", "that they'll bring the ladder tomorrow", "ladder"),
        ("Please fetch my umbrella.", "asking me to fetch my umbrella", "umbrella"),
        ("Can you come on Friday?", "asking whether i can come on Friday", "come"),
        ("The keys are at my place.", "that the keys are at their place", "place"),
        ("Ada has the drill.", "that Ada has the drill", "drill"),
    ],
)
def test_what_somebody_wrote_is_told_of_them_and_found_by_a_word_of_it(
    message: str, told: str, word: str
) -> None:
    assert clause(message) == told
    assert keyword(message) == word
    assert word in told.lower()


def test_words_around_a_wish_never_stand_behind_a_value() -> None:
    """What is behind a text to be sent, or a time, would seem part of it."""
    random = Random(1)
    talk = Talk(random, things(random), logged_in=True)
    for _ in range(200):
        assert talk._talked_round("tell ada that dinner is ready", ["that dinner is ready"]).endswith(
            " ready"
        )
    asked = {talk._talked_round("which alarms are on?", []) for _ in range(200)}
    assert any(not text.endswith("?") for text in asked)
    assert all("which alarms are on?" in text for text in asked)
    assert len(asked) > 60


def test_every_way_to_ask_is_a_pattern_and_used_in_a_scene() -> None:
    scenes = "".join(path.read_text() for path in Path(hints.__file__).parent.glob("*.py"))
    for ways, lines in words.PHRASES.items():
        assert f'"{ways}"' in scenes
        assert len(set(lines)) == len(lines) >= 6, ways
        assert all(line.strip() == line != "" for line in lines), ways
        assert all(line.count("[") == line.count("]") for line in lines), ways
        fields = [set(re.findall(r"\{(\w+)\}", line)) for line in lines]
        assert set.union(*fields) <= set(re.findall(r"(\w+)=", scenes)), ways
