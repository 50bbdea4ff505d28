"""Calls in tags: `<function=NAME>`, `<invoke name="NAME">`, `<NAME>`, `<tool_call><name>NAME</name>`."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from rig.core.calls import Call, Json, JsonObject
from rig.plugins.llama.formats.json_text import JsonError, read_json_at
from rig.plugins.llama.formats.reader import cast, skip
from rig.plugins.llama.grammar.language import JSON

_TAG = re.compile(
    r"<(?P<prefix>[｜|▁\w.-]{1,40}[:｜])?(?P<tag>[A-Za-z_][\w./@$+-]{0,199}(?::[\w:./@$+-]{1,199})?)"
    r"(?:=[\"']?(?P<value>[\w.:/@$+-]{1,200})[\"']?)?"
    r"(?P<attributes>(?:\s{1,9}[\w:-]{1,60}\s{0,4}=\s{0,4}(?:\"[^\"<>]{0,2000}\"|'[^'<>]{0,2000}'|[\w.:/@$+-]{1,200})){0,32})"
    r"\s{0,9}(?P<empty>/?)>"
)
_ATTRIBUTE = re.compile(r"([\w:-]{1,60})\s{0,4}=\s{0,4}(?:\"([^\"]*)\"|'([^']*)'|([\w.:/@$+-]+))")
_CALLS = frozenset(
    [
        "function",
        "invoke",
        "tool",
        "tool_call",
        "function_call",
        "call",
        "tool_use",
        "use_tool",
        "action",
        "toolcall",
        "execute",
    ]
)
_NAMES = ("name", "tool_name", "function_name", "tool", "function", "action")
_LISTS = frozenset(
    ["parameters", "arguments", "args", "params", "input", "inputs", "arg_list", "action_input", "tool_input"]
)
_PARAMETERS = frozenset(["parameter", "param", "arg", "argument", "property", "field", "input"])
_FENCED = re.compile(r"\s{0,99}```[\w+-]{0,20}\s{0,99}(?=\{)")
_AROUND = re.compile(r"<(?:tool_?calls?|function_?calls?|tools?|call)>\s{0,20}\Z")
"""A mark that calls follow, so that a tag that is named like a tool is no other tag."""
_HALF_TAG = re.compile(r"<(?!/)[^<>]{0,400}\Z")
"""A tag that opens, and within which the text ends."""
_MOST_PARAMETERS = 64


class CallInTags(NamedTuple):
    """A call in tags, and where it ends."""

    call: Call
    form: str
    end: int


class _Tag(NamedTuple):
    name: str
    value: str
    attributes: dict[str, str]
    is_empty: bool
    whole: str
    end: int


def _tag(text: str, place: int) -> _Tag | None:
    """Return the opening tag at a place."""
    match = _TAG.match(text, place)
    if not match:
        return None
    attributes = {
        key: double or single or bare for key, double, single, bare in _ATTRIBUTE.findall(match["attributes"])
    }
    return _Tag(match["tag"], match["value"] or "", attributes, bool(match["empty"]), match[0], match.end())


def call_in_tags(text: str, start: int, schemas: Mapping[str, JsonObject]) -> CallInTags | None:
    """Return the call in tags that begins at a place, of a tool with one of these schemas."""
    opened = _tag(text, start)
    if opened is None:
        return None
    place, attributes = opened.end, dict(opened.attributes)
    by_attribute = next((key for key in _NAMES if attributes.get(key) in schemas), "")
    if opened.value in schemas and opened.name in _CALLS:
        name, form = opened.value, f"<{opened.name}=…>"
    elif opened.name in _CALLS and by_attribute:
        name, form = attributes.pop(by_attribute), f"<{opened.name} {by_attribute}=…>"
    elif (whole := opened.whole.strip("</> ")) in schemas:
        name, form, attributes = whole, "<NAME>", {}
    elif opened.is_empty and opened.attributes and opened.name in schemas:
        name, form = opened.name, "<NAME …/>"
    elif not opened.attributes and (inner := _inner_name(text, start, opened, schemas)):
        name, place = inner
        form = "<tool_name>" if opened.name == "tool_name" else f"<{opened.name}><name>"
    else:
        return None
    if opened.is_empty:
        return _by_attributes(name, form, attributes, place, schemas[name])
    properties = schemas[name].get("properties", {})
    arguments = _arguments(text, place, properties)
    if arguments is None and form == "<NAME>" and len(properties) == 1 and _AROUND.search(text[:start][-60:]):
        arguments = _text(text, place, name, properties)
    return CallInTags(Call(name, arguments[0]), form, arguments[1]) if arguments else None


def _text(text: str, place: int, name: str, properties: JsonObject) -> tuple[JsonObject, int] | None:
    """Return the text in a tag as the value of the only parameter, and where the tag ends."""
    end = text.find(f"</{name}>", place)
    if end < 0:
        return None
    ((key, schema),) = properties.items()
    return {key: cast(text[place:end].strip("\n"), schema, JSON)}, end + len(name) + 3


def _inner_name(
    text: str, start: int, opened: _Tag, schemas: Mapping[str, JsonObject]
) -> tuple[str, int] | None:
    """Return the tool that a tag within this one names, or this one itself, and where that ends."""
    place = start if opened.name in _NAMES else skip(text, opened.end) if opened.name in _CALLS else -1
    inner = _tag(text, place) if place >= 0 else None
    if inner is None or inner.name not in _NAMES:
        return None
    close = text.find(f"</{inner.name}>", inner.end, inner.end + 300)
    name = text[inner.end : close].strip()
    return (name, close + len(inner.name) + 3) if close >= 0 and name in schemas else None


def _by_attributes(
    name: str, form: str, attributes: dict[str, str], end: int, schema: JsonObject
) -> CallInTags | None:
    """Return a call that is one tag: its arguments are attributes, or JSON in one of them."""
    properties = schema.get("properties", {})
    for key, raw in attributes.items():
        if key in _LISTS and key not in properties:
            try:
                value, _ = read_json_at(raw.replace("&quot;", '"'), 0)
            except JsonError:
                return None
            return CallInTags(Call(name, value), form, end) if isinstance(value, dict) else None
    is_bare = not attributes and schema.get("required")
    if is_bare or attributes.keys() - properties.keys() - {"id", "type"}:
        return None
    arguments = {
        key: cast(raw, properties[key], JSON) for key, raw in attributes.items() if key in properties
    }
    return CallInTags(Call(name, arguments), form, end)


def _arguments(text: str, place: int, properties: JsonObject) -> tuple[JsonObject, int] | None:
    """Return the arguments that stand at a place, as JSON or each in a tag of its own, and where they end."""
    around = _tag(text, skip(text, place))
    if around and around.whole == f"<{around.name}>" and around.name in _LISTS - properties.keys():
        place = around.end
    fence = _FENCED.match(text, place)
    first = fence.end() if fence else skip(text, place)
    if text.startswith("{", first):
        try:
            value, end = read_json_at(text, first)
        except JsonError:
            return None
        return (value, end) if isinstance(value, dict) else None
    arguments = dict[str, Json]()
    while len(arguments) < _MOST_PARAMETERS and (parameter := _tag(text, skip(text, place))):
        read = _parameter(text, parameter, properties)
        if read is None:
            return None
        key, raw, place = read
        if key in arguments:
            return None
        arguments[key] = cast(raw, properties.get(key), JSON)
    if not arguments and properties and not re.match(r"\s{0,99}</", text[place : place + 120]):
        return None
    if _HALF_TAG.match(text, skip(text, place)):
        return None
    return arguments, place


def _parameter(text: str, parameter: _Tag, properties: JsonObject) -> tuple[str, str, int] | None:
    """Return the name and the text of an argument in a tag, and where it ends."""
    is_named = parameter.name in _PARAMETERS
    key = (parameter.value or parameter.attributes.get("name", "")) if is_named else ""
    if not key:
        key = parameter.whole[1:].rstrip("/> ")
        if key not in properties:
            return None
    if parameter.is_empty:
        return key, parameter.attributes.get("value", ""), parameter.end
    closing = re.compile(
        rf"</[^<>\s]{{0,40}}{re.escape(parameter.name if is_named else key)}\s{{0,4}}>"
    ).search(text, parameter.end)
    if not closing:
        return None
    raw = text[parameter.end : closing.start()].removeprefix("\n").removesuffix("\n")
    return key, raw, closing.end()
