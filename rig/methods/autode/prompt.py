"""What the two read before they talk, and the settings of a run.

The words are rig's own. They keep the rules of upstream's prompts and leave out two of their faults: a
misspelt closing tag, and a placeholder that models copy as if it were an argument.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from rig.calls import JsonObject
from rig.errors import RigError
from rig.methods.autode.data.documents import Required
from rig.methods.autode.data.scenarios import ASSISTANT, Scenario, Utterance
from rig.models import Message, ReplyMessage, Request, StepKey, UserMessage
from rig.tasks import ASSISTANT as THE_ASSISTANT

THE_USER = "user"
"""The role that talks to the one that is evaluated."""

INSTRUCTIONS = """\
You are Bob, a voice assistant. You do what the user asks for by calling an API.
If the user has not said what a required parameter needs, ask for it: briefly, in simple spoken words, for
one or two things at a time. You, and not the user, call the API. Call it once you know all required
parameters, and at least one of the others where the description says so.
Never invent a value that the user has not said. Where a parameter has choices, take one of them.
If no API can do what the user wants, say why and end with [DONE]."""

AS_TEXT = """\
To call, write nothing but the function's name and its arguments as JSON between tags. If a function
SetAlarm with the parameters time and label were yours, a call could be:
<func>{"functionName": "SetAlarm", "time": "7 AM", "label": "swimming"}</func>
What you can call is between the tags doc. "requiredParameters" lists what a call must have; of a parameter
with "enum" the value is one of those."""

SUBMIT = "SUBMIT API"
AT_ONCE = f"""\
When the user writes {SUBMIT}, everything has been said: ask nothing, and call now with what you know."""

USER_INSTRUCTIONS = """\
You are a person who talks to Bob, a voice assistant. Each message you read is from Bob; answer as the user.
Talk as people do: in one short and simple sentence. When Bob asks for something, tell just that, in the
exact words of the parameters below. If it is not there, say that you do not know it. Never act as Bob, and
never offer help. If Bob has everything and only tells you how to do it, ask Bob once to do it. If that does
not help, write [fail].
This is who you are and what you want:"""

GREETING = "Now let's start the chat."

Mode = Literal["dynamic", "static"]
"""Whether a user answers, or the assistant gets the whole recorded conversation, for one call."""

Form = Literal["rig", "func"]
"""Whether calls are made in the model's answer format, or written as text between tags."""


@dataclass(frozen=True, slots=True)
class AutoDeSettings:
    """How scenarios are played. With `compat`, as upstream does, and `form` and `required` do not count."""

    mode: Mode = "dynamic"
    form: Form = "rig"
    required: Required = "fixed"
    max_rounds: int = 8
    compat: bool = False

    def __post_init__(self) -> None:
        choices = {"mode": Mode, "form": Form, "required": Required}
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in get_args(allowed):
                raise RigError(f"--set {name}={value}: choose from: {', '.join(get_args(allowed))}")
        if self.max_rounds < 1:
            raise RigError("--set max_rounds must be at least 1")
        if self.compat:
            object.__setattr__(self, "form", "func")
            object.__setattr__(self, "required", "compat")

    @property
    def fingerprint(self) -> JsonObject:
        """The settings, and a hash of every sentence that the two read in any scenario."""
        told = json.dumps([INSTRUCTIONS, AS_TEXT, AT_ONCE, USER_INSTRUCTIONS, GREETING]).encode()
        return {"protocol": "autode", **asdict(self), "prompt_sha256": hashlib.sha256(told).hexdigest()}


def opening(scenario: Scenario, settings: AutoDeSettings, role: str) -> Request:
    """How every request to a role begins in a scenario: without messages."""
    key = StepKey(scenario.name, 0, 0)
    if role == THE_USER:
        return Request(key, USER_INSTRUCTIONS, (), script(scenario), ())
    parts = [INSTRUCTIONS, *([AT_ONCE] if settings.mode == "static" else [])]
    if settings.form == "func":
        docs = [api.flat(settings.required) for api in scenario.apis]
        listing = "\n".join(json.dumps(doc, ensure_ascii=False) for doc in docs)
        return Request(key, "\n\n".join((*parts, AS_TEXT)), (), f"<doc>\n{listing}\n</doc>", ())
    tools = tuple(api.tool(settings.required) for api in scenario.apis)
    return Request(key, "\n\n".join(parts), tools, "", (), tools_are_shared=False)


def script(scenario: Scenario) -> str:
    """What a user reads: who they are, what they want, and the call that would do it."""
    slots = json.dumps(dict(scenario.slots), ensure_ascii=False)
    return f"{scenario.topic}\nAPI: {scenario.call.name}\nParameters: {slots}"


def messages(utterances: Sequence[Utterance], role: str, mode: Mode) -> tuple[Message, ...]:
    """The conversation as a role reads it: its own words as replies, those of the other as a user's.

    A recorded one asks with its last words for the call.
    """
    is_assistant = role == THE_ASSISTANT
    texts = [text for _, text in utterances]
    if mode == "static":
        texts[-1] = f"{texts[-1]}\n\n{SUBMIT}"
    heard = (
        ReplyMessage(text) if (speaker == ASSISTANT) is is_assistant else UserMessage(text)
        for (speaker, _), text in zip(utterances, texts, strict=True)
    )
    return tuple(heard) if is_assistant else (UserMessage(GREETING), *heard)
