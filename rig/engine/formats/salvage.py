"""What a model meant when it wrote without a grammar: its call or its words, and what had to be overlooked.

Only the wrapping is read tolerantly: fences, tags, prose, other names for the same two keys. The tool's name
and the arguments inside are taken as written and judged like any other answer. Nothing is completed,
corrected or executed. The text comes from a model and is therefore hostile: everything here is limited.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rig.calls import JsonObject

RULES = "1"
"""Version of these rules; part of the fingerprint of arms that they read."""

LONGEST = 1 << 16
"""Characters of an answer that is read at all."""
DEEPEST = 64
"""Levels of lists and objects in an answer."""
_MOST_BRACKETS = 256
"""Brackets in one answer that begin nothing that can be read."""

MARKS = frozenset(
    (
        *("<tool_call>", "</tool_call>"),  # Hermes and Qwen
        *("<|tool_call|>", "<|/tool_call|>"),  # Granite and Phi
        *("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),  # Mistral
        "<|python_tag|>",  # Llama 3
        *("<think>", "</think>"),  # thoughts
    )
)
"""How special tokens are spelled that a free answer may hold."""

_CALL_MARKS = ("<tool_call>", "<|tool_call|>", "[TOOL_CALLS]", "<|python_tag|>")
_NAMED = (
    (
        "[TOOL_CALLS]",
        re.compile(r"\[TOOL_CALLS\]\s{0,9}([\w.-]{1,200})(?:\[CALL_ID\]\w{1,40})?(?:\[ARGS\])?\s{0,9}\Z"),
    ),
    ("<function=>", re.compile(r"<function=([\w.-]{1,200})>\s{0,9}\Z")),
)
"""Forms in which the tool's name stands before its arguments."""
_FENCE = re.compile(r"```[\w-]{0,20}\s{0,9}\Z")
_OBJECT = re.compile(r'\{\s{0,99}"')
_LOOKS_LIKE_JSON = re.compile(r"(?:```[\w-]{0,20}\s{0,9})?(?:\{|\[\s{0,9}\{)")
_LOOKS_LIKE_A_CALL = re.compile(r"""["'](?:tool|tool_calls|arguments|parameters)["']\s{0,9}:|<function=""")
_PYTHON_CALL = re.compile(r"\[\s{0,9}[A-Za-z_][\w.]{0,200}\(")
_BEFORE = 300
"""Characters before a value that are looked at."""

_CUT = "before JSON that cannot be read"

_NAMES = ("tool", "name", "function")
_ARGUMENTS = ("arguments", "parameters")


class JsonError(ValueError):
    """Text that is not JSON, or JSON that does not mean one thing."""


class Unreadable(ValueError):
    """An answer in which there is no call and which is not words either; `how` says what was recognised."""

    def __init__(self, message: str, how: str = "") -> None:
        super().__init__(message)
        self.how = how


class Salvaged(NamedTuple):
    """An answer in rig's own form, not yet judged, and how it was found: empty if it had the form."""

    answer: JsonObject
    how: str


class _Found(NamedTuple):
    """A value in the text, from `start` to `end`."""

    value: Any
    start: int
    end: int


def read_json(text: str, *, repeats: bool = False) -> Any:
    """The value of a JSON text. Raises JsonError; no name may come twice, and all numbers are finite.

    With `repeats` a name may; the last value is taken, as nearly every reader of JSON does.
    """
    try:
        value = (_LAST if repeats else _DECODER).decode(text)
    except (ValueError, RecursionError) as error:
        raise JsonError(str(error)) from error
    _check_depth(value)
    return value


def read_json_at(text: str, place: int, *, repeats: bool = False) -> tuple[Any, int]:
    """The JSON value that begins at a place of a text, and where it ends. Raises JsonError as `read_json`."""
    try:
        value, end = (_LAST if repeats else _DECODER).raw_decode(text, place)
    except (ValueError, RecursionError) as error:
        raise JsonError(_reason(error)) from error
    _check_depth(value)
    return value, end


def salvage(text: str) -> Salvaged:
    """The first answer in a text. Raises Unreadable if there is a call that cannot be read, or nothing.

    Words with no trace of a call are a reply. Of several calls the first is taken, as the model, had it been
    asked step by step, would have made it first; the others are counted in `how`.
    """
    answers, how = salvage_all(text)
    calls = f"first of {len(answers)}" if len(answers) > 1 else ""
    before, cut, after = how.partition(_CUT)
    return Salvaged(answers[0], ", ".join(filter(None, [before.removesuffix(", "), calls, cut + after])))


