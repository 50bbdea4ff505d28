"""Converting logged chats with tool calls, in the form of OpenAI's API, to conversations for review."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import regex

from rig.core.budget import PLAIN
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import write
from rig.plugins.documents.documents import (
    DocumentPart,
    Foreign,
    Many,
    from_json,
    lines_of,
    parsed,
    read,
    to_yaml,
)
from rig.plugins.documents.folders import filling
from rig.plugins.own_tools.listing import listing_of
from rig.plugins.papers.paper import Converted, Paper
from rig.plugins.tooltalk.written import read_written

REPLACING_S = 1.0
"""The seconds that a rule may take for one text."""
TAG = "review"
"""The tag of conversations that nobody has reviewed."""


class _ChatFunction(Foreign):
    name: str
    arguments: Json = None


class _ChatCall(Foreign):
    id: str | None = None
    function: _ChatFunction


_KINDS = ("image", "audio", "video", "file")
"""What contents can hold besides texts; the types of parts have these words in their names."""


class _ContentPart(Foreign):
    type: str = "text"
    text: str | None = None

    @property
    def other(self) -> str:
        """What the part holds if it is no text, such as `image`; empty for texts."""
        if self.text is not None or self.type in ("text", "input_text", "output_text"):
            return ""
        return next((kind for kind in _KINDS if kind in self.type), self.type)

    @property
    def words(self) -> str:
        """The text, or what stands for something else."""
        return self.text or (f"[{self.other}]" if self.other else "")


class _ChatMessage(Foreign):
    role: str
    content: str | Many[_ContentPart] | None = None
    tool_calls: Many[_ChatCall] | None = None
    function_call: _ChatFunction | None = None
    tool_call_id: str | None = None
    name: str | None = None

    @property
    def text(self) -> str:
        """The words of the message, with its parts on lines of their own; `[image]` stands for an image."""
        if isinstance(self.content, list):
            return "\n".join(part.words for part in self.content if part.words)
        return self.content or ""

    @property
    def others(self) -> list[str]:
        """What the message holds besides words."""
        parts = self.content if isinstance(self.content, list) else []
        return list(dict.fromkeys(part.other for part in parts if part.other))

    @property
    def calls(self) -> list[_ChatCall]:
        """The calls of the message, in the API's current or older shape."""
        old = [_ChatCall(id=call.name, function=call) for call in [self.function_call] if call]
        return [*(self.tool_calls or []), *old]


class _ChatRequest(Foreign):
    messages: Many[_ChatMessage]
    tools: Many[JsonObject] | None = None
    functions: Many[JsonObject] | None = None


class _Choice(Foreign):
    message: _ChatMessage


class _ChatAnswer(Foreign):
    choices: Many[_Choice] | None = None


class Chat(NamedTuple):
    """A logged chat: its file and line, its messages, and the tools that were offered."""

    where: str
    messages: list[_ChatMessage]
    tools: list[JsonObject]

    @property
    def key(self) -> str:
        """All messages as text. The key of a chat that continues another begins with the other's key."""
        return "\n".join(json.dumps(message.model_dump()) for message in self.messages) + "\n"


_Replacement: TypeAlias = tuple[Any, str]
"""A compiled pattern, and the text that replaces its matches."""


class OpenAIChat(Paper):
    """Logs of a chat API: lines with requests and their answers."""

    name = "openai-chat"
    is_log = True

    def convert(self, files: Sequence[Path], directory: Path, rules: Path | None) -> Converted:
        """Write the tools and conversations of logs into a folder. Raises RigError."""
        replacements = _replacements(rules)
        notes: list[str] = []
        faults: list[str] = []
        chats = _longest([chat for file in files for chat in _chats(file, replacements, faults)])
        conversations = list(filter(None, (_conversation(chat, notes) for chat in chats)))
        if not conversations:
            raise RigError(next(iter(faults), f"{files[0]}: holds no chat with a message of a user"))
        tools, target = _tools(chats, notes), directory / "conversations"
        paths: list[Path] = []
        width = len(str(len(conversations)))
        with filling(target) as folder:
            for number, conversation in enumerate(conversations, 1):
                path = _write_conversation(conversation, folder / f"chat-{number:0{width}}.yaml")
                paths.append(target / path.name)
            if tools:
                paths.insert(0, _write({"tools": tools}, directory / "tools.json"))
        return Converted(tuple(paths), len(conversations), tuple(notes), tuple(faults))


