"""Checks of conversation files: their structure, their calls, and their recorded responses.

One bad file does not hide the others. Responses can be recorded from the simulator, so that nobody types them
by hand.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rig.core import times
from rig.core.budget import parse_json
from rig.core.calls import SESSION_TOKEN, SIGNED_IN, ByName, ExecutedCall, Json, JsonObject, without_token
from rig.core.errors import RigError, counted
from rig.core.files import read_text, write
from rig.core.tasks import turn_number
from rig.methods.base import Checked
from rig.plugins.tooltalk.conversations import Conversation, load_conversation, parse_conversation
from rig.plugins.tooltalk.setup import replay
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.rules import TrueCall
from rig.world.schemas import check
from rig.world.spec import Match, Response, ToolError
from rig.world.toolbox import Simulator, Toolbox

_LONGEST = 80


class ResponseDifference(StrEnum):
    """How a recorded response differs from the simulator's."""

    RANDOM_ID = "random id only"
    """The tool makes up an id, which matching ignores."""
    MORE = "simulator returns more"
    """All that was recorded, and other records beside it."""
    ORDER = "other order"
    """The same records in another order."""
    FIELDS = "field values"
    """The same records with other content, or a response that is not a list of records."""
    LESS = "simulator returns less"
    """A recorded record is not returned, so no call can match."""
    EXCEPTION = "exception"
    """One is an error and the other is not, or they are different errors."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A ground-truth call at (turn, call), as recorded and as executed now, with its tool's `match`."""

    turn: int
    call: int
    recorded: TrueCall
    executed: ExecutedCall
    match: Match

    @property
    def difference(self) -> tuple[ResponseDifference, str] | None:
        """How the responses differ, with the recorded and the returned part; None if they do not."""
        was, now, kinds = self.recorded, self.executed, ResponseDifference
        if was.exception != now.exception:
            return kinds.EXCEPTION, _against(was.exception, now.exception)
        if was.response == now.response:
            return None
        recorded, returned = self._records(was), self._records(now)
        if recorded is None or returned is None:
            is_id = self.match.response is Response.IGNORED
            return kinds.RANDOM_ID if is_id else kinds.FIELDS, _against(was.response, now.response)
        if not recorded.keys() <= returned.keys():
            return kinds.LESS, _against(", ".join(recorded), ", ".join(returned))
        for key, before in recorded.items():
            for field in {**before, **(after := returned[key])}:
                one, other = (record.get(field, "no such field") for record in (before, after))
                if one != other:
                    return kinds.FIELDS, f"{field} of {key}: {_against(one, other)}"
        kind = kinds.MORE if len(recorded) < len(returned) else kinds.ORDER
        return kind, _against(", ".join(recorded), ", ".join(returned))

    def _records(self, executed: ExecutedCall) -> dict[str, JsonObject] | None:
        """Return the records of a response by id, or None if it is not a list of records."""
        ids = self.match.ids
        if ids is None:
            return None
        listed, key = ids
        try:
            return {str(record[key]): dict(record) for record in executed.response[listed]}
        except (KeyError, TypeError, ValueError):
            return None


def replayed_calls(conversation: Conversation, simulator: Simulator) -> Iterator[Replayed]:
    """Yield all ground-truth calls, executed from the start. Raises RigError if the world cannot start."""
    for true in replay(conversation, simulator):
        for number, (recorded, executed) in enumerate(zip(true.turn.calls, true.calls, strict=True)):
            tool = simulator.toolbox.tools.get(executed.name)
            yield Replayed(true.position, number, recorded, executed, tool.match if tool else Match())


def _against(recorded: Json, returned: Json) -> str:
    texts = (value if isinstance(value, str) else repr(value) for value in (recorded, returned))
    before, now = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in texts)
    return f"recorded {before}, the simulator gives {now}"


PARTS = (
    *("name", "conversation_id", "suites_used", "apis_used", "scenario", "user", "metadata", "conversation"),
)
"""The parts of a conversation file, in the order in which rig writes them."""