def salvage_all(text: str) -> tuple[list[JsonObject], str]:
    """All answers in a text, and how the first was found; the rest is as in `salvage`."""
    if len(text) > LONGEST:
        raise Unreadable(f"an answer of {len(text):,} characters, more than {LONGEST:,}")
    answer_text, thought = _without_thoughts(text)
    notes = ["after thoughts"] if thought else []
    if not answer_text:
        raise Unreadable(f"nothing was said{' after the thoughts' if thought else ''}", ", ".join(notes))
    answers: list[tuple[JsonObject, list[str]]] = []
    broken = ""
    try:
        for located in _values(answer_text):
            answers += _answers(answer_text, located)
    except JsonError as error:
        broken = str(error)
    if answers:
        how = ", ".join(filter(None, [*notes, *answers[0][1], _CUT if broken else ""]))
        return [answer for answer, _ in answers], how
    mark = next((mark for mark in _CALL_MARKS if mark in answer_text), "")
    if _PYTHON_CALL.match(answer_text) and answer_text.endswith(")]"):
        raise Unreadable("calls written as Python are not read", ", ".join(notes))
    if mark or _LOOKS_LIKE_JSON.match(answer_text) or _LOOKS_LIKE_A_CALL.search(answer_text):
        reason = f"not JSON: {broken}" if broken else "neither a tool call nor a reply"
        raise Unreadable(reason, ", ".join(filter(None, [*notes, mark])))
    return [{"reply": answer_text}], ", ".join([*notes, "words"])


def _without_thoughts(text: str) -> tuple[str, bool]:
    """What comes after the thoughts. The mark that opens them may have been in the prompt."""
    head, closing, rest = text.partition("</think>")
    if closing and (head.lstrip().startswith("<think>") or "<think>" not in head) and "{" not in head[:1]:
        return rest.strip(), True
    if text.lstrip().startswith("<think>"):
        return "", True
    return text.strip(), False


def _values(text: str) -> Iterator[_Found]:
    """The JSON objects and lists in a text, outermost ones, in their order.

    Raises JsonError at an object that cannot be read, as nobody knows where it ends.
    """
    place, failures = 0, 0
    while bracket := _BRACKET.search(text, place):
        start = bracket.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
            _check_depth(value)
        except (ValueError, RecursionError) as error:
            failures += 1
            if _OBJECT.match(text, start):
                raise JsonError(_reason(error)) from error
            if failures > _MOST_BRACKETS:
                raise JsonError(f"more than {_MOST_BRACKETS} brackets with nothing in them") from error
            place = start + 1
            continue
        yield _Found(value, start, end)
        place = end


def _answers(text: str, located: _Found) -> list[tuple[JsonObject, list[str]]]:
    """The answers in a value, each with how it was recognised."""
    before = text[max(0, located.start - _BEFORE) : located.start]
    for mark, pattern in _NAMED:
        named = pattern.search(before)
        if named and isinstance(located.value, dict):
            return [({"tool": named[1], "arguments": located.value}, [mark])]
    where = _where(text, before, located)
    return [(answer, list(filter(None, [where, *notes]))) for answer, notes in _shapes(located.value)]


def _where(text: str, before: str, located: _Found) -> str:
    for mark in _CALL_MARKS:
        if before.rstrip().endswith(mark):
            return mark
    if _FENCE.search(before):
        return "fenced"
    return "" if located.start == 0 and located.end == len(text) else "in prose"


def _shapes(value: Any) -> list[tuple[JsonObject, list[str]]]:
    """The answers that a JSON value is: one object, a list of them, or the list in an envelope."""
    if isinstance(value, list):
        parts = [_shapes(item) if isinstance(item, dict) else [] for item in value]
        return [(answer, ["list", *notes]) for part in parts for answer, notes in part] if all(parts) else []
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("tool_calls"), list):
        return [(answer, ["tool_calls", *notes]) for answer, notes in _shapes(value["tool_calls"])]
    if isinstance(value.get("function"), dict) and not _arguments_of(value):
        return [(answer, ["function", *notes]) for answer, notes in _shapes(value["function"])]
    if set(value) == {"reply"}:
        return [(value, [])]
    return _call(value)


def _call(value: JsonObject) -> list[tuple[JsonObject, list[str]]]:
    names = [key for key in _NAMES if key in value]
    arguments = _arguments_of(value)
    if len(names) != 1 or len(arguments) != 1:
        return []
    notes = [] if (names, arguments) == (["tool"], ["arguments"]) else [f"{names[0]}/{arguments[0]}"]
    arguments_value = value[arguments[0]]
    if isinstance(arguments_value, str):
        try:
            arguments_value = read_json(arguments_value)
            notes.append("arguments as text")
        except JsonError:
            pass  # judged as the text that it is
    others = sorted(set(value) - {*names, *arguments})
    if others:
        notes.append("other keys")
    return [({"tool": value[names[0]], "arguments": arguments_value}, notes)]


def _arguments_of(value: JsonObject) -> list[str]:
    return [key for key in _ARGUMENTS if key in value]


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise JsonError("a name comes twice in one object")
    return members


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError("a number is too large")
    return number


def _refuse(text: str) -> Any:
    raise JsonError(f"{text} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse)
_LAST = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse)
_BRACKET = re.compile(r"[{\[]")


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level := [node for node in level if isinstance(node, dict | list)]:
        depth += 1
        if depth > DEEPEST:
            raise JsonError(f"nested deeper than {DEEPEST} levels")
        level = [inner for node in level for inner in (node.values() if isinstance(node, dict) else node)]


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
