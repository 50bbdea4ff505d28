"""The scripted user of a live conversation: what the true user said, and what they would have said."""

from functools import cache

import pytest

from rig.core.models import ReplyMessage, Request, StepKey, UserMessage
from rig.core.paths import CONVERSATIONS
from rig.plugins.autode.talk import DONE
from rig.plugins.dynamic.method import Dynamic
from rig.plugins.dynamic.script import (
    GO_ON,
    LiveTask,
    LiveUser,
    UserLine,
    answer,
    knowledge,
    lines,
    script,
)
from rig.plugins.dynamic.talk import as_heard
from rig.plugins.tooltalk_tools import TOOLTALK


@cache
def task(name: str = "AddAlarm-easy") -> LiveTask:
    return next(each for each in Dynamic().load(CONVERSATIONS / "easy") if each.name == name)


def never(_: str, __: str) -> float:
    return 0.0


SCRIPT = (
    UserLine("Wake me up early."),
    UserLine("Five, please.", "When?"),
    UserLine("And remind me of Ann."),
)


def say(heard: str, *own: str, name: str = "AddAlarm-easy") -> str:
    known = list(knowledge(task(name).conversation, TOOLTALK))
    return answer(SCRIPT, known, [SCRIPT[0].text, *own], heard, never)


def test_an_expected_question_gets_the_true_answer_and_so_does_a_statement() -> None:
    assert say("At what time?") == "Five, please."
    assert say("I have set it.") == "Five, please."


def test_what_is_done_leads_to_the_next_wish_and_then_to_the_end() -> None:
    assert say("Done.", "Five, please.") == "And remind me of Ann."
    assert say("Done.", "Five, please.", "And remind me of Ann.") == DONE
    assert say("Is there anything else?", "Five, please.", "And remind me of Ann.") == DONE


def test_another_question_gets_what_the_script_has_and_once() -> None:
    told = say("At what time should the alarm ring?", "Five, please.")
    assert told.startswith("The time is ")
    assert say("At what time should the alarm ring?", "Five, please.", told) == "And remind me of Ann."


def test_what_is_not_known_is_left_to_the_assistant_once() -> None:
    assert say("Which melody would you like?", "Five, please.") == GO_ON
    assert say("Which melody would you like?", "Five, please.", GO_ON) == "And remind me of Ann."
    assert say("Shall I go ahead?", "Five, please.") == "Yes, please."


def test_a_user_knows_no_ids() -> None:
    known = list(knowledge(task("DeleteAlarm-easy").conversation, TOOLTALK))
    assert all("alarm_id" not in each.values for each in known)


def test_the_script_has_who_they_are_and_what_they_say_in_order() -> None:
    conversation = task().conversation
    text = script(conversation)
    assert f"Username: {conversation.user.username}" in text
    said = [line.text for line in lines(conversation)]
    assert len(said) == len(conversation.known_turns)
    places = [text.index(each) for each in said]
    assert places == sorted(places)


@pytest.mark.parametrize("times", range(2))
def test_the_same_words_get_the_same_answer(times: int) -> None:
    user = LiveUser([task()])
    said = (UserMessage(lines(task().conversation)[0].text), ReplyMessage("Which device do you mean?"))
    request = Request(StepKey(task().name, 1, 0), "", (), "", as_heard(said))
    answers = {user.predict(request, lambda _: None).raw for _ in range(2)}
    assert len(answers) == 1
    assert user.fingerprint["rules"] == "dynamic 1"
