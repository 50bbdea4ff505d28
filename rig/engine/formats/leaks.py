"""Leaked calls: calls in another form than the family's, and answers that only begin like a call.

Strict servers take such an answer for words; harnesses that recover calls carry them out. Which forms models
fall into is known from reports: JSON in a fence or bare, the prompt's own tags, another family's marks, a
Python call in brackets. Only calls of tools that the model was offered are recognised; code, examples and
other JSON stay words. The text comes from a model and is hostile: everything here is bounded.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

from rig import plugins
from rig.calls import Call, Json, JsonObject
from rig.engine.formats.reader import CallReader, NotRead, cast, read_value, skip
from rig.engine.formats.salvage import LONGEST, JsonError, read_json_at
from rig.engine.formats.shape import CallShape
from rig.engine.grammar.language import JSON
from rig.toolbox.spec import NAME_REGEX

RULES = "1"
"""The version of these rules; part of the fingerprint of arms that read calls by them."""

WITHIN_THOUGHTS = "within the thoughts"

_MOST_PLACES = 256
"""The most places in one answer at which a call is looked for."""
_MOST_WORDS = 400
"""The most characters of words before a call; more is a text about calls."""

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "api_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")
_BESIDE = frozenset({"id", "type", "index", "tool_call_id", "call_id", "thought", "reason"})
"""Keys that a call may have beside its name and its arguments."""

_START = re.compile(r"[{\[]|(?<![\w.])functions\.|<[A-Za-z_|]")
_FENCE = re.compile(r"```[ \t]{0,4}[\w+-]{0,20}[ \t]{0,4}\n?\s{0,99}\Z")
_MARK_BEFORE = re.compile(r"(<[^<>\s]{1,60}>|\[/?[A-Z_]{3,40}\])\s{0,99}\Z")
_MARK_HERE = re.compile(r"(<[^<>\s]{1,200}>|\[/?[A-Z_]{3,40}\])\s{0,20}")
_PYTHON_VALUE = re.compile(r"(?:\[\s{0,20})?\{\s{0,20}'")
_WRAPPING = re.compile(r"```[\w+-]{0,20}|<[^<>\n]{1,80}>|\[/?[A-Z_]{3,40}\]|[{}\[\](),;:\s]|\bjson\b")
"""What stands around calls and says nothing."""

_NAMED = re.compile(
    rf"(?P<name>{NAME_REGEX}?)(?::\d{{1,4}})?(?:<[^<>\s]{{1,60}}>|\[[A-Z_]{{3,40}}\])?\s{{0,20}}(?=\{{)"
)
"""A tool's name that its arguments follow: `functions.name:0 {…}`, `[TOOL_CALLS]name[ARGS]{…}`."""
_OPENED = re.compile(
    r"<(?:function|invoke|tool|tool_call)(?:=|\s{1,4}name\s{0,4}=\s{0,4})[\"']?"
    rf"(?P<name>{NAME_REGEX})[\"']?\s{{0,4}}>"
    r"|<(?P<tag>[A-Za-z_][\w.-]{0,199})>"
)
"""A tag that names a tool: `<function=name>`, `<invoke name="name">`, `<name>`."""
_PARAMETER = re.compile(
    r"\s{0,99}<(?:(?:parameter|param|arg)(?:=|\s{1,4}name\s{0,4}=\s{0,4})[\"']?(?P<key>[\w.$@-]{1,128})[\"']?"
    r"|(?P<tag>[A-Za-z_][\w.$@-]{0,127}))\s{0,4}>"
)
_PYTHON = re.compile(r"\s{0,99}([A-Za-z_][\w.]{0,199})\(\s{0,99}")
_KEYWORD = re.compile(r"\s{0,99}([A-Za-z_]\w{0,127})\s{0,9}=\s{0,9}")

_ABOUT = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|such as|would|could|might|if you|looks? like|like (?:this|so)"
    r"|formats?|schemas?|syntax|template|(?:was|were|i|you) called|called (?:it|the|with)|previous(?:ly)?"
    r"|earlier|last time|instead of|do not|don't|never|please (?:confirm|tell)|documentation|documented"
    r"|(?:you can|to) (?:call|use|send|write|make)|sample|request body|payload|response|returned|received"
    r"|(?:have|has|had|'ve) (?:been |just |already )?(?:called|sent|made|used|run|executed)|transcript|logs?"
    r"|history|definition|defined as|signature|describes?|declares?|declaration|shall i|should i|may i)\b",
    re.IGNORECASE,
)
"""Words that tell of a call instead of making one."""
_PLACEHOLDER = re.compile(r"<[^<>]{1,60}>|\.{3}|…|string|integer|number|boolean", re.IGNORECASE)
"""What stands for an argument in a text about calls."""