@dataclass(frozen=True, slots=True)
class Defect(ByName):
    """A fault and its place. `kind` is one word for counting; `position` is the position of a message in its
    conversation and `call` that of a call in the message, both from 0. `turn` is the number of the
    assistant's turn, from 1.
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


@dataclass(frozen=True)
class FileCheck:
    """The check of one file against a world and the tools that act in it."""

    path: Path
    conversation: Conversation
    world: ToolTalkWorld
    toolbox: Toolbox

    def fault(self, kind: str, text: str, position: int | None = None, call: int | None = None) -> Defect:
        """Return a fault of this file, with the turn number as people count."""
        is_turn = position in self.conversation.known_turns
        turn = turn_number(self.conversation, position) if is_turn and position is not None else None
        return Defect(self.path.name, kind, text, position, call, turn)

    def faults(self) -> Iterator[Defect]:
        """Yield the faults of the file: missing or contradictory parts, malformed turns, and wrong calls."""
        conversation = self.conversation
        for part in PARTS:
            if part not in conversation.source:
                yield self.fault("missing", f"there is no {part}")
        if conversation.name != self.path.stem:
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
        for position, turn in enumerate(self.conversation.source["conversation"]):
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
        conversation, tools = self.conversation, self.toolbox.tools
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
        user, metadata = self.conversation.user, self.conversation.metadata
        token = self.conversation.source["metadata"].get("session_token")
        if user.session_token != token:
            yield self.fault("token", f"user has {user.session_token!r}, metadata has {token!r}")
        username = user.username if user.session_token else None
        if metadata.username != username:
            text = f"metadata.username is {metadata.username!r}, it should be {username!r}"
            yield self.fault("token", text)
        account = self.world.accounts.find(user.username)
        if account is None:
            logins = {tool.name for tool in self.toolbox.tools.values() if tool.login == "in"}
            registered = {
                call.arguments.get("username")
                for call in self.conversation.ground_truth
                if call.name in logins and call.exception is None
            }
            if user.session_token or user.verification_code or user.username not in registered:
                yield self.fault("user", f"{user.username!r} is not in the world and does not register")
            return
        for field in ("email", "phone", "name", "password"):
            here, there = getattr(user, field), getattr(account, field)
            if here != there:
                yield self.fault("user", f"{field} is {here!r}, in the world it is {there!r}")

    def _calls(self) -> Iterator[Defect]:
        """Yield the faults of ground-truth calls: refused, in another form, or without an outcome."""
        positions = self.conversation.ground_truth_positions()
        for place, call in zip(positions, self.conversation.ground_truth, strict=True):
            if call.name not in self.toolbox.tools:
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
        tool = self.toolbox.tools[call.name]
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


@dataclass(frozen=True)
class DirectoryReport(Checked):
    """The result of checking a directory: `tasks` is its number of files, `calls` are the true calls made."""

    faults: tuple[Defect, ...]
    calls: tuple[Replayed, ...] = ()

    @property
    def differences(self) -> dict[ResponseDifference, int]:
        """The number of recorded responses that differ from the simulator's, by kind of difference."""
        counts = Counter(call.difference[0] for call in self.calls if call.difference)
        return {difference: counts[difference] for difference in ResponseDifference if counts[difference]}

    @property
    def reproduced(self) -> int:
        """The number of recorded responses that equal the simulator's."""
        return sum(call.difference is None for call in self.calls)

    @property
    def summary(self) -> tuple[str, ...]:
        """Lines with what was checked, and how many responses differ in which way."""
        return (
            f"{self.place}: {counted(self.tasks, 'conversation')},"
            f" {counted(len(self.calls), 'call')}, {counted(self.reproduced, 'response')} reproduced,"
            f" {counted(len(self.faults), 'fault', 'no')}",
            *(f"  {difference}: {count}" for difference, count in self.differences.items()),
        )

    def as_json(self) -> JsonObject:
        """Return the counts and faults as a JSON object."""
        return {
            "directory": str(self.place),
            "conversations": self.tasks,
            "calls": len(self.calls),
            "reproduced": self.reproduced,
            "differences": {str(difference): count for difference, count in self.differences.items()},
            "faults": [fault.as_json() for fault in self.faults],
        }


def check_directory(directory: Path, world: ToolTalkWorld, toolbox: Toolbox) -> DirectoryReport:
    """Check every `*.json` of a directory against a world and the tools that act in it.

    Raises RigError when there is no such directory or nothing in it.
    """
    if not directory.is_dir():
        raise RigError(
            f"{directory}: no such directory of conversations; give a folder of JSON or YAML files"
        )
    paths = _files(directory)
    faults: list[Defect] = []
    conversations: list[Conversation] = []
    replayed: list[Replayed] = []
    simulator = Simulator(world, toolbox)
    base = simulator.snapshot()
    for path in paths:
        try:
            conversation = load_conversation(path)
        except RigError as error:
            faults.append(Defect(path.name, "unreadable", str(error).removeprefix(f"{path}: ")))
            continue
        try:
            simulator.restore(base)
            if conversation.seeds is not None:
                world.restore(toolbox.own_world(conversation.seeds).snapshot())
        except RigError as error:
            faults.append(Defect(path.name, "world", str(error)))
            continue
        file = FileCheck(path, conversation, world, toolbox)
        faults += file.faults()
        if any(call.name not in toolbox.tools for call in conversation.ground_truth):
            continue
        try:
            calls = list(replayed_calls(conversation, simulator))
        except RigError as error:
            faults.append(file.fault("replay", str(error)))
            continue
        conversations.append(conversation)
        replayed += calls
        faults += _replay_faults(file, calls, toolbox)
    simulator.restore(base)
    faults += _repeated(conversations)
    return DirectoryReport(directory, len(paths), tuple(faults), calls=tuple(replayed))


