"""ToolTalk's conversations as tasks whose turns are not known in advance, and a user without a model.

The user says what the true conversation's user said, in order, no matter what the assistant does. If the
assistant asks for something that was not asked for there, the user answers if it is in the script, says yes
to a yes-or-no question, and otherwise tells the assistant once to go on without it. Nothing is random.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rig.core.calls import CallPlace, ExecutedCall, Json, JsonObject
from rig.core.tasks import ExpectedTurn, Task
from rig.plugins.autode import questions
from rig.plugins.autode.questions import Alike
from rig.plugins.autode.scenarios import ApiDocument, Kind, Parameter
from rig.plugins.autode.scripted_user import ScriptedUser, as_text
from rig.plugins.autode.talk import DONE
from rig.plugins.matching.seen import Seen
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.scoring import name_truths
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class LiveTask(Task):
    """A true conversation that is played live, so that nobody knows in advance how long it will be.

    Turn n is expected to be its n-th true turn.
    """

    conversation: Conversation

    @property
    def name(self) -> str:
        return self.conversation.name

    @property
    def suite(self) -> str:
        return self.conversation.suite

    @property
    def source(self) -> JsonObject:
        return self.conversation.source

    @property
    def ground_truth_count(self) -> int:
        return self.conversation.ground_truth_count

    @property
    def facts(self) -> Mapping[str, str]:
        return self.conversation.facts

    def expected(self, turn: int) -> ExpectedTurn:
        """Return the true turn of this number. The user's words are only known in advance for the first."""
        positions = self.conversation.known_turns
        if turn >= len(positions):
            return ExpectedTurn()
        true = self.conversation.expected(positions[turn])
        return true if not turn else true._replace(said=())

    def truths(self, toolbox: Toolbox) -> list[tuple[CallPlace, ExecutedCall]]:
        """Return the true calls by (turn, call), each with the user who was logged in."""
        numbers = {position: turn for turn, position in enumerate(self.conversation.known_turns)}
        named = name_truths(self.conversation, toolbox)
        return [(CallPlace(numbers[index], number), call) for (index, number), call in named]


class UserLine(NamedTuple):
    """A line of the user's. `question` is the question that it answers, empty if there is none."""

    text: str
    question: str = ""


class Known(NamedTuple):
    """A true call: its tool as a document, to read questions against, and the arguments the user knows."""

    api: ApiDocument
    values: dict[str, Json]


def lines(conversation: Conversation) -> tuple[UserLine, ...]:
    """Return what the user says before each assistant turn, in order, without words after the last."""
    script: list[UserLine] = []
    question = ""
    for index in conversation.known_turns:
        expected = conversation.expected(index)
        script.append(UserLine(" ".join(expected.said), question))
        is_question = not expected.calls and expected.reply.rstrip().endswith("?")
        question = expected.reply if is_question else ""
    return tuple(script)


def script(conversation: Conversation) -> str:
    """Return the script as text: who the user is, and what they say."""
    user, metadata = conversation.user, conversation.metadata
    facts = {
        "You": user.name or user.username,
        "Username": user.username,
        "Email": user.email,
        "Phone": user.phone,
        "Password": user.password,
        "Place": metadata.location,
        "Time": metadata.timestamp,
    }
    told = [f"{name}: {value}" for name, value in facts.items() if value]
    numbered = [
        f"{number}. {line.text}" + (f"  (the answer to: {line.question})" if line.question else "")
        for number, line in enumerate(lines(conversation), start=1)
    ]
    return "\n".join([*told, "What you say, in this order:", *numbered])


@cache
def document(toolbox: Toolbox, name: str) -> ApiDocument:
    """Return a tool as a document, used to tell which of its parameters a question asks for."""
    tool = toolbox.tools[name]
    parameters = []
    for parameter, schema in tool.parameters["properties"].items():
        kind: Kind = "boolean" if schema.get("type") == "boolean" else "string"
        choices = tuple(map(str, schema.get("enum", ())))
        parameters.append(Parameter(parameter, str(schema.get("description", "")), kind, choices))
    return ApiDocument(name, tool.description, tuple(parameters))


def knowledge(conversation: Conversation, toolbox: Toolbox) -> Iterator[Known]:
    """Yield what the user knows of each true call: argument values found in their words or account."""
    seen = Seen(*conversation.metadata.facts)
    user = conversation.user
    for own in (user.username, user.email, user.phone, user.name, user.password):
        seen.say(own or "")
    for line in lines(conversation):
        seen.say(line.text)
    for call in conversation.ground_truth:
        tool = toolbox.tools[call.name]
        values = {
            name: value
            for name, value in (call.arguments if isinstance(call.arguments, dict) else {}).items()
            if name not in tool.injected and value is not None and seen.speaks_for(tool, name, value)
        }
        yield Known(document(toolbox, call.name), values)


RULES = "1"
"""Version of the rules; raise it with any change that can change what the user says."""

GO_ON = "I don't know. Please do it without."


class LiveUser(ScriptedUser):
    """A scripted user of conversations, which are looked up by the request's key."""

    rules = f"dynamic {RULES}"
    toolbox = TOOLTALK
    """The assistant's tools; a run's setup replaces them."""

    def answer(self, task: LiveTask, own: Sequence[str], heard: str, alike: Alike) -> str:
        true_calls = list(knowledge(task.conversation, self.toolbox))
        return answer(lines(task.conversation), true_calls, own, heard, alike)


def answer(
    script: Sequence[UserLine], true_calls: Sequence[Known], own: Sequence[str], heard: str, alike: Alike
) -> str:
    """Return the user's answer to the assistant's words; `own` is what the user has said before."""
    spoken = 0
    for text in own:
        spoken += spoken < len(script) and script[spoken].text == text
    following = script[spoken] if spoken < len(script) else UserLine(DONE)
    if not following.question and questions.asks(heard):
        reply = _told(true_calls, heard, alike) or GO_ON
        if reply not in own:
            return reply
    return following.text


def _told(true_calls: Sequence[Known], heard: str, alike: Alike) -> str:
    """Return a sentence with the values asked for, each from the first call that has it, or "Yes, please."

    The latter answers a yes-or-no question. Returns "" if the question asks for something else.
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
