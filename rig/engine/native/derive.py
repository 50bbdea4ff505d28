"""The form in which a chat template shows calls, found by rendering calls that are known.

Names and values are chosen so that they stand out; the text between them in the prompt is the form. It is
then checked against other calls, rendered by the template, and rejected if it is not the same.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from rig.calls import Call, Json, JsonObject
from rig.engine.grammar.language import CDATA, COMPACT, JSON, PYTHON, UNSAFE, Spelling, Tags
from rig.engine.native.probe import FIRST, MARKER, SECOND, Probe
from rig.engine.native.reader import CallReader, NotRead
from rig.engine.native.shape import ID, INDEX, CallShape, Sorting

_KEYS = ("kappa", "omega")
_TEXTS = ("vauxhall", "westward")
_NUMBERS = (73019, 84023)
_ONE: JsonObject = {_KEYS[0]: _TEXTS[0]}
_TWO: JsonObject = dict(zip(_KEYS, _TEXTS, strict=True))


class NotDerived(Exception):
    """The template does not show calls in a form that can be told; the message says how far it went.

    `shows_calls`: it does show them, only in what form is not known. `lossy`: the form does not tell them
    apart.
    """

    def __init__(self, message: str, *, shows_calls: bool = True, lossy: bool = False) -> None:
        super().__init__(message)
        self.shows_calls = shows_calls
        self.lossy = lossy


def derive(probe: Probe) -> CallShape:
    """The form of calls. Raises NotDerived."""
    text = probe.call(FIRST, _TWO)
    if text is None:
        raise NotDerived(probe.fault or "does not show the calls of earlier messages", shows_calls=False)
    shape = _json_shape(probe, text) or _tagged_shape(probe)
    if shape is None:
        raise NotDerived("shows a call's arguments in no form that rig knows")
    return _checked(probe, _with_several(probe, shape))


def _json_shape(probe: Probe, text: str) -> CallShape | None:
    """Where all arguments stand as one JSON object."""
    after = text.index(FIRST) + len(FIRST)
    for brace in (brace_match.start() + after for brace_match in re.finditer(r"\{", text[after:])):
        try:
            value, end = json.JSONDecoder().raw_decode(text, brace)
        except ValueError:
            continue
        if value == _TWO:
            written = text[brace:end]
            spellings = (JSON, COMPACT, *_laid_out(written))
            spelling = next((candidate for candidate in spellings if candidate.write(value) == written), JSON)
            accented = probe.call(FIRST, {_KEYS[0]: "é"})
            spelling = replace(spelling, ascii=accented is not None and "é" not in accented)
            return CallShape(
                open=text[: after - len(FIRST)].lstrip(),
                after_name=text[after:brace],
                arguments=spelling,
                close=_closing(probe, text[end:]),
                trigger="",
                sorts=_sorts(probe),
            )
    return None


def _laid_out(written: str) -> Iterator[Spelling]:
    """JSON over lines, as far in as its last line is."""
    _, newline, last = written.rpartition("\n")
    if newline:
        margin = len(last) - len(last.lstrip())
        yield from (Spelling(indent=indent, margin=margin) for indent in (2, 4))


def _tagged_shape(probe: Probe) -> CallShape | None:
    """Where every argument stands by itself."""
    first = _between(probe, _TEXTS)
    numbers = _between(probe, _NUMBERS)
    one = probe.call(FIRST, _ONE)
    if first is None or numbers is None or one is None:
        return None
    _, before, middle, between, after = first
    _, _, number_middle, number_between, _ = numbers
    text_close = _common_start(between, after)
    if (tag := text_close.rfind("<")) >= 0 and ">" not in text_close[tag:]:
        text_close = text_close[:tag]  # it ends within no tag
    rest = between[len(text_close) :]
    before_key = _common_end(before, rest)
    # It begins within no tag either, and with the end of none.
    if before_key.startswith(">") or (before_key == before and ">" in before_key.split("<")[0]):
        before_key = before_key[max(before_key.find("<"), 0) :]
    join = rest[: len(rest) - len(before_key)]
    tail = join + before_key
    if tail and not number_between.endswith(tail):
        return None
    other_close = number_between[: len(number_between) - len(tail)]
    quoted = middle.endswith('"') and text_close.startswith('"') and not number_middle.endswith('"')
    if quoted:
        middle, text_close = middle[:-1], text_close[1:]
    tags = Tags(before_key, middle, text_close, number_middle, other_close, join=join, quoted=quoted)
    name_end = len(before) - len(before_key)
    drop = text_close if not quoted else '"' + text_close
    shape = CallShape(
        open=first.open.lstrip(),
        after_name=before[:name_end],
        arguments=tags,
        close=_closing(probe, after[len(drop) :]),
        trigger="",
    )
    return _with_values(probe, shape, tags)


class _Cut(NamedTuple):
    """The text before the name, to the first key, to its value, to the second key, and after its value."""

    open: str
    before: str
    middle: str
    between: str
    after: str


def _between(probe: Probe, values: Sequence[Json]) -> _Cut | None:
    rendered = probe.call(FIRST, dict(zip(_KEYS, values, strict=True)))
    if rendered is None:
        return None
    text, pieces = rendered, []
    for needle in (FIRST, _KEYS[0], str(values[0]), _KEYS[1], str(values[1])):
        before, needle_there, text = text.partition(needle)
        if not needle_there:
            return None
        pieces.append(before)
    name, key, middle, between, _ = pieces
    return _Cut(name, key, middle, between, text)


def _with_values(probe: Probe, shape: CallShape, tags: Tags) -> CallShape | None:
    """The shape with how other values than texts and numbers are spelled."""
    words = tuple(_value_of(probe, shape, tags, value) for value in (True, False, None))
    kept = tuple(word or like for word, like in zip(words, JSON.words, strict=True))
    assert len(kept) == 3
    tags = replace(tags, words=kept)
    nested: JsonObject = {"also": [_TEXTS[1], 7], "inner": _TEXTS[0], "last": True}
    written = _value_of(probe, shape, tags, nested)
    spellings = (JSON, COMPACT, *_delimited(written, tags.words), PYTHON)
    tags = replace(
        tags,
        spelling=next((candidate for candidate in spellings if candidate.write(nested) == written), JSON),
    )
    unsafe = probe.call(FIRST, {_KEYS[0]: UNSAFE})
    tags = replace(tags, wrapped=unsafe is not None and UNSAFE.join(CDATA) in unsafe)
    empty = probe.call(FIRST, {})
    bare = shape.after_name
    if empty is not None:
        rest = empty.partition(FIRST)[2]
        if rest.startswith(bare) and shape.close in rest[len(bare) :]:
            tags = replace(tags, empty=rest[len(bare) :].partition(shape.close)[0])
    return replace(shape, arguments=tags, sorts=_sorts(probe))


def _delimited(written: str | None, words: tuple[str, str, str]) -> list[Spelling]:
    """The spelling of a value that is not JSON: bare keys, and strings between two quotes."""
    quoted = re.search(rf"\binner:(.{{1,20}}){_TEXTS[0]}", written or "")
    if not quoted:
        return []
    return [Spelling(quoted[1], bare_keys=True, words=words, between_items=",", between_key_and_value=":")]


def _value_of(probe: Probe, shape: CallShape, tags: Tags, value: Json) -> str | None:
    """How the template writes a value that is not a text, as an argument of its own."""
    rendered = probe.call(FIRST, {_KEYS[0]: value})
    if rendered is None:
        return None
    before = f"{FIRST}{shape.after_name}{tags.before_key}{_KEYS[0]}{tags.other_open}"
    _, separator, rest = rendered.partition(before)
    end = rest.rfind(tags.other_close + shape.close)
    return rest[:end] if separator and end >= 0 else None


def _sorts(probe: Probe) -> Sorting:
    """By which order a template sorts arguments, if it does."""
    names = ("zeta", "Zulu", "Alpha", "beta")
    rendered = probe.call(FIRST, dict.fromkeys(names, 1))
    text = "" if rendered is None else rendered.partition(FIRST)[2]
    order = sorted(names, key=text.find)
    if order == sorted(names):
        return "capitals first"
    return "any case" if order == sorted(names, key=str.lower) else ""


def _with_several(probe: Probe, shape: CallShape) -> CallShape:
    """The shape with what stands between two calls, and with holes for what differs from call to call."""
    rendered = probe.calls((FIRST, _ONE), (SECOND, _ONE))
    open_, after_name, close = shape.open, shape.after_name, shape.close
    between = ""
    if rendered is not None and rendered.count(SECOND) == 1:
        written = shape.arguments.write(_ONE)
        start = rendered.find(written)
        second = rendered.find(SECOND)
        if 0 <= start < second:
            between = rendered[start + len(written) : second]
            after = rendered[second + len(SECOND) :]
            second_name = after[: after.find(written)] if written in after else after_name
            after_name = _with_holes(after_name, second_name)
            open_, between = _align(open_, between, backwards=True)
            close, between = _align(close, between)
    also_after = _before_results(probe, shape)
    shape = replace(
        shape, open=open_, after_name=after_name, close=close, between=between, also_after=also_after
    )
    if shape.open:
        return replace(shape, trigger=_trigger(shape.open))
    lead = probe.words[0]
    if not (lead.strip() and between):
        raise NotDerived("shows calls in a form that nothing tells from words")
    return replace(shape, trigger=between, lead=lead)


def _before_results(probe: Probe, shape: CallShape) -> str:
    """What stands after the arguments, an id mostly, only where the call's result follows."""
    result = {"role": "tool", "name": FIRST, "tool_call_id": probe.id_of(FIRST, 0), "content": "found"}
    rendered = probe.calls((FIRST, _ONE), following=[result])
    if rendered is None or not shape.close:
        return ""
    after = rendered.partition(shape.arguments.write(_ONE))[2]
    extra = after.partition(shape.close)[0] if shape.close in after else ""
    return extra if len(extra) < 40 else ""


