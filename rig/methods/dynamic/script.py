"""ToolTalk's conversations as tasks whose turns are not known in advance, and what their user wants.

A user wants what they said, in order, and knows what they said and who they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rig.calls import CallPlace, ExecutedCall, Json, JsonObject
from rig.methods.autode.data.documents import ApiDocument, Parameter
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.scoring.callers import name_truths
from rig.methods.tooltalk.scoring.evidence import Seen
from rig.tasks import ExpectedTurn, Task
from rig.toolbox.toolbox import Toolbox

DONE = "[DONE]"
"""What a user ends a conversation with."""


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
    parameters = (
        Parameter(
            parameter,
            str(schema.get("description", "")),
            "boolean" if schema.get("type") == "boolean" else "string",
            tuple(map(str, schema.get("enum", ()))),
        )
        for parameter, schema in tool.parameters["properties"].items()
    )
    return ApiDocument(name, tool.description, tuple(parameters))


def knowledge(conversation: Conversation, toolbox: Toolbox) -> Iterator[Known]:
    """What the user knows of each true call: values that their words, or who they are, speak for."""
    seen = Seen(conversation.metadata)
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
