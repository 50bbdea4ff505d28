"""Logged chats with tool calls, as OpenAI's API has them, made into conversations for people to review."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import regex

from rig.calls import Json, JsonObject
from rig.documents import from_json, read, to_yaml
from rig.errors import RigError
from rig.files import filling, read_text, write
from rig.methods.paper import Converted, Paper
from rig.methods.tooltalk.written import read_written

REPLACING_S = 1.0
"""Seconds that a rule may take for one text."""
TAG = "review"
"""What conversations are tagged with that nobody has reviewed."""


class Chat(NamedTuple):
    """A logged chat: where it stands, its messages, and the tools that were on offer."""

    where: str
    messages: list[JsonObject]
    tools: list[JsonObject]


class _Replacement(NamedTuple):
    pattern: Any
    by: str


class OpenAIChat(Paper):
    """Lines with requests to a chat API, and the answers to them."""

    name = "openai-chat"
    is_log = True

    def convert(self, files: Sequence[Path], directory: Path, rules: Path | None) -> Converted:
        """Write a folder with the tools and conversations of logs. Raises RigError."""
        replacements = _replacements(rules)
        notes: list[str] = []
        chats = [chat for file in files for chat in _chats(file, notes)]
        chats = [Chat(chat.where, *_replaced([chat.messages, chat.tools], replacements)) for chat in chats]
        chats = _whole(chats)
        written = [(chat.where, _conversation(chat, notes)) for chat in chats]
        kept = [(where, each) for where, each in written if each is not None]
        if not kept:
            raise RigError(f"{files[0]}: holds no chat with a message of a user")
        tools, target = _tools(chats, notes), directory / "conversations"
        width = len(str(len(kept)))
        with filling(target) as folder:
            made = [
                _write_conversation(each, folder / f"chat-{number:0{width}}.yaml")
                for number, (_, each) in enumerate(kept, 1)
            ]
            listed = [_write({"tools": tools}, directory / "tools.json")] if tools else []
        return Converted((*listed, *(target / each.name for each in made)), len(kept), tuple(notes))


PAPER: Paper = OpenAIChat()


def _chats(file: Path, notes: list[str]) -> Iterator[Chat]:
    for number, line in enumerate(read_text(file).splitlines(), 1):
        where = f"{file}, line {number}"
        if not line.strip():
            continue
        try:
            yield _chat(from_json(line, where, lines=False), where)
        except RigError as error:
            notes.append(str(error))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            notes.append(f"{where}: no logged chat: {type(error).__name__}: {error}")


def _chat(entry: Json, where: str) -> Chat:
    """A line: messages alone, a request, or a request beside its answer."""
    if isinstance(entry, list):
        return Chat(where, _messages(entry, where), [])
    request = entry.get("request", entry)
    request = request.get("body", request)
    answer = entry.get("response", entry)
    answer = answer.get("body", answer) if isinstance(answer, dict) else {}
    messages = [*request["messages"]]
    messages += [choice["message"] for choice in (answer.get("choices") or [])[:1]]
    functions = [{"type": "function", "function": each} for each in request.get("functions") or []]
    return Chat(where, _messages(messages, where), [*(request.get("tools") or []), *functions])


def _messages(values: list[Json], where: str) -> list[JsonObject]:
    for each in values:
        if not isinstance(each, dict) or not isinstance(each.get("role"), str):
            raise RigError(f"{where}: no logged chat: a message needs a role")
    return values


def _whole(chats: Sequence[Chat]) -> list[Chat]:
    """The chats that no other goes on: each request of a chat has all that was said before."""
    texts = [json.dumps(chat.messages)[:-1] for chat in chats]
    return [
        chat
        for number, chat in enumerate(chats)
        if not any(
            other.startswith(texts[number]) and (other != texts[number] or place < number)
            for place, other in enumerate(texts)
            if place != number
        )
    ]


def _conversation(chat: Chat, notes: list[str]) -> JsonObject | None:
    """A chat as people write conversations; None if no user speaks."""
    system: list[str] = []
    turns: list[JsonObject] = []
    made: dict[str, JsonObject] = {}
    for message in chat.messages:
        role, text = message["role"], _text(message.get("content"))
        if role in ("system", "developer"):
            system.append(text)
        elif role == "user":
            if turns and not turns[-1].keys() & {"calls", "reply"}:
                turns[-1]["user"] = [*_several(turns[-1]["user"]), text]
            else:
                turns.append({"user": text})
        elif not turns:
            notes.append(f"{chat.where}: the {role} speaks before the user; that is left out")
        elif role == "assistant":
            _take_answer(message, text, turns, made, chat.where, notes)
        elif role in ("tool", "function"):
            call = made.pop(str(message.get("tool_call_id", message.get("name"))), None)
            if call is None:
                notes.append(f"{chat.where}: a result belongs to no call; that is left out")
            else:
                call["returns"] = _result(text)
    if not any(turn["user"] for turn in turns):
        return None
    told = {"notes": "\n".join(system)} if any(system) else {}
    return {
        "tags": [TAG],
        "scenario": f"From {chat.where}.",
        **told,
        "turns": [each for each in turns if each["user"]],
    }


def _take_answer(
    message: JsonObject,
    text: str,
    turns: list[JsonObject],
    made: dict[str, JsonObject],
    where: str,
    notes: list[str],
) -> None:
    if text.strip():
        turns[-1]["reply"] = text
    calls = [*(message.get("tool_calls") or [])]
    if message.get("function_call"):
        calls.append({"id": message["function_call"]["name"], "function": message["function_call"]})
    for each in calls:
        function = each["function"]
        arguments = function.get("arguments") or "{}"
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            notes.append(
                f"{where}: the arguments of {function['name']} are not an object; that call is left out"
            )
            continue
        call = {"tool": function["name"], "arguments": arguments}
        turns[-1].setdefault("calls", []).append(call)
        made[str(each.get("id", function["name"]))] = call


def _several(value: Json) -> list[str]:
    return value if isinstance(value, list) else [value]


def _text(content: Json) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""


def _result(text: str) -> Json:
    try:
        return from_json(text, "")
    except RigError:
        return text


def _tools(chats: Sequence[Chat], notes: list[str]) -> list[JsonObject]:
    found: dict[str, JsonObject] = {}
    for chat in chats:
        for tool in chat.tools:
            name = str(tool.get("function", tool).get("name"))
            if found.setdefault(name, tool) != tool:
                notes.append(f"{chat.where}: declares {name} differently from before; the first counts")
    called = {
        call["function"]["name"]
        for chat in chats
        for message in chat.messages
        for call in message.get("tool_calls") or []
    }
    notes += [f"{name} is called, and no line declares it" for name in sorted(called - found.keys())]
    return list(found.values())


def _replacements(rules: Path | None) -> list[_Replacement]:
    """What a file of rules replaces: `replace`, a list of `text` or `regex`, each `with` something."""
    found: list[_Replacement] = []
    for document in read(rules) if rules is not None else []:
        if "replace" not in document.known_fields(("replace",)):
            raise document.fault("needs `replace`, a list of what to replace")
        for part in document.inside("replace").items():
            fields = part.known_fields(("text", "regex", "with"))
            if "with" not in fields or ("text" in fields) == ("regex" in fields):
                raise part.fault("needs `with`, and either `text` or `regex`")
            by = fields["with"].value if isinstance(fields["with"].value, str) else fields["with"].text()
            try:
                given = regex.escape(fields["text"].text()) if "text" in fields else fields["regex"].text()
                pattern = regex.compile(given)
                pattern.sub(by, "") if "regex" in fields else None
            except regex.error as error:
                raise part.fault(f"is not a regular expression: {error}") from error
            found.append(_Replacement(pattern, by if "regex" in fields else by.replace("\\", "\\\\")))
    return found


def _replaced(value: Any, replacements: Sequence[_Replacement]) -> Any:
    """A value with every text in it replaced, names of members aside."""
    if isinstance(value, str):
        for each in replacements:
            try:
                value = each.pattern.sub(each.by, value, timeout=REPLACING_S)
            except TimeoutError as error:
                raise RigError(
                    f"the rule {each.pattern.pattern!r} takes too long; write it simpler"
                ) from error
        return value
    if isinstance(value, dict):
        return {name: _replaced(each, replacements) for name, each in value.items()}
    return [_replaced(each, replacements) for each in value] if isinstance(value, list) else value


def _write(value: Json, file: Path) -> Path:
    write(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n", file, folders=True)
    return file


def _write_conversation(value: JsonObject, file: Path) -> Path:
    """As YAML where that is read as it was meant, else as JSON."""
    write(to_yaml(value), file, folders=True)
    try:
        same = [document.value for document in read(file)] == [value]
        read_written(file)
    except RigError:
        same = False
    if same:
        return file
    file.unlink()
    return _write(value, file.with_suffix(".json"))
