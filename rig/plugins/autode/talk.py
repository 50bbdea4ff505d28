"""The prompts of both roles, the reading of an assistant's words, and the course and end of a talk.

The prompts are rig's own. They keep the rules of upstream's and leave out two of their faults: a misspelt
closing tag, and a placeholder that models copy as if it were an argument.

An assistant's words are a call between tags, an unreadable call, an end, or talk, as in `fetch_assistant` of
upstream's evaluation: a call takes precedence over an end. With `compat`, the verdict is upstream's, except
for a list between the tags: there upstream crashes, and here it is a malformed call.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from rig.core.budget import parse_json
from rig.core.calls import Call, Json, JsonObject
from rig.core.errors import MACHINE, ErrorKind
from rig.core.models import Message, ReplyMessage, Request, StepKey, UserMessage
from rig.core.tasks import ASSISTANT as THE_ASSISTANT
from rig.core.tasks import PlayedTurn, Step
from rig.plugins.autode.scenarios import ASSISTANT, USER, Required, Scenario, Utterance
from rig.plugins.autode.scripted_user import FAILED

THE_USER = "user"
"""The role that talks to the assistant under evaluation."""

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
"""Whether a user answers, or the assistant gets the whole recorded conversation and makes one call."""

Form = Literal["rig", "func"]
"""Whether calls are made in the model's answer format, or written as text between tags."""


@dataclass(frozen=True, slots=True)
class AutoDeSettings:
    """How scenarios are played. With `compat` it is as upstream does, whatever `form` and `required` are."""

    mode: Mode = "dynamic"
    form: Form = "rig"
    required: Required = "fixed"
    max_rounds: int = 8
    compat: bool = False

    def __post_init__(self) -> None:
        if self.compat:
            object.__setattr__(self, "form", "func")
            object.__setattr__(self, "required", "compat")

    @property
    def fingerprint(self) -> JsonObject:
        """The settings, and a hash of every sentence that both roles read in any scenario."""
        told = json.dumps([INSTRUCTIONS, AS_TEXT, AT_ONCE, USER_INSTRUCTIONS, GREETING]).encode()
        return {"protocol": "autode", **asdict(self), "prompt_sha256": hashlib.sha256(told).hexdigest()}


def opening(scenario: Scenario, settings: AutoDeSettings, role: str) -> Request:
    """Return what every request to a role begins with in a scenario, without messages."""
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
    """Return what a user reads: who they are, what they want, and the call that would do it."""
    slots = json.dumps(dict(scenario.slots), ensure_ascii=False)
    return f"{scenario.topic}\nAPI: {scenario.call.name}\nParameters: {slots}"


def messages(utterances: Sequence[Utterance], role: str, mode: Mode) -> tuple[Message, ...]:
    """Return the conversation as a role reads it: its own words as replies, the other's as a user's.

    In a recorded conversation, the last message also asks for the call.
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


CALL = "<func>"
DONE = "[DONE]"
"""The mark of an assistant that cannot do what is asked, and of a user with nothing more to say."""

_TAGGED = re.compile(r"<func>(.*?)</func>", re.DOTALL)
_FENCE = re.compile(r"^```\w*\s*|\s*```$")


def tagged_call(text: str, *, compat: bool = False) -> Call | None:
    """Return the call between tags in an assistant's words, whatever else it says; None without a call.

    With `compat` a tag that is never closed is an empty call. Raises ValueError with the reason if the call
    cannot be read.
    """
    if CALL not in text:
        return None
    match = _TAGGED.search(text)
    if match is None and not compat:
        raise ValueError(f"{CALL} is never closed")
    raw = match.group(1).strip() if match else "{}"
    try:
        data = parse_json(raw if compat else _FENCE.sub("", raw))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError("not an object with the arguments by name")
    function = data.pop("functionName", None)
    return Call(function if isinstance(function, str) else "", usable(data, compat=compat))


def usable(slots: Mapping[str, Json], *, compat: bool = False) -> JsonObject:
    """Return the arguments that count: truth values, and texts that are neither blank nor "null".

    With `compat` numbers, nulls, lists and objects are dropped, as upstream does. Otherwise only nulls are: a
    value of another type counts as predicted, and is wrong.
    """
    return {
        name: value
        for name, value in slots.items()
        if (isinstance(value, str) and value.strip() and value.lower() != "null")
        or isinstance(value, bool)
        or not (compat or value is None or isinstance(value, str))
    }


End: TypeAlias = Literal[
    "called", "malformed", "gave_up", "round_limit", "context_full", "assistant_failed", "user_failed"
]
"""How a conversation ended; each is a count of the method's."""


_KNOWS_NOTHING = re.compile(r"(?:(?:sorry,? )?i (?:do not|don['’]t) know\b[^.!?]*[.!]?\s*)+", re.IGNORECASE)


class Talk:
    """One conversation, some turns of which may have been `played` before. `said` leaves out the call; `end`
    is None while the conversation goes on.
    """

    def __init__(
        self, scenario: Scenario, settings: AutoDeSettings, played: Iterable[PlayedTurn] = ()
    ) -> None:
        is_static = settings.mode == "static"
        self.said: list[Utterance] = list(scenario.history if is_static else scenario.history[:1])
        self.end: End | None = None
        self.call: Call | None = None
        self._left = 1 if is_static else settings.max_rounds
        self._first = len(self.said)
        self._compat = settings.compat
        for step in (step for turn in played for step in turn.steps):
            self.add(step)

    def add(self, step: Step) -> None:
        """Take in a step: words are added to `said`, anything else ends the conversation."""
        prediction, is_user = step.prediction, step.role == THE_USER
        if prediction.reply is not None and is_user:
            if self.end in (None, "round_limit") and FAILED in prediction.reply:
                self.end = "user_failed"
            else:
                self.said.append(Utterance(USER, prediction.reply.replace(DONE, "").strip()))
        elif prediction.reply is not None:
            self.said.append(Utterance(ASSISTANT, prediction.reply.replace(DONE, "")))
            self._left -= 1
            if DONE in prediction.reply:
                self.end = "gave_up"
            elif not self._left:
                self.end = "user_failed" if self._is_user_stuck and not self._compat else "round_limit"
        elif self.end is not None:
            pass  # the user, whom nobody will answer
        elif prediction.error is ErrorKind.CONTEXT:
            self.end = "context_full"
        elif is_user:
            self.end = "user_failed"
        elif prediction.call is not None:
            self.end, self.call = "called", prediction.call
        else:
            self.end = "assistant_failed" if prediction.error in MACHINE else "malformed"

    @property
    def _is_user_stuck(self) -> bool:
        """Whether more than half of the user's answers say that they do not know.

        Upstream counts such conversations as the assistant's reluctance to call.
        """
        answers = [text for role, text in self.said[self._first :] if role == USER]
        return 2 * sum(_KNOWS_NOTHING.fullmatch(text) is not None for text in answers) > len(answers)
