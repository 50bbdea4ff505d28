"""Calls whose name stands in front: `NAME {…}`, `NAME(…)`, `Action: NAME`, `name: NAME` with lines below."""

import re
from contextlib import suppress
from typing import NamedTuple

from rig.core.calls import Json, JsonObject
from rig.plugins.llama.formats.json_text import JsonError, read_json_at
from rig.plugins.llama.formats.reader import cast, read_value, skip
from rig.plugins.llama.grammar.language import JSON

_LABEL = r"(?:action|(?:tool|function)(?:[ _](?:name|call))?|name|call)"
_QUOTE = r"(?:`(?!``)|[\"'])?"
_BEFORE = re.compile(
    r"(?:"
    r"(?:^|\n)[ \t]{0,8}/?|```[\w+-]{0,20}[ \t]{0,4}\n?[ \t]{0,8}|(?<![`\w])`"
    rf"|(?:^|\n)[ \t]{{0,8}}(?P<label>[*\"']{{0,3}}{_LABEL}[*\"']{{0,3}}[ \t]{{0,4}}:[*]{{0,3}}[ \t]{{0,4}}"
    rf"{_QUOTE})"
    r"|(?:\bfunction)?(?P<mark><[^<>\s]{1,60}>|\[/?[A-Z_]{3,40}\]|>>>)\s{0,9}(?:call:)?"
    r"|(?:(?:<\|channel\|>)?(?:\b(?:commentary|analysis) ?)?\bto=|\b)functions[.:]|\bdefault_api\.|\bcall:"
    r"|\bprint\((?:default_api\.)?|\[\s{0,9}|[;,\]})]\s{0,9}"
    r")\Z",
    re.IGNORECASE,
)
"""What may stand before the name of a call, on its line: nothing, a mark, a label, or a module."""
_INPUT = r"(?:(?:action|tool)[ _]?input|inputs?|arguments|args|parameters|params|kwargs)"
_BETWEEN = re.compile(
    rf"{_QUOTE}(?P<number>:\d{{1,4}})?\s{{0,9}}"
    r"(?:(?:<[^<>\s]{1,60}>|\[CALL_ID\]\w{1,40}|\[[A-Z_]{3,40}\]|(?:commentary )?json\b)\s{0,9}){0,4}"
    rf"{_QUOTE}[ \t]{{0,9}}[:,]?\s{{0,9}}"
    rf"(?P<label>[*\"']{{0,3}}{_INPUT}[*\"']{{0,3}}[ \t]{{0,4}}:[*]{{0,3}}\s{{0,9}})?"
    r"(?:```[\w+-]{0,20}\s{0,9})?",
    re.IGNORECASE,
)
"""What may stand between a name and its arguments."""
_HEAD = re.compile(
    rf"{_QUOTE}[ \t]{{0,4}}(?P<colon>:?)[ \t]{{0,4}}\n"
    rf"(?P<label>[ \t]{{0,8}}{_INPUT}[ \t]{{0,4}}:[ \t]{{0,4}}\n)?",
    re.IGNORECASE,
)
"""What stands between a name and the lines below it."""
_OPENED = re.compile(r"(?:\.call)?\(\s{0,99}")
_PAIR = re.compile(r"\s{0,99}<arg_key>\s{0,9}([^<>]{1,128}?)\s{0,9}</arg_key>\s{0,99}<arg_value>")
_KEYWORD = re.compile(r"\s{0,99}([^\W\d]\w{0,127})\s{0,9}=\s{0,9}")
_LINE = re.compile(
    r"(?P<indent>[ \t]{0,16})(?P<key>[\w.$@-]{1,128})[ \t]{0,4}:[ \t]{0,4}(?P<raw>[^\n]{0,4000})(?:\n|\Z)"
)
_ITEM = re.compile(r"[ \t]{0,16}-[ \t]{1,4}(?P<raw>[^\n]{0,4000})(?:\n|\Z)")
_QUOTES = ('<|"|>', "<escape>")
"""What stands around strings in Gemma's own forms."""
_MOST_LINES = 64


class CallByName(NamedTuple):
    """The arguments behind a name, the place where the call begins with what leads to it, and its end."""

    arguments: JsonObject
    form: str
    start: int
    end: int