PAPER: Paper = OpenAIChat()


def _chats(file: Path, replacements: Sequence[_Replacement], faults: list[str]) -> Iterator[Chat]:
    for line in lines_of(file):
        try:
            value = line.json(PLAIN, exact=True)
            _chat(value, line.where)
        except RigError as error:
            faults.append(str(error))
        else:
            yield _chat(_replaced(value, replacements), line.where)


def _chat(entry: Json, where: str) -> Chat:
    """Parse a line: messages alone, a request, or a request with its answer. Raises RigError."""
    what = "a logged chat"
    entry = {"messages": entry} if isinstance(entry, list) else parsed(JsonObject, entry, where, what)
    body = parsed(JsonObject, entry.get("request", entry), where, what)
    request = parsed(_ChatRequest, body.get("body", body), where, what)
    answer = entry.get("response", entry)
    answer = answer.get("body", answer) if isinstance(answer, dict) else {}
    choices = parsed(_ChatAnswer, answer, where, what).choices or []
    functions = [{"type": "function", "function": function} for function in request.functions or []]
    messages = [*request.messages, *(choice.message for choice in choices[:1])]
    return Chat(where, messages, [*(request.tools or []), *functions])


def _longest(chats: Sequence[Chat]) -> list[Chat]:
    """Return the chats that no other continues, as each request of a chat repeats what was said before."""
    keys = [chat.key for chat in chats]
    ordered = sorted(set(keys))
    # In this order a key stands right before one that continues it, if there is any.
    begun = {key for key, following in pairwise(ordered) if following.startswith(key)}
    first = dict(zip(reversed(keys), reversed(chats), strict=True))
    return [first[key] for key in dict.fromkeys(keys) if key not in begun]


def _conversation(chat: Chat, notes: list[str]) -> JsonObject | None:
    """Return a chat in the form in which people write conversations; None if no user speaks."""
    system: list[str] = []
    turns: list[JsonObject] = []
    calls: dict[str, JsonObject] = {}
    for message in chat.messages:
        role, text = message.role, message.text
        notes += [
            f"{chat.where}: the {role} sends {kind}, which no model here gets; [{kind}] stands for it"
            for kind in message.others
        ]
        if role in ("system", "developer"):
            system.append(text)
        elif role == "user":
            if turns and not turns[-1].keys() & {"calls", "reply"}:
                before = turns[-1]["user"]
                turns[-1]["user"] = [*(before if isinstance(before, list) else [before]), text]
            else:
                turns.append({"user": text})
        elif not turns:
            notes.append(f"{chat.where}: the {role} speaks before the user; that is left out")
        elif role == "assistant":
            _add_answer(message, turns[-1], calls, chat.where, notes)
        elif role in ("tool", "function"):
            call = calls.pop(message.tool_call_id or message.name or "", None)
            if call is None:
                notes.append(f"{chat.where}: a result belongs to no call; that is left out")
            else:
                call["returns"] = text
                with suppress(RigError):
                    call["returns"] = from_json(text, "")
    turns = [turn for turn in turns if turn["user"]]
    if not turns:
        return None
    words = {"notes": "\n".join(system)} if any(system) else {}
    return {"tags": [TAG], "scenario": f"From {chat.where}.", **words, "turns": turns}


