"""Where calls of known tools stand in a text, in whichever form a model has written them.

There are four ways to write one, and families differ in the marks around them: a JSON value, a name with its
arguments behind it, tags, and another family's own form. Whether the text makes these calls or only tells of
them is not decided here. The text is hostile: every search is bounded.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from rig.core import registry
from rig.core.calls import Call, Json, JsonObject
from rig.plugins.llama.formats.by_name import call_by_name
from rig.plugins.llama.formats.envelopes import BESIDE, call_in, leaves
from rig.plugins.llama.formats.json_text import JsonError, read_json_at
from rig.plugins.llama.formats.reader import CallReader, NotRead, read_value
from rig.plugins.llama.formats.shape import CallShape
from rig.plugins.llama.formats.tags import call_in_tags
from rig.world.schemas import fits

_MOST_PLACES = 256
"""The most places in one answer at which a call is looked for in vain."""
_MOST_CALLS = 64

MARK = r"<[^<>\s]{1,60}>|\[/?[A-Z_]{3,40}\]|>>>"
_MARK_BEFORE = re.compile(rf"({MARK})\s{{0,99}}\Z")
FENCE = re.compile(r"```[ \t]{0,4}[\w+-]{0,20}[ \t]{0,4}\n?\s{0,99}\Z")
_OTHER = re.compile(
    r"(?P<string>\"(?:\\.|[^\"\\\n]){0,4000}\"|'(?:\\.|[^'\\\n]){0,4000}')"
    r"|//[^\n]{0,400}|/\*(?:[^*]|\*(?!/)){0,400}\*/|(?<=[\s,{\[])#[^\n]{0,400}"
)
"""Strings, and the comments between them."""
_CURLY_KEY = re.compile(r"[{,]\s{0,99}[“‘]|: ?“\w{1,99}”\s{0,9}[,}]")
_CURLY = str.maketrans("“”‘’", "\"\"''")
_PLACEHOLDER = re.compile(
    r"<[^<>]{1,60}>|\{\{?[^{}]{0,60}\}?\}|\$\{?\w{1,60}\}?|\[[A-Za-z_ ]{1,60}\]|\.{3}|…"
    r"|(?:str|string|int|integer|number|boolean|bool|float|array|object)(?: \(?(?:required|optional)\)?)?"
    r"|your[ _-].{1,60}|YOUR_\w+|(?:some|the|a|an) [\w ]{1,40} (?:to|of|for|here) .{1,60}",
    re.IGNORECASE,
)
"""What stands for an argument in a text about calls."""


class Spot(NamedTuple):
    """Calls at one place of a text."""

    calls: tuple[Call, ...]
    form: str
    start: int
    end: int


def spots(text: str, schemas: Mapping[str, JsonObject]) -> list[Spot]:
    """Return the places of a text at which calls of tools with these schemas stand, in order."""
    family = _of_family(text, schemas)
    return [family, *_spots(text, schemas, family.end)] if family else list(_spots(text, schemas, 0))


def _spots(text: str, schemas: Mapping[str, JsonObject], at: int) -> Iterator[Spot]:
    names = "|".join(map(re.escape, sorted(schemas, key=len, reverse=True)))
    starts = re.compile(rf"[{{\[<]|(?<![\w-])(?:{names})(?![\w-])")
    loose: str | None = None
    failures, calls = 0, 0
    while (start := starts.search(text, at)) and failures < _MOST_PLACES and calls < _MOST_CALLS:
        begin, spot, end = start.start(), None, start.end()
        match start[0]:
            case "{" | "[":
                if loose is None:
                    loose = _loosely(text)
                spot, end = _value(text, loose, begin, schemas)
            case "<":
                if element := call_in_tags(text, begin, schemas):
                    spot = Spot((element.call,), element.form, begin, element.end)
            case _:
                if written := call_by_name(text, begin, start.end(), schemas[start[0]]):
                    spot = Spot(
                        (Call(start[0], written.arguments),), written.form, written.start, written.end
                    )
        if spot and any(_declares(call.arguments, schemas[call.name]) for call in spot.calls):
            end = spot.end
            spot = None
        if spot is None:
            failures += end == start.end()
        else:
            calls += len(spot.calls)
            yield spot
            end = spot.end
        at = max(end, start.end())


def _value(text: str, loose: str, start: int, schemas: Mapping[str, JsonObject]) -> tuple[Spot | None, int]:
    """Return the calls in the JSON value at a place, and where to go on: behind any value, call or none."""
    missing = ""
    try:
        value, end = json_at(text, loose, start)
    except JsonError:
        value, end, missing = _unclosed(text, start)
        if value is None:
            return None, start + 1
    before = text[max(0, start - 200) : start]
    calls = calls_of(value, schemas)
    if not calls:
        # Braces in braces and lists in lists may be template's mistakes around a call.
        return None, end if isinstance(value, dict) or start + 1 < end - 1 else start + 1
    if behind := _MARK_BEFORE.search(before):
        form = behind[1]
    elif FENCE.search(before):
        form = "fenced JSON"
    elif before.rstrip().endswith("{"):
        form = "JSON in more braces"
    else:
        form = "bare JSON"
    return Spot(calls, f"{form}{missing}", start, end), end


def json_at(text: str, loose: str, start: int) -> tuple[Json, int]:
    """Return the value at a place, and where it ends: as JSON, or with what JavaScript and Python allow."""
    with suppress(JsonError):
        return read_json_at(text, start)
    try:
        return read_value(loose, start)
    except ValueError as error:
        raise JsonError(str(error)) from error


def _loosely(text: str) -> str:
    """Return a text of the same length with straight quotes and without comments."""
    straight = text.translate(_CURLY) if _CURLY_KEY.search(text) else text
    return _OTHER.sub(lambda other: other["string"] or " " * len(other[0]), straight)


def _unclosed(text: str, start: int) -> tuple[Json, int, str]:
    """Return the object at a place that lacks only its own last brace, if one ends with a line so."""
    for stop in ("\n", "\n\n", "```", ""):
        end = text.find(stop, start) if stop else len(text)
        end = len(text[: max(end, start)].rstrip())
        if text[start] == "{" and text.endswith("}", start, end):
            with suppress(JsonError):
                value, length = read_json_at(f"{text[start:end]}}}", 0)
                if start + length == end + 1:
                    return value, end, " without its end"
    return None, start, ""


def calls_of(value: Json, schemas: Mapping[str, JsonObject]) -> tuple[Call, ...]:
    """Return the calls that a value makes, all of known tools; none if any part of it is something else."""
    calls = [_call_of(leaf.value, schemas) if not leaf.others else None for leaf in leaves(value)]
    whole = [call for call in calls if call is not None]
    if not whole or len(whole) < len(calls) or _lists_tools(whole, schemas):
        return ()
    return tuple(whole)


def _call_of(value: JsonObject, schemas: Mapping[str, JsonObject]) -> Call | None:
    written = call_in(value)
    if written is None:
        return _named_by_key(value, schemas)
    name = known(written.name, schemas)
    if not name or written.others - BESIDE:
        return None
    arguments, properties = written.arguments, schemas[name].get("properties", {})
    if isinstance(arguments, str) and len(properties) == 1 and written.keys[1].endswith("input"):
        arguments = dict.fromkeys(properties, arguments)
    if not arguments and not properties:
        arguments = {}  # null, an empty text or an empty list, where there is nothing to say
    return Call(name, arguments) if isinstance(arguments, dict) else None


def _named_by_key(value: JsonObject, schemas: Mapping[str, JsonObject]) -> Call | None:
    """Return a call as `{"NAME": {…}}` or with its arguments beside its name, if the tool accepts these.

    A tool that takes none is called by `{"name": "NAME"}`.
    """
    match list(value.items()):
        case [(key, dict(inner))] if name := known(key, schemas):
            return Call(name, inner) if _accepts(inner, schemas[name]) else None
    for key in ("name", "tool", "function", "tool_name", "action"):
        if name := known(value.get(key), schemas):
            rest = {other: inner for other, inner in value.items() if other != key and other != "type"}
            return Call(name, rest) if _accepts(rest, schemas[name]) else None
    return None


def _accepts(arguments: JsonObject, schema: JsonObject) -> bool:
    """Return whether a tool accepts arguments; no arguments are a call of a tool that has no parameters."""
    return fits(arguments, schema) and bool(arguments or not schema.get("properties"))


def known(name: Any, schemas: Mapping[str, JsonObject]) -> str:
    """Return the tool that a name means, if the model was offered it; else nothing."""
    for spelling in (name, name.removeprefix("functions.")) if isinstance(name, str) else ():
        if spelling in schemas:
            return spelling
    return ""


def _declares(arguments: Json, schema: JsonObject) -> bool:
    """Return whether arguments are a JSON Schema: the tool is declared with them instead of called."""
    if not isinstance(arguments, dict):
        return False
    properties = schema.get("properties", {})
    has_type = arguments.get("type") == "object" and "type" not in properties
    has_properties = "properties" in arguments and "properties" not in properties
    described = [
        isinstance(value, dict) and value.keys() & {"type", "description"} for value in arguments.values()
    ]
    types = [properties.get(key, {}).get("type", "") for key in arguments]
    if arguments and list(arguments.values()) == types:
        return True
    are_objects = all(fits(value, properties.get(key, {})) for key, value in arguments.items())
    return has_type or has_properties or (bool(described) and all(described) and not are_objects)


def is_sketch(call: Call) -> bool:
    """Return whether an argument of a call only stands for one, as in texts about calls."""
    return any(isinstance(value, str) and _PLACEHOLDER.fullmatch(value) for value in call.arguments.values())


def _lists_tools(calls: list[Call], schemas: Mapping[str, JsonObject]) -> bool:
    """Return whether several tools have sketches for arguments, or none where some are required."""
    return len({call.name for call in calls}) > 1 and all(
        is_sketch(call) or (not call.arguments and schemas[call.name].get("required")) for call in calls
    )


def _of_family(text: str, schemas: Mapping[str, JsonObject]) -> Spot | None:
    """Return the calls that are written with another family's marks, by the first mark in the text."""
    shapes: list[tuple[int, str, CallShape]] = []
    for preset in registry.registered().presets.values():
        trigger = preset.shape.trigger
        place = text.find(trigger) if len(trigger) > 2 else -1
        if place >= 0:
            shapes.append((place, trigger, preset.shape))
    for place, trigger, shape in sorted(shapes, key=lambda shape: shape[:2]):
        before, opened, behind = shape.opening
        start = place - len(before) if before and text[:place].endswith(before) else place
        opening = f"{before if start < place else ''}{opened}{behind}"
        reader = CallReader(shape, schemas, loose=True)
        with suppress(NotRead):
            calls, end = reader.read(text, text.find(opened, start) if start == place else start, opening)
            if all(known(call.name, schemas) for call in calls):
                missing = " without its end" if "not closed" in reader.notes else ""
                return Spot(tuple(calls), f"{trigger.strip()}{missing}", start, end)
    return None