def _files(directory: Path) -> list[Path]:
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise RigError(f"{directory}: holds no conversation (*.json)")
    return paths


def _replay_faults(file: FileCheck, calls: Sequence[Replayed], toolbox: Toolbox) -> Iterator[Defect]:
    for call in calls:
        if call.difference is not None:
            yield file.fault("replay", ": ".join(call.difference), call.turn, call.call)
        for name in sorted(toolbox.injected):
            recorded, injected = call.recorded.arguments.get(name), call.executed.arguments.get(name)
            if recorded != injected:
                text = f"the recorded {name} is {recorded!r}, the simulator injects {injected!r}"
                yield file.fault("token", text, call.turn, call.call)


def _repeated(conversations: Sequence[Conversation]) -> Iterator[Defect]:
    seen: dict[str, str] = {}
    for conversation in conversations:
        for value, kind in ((f"id {conversation.id}", "id"), (f"name {conversation.name}", "name")):
            if value in seen:
                yield Defect(f"{conversation.name}.json", kind, f"the {value} is also that of {seen[value]}")
            seen.setdefault(value, conversation.name)


def record_directory(directory: Path, world: ToolTalkWorld, toolbox: Toolbox) -> list[Path]:
    """Complete every conversation of a directory from the simulator, and return the files that changed.

    The writer gives scenario, user.username, metadata (location, timestamp, and username when the user is
    logged in at the start) and the turns with each call's `request`. Everything else is filled in: names,
    ids, indexes, the account, session tokens, `apis_used`, `suites_used`, responses and exceptions. Raises
    RigError, naming the file, if that cannot be done; the files before it are already written.
    """
    paths = _files(directory)
    simulator = Simulator(world, toolbox)
    base = simulator.snapshot()
    changed = []
    for path in paths:
        try:
            before = read_text(path)
            source = parse_json(before)
            simulator.restore(base)
            after = json.dumps(_complete(source, path.stem, world, simulator), indent=2, ensure_ascii=False)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RigError(f"{path}: cannot be recorded: {type(error).__name__}: {error}") from error
        if f"{after}\n" != before:
            write(f"{after}\n", path, force=True)
            changed.append(path)
    simulator.restore(base)
    return changed


def _complete(source: JsonObject, name: str, world: ToolTalkWorld, simulator: Simulator) -> JsonObject:
    source["name"] = name
    source.setdefault("conversation_id", str(uuid.uuid4()))
    user, metadata = source["user"], source["metadata"]
    account = world.accounts.find(user["username"])
    if account is not None:
        user.update({field: getattr(account, field) for field in ("email", "phone", "name", "password")})
    if "username" in metadata:
        user[SESSION_TOKEN] = metadata[SESSION_TOKEN] = SIGNED_IN
    source["conversation"] = [
        {"index": position, **{part: turn[part] for part in turn if part != "index"}}
        for position, turn in enumerate(source["conversation"])
    ]
    conversation = parse_conversation(source, name)
    calls = list(replayed_calls(conversation, simulator))
    tools, used = simulator.toolbox.tools, dict.fromkeys(call.executed.name for call in calls)
    unknown = [name for name in used if name not in tools]
    if unknown:
        raise RigError(f"{name}: no tool is named {', '.join(unknown)}")
    source["apis_used"] = list(used)
    source["suites_used"] = list(dict.fromkeys(tools[tool].plugin for tool in used))
    for call in calls:
        recorded = call.executed.as_json()
        arguments = recorded["request"]["parameters"]
        if SESSION_TOKEN in arguments:
            token = {SESSION_TOKEN: arguments[SESSION_TOKEN]}
            recorded["request"]["parameters"] = {**token, **without_token(arguments)}
        source["conversation"][call.turn]["apis"][call.call] = recorded
    return {part: source[part] for part in (*PARTS, *(part for part in source if part not in PARTS))}
