"""A user without a language model, who says what the user of the true conversation said.

The next line is said next, no matter what the assistant did. If the assistant asks for something that was not
asked for in the true conversation, the user answers if it is in the script, says yes to a question that needs
no more, and tells the assistant once to go on without it. Nothing is random.
"""

from collections.abc import Iterable, Sequence

from rig.calls import Json
from rig.methods.autode.players import questions, scripted_user
from rig.methods.autode.players.questions import Alike
from rig.methods.autode.players.scripted_user import as_text
from rig.methods.dynamic.script import DONE, Known, LiveTask, UserLine, knowledge, lines
from rig.tooltalk import TOOLTALK

RULES = "1"
"""Version of the rules; to be raised with any change that can change what is said."""

GO_ON = "I don't know. Please do it without."


class LiveUser(scripted_user.ScriptedUser):
    """Plays the user of conversations, looked up by the request's key."""

    rules = f"dynamic {RULES}"

    def __init__(self, tasks: Iterable[LiveTask]) -> None:
        super().__init__(tasks)
        self.toolbox = TOOLTALK
        """The tools that the assistant has; a run's setup says which."""

    def answer(self, task: LiveTask, own: Sequence[str], heard: str, alike: Alike) -> str:
        true_calls = list(knowledge(task.conversation, self.toolbox))
        return answer(lines(task.conversation), true_calls, own, heard, alike)


def answer(
    script: Sequence[UserLine], true_calls: Sequence[Known], own: Sequence[str], heard: str, alike: Alike
) -> str:
    """What the user says to an assistant's words, having said `own` before."""
    spoken = 0
    for text in own:
        spoken += spoken < len(script) and script[spoken].text == text
    following = script[spoken] if spoken < len(script) else None
    if following is not None and following.question:
        return following.text
    if questions.asks(heard):
        reply = _told(true_calls, heard, alike) or GO_ON
        if reply not in own:
            return reply
    return following.text if following is not None else DONE


def _told(true_calls: Sequence[Known], heard: str, alike: Alike) -> str:
    """The values that were asked for, of the first calls that need them, else yes to a question of yes or no.

    Empty if it asks for something else.
    """
    told: dict[str, Json] = {}
    for api, values in true_calls:
        for name in questions.read(heard, api, alike).slots:
            if name in values:
                told.setdefault(name, values[name])
    parts = [f"the {questions.spoken(name)} is {as_text(value)}" for name, value in told.items()]
    if text := ", and ".join(parts):
        return f"{text[0].upper()}{text[1:]}."
    return "Yes, please." if any(questions.read(heard, api).is_closed for api, _ in true_calls) else ""
