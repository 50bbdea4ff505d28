"""Everything that can be wrong with a conversation file before its calls are executed."""

import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rig import times
from rig.calls import ExecutedCall, JsonObject
from rig.methods.tooltalk.conversations import Conversation
from rig.tasks import turn_number
from rig.toolbox.arguments import check
from rig.toolbox.errors import ToolError
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk.world import World

PARTS = (
    *("name", "conversation_id", "suites_used", "apis_used", "scenario", "user", "metadata", "conversation"),
)
"""The parts of a conversation file, in the order in which ours are written."""


@dataclass(frozen=True, slots=True)
class Defect:
    """What is wrong, and where. `kind` is one word for counting; `position` is that of a message in its
    conversation and `call` that of a call in it, both from 0. `turn` is which of the assistant's turns it is,
    from 1.
    """

    file: str
    kind: str
    text: str
    position: int | None = None
    call: int | None = None
    turn: int | None = None

    def __str__(self) -> str:
        place = self.file
        if self.turn is not None:
            place += f" turn {self.turn}"
        elif self.position is not None:
            place += f" message {self.position + 1}"
        if self.call is not None:
            place += f" call {self.call + 1}"
        return f"{place}: {self.kind}: {self.text}"

    def as_json(self) -> JsonObject:
        """All fields, by name."""
        return asdict(self)


class FileCheck:
    """The check of one file against a world and the tools that act in it."""

    def __init__(self, path: Path, conversation: Conversation, world: World, toolbox: Toolbox) -> None:
        self._path = path
        self._conversation = conversation
        self._world = world
        self._toolbox = toolbox

    def fault(self, kind: str, text: str, position: int | None = None, call: int | None = None) -> Defect:
        """A fault of this file, with the turn as people count them."""
        is_turn = position in self._conversation.known_turns
        turn = turn_number(self._conversation, position) if is_turn and position is not None else None
        return Defect(self._path.name, kind, text, position, call, turn)

    def faults(self) -> Iterator[Defect]:
        """The shape of the file: what must be there, in which order, and that its parts agree; its calls."""
        conversation = self._conversation
        for part in PARTS:
            if part not in conversation.source:
                yield self.fault("missing", f"there is no {part}")
        if conversation.name != self._path.stem:
            yield self.fault("name", f"the name {conversation.name!r} is not the file's")
        try:
            uuid.UUID(conversation.id)
        except ValueError:
            yield self.fault("id", f"conversation_id {conversation.id!r} is not a UUID")
        yield from self._turns()
        yield from self._lists()
        yield from self._login()
        timestamp = conversation.metadata.timestamp
        if not _is_canonical(timestamp, times.INSTANT):
            yield self.fault("timestamp", f"{timestamp!r} is not YYYY-MM-DD HH:MM:SS")
        yield from self._calls()

    def _turns(self) -> Iterator[Defect]:
        previous = "assistant"
        for position, turn in enumerate(self._conversation.source["conversation"]):
            role = turn["role"]
            if "index" not in turn:
                yield self.fault("index", "the turn has none", position)
            elif turn["index"] is True or turn["index"] != position:
                yield self.fault("index", f"it is {turn['index']!r}", position)
            if role == previous:
                text = "the assistant speaks first" if position == 0 else f"the {role} speaks twice in a row"
                yield self.fault("role", text, position)
            previous = role
            if not turn["text"].strip():
                yield self.fault("text", "nothing is said", position)
            if "apis" in turn and role == "user":
                yield self.fault("apis", "a user's turn has calls", position)
            if "apis" in turn and not turn["apis"]:
                yield self.fault("apis", "the list of calls is empty; leave it out", position)

    def _lists(self) -> Iterator[Defect]:
        conversation, tools = self._conversation, self._toolbox.tools
        called = {call.name for call in conversation.ground_truth if call.name in tools}
        plugins = {tools[name].plugin for name in called}
        lists = (("apis_used", conversation.tools, called), ("suites_used", conversation.plugins, plugins))
        for part, listed, used in lists:
            repeated = sorted({name for name in listed if listed.count(name) > 1})
            missing, unused = sorted(used - set(listed)), sorted(set(listed) - used)
            for names, what in ((repeated, "repeats"), (missing, "lacks"), (unused, "has, unused,")):
                if names:
                    yield self.fault(part, f"the list {what} {', '.join(names)}")

    def _login(self) -> Iterator[Defect]:
        user, metadata = self._conversation.user, self._conversation.metadata
        token = self._conversation.source["metadata"].get("session_token")
        if user.session_token != token:
            yield self.fault("token", f"user has {user.session_token!r}, metadata has {token!r}")
        username = user.username if user.session_token else None
        if metadata.username != username:
            text = f"metadata.username is {metadata.username!r}, it should be {username!r}"
            yield self.fault("token", text)
        account = self._world.accounts.find(user.username)
        if account is None:
            registered = {
                call.arguments.get("username")
                for call in self._conversation.ground_truth
                if (tool := self._toolbox.tools.get(call.name))
                and tool.login == "in"
                and call.exception is None
            }
            if user.session_token or user.verification_code or user.username not in registered:
                yield self.fault("user", f"{user.username!r} is not in the world and does not register")
            return
        for field in ("email", "phone", "name", "password"):
            here, there = getattr(user, field), getattr(account, field)
            if here != there:
                yield self.fault("user", f"{field} is {here!r}, in the world it is {there!r}")

    def _calls(self) -> Iterator[Defect]:
        """Whether each ground-truth call is one that its tool takes, written as the dataset writes it."""
        positions = self._conversation.ground_truth_positions()
        for place, call in zip(positions, self._conversation.ground_truth, strict=True):
            if call.name not in self._toolbox.tools:
                yield self.fault("tool", f"there is no tool {call.name!r}", *place)
                continue
            for text in self._arguments(call):
                yield self.fault("arguments", text, *place)
            if call.response is not None and call.exception is not None:
                yield self.fault("outcome", "there is a response and an exception", *place)
            if call.response is None and call.exception is None:
                text = "nothing is recorded; `rig check --record DIR` does that"
                yield self.fault("outcome", text, *place)

    def _arguments(self, call: ExecutedCall) -> Iterator[str]:
        tool = self._toolbox.tools[call.name]
        arguments = {name: value for name, value in call.arguments.items() if name not in tool.injected}
        try:
            check(tool, arguments)
        except ToolError as error:
            yield str(error)
            return
        for name, value in arguments.items():
            form = times.FORMS.get(tool.parameters["properties"][name].get("x-format", ""))
            if value is None:
                yield f"{name} is null; leave it out"
            elif form and not _is_canonical(value, form.pattern):
                yield f"{name} is {value!r}, which is not written as {form.pattern}"


def _is_canonical(text: str, pattern: str) -> bool:
    moment = times.read_or_none(text, pattern)
    return moment is not None and moment.strftime(pattern) == text
