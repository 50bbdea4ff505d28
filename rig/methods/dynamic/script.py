"""What the user of a true conversation wants: what they said, in order, and what they know."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from rig.calls import Json
from rig.methods.autode.data.documents import ApiDocument, Parameter
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.scoring.evidence import Seen
from rig.toolbox.toolbox import Toolbox

DONE = "[DONE]"
"""What a user ends a conversation with."""


class Line(NamedTuple):
    """Something that the user says. `question` is what they were asked before, empty if they were not."""

    text: str
    question: str = ""


class Known(NamedTuple):
    """A true call: its tool as a document, to read questions against, and the arguments the user knows."""

    api: ApiDocument
    values: dict[str, Json]


def lines(conversation: Conversation) -> tuple[Line, ...]:
    """What the user says before each assistant turn, in order. Later words expect no answer."""
    script: list[Line] = []
    question = ""
    for index in conversation.assistant_turns:
        expected = conversation.expected(index)
        script.append(Line(" ".join(expected.said), question))
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
