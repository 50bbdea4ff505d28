"""ToolTalk's conversations as tasks whose turns are not known in advance, and a user without a model.

The user says what the one of the true conversation said, in order, no matter what the assistant did. If the
assistant asks for something that was not asked for there, the user answers if it is in the script, says yes
to a question that needs no more, and tells the assistant once to go on without it. Nothing is random.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rig.calls import CallPlace, ExecutedCall, Json, JsonObject
from rig.methods.autode import questions
from rig.methods.autode.questions import Alike
from rig.methods.autode.scenarios import ApiDocument, Kind, Parameter
from rig.methods.autode.scripted_user import ScriptedUser, as_text
from rig.methods.autode.talk import DONE
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.scoring import name_truths
from rig.scoring.seen import Seen
from rig.tasks import ExpectedTurn, Task
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk import TOOLTALK


@dataclass(frozen=True, slots=True)
class LiveTask(Task):
    """A true conversation that is to be played live: nobody knows in advance how long the two will talk.

    Its n-th true turn is what is expected in turn n.
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
        """The true turn of this number; what the user says is known beforehand of the first alone."""
        positions = self.conversation.known_turns
        if turn >= len(positions):
            return ExpectedTurn()
        true = self.conversation.expected(positions[turn])
        return true if not turn else true._replace(said=())

    def truths(self, toolbox: Toolbox) -> list[tuple[CallPlace, ExecutedCall]]:
        """The true calls by (turn, call), each with who was logged in."""
        numbers = {position: turn for turn, position in enumerate(self.conversation.known_turns)}
        named = name_truths(self.conversation, toolbox)
        return [(CallPlace(numbers[index], number), call) for (index, number), call in named]


class UserLine(NamedTuple):
    """Something that the user says. `question` is what they were asked before, empty if they were not."""

    text: str
    question: str = ""


class Known(NamedTuple):
    """A true call: its tool as a document, to read questions against, and the arguments the user knows."""

    api: ApiDocument
    values: dict[str, Json]


def lines(conversation: Conversation) -> tuple[UserLine, ...]:
    """What the user says before each assistant turn, in order. Later words expect no answer."""
    script: list[UserLine] = []
    question = ""
    for index in conversation.known_turns:
        expected = conversation.expected(index)
        script.append(UserLine(" ".join(expected.said), question))
        is_question = not expected.calls and expected.reply.rstrip().endswith("?")
        question = expected.reply if is_question else ""
    return tuple(script)


def script(conversation: Conversation) -> str:
    """The script as text: who the user is, and what they say."""
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
    """A tool as a document, for reading which of its parameters a question asks for."""
    tool = toolbox.tools[name]
    parameters = []
    for parameter, schema in tool.parameters["properties"].items():
        kind: Kind = "boolean" if schema.get("type") == "boolean" else "string"
        choices = tuple(map(str, schema.get("enum", ())))
        parameters.append(Parameter(parameter, str(schema.get("description", "")), kind, choices))
    return ApiDocument(name, tool.description, tuple(parameters))


def knowledge(conversation: Conversation, toolbox: Toolbox) -> Iterator[Known]:
    """What the user knows of each true call: values that their words, or who they are, speak for."""
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
"""Version of the rules; to be raised with any change that can change what is said."""

GO_ON = "I don't know. Please do it without."


class LiveUser(ScriptedUser):
    """Plays the user of conversations, looked up by the request's key."""

    rules = f"dynamic {RULES}"
    toolbox = TOOLTALK
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
    following = script[spoken] if spoken < len(script) else UserLine(DONE)
    if not following.question and questions.asks(heard):
        reply = _told(true_calls, heard, alike) or GO_ON
        if reply not in own:
            return reply
    return following.text


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
