"""What a model reads before and during a conversation, and which tools it may call.

The output format is not described here: the engine owns the grammar and adds what it needs.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import get_args

from rig.config.options import Docs, History, Tools
from rig.core.calls import Call, ExecutedCall, JsonObject, without_token
from rig.core.errors import RigError
from rig.core.metrics import Declaration
from rig.core.models import CallMessage, Message, Prediction, Request, StepKey, ToolDoc, UserMessage
from rig.methods.base import HarderSettings
from rig.plugins.stress.dial import CALM, Presentation, Stress
from rig.plugins.tooltalk.conversations import Conversation, Metadata
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import Toolbox

INSTRUCTIONS = """\
You are an assistant with tools. At each step you either call one tool or reply to the user in words.
A call looks something up or does something for the user. You then see its result and go on.
If a value that a tool needs is missing and no tool can look it up, reply and ask the user for it.
Never invent ids, names, dates or other values: use those that the user, the tools or the facts below give.
Do only what the user asked for. When it is done, reply briefly and say what you did."""


@dataclass(frozen=True, slots=True)
class ToolTalkSettings(HarderSettings):
    """How conversations are put to a model, with the tools of the `toolbox`.

    At most `max_calls` calls are executed in a turn.
    """

    docs: Docs = "full"
    tools: Tools = "all"
    history: History = "recorded"
    max_calls: int = 10
    toolbox: Toolbox = field(default=TOOLTALK, repr=False)
    stress: Stress = CALM

    def __post_init__(self) -> None:
        for value, allowed in ((self.docs, Docs), (self.tools, Tools), (self.history, History)):
            if value not in get_args(allowed):
                raise RigError(f"{value!r} is none of {', '.join(get_args(allowed))}")
        if self.max_calls < 1:
            raise RigError("--max-calls must be at least 1")

    @property
    def calm(self) -> "ToolTalkSettings":
        """The same settings without dials."""
        return replace(self, stress=CALM)

    def declared(self, declaration: Declaration) -> Declaration:
        return self.stress.declared(declaration)

    @property
    def fingerprint(self) -> JsonObject:
        """The settings, and a hash of every sentence that a model reads in any conversation.

        A toolbox other than ToolTalk's is named, with a hash of its code and its own fingerprint.
        """
        docs = [asdict(doc) for doc in self.toolbox.docs(descriptions=self.docs == "full")]
        told = json.dumps([INSTRUCTIONS, docs]).encode()
        own = {name: getattr(self, name) for name in ("docs", "tools", "history", "max_calls")}
        parts = {"protocol": "tooltalk", **own, "prompt_sha256": hashlib.sha256(told).hexdigest()}
        parts |= self.stress.fingerprint
        if self.toolbox is TOOLTALK:
            return parts
        named = {"toolbox": self.toolbox.name, "toolbox_sha256": self.toolbox.sha256}
        return {**parts, **named, **self.toolbox.fingerprint}


def context(metadata: Metadata) -> str:
    """Return ToolTalk's three facts (place, time and who is logged in) and any notes, as text."""
    nobody = "nobody is logged in" if metadata.location is not None else None
    facts = {
        "Location": metadata.location,
        "Date and time": metadata.timestamp,
        "User": metadata.username or nobody,
    }
    told = (f"{name}: {fact}" for name, fact in facts.items() if fact is not None)
    return "\n".join((*told, *filter(None, [metadata.notes])))


def call_message(executed: ExecutedCall, predicted: Prediction | None = None) -> CallMessage:
    """Return a call as the model sees it afterwards: without the session token, which it never writes.

    `predicted` is the prediction that made the call, if the model made it itself.
    """
    call = Call(executed.name, without_token(executed.arguments))
    how = predicted or Prediction(call=call)
    return CallMessage(call, executed.outcome, how.content, how.reasoning, joins=how.part > 0)


def offered_tools(conversation: Conversation, settings: ToolTalkSettings) -> tuple[ToolDoc, ...]:
    """Return the tools a model may call. Raises RigError if the conversation's file does not name them."""
    tools = settings.toolbox.tools
    needs_none = not conversation.tools and not conversation.ground_truth
    is_one = settings.tools == "suite" and len(settings.toolbox.plugins) == 1
    names: list[str] | None = None
    # If no call is due, the model has to find that out with all tools on offer.
    if not (settings.tools == "all" or is_one or (settings.tools == "exact" and needs_none)):
        if settings.tools == "suite":
            listed, existing, key = conversation.plugins, set(settings.toolbox.plugins), "suites_used"
            names = [name for name, tool in tools.items() if tool.plugin in listed]
        else:
            listed, existing, key = conversation.tools, set(tools), "apis_used"
            names = [name for name in tools if name in listed]
        unknown = sorted(set(listed) - existing)
        if unknown or not listed:
            fault = f"names unknown {', '.join(unknown)}" if unknown else "is missing"
            remedy = f"--tools {settings.tools} needs it (or use --tools all)"
            raise RigError(f"{conversation.name}: {key} {fault}; {remedy}")
    return settings.toolbox.docs(names, descriptions=settings.docs == "full")


def presented(conversation: Conversation, settings: ToolTalkSettings) -> Presentation:
    """Return a conversation as it is put to a model. Raises RigError if these settings do not allow it."""
    plain = Presentation(conversation, offered_tools(conversation, settings))
    return settings.stress.applied(plain, settings.toolbox)


def opening(conversation: Conversation, settings: ToolTalkSettings) -> Request:
    """Return how every request of an arm begins: instructions, tools, facts, and what was said before.

    What was said before is the same in all conversations. If there is any, the facts follow it (`begun`).
    """
    presentation = presented(conversation, settings)
    return Request(
        StepKey(conversation.name),
        presentation.instructs(INSTRUCTIONS),
        presentation.tools,
        "" if presentation.before else context(conversation.metadata),
        presentation.before,
        settings.tools == "all",
        several_calls=True,
        now=conversation.metadata.now,
    )


def begun(
    messages: Iterable[Message], conversation: Conversation, before: Sequence[Message]
) -> list[Message]:
    """Return the messages of a conversation, with its facts in the first if anything was said `before`."""
    begun, facts = list(messages), context(conversation.metadata)
    if not before or not facts:
        return begun
    if begun and isinstance(begun[0], UserMessage):
        return [UserMessage(f"{facts}\n\n{begun[0].text}"), *begun[1:]]
    return [UserMessage(facts), *begun]