_BEGINNING = re.compile(
    r"\s{0,99}(?:```[\w+-]{0,20}\s{0,99})?"
    r"(?P<mark></?(?:tools?|tool_?calls?|function_?calls?|function|invoke|response|tool_response)\b[^<>\n]{0,80}>?"
    r"|<\|?/?(?:tool|python)[^<>\n]{0,40}>|<｜tool[^<>\n]{0,40}>|\[TOOL_CALLS\]|functions\.\w)"
)
_JSON_BEGINNING = re.compile(
    r"\s{0,99}(?:```[\w+-]{0,20}\s{0,99})?[<{\[\s]{0,20}\{\s{0,99}"
    r"[\"'](?:name|tool|tool_calls|function|arguments|parameters|type)[\"']\s{0,9}:"
)
_TWO_KEYS = re.compile(r"[\"'](?:arguments|parameters)[\"']\s{0,9}:")


class Leak(NamedTuple):
    """Calls that an answer holds in another form: `form` names it; `words` come before them."""

    calls: tuple[Call, ...]
    form: str
    words: str = ""


class _Spot(NamedTuple):
    """Calls at one place of a text."""

    calls: tuple[Call, ...]
    form: str
    start: int
    end: int


def leaked(text: str, schemas: Mapping[str, JsonObject]) -> Leak | None:
    """Return the calls of tools with these schemas that a text holds in any known form; else None.

    A text that tells of a call, in words before or behind it, holds none.
    """
    if len(text) > LONGEST or not schemas:
        return None
    places = list(_places(text, schemas)) or [*_python(text, schemas)]
    if not places:
        return None
    before, behind = text[: places[0].start], text[places[-1].end :]
    between = " ".join(text[one.end : other.start] for one, other in pairwise(places))
    words = _words(before)
    if _tells(text, words, before) or _ABOUT.search(_words(between)):
        return None
    after = _words(behind)
    if after and (after.endswith("?") or _ABOUT.search(after)):
        return None
    if (words or after) and any(_is_sketch(call) for place in places for call in place.calls):
        return None
    form = places[0].form
    if form == "bare JSON" and (words or after):
        form = "JSON among words"
    return Leak(
        tuple(call for place in places for call in place.calls), form, before.strip() if words else ""
    )


def broken(text: str, schemas: Mapping[str, JsonObject]) -> str:
    """Return what a text begins with that begins like a call and is none; empty if it begins like words."""
    if beginning := _BEGINNING.match(text[:1000]):
        return beginning["mark"][:40]
    if not _JSON_BEGINNING.match(text[:1000]):
        return ""
    start = text.index("{")
    try:
        value, _ = read_json_at(text, start)
    except JsonError:
        names = any(f'"{name}"' in text for name in schemas)
        return "JSON" if names or _TWO_KEYS.search(text[:LONGEST]) else ""
    is_call = isinstance(value, dict) and _parts(value) is not None
    return "JSON that names no tool" if is_call else ""


def _is_sketch(call: Call) -> bool:
    """Return whether an argument of a call only stands for one."""
    return any(isinstance(value, str) and _PLACEHOLDER.fullmatch(value) for value in call.arguments.values())


def _words(text: str) -> str:
    """Return the words of a text without what only stands around calls."""
    return " ".join(_WRAPPING.sub(" ", text).split())


def _tells(text: str, words: str, before: str) -> bool:
    """Return whether words before a call tell of it: by what they say, or since it stands within a line."""
    if not words:
        return False
    line = before.rpartition("\n")[2]
    is_inline = bool(_words(line)) and not (_MARK_BEFORE.search(before) or _FENCE.search(before))
    is_sentence = line.rstrip().endswith((":", ".", "!", ">"))
    is_asked = words.endswith("?")
    return (
        len(words) > _MOST_WORDS or (is_inline and not is_sentence) or is_asked or bool(_ABOUT.search(words))
    )