def call_by_name(text: str, begin: int, end: int, schema: JsonObject) -> CallByName | None:
    """Return the call whose name stands at a place, if it is where names of calls stand."""
    first = max(0, begin - 120)
    before = _BEFORE.search(text[first:begin])
    if before is None:
        return None
    start = first + before.start()
    start += len(before[0]) - len(before[0].lstrip("\n"))
    properties = schema.get("properties", {})
    if python := _python(text, end, properties):
        is_printed = before[0].casefold().startswith("print(")
        close = skip(text, python[1])
        stop = close + 1 if is_printed and text.startswith(")", close) else python[1]
        return CallByName(python[0], before["mark"] or "Python calls", start, stop)
    if pairs := _pairs(text, end, properties):
        return CallByName(pairs[0], before["mark"] or "<arg_key>", start, pairs[1])
    between = _BETWEEN.match(text, end)
    is_led = bool(before["label"] or before["mark"] or (between and (between["label"] or between["number"])))
    if between and text.startswith("{", between.end()):
        if not is_led and "\n" in text[end : between.end()].strip("\n") and between[0].strip(": \n\t`json"):
            return None
        value = _object(text, between.end())
        if value and (is_led or ((value[0] or not properties) and value[0].keys() <= properties.keys())):
            is_action = before["label"] and between["label"]
            is_module = "functions" in before[0].casefold()
            form = (
                "Action:"
                if is_action
                else "functions.NAME"
                if is_module
                else before["mark"] or "NAME and JSON"
            )
            return CallByName(value[0], form, start, value[1])
    if below := _below(text, start, end, before, properties):
        return below
    if between and before["label"] and between["label"] and len(properties) == 1:
        raw = text[between.end() :].partition("\n")[0].strip()
        if raw and raw[0] not in "{[":  # the beginning of a value that has no end is no input
            return CallByName(dict.fromkeys(properties, raw), "Action:", start, between.end() + len(raw))
    return None


def _object(text: str, place: int) -> tuple[JsonObject, int] | None:
    """Return the object at a place, in whichever spelling, and where it ends."""
    for quote in ("", *_QUOTES):
        with suppress(JsonError, ValueError):
            value, end = read_value(text, place, quote) if quote else _any_object(text, place)
            if isinstance(value, dict):
                return value, end
    return None


def _any_object(text: str, place: int) -> tuple[Json, int]:
    with suppress(JsonError):
        return read_json_at(text, place)
    return read_value(text, place)


def _pairs(text: str, place: int, properties: JsonObject) -> tuple[JsonObject, int] | None:
    """Return the arguments in tags for each key and value, as GLM writes them."""
    arguments = dict[str, Json]()
    while pair := _PAIR.match(text, place):
        close = text.find("</arg_value>", pair.end())
        if close < 0 or pair[1] in arguments:
            return None
        raw = text[pair.end() : close].removeprefix("\n").removesuffix("\n")
        arguments[pair[1]] = cast(raw, properties.get(pair[1]), JSON)
        place = close + len("</arg_value>")
    rest = text[skip(text, place) :][: len("<arg_key>")]
    goes_on = rest and "<arg_key>".startswith(rest)  # with an argument that has no end
    return (arguments, place) if arguments and not goes_on else None


def _python(text: str, place: int, properties: JsonObject) -> tuple[JsonObject, int] | None:
    """Return the arguments of a Python call: by keywords, as one object, or none at all."""
    opened = _OPENED.match(text, place)
    if not opened:
        return None
    arguments, place = dict[str, Json](), opened.end()
    if text.startswith("{", place):
        value = _object(text, place)
        close = skip(text, value[1]) if value else place
        return (value[0], close + 1) if value and text.startswith(")", close) else None
    while not text.startswith(")", place):
        keyword = _KEYWORD.match(text, place)
        if not keyword or keyword[1] in arguments:
            return None
        try:
            arguments[keyword[1]], place = read_value(text, keyword.end())
        except ValueError:
            return None
        place = skip(text, place)
        if text.startswith(",", place):
            place = skip(text, place + 1)
        elif not text.startswith(")", place):
            return None
    return (arguments, place + 1) if arguments or not properties else None


def _below(
    text: str, start: int, end: int, before: re.Match[str], properties: JsonObject
) -> CallByName | None:
    """Return the arguments in lines below the name, as in YAML; they are all of the tool's own parameters."""
    opened = _HEAD.match(text, end)
    if not opened or not ((opened["label"] and before["label"]) or (opened["colon"] and not before["label"])):
        return None
    arguments, place = dict[str, Json](), opened.end()
    indent = None
    for _ in range(_MOST_LINES):
        line = _LINE.match(text, place)
        if not line or not line["indent"] or line["key"] not in properties or line["key"] in arguments:
            break
        if indent not in (None, line["indent"]):
            break
        indent, place, raw = line["indent"], line.end(), line["raw"].strip()
        items = list[Json]()
        while not raw and len(items) < _MOST_LINES and (item := _ITEM.match(text, place)):
            items.append(_scalar(item["raw"], None))
            place = item.end()
        if not raw and not items:
            return None
        arguments[line["key"]] = items or _scalar(raw, properties[line["key"]])
    return CallByName(arguments, "YAML", start, place) if arguments else None


def _scalar(raw: str, schema: JsonObject | None) -> Json:
    """Return the value of a line: in quotes or bare."""
    raw = raw.strip()
    if raw[:1] in ("'", '"') and len(raw) > 1:
        with suppress(JsonError, ValueError):
            value, end = read_value(raw, 0)
            return value if end == len(raw) else raw
    return cast(raw, schema, JSON)