def _add_answer(
    message: _ChatMessage, turn: JsonObject, calls: dict[str, JsonObject], where: str, notes: list[str]
) -> None:
    """Add the assistant's words and calls to a turn, and the calls to `calls`, which wait for results."""
    if message.text.strip():
        turn["reply"] = message.text
    for call in message.calls:
        name, arguments = call.function.name, call.function.arguments or "{}"
        with suppress(RigError):
            arguments = from_json(arguments, where) if isinstance(arguments, str) else arguments
        if not isinstance(arguments, dict):
            notes.append(f"{where}: the arguments of {name} are not an object; that call is left out")
            continue
        written = {"tool": name, "arguments": arguments}
        turn.setdefault("calls", []).append(written)
        calls[call.id or name] = written


def _tools(chats: Sequence[Chat], notes: list[str]) -> list[JsonObject]:
    tools: dict[str, JsonObject] = {}
    for chat in chats:
        for tool in chat.tools:
            function = tool.get("function", tool)
            name = str(function.get("name") if isinstance(function, dict) else function)
            if tools.setdefault(name, tool) != tool:
                notes.append(f"{chat.where}: declares {name} differently from before; the first counts")
    calls = (call for chat in chats for message in chat.messages for call in message.tool_calls or [])
    called = {call.function.name for call in calls}
    notes += [f"{name} is called, and no line declares it" for name in sorted(called - tools.keys())]
    return _readable(list(tools.values()), notes)


def _readable(tools: list[JsonObject], notes: list[str]) -> list[JsonObject]:
    """Return those tools that rig reads; each other one is noted."""
    if not tools:
        return []
    try:
        listing = listing_of(DocumentPart({"tools": tools}, Path("tools.json")))
    except RigError as error:
        notes.append(f"tools are left out: {error}")
        return []
    notes += [f"a tool is left out: {line}" for line in listing.left_out]
    names = {tool.name for tool in listing.tools}
    functions = ((tool, tool.get("function", tool)) for tool in tools)
    return [
        tool for tool, function in functions if isinstance(function, dict) and function.get("name") in names
    ]


def _replacements(rules: Path | None) -> list[_Replacement]:
    """Read a file of rules: `replace`, a list of `text` or `regex`, each with its replacement in `with`."""
    replacements: list[_Replacement] = []
    for document in read(rules) if rules is not None else []:
        if "replace" not in document.known_fields(("replace",)):
            raise document.fault("needs `replace`, a list of what to replace")
        for part in document.inside("replace").items():
            fields = part.known_fields(("text", "regex", "with"))
            if "with" not in fields or ("text" in fields) == ("regex" in fields):
                raise part.fault("needs `with`, and either `text` or `regex`")
            by = fields["with"].value if isinstance(fields["with"].value, str) else fields["with"].text()
            try:
                source = regex.escape(fields["text"].text()) if "text" in fields else fields["regex"].text()
                pattern = regex.compile(source)
                pattern.sub(by, "") if "regex" in fields else None
            except regex.error as error:
                raise part.fault(f"is not a regular expression: {error}") from error
            replacements.append((pattern, by if "regex" in fields else by.replace("\\", "\\\\")))
    return replacements


def _replaced(value: Any, replacements: Sequence[_Replacement]) -> Any:
    """Apply the replacements to every text in a value, except the names of members."""
    if isinstance(value, str):
        for pattern, by in replacements:
            try:
                value = pattern.sub(by, value, timeout=REPLACING_S)
            except TimeoutError as error:
                raise RigError(f"the rule {pattern.pattern!r} takes too long; write it simpler") from error
        return value
    if isinstance(value, dict):
        return {name: _replaced(inner, replacements) for name, inner in value.items()}
    return [_replaced(inner, replacements) for inner in value] if isinstance(value, list) else value


def _write(value: Json, file: Path) -> Path:
    write(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n", file, folders=True)
    return file


def _write_conversation(value: JsonObject, file: Path) -> Path:
    """Write a conversation as YAML if that reads back as the same value, else as JSON."""
    write(to_yaml(value), file, folders=True)
    with suppress(RigError):
        if [document.value for document in read(file)] == [value]:
            read_written(file)
            return file
    file.unlink()
    return _write(value, file.with_suffix(".json"))