def _places(text: str, schemas: Mapping[str, JsonObject]) -> Iterator[_Spot]:
    """Yield the places of a text at which calls stand, in order."""
    if family := _of_family(text, schemas):
        yield family
        return
    at, tries = 0, 0
    while (start := _START.search(text, at)) and tries < _MOST_PLACES:
        tries += 1
        place = _at(text, start.start(), schemas)
        if place is None:
            at = start.end()
        else:
            yield place
            at = max(place.end, start.end())


def _at(text: str, start: int, schemas: Mapping[str, JsonObject]) -> _Spot | None:
    """Return the calls that begin at a place."""
    if text[start] == "f":
        return _named(text, start, start + len("functions."), "functions.NAME", schemas)
    if text[start] == "<" and (tagged := _tagged(text, start, schemas)):
        return tagged
    if mark := _MARK_HERE.match(text, start):
        return _named(text, start, mark.end(), mark[1], schemas)
    try:
        value, end = _json_at(text, start)
    except JsonError:
        return None
    calls = _calls(value, schemas)
    if not calls:
        return None
    before = text[max(0, start - 200) : start]
    if behind := _MARK_BEFORE.search(before):
        form = behind[1]
    elif _FENCE.search(before):
        form = "fenced JSON"
    elif before.rstrip().endswith("{"):
        form = "JSON in more braces"
    else:
        form = "bare JSON"
    return _Spot(calls, form, start, end)


def _json_at(text: str, start: int) -> tuple[Json, int]:
    """Return the JSON value at a place, or the Python value if it begins like one, and where it ends."""
    if _PYTHON_VALUE.match(text, start):
        try:
            return read_value(text, start)
        except ValueError as error:
            raise JsonError(str(error)) from error
    return read_json_at(text, start)


def _named(text: str, start: int, place: int, form: str, schemas: Mapping[str, JsonObject]) -> _Spot | None:
    """Return the call whose name stands at a place, with its arguments after it as JSON."""
    named = _NAMED.match(text, place)
    name = _known(named["name"], schemas) if named else ""
    if not named or not name:
        return None
    with suppress(JsonError):
        value, end = read_json_at(text, named.end())
        if isinstance(value, dict):
            return _Spot((Call(name, value),), form, start, end)
    return None


def _tagged(text: str, start: int, schemas: Mapping[str, JsonObject]) -> _Spot | None:
    """Return the call in tags that begins at a place: its arguments as JSON, or each in a tag of its own."""
    opened = _OPENED.match(text, start)
    name = _known(opened["name"] or opened["tag"], schemas) if opened else ""
    if not opened or not name:
        return None
    named = text[start : opened.start("name")].rstrip("'\" ")
    form = f"{named}…>" if opened["name"] else "<NAME>"
    place, arguments = opened.end(), dict[str, Json]()
    properties = schemas[name].get("properties", {})
    if text.startswith("{", skip(text, place)):
        try:
            value, end = read_json_at(text, skip(text, place))
        except JsonError:
            return None
        return _Spot((Call(name, value),), form, start, end) if isinstance(value, dict) else None
    while parameter := _PARAMETER.match(text, place):
        key = parameter["key"] or parameter["tag"]
        if key in arguments or (parameter["tag"] and key not in properties):
            return None
        closing = f"</{key}>" if parameter["tag"] else "</"
        end = text.find(closing, parameter.end())
        if end < 0:
            return None
        raw = text[parameter.end() : end].removeprefix("\n").removesuffix("\n")
        arguments[key] = cast(raw, properties.get(key), JSON)
        place = text.find(">", end) + 1
        if not place:
            return None
    if not arguments and properties and not re.match(r"\s{0,99}</", text[place : place + 120]):
        return None
    return _Spot((Call(name, arguments),), form, start, place)