def _trigger(text: str) -> str:
    """The beginning of a call that tells it from words."""
    before_hole = re.split(f"[{ID}{INDEX}]", text)[0]
    if before_hole.startswith("{"):
        return before_hole[: before_hole.find('"') + 1] or before_hole
    marker = MARKER.match(before_hole)
    if marker:
        return marker[0]
    head, bracket, _ = before_hole.partition("[")
    return head + bracket if head and bracket else before_hole


def _closing(probe: Probe, text: str) -> str:
    """What comes after the last argument, without the end of the message."""
    ends = [place for end in probe.ends if end and (place := text.find(end)) >= 0]
    return text[: min(ends)].rstrip() if ends else text.rstrip()


def _common_start(one: str, other: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _common_end(one: str, other: str) -> str:
    return _common_start(one[::-1], other[::-1])[::-1]


def _with_holes(one: str, other: str) -> str:
    """A text with holes for its numbers where another differs from it in them alone."""
    if one == other:
        return one
    first, second = (re.split(r"(\d+)", text) for text in (one, other))
    if len(first) != len(second) or first[::2] != second[::2]:
        return one
    pairs = zip(first, second, strict=True)
    return "".join(a if a == b else INDEX for a, b in pairs)


def _align(text: str, other: str, *, backwards: bool = False) -> tuple[str, str]:
    """Two texts that begin alike but for a number, or end alike, with holes for that number."""
    step = -1 if backwards else 1
    texts = (text[::step], other[::step])
    shared = len(_common_start(*texts))
    numbers = [re.match(r"\d+", part[shared:]) for part in texts]
    if not shared or not all(numbers):
        return text, other
    first, second = (
        part[:shared] + INDEX + part[shared + len(number[0]) :]
        for part, number in zip(texts, numbers, strict=True)
        if number
    )
    return first[::step], second[::step]


_TRIALS: tuple[JsonObject, ...] = (
    {"kappa": 'He said: "no" & <b>it\'s</b>\\n', "omega": -3},
    {"kappa": "äöü 語 😀\nsecond line", "omega": 2.5},
    {"omega": True, "kappa": ""},
    {"kappa": ["a", "b c"], "omega": False},
    {"kappa": {"deep": [1, {"er": "x"}], "flag": True}, "omega": "7"},
    {},
)
"""Values of every type, with characters that some templates escape."""


def _checked(probe: Probe, shape: CallShape) -> CallShape:
    """The shape, if calls that it writes are those that the template shows, and read as such.

    Raises NotDerived.
    """
    if shape.open and probe.prompt.rstrip().endswith(shape.trigger.rstrip()):
        raise NotDerived("shows calls in a form that nothing tells from words")
    fixed = (shape.open, shape.after_name, shape.close, shape.between)
    other = probe.call(SECOND, _ONE)
    if any(FIRST in part or SECOND in part for part in fixed):
        raise NotDerived("shows a call's name more than once")
    if other is None or not _is_in(shape.write((Call(SECOND, _ONE),)), other):
        raise NotDerived("shows calls of some tools in another form than those of others")
    for arguments in _TRIALS:
        rendered = probe.call(FIRST, arguments)
        written = shape.write((Call(FIRST, arguments),))
        if rendered is None or not _is_in(written, rendered):
            raise NotDerived(f"shows {_short(arguments)} in a form of its own")
        if not _is_read(shape, written, arguments):
            raise NotDerived(f"shows {_short(arguments)} in a form that loses where values end", lossy=True)
    return shape if shape.lead or _shows_several(probe, shape) else replace(shape, between="")


def _shows_several(probe: Probe, shape: CallShape) -> bool:
    """Whether the template shows two calls as the shape has them, with any arguments."""
    for pair in zip(_TRIALS, reversed(_TRIALS), strict=True):
        calls = tuple(map(Call, (FIRST, SECOND), pair))
        rendered = probe.calls(*((call.name, call.arguments) for call in calls))
        if rendered is None or not _is_in(shape.write(calls), rendered):
            return False
    return True


def _is_read(shape: CallShape, written: str, arguments: JsonObject) -> bool:
    """Whether a call is read as it was written."""
    types = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    schema = {"properties": {name: {"type": types[type(value)]} for name, value in arguments.items()}}
    try:
        reader = CallReader(shape, {FIRST: schema}, loose=False)
        calls, end = reader.read(written, 0, "" if shape.lead else shape.open)
    except NotRead:
        return False
    return (calls, end) == ([(FIRST, arguments)], len(written))


def _is_in(written: str, prompt: str) -> bool:
    return written.replace(f"{0:09}", ID).replace(f"{1:09}", ID) in prompt


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]
