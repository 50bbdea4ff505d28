"""The form in which a chat template shows calls, found by rendering calls that are known.

Names and values are chosen so that they stand out; the text between them in the prompt is the form. It is
then checked against other calls, rendered by the template, and rejected if it is not the same.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from rig.calls import Call, Json, JsonObject
from rig.engine.grammar.spelling import CDATA, COMPACT, JSON, PYTHON, UNSAFE, Spelling, Tags
from rig.engine.native.probe import FIRST, MARKER, SECOND, Probe, Shown
from rig.engine.native.reader import CallReader, NotRead
from rig.engine.native.shape import ID, INDEX, CallShape, Sorting

_KEYS = ("kappa", "omega")
_TEXTS = ("vauxhall", "westward")
_NUMBERS = (73019, 84023)
_ONE: JsonObject = {_KEYS[0]: _TEXTS[0]}
_TWO: JsonObject = dict(zip(_KEYS, _TEXTS, strict=True))


class NotDerived(Exception):
    """The template does not show calls in a form that can be told; the message says how far it went.

    `shown`: it does show them, only in what form is not known. `lossy`: the form does not tell them apart.
    """

    def __init__(self, message: str, *, shown: bool = True, lossy: bool = False) -> None:
        super().__init__(message)
        self.shown = shown
        self.lossy = lossy


def derive(probe: Probe) -> CallShape:
    """The form of calls. Raises NotDerived."""
    shown = probe.call(FIRST, _TWO)
    if shown is None:
        raise NotDerived(probe.fault or "does not show the calls of earlier messages", shown=False)
    found = _json_shape(probe, shown) or _tagged_shape(probe, shown)
    if found is None:
        raise NotDerived("shows a call's arguments in no form that rig knows")
    return _checked(probe, _with_several(probe, found))


class _Ends(NamedTuple):
    """A call cut at its arguments."""

    open: str
    after_name: str
    close: str


def _json_shape(probe: Probe, shown: Shown) -> CallShape | None:
    """Where all arguments stand as one JSON object."""
    after = shown.text.index(FIRST) + len(FIRST)
    for brace in (found.start() + after for found in re.finditer(r"\{", shown.text[after:])):
        try:
            value, end = json.JSONDecoder().raw_decode(shown.text, brace)
        except ValueError:
            continue
        if value == _TWO:
            written = shown.text[brace:end]
            known = (JSON, COMPACT, *_laid_out(written))
            spelling = next((each for each in known if each.write(value) == written), JSON)
            spelling = replace(spelling, ascii=_escapes(probe))
            return CallShape(
                open=_opening(shown.text[: after - len(FIRST)]),
                after_name=shown.text[after:brace],
                arguments=spelling,
                close=_closing(probe, shown.text[end:]),
                trigger="",
                sorts=_sorts(probe),
            )
    return None


def _laid_out(written: str) -> Iterator[Spelling]:
    """JSON over lines, as far in as its last line is."""
    _, found, last = written.rpartition("\n")
    if found:
        margin = len(last) - len(last.lstrip())
        yield from (Spelling(indent=indent, margin=margin) for indent in (2, 4))


def _escapes(probe: Probe) -> bool:
    shown = probe.call(FIRST, {_KEYS[0]: "é"})
    return shown is not None and "é" not in shown.text


def _tagged_shape(probe: Probe, shown: Shown) -> CallShape | None:
    """Where every argument stands by itself."""
    first = _between(probe, _TEXTS)
    numbers = _between(probe, _NUMBERS)
    one = probe.call(FIRST, _ONE)
    if first is None or numbers is None or one is None:
        return None
    _, before, middle, between, after = first
    _, _, number_middle, number_between, _ = numbers
    text_close = _whole_tags(_common_start(between, after), between)
    rest = between[len(text_close) :]
    before_key = _common_end(before, rest)
    before_key = before_key[_next_tag(before_key, before) :] if _is_cut(before, before_key) else before_key
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
        open=_opening(first[0]),
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
    shown = probe.call(FIRST, dict(zip(_KEYS, values, strict=True)))
    if shown is None:
        return None
    text, pieces = shown.text, []
    for needle in (FIRST, _KEYS[0], str(values[0]), _KEYS[1], str(values[1])):
        before, found, text = text.partition(needle)
        if not found:
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
    known = (JSON, COMPACT, *_delimited(written, tags.words), PYTHON)
    tags = replace(tags, spelling=next((each for each in known if each.write(nested) == written), JSON))
    unsafe = probe.call(FIRST, {_KEYS[0]: UNSAFE})
    tags = replace(tags, wrapped=unsafe is not None and UNSAFE.join(CDATA) in unsafe.text)
    empty = probe.call(FIRST, {})
    bare = shape.after_name
    if empty is not None:
        rest = empty.text.partition(FIRST)[2]
        if rest.startswith(bare) and shape.close in rest[len(bare) :]:
            tags = replace(tags, empty=rest[len(bare) :].partition(shape.close)[0])
    return replace(shape, arguments=tags, sorts=_sorts(probe))


def _delimited(written: str | None, words: tuple[str, str, str]) -> list[Spelling]:
    """The spelling of a value that is not JSON: bare keys, and strings between two quotes."""
    found = re.search(rf"\binner:(.{{1,20}}){_TEXTS[0]}", written or "")
    if not found:
        return []
    return [Spelling(found[1], bare_keys=True, words=words, between_items=",", between_key_and_value=":")]


def _value_of(probe: Probe, shape: CallShape, tags: Tags, value: Json) -> str | None:
    """How the template writes a value that is not a text, as an argument of its own."""
    shown = probe.call(FIRST, {_KEYS[0]: value})
    if shown is None:
        return None
    before = f"{FIRST}{shape.after_name}{tags.before_key}{_KEYS[0]}{tags.other_open}"
    _, found, rest = shown.text.partition(before)
    end = rest.rfind(tags.other_close + shape.close)
    return rest[:end] if found and end >= 0 else None


def _sorts(probe: Probe) -> Sorting:
    """By which order a template sorts arguments, if it does."""
    names = ("zeta", "Zulu", "Alpha", "beta")
    shown = probe.call(FIRST, dict.fromkeys(names, 1))
    text = "" if shown is None else shown.text.partition(FIRST)[2]
    order = sorted(names, key=text.find)
    if order == sorted(names):
        return "capitals first"
    return "any case" if order == sorted(names, key=str.lower) else ""


def _with_several(probe: Probe, shape: CallShape) -> CallShape:
    """The shape with what stands between two calls, and with holes for what differs from call to call."""
    shown = probe.calls((FIRST, _ONE), (SECOND, _ONE))
    open_, after_name, close = shape.open, shape.after_name, shape.close
    between = ""
    if shown is not None and shown.text.count(SECOND) == 1:
        written = _arguments(shape, _ONE)
        start = shown.text.find(written)
        second = shown.text.find(SECOND)
        if 0 <= start < second:
            between = shown.text[start + len(written) : second]
            after = shown.text[second + len(SECOND) :]
            second_name = after[: after.find(written)] if written in after else after_name
            after_name = _with_holes(after_name, second_name)
            open_, between = _aligned(open_, between)
            close, between = _aligned_from_start(close, between)
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
    shown = probe.calls((FIRST, _ONE), following=[result])
    if shown is None or not shape.close:
        return ""
    after = shown.text.partition(_arguments(shape, _ONE))[2]
    extra = after.partition(shape.close)[0] if shape.close in after else ""
    return extra if len(extra) < 40 else ""


def _arguments(shape: CallShape, arguments: JsonObject) -> str:
    return shape.arguments.write(arguments)


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


def _opening(text: str) -> str:
    """What comes before a name, without the thoughts and the white space before it."""
    return text.lstrip()


def _closing(probe: Probe, text: str) -> str:
    """What comes after the last argument, without the end of the message."""
    ends = [place for end in probe.ends if end and (place := text.find(end)) >= 0]
    return text[: min(ends)].rstrip() if ends else text.rstrip()


def _common_start(one: str, other: str) -> str:
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _common_end(one: str, other: str) -> str:
    return _common_start(one[::-1], other[::-1])[::-1]


def _whole_tags(text: str, whole: str) -> str:
    """A beginning of a text, cut back so that it ends within no tag of it."""
    opened = text.rfind("<")
    return text[:opened] if opened >= 0 and ">" not in text[opened:] else text


def _is_cut(whole: str, end: str) -> bool:
    """Whether an end of a text begins within a tag of it, or takes all of it with the end of another tag."""
    return end.startswith(">") or (end == whole and ">" in end.split("<")[0])


def _next_tag(text: str, _: str) -> int:
    """Where the first tag begins that is there as a whole."""
    place = text.find("<")
    return place if place >= 0 else 0


def _with_holes(one: str, other: str) -> str:
    """A text with holes for its numbers where another differs from it in them alone."""
    if one == other:
        return one
    first, second = (re.split(r"(\d+)", text) for text in (one, other))
    if len(first) != len(second) or first[::2] != second[::2]:
        return one
    pairs = zip(first, second, strict=True)
    return "".join(a if a == b else INDEX for a, b in pairs)


def _aligned(text: str, other: str) -> tuple[str, str]:
    """Two texts that end alike but for their numbers, with holes for those."""
    return _align(text, other, _common_end, backwards=True)


def _aligned_from_start(text: str, other: str) -> tuple[str, str]:
    """Two texts that begin alike but for their numbers, with holes for those."""
    return _align(text, other, _common_start, backwards=False)


def _align(text: str, other: str, common: Callable[[str, str], str], *, backwards: bool) -> tuple[str, str]:
    shared = len(common(text, other))
    if backwards:
        ends = (re.search(r"\d+$", each[: len(each) - shared]) for each in (text, other))
    else:
        ends = (re.match(r"\d+", each[shared:]) for each in (text, other))
    numbers = list(ends)
    if not shared or not all(numbers):
        return text, other
    texts = []
    for each, number in zip((text, other), numbers, strict=True):
        assert number is not None
        at = len(each) - shared - len(number[0]) if backwards else shared
        texts.append(each[:at] + INDEX + each[at + len(number[0]) :])
    return texts[0], texts[1]


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
    if any(FIRST in each or SECOND in each for each in fixed):
        raise NotDerived("shows a call's name more than once")
    if other is None or not _is_in(shape.write((Call(SECOND, _ONE),)), other.text):
        raise NotDerived("shows calls of some tools in another form than those of others")
    for arguments in _TRIALS:
        shown = probe.call(FIRST, arguments)
        written = shape.write((Call(FIRST, arguments),))
        if shown is None or not _is_in(written, shown.text):
            raise NotDerived(f"shows {_short(arguments)} in a form of its own")
        if not _is_read(shape, written, arguments):
            raise NotDerived(f"shows {_short(arguments)} in a form that loses where values end", lossy=True)
    return shape if shape.lead or _shows_several(probe, shape) else replace(shape, between="")


def _shows_several(probe: Probe, shape: CallShape) -> bool:
    """Whether the template shows two calls as the shape has them, with any arguments."""
    for pair in zip(_TRIALS, reversed(_TRIALS), strict=True):
        calls = tuple(map(Call, (FIRST, SECOND), pair))
        shown = probe.calls(*((call.name, call.arguments) for call in calls))
        if shown is None or not _is_in(shape.write(calls), shown.text):
            return False
    return True


def _is_read(shape: CallShape, written: str, arguments: JsonObject) -> bool:
    """Whether a call is read as it was written."""
    types = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    schema = {"properties": {name: {"type": types[type(value)]} for name, value in arguments.items()}}
    try:
        reader = CallReader(shape, {FIRST: schema}, loose=False)
        found, end = reader.read(written, 0, "" if shape.lead else shape.open)
    except NotRead:
        return False
    return (found, end) == ([(FIRST, arguments)], len(written))


def _is_in(written: str, shown: str) -> bool:
    return written.replace(f"{0:09}", ID).replace(f"{1:09}", ID) in shown


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]