def _of_family(text: str, schemas: Mapping[str, JsonObject]) -> _Spot | None:
    """Return the calls that are written with another family's marks, by the first mark in the text."""
    shapes: list[tuple[int, str, CallShape]] = []
    for preset in plugins.registered().presets.values():
        trigger = preset.shape.trigger.strip()
        place = text.find(trigger) if len(trigger) > 2 else -1
        if place >= 0:
            shapes.append((place, trigger, preset.shape))
    for place, trigger, shape in sorted(shapes, key=lambda found: found[:2]):
        before, opened, behind = shape.opening
        start = place - len(before) if before and text[:place].endswith(before) else place
        opening = f"{before if start < place else ''}{opened}{behind}"
        reader = CallReader(shape, schemas, loose=True)
        with suppress(NotRead):
            calls, end = reader.read(text, text.find(opened, start) if start == place else start, opening)
            if all(_known(call.name, schemas) for call in calls):
                missing = " without its end" if "not closed" in reader.notes else ""
                return _Spot(tuple(calls), f"{trigger}{missing}", start, end)
    return None


def _python(text: str, schemas: Mapping[str, JsonObject]) -> Iterator[_Spot]:
    """Yield the calls of an answer that is one list of Python calls, or a fence with one."""
    inner = re.fullmatch(r"\s*(?:```[\w+-]{0,20}\s*)?(\[.*\])\s*(?:```)?\s*", text, re.DOTALL)
    if not inner:
        return
    calls, place, end = list[Call](), inner.start(1) + 1, inner.end(1) - 1
    while place < end and len(calls) < _MOST_PLACES:
        call = _python_call(text, place, schemas)
        if call is None:
            return
        calls.append(call[0])
        place = skip(text, call[1])
        if text.startswith(",", place):
            place = skip(text, place + 1)
        elif place != end:
            return
    if calls:
        yield _Spot(tuple(calls), "Python calls", inner.start(1), inner.end(1))


def _python_call(text: str, place: int, schemas: Mapping[str, JsonObject]) -> tuple[Call, int] | None:
    opened = _PYTHON.match(text, place)
    name = _known(opened[1], schemas) if opened else ""
    if not opened or not name:
        return None
    arguments, place = dict[str, Json](), opened.end()
    while not text.startswith(")", place):
        keyword = _KEYWORD.match(text, place)
        if not keyword or keyword[1] in arguments:
            return None
        try:
            arguments[keyword[1]], place = read_value(text, keyword.end())
        except (JsonError, ValueError):
            return None
        place = skip(text, place)
        if text.startswith(",", place):
            place = skip(text, place + 1)
        elif not text.startswith(")", place):
            return None
    return Call(name, arguments), place + 1


def _known(name: str, schemas: Mapping[str, JsonObject]) -> str:
    """Return the tool that a name means, if the model was offered it; else nothing."""
    for spelling in (name, name.removeprefix("functions.")):
        if spelling in schemas:
            return spelling
    return ""


def _calls(value: Any, schemas: Mapping[str, JsonObject]) -> tuple[Call, ...]:
    """Return the calls in a JSON value, all of known tools: an object, a list of them, or an envelope."""
    match value:
        case [*items] if items and all(isinstance(item, dict) for item in items):
            inner = [_calls(item, schemas) for item in items]
            return tuple(call for part in inner for call in part) if all(inner) else ()
        case {"tool_calls": list(calls)} | {"function_calls": list(calls)}:
            return _calls(calls, schemas)
        case {"function": dict(function)} | {"tool_call": dict(function)} | {"function_call": dict(function)}:
            return _calls(function, schemas)
        case dict() if (parts := _parts(value)) and (name := _known(parts[0], schemas)):
            return () if _declares(parts[1], schemas[name]) else (Call(name, parts[1]),)
    return ()


def _parts(value: JsonObject) -> tuple[str, JsonObject] | None:
    """Return the name and the arguments in a JSON object that has just these; None for any other."""
    names, keys = ([key for key in group if key in value] for group in (_NAMES, _ARGUMENTS))
    if len(names) != 1 or len(keys) != 1 or value.keys() - {*names, *keys} - _BESIDE:
        return None
    name, arguments = value[names[0]], value[keys[0]]
    if isinstance(arguments, str):
        with suppress(JsonError):
            arguments = read_json_at(arguments, skip(arguments, 0))[0]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return name, arguments


def _declares(arguments: JsonObject, schema: JsonObject) -> bool:
    """Return whether arguments are a JSON Schema: the tool is declared with them instead of called."""
    own = schema.get("properties", {})
    has_type = arguments.get("type") == "object" and "type" not in own
    return has_type or ("properties" in arguments and "properties" not in own)
