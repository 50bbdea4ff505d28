"""The form in which a chat template shows calls, found by rendering known calls.

Names and values are chosen so that they stand out; the text between them in the prompt is the form. It is
then checked against other calls, rendered by the template, and rejected if it does not reproduce them.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from rig.core.calls import Call, Json, JsonObject
from rig.plugins.llama.formats.probe import FIRST, MARKER, SECOND, Probe, common_start, message
from rig.plugins.llama.formats.reader import CallReader, NotRead
from rig.plugins.llama.formats.shape import AGAIN, ID, INDEX, CallShape, Sorting
from rig.plugins.llama.grammar.language import CDATA, COMPACT, JSON, PYTHON, UNSAFE, Spelling, Tags

_KEYS = ("kappa", "omega")
_TEXTS = ("vauxhall", "westward")
_NUMBERS = (73019, 84023)
_ONE: JsonObject = {_KEYS[0]: _TEXTS[0]}
_TWO: JsonObject = dict(zip(_KEYS, _TEXTS, strict=True))


class Unsupported(Exception):
    """The template shows no calls in a form that can be used; the message says why.

    `shows_calls` means that it shows them, but in an unknown form. `lossy` means that the form does not keep
    different calls apart.
    """

    def __init__(self, message: str, *, shows_calls: bool = True, lossy: bool = False) -> None:
        super().__init__(message)
        self.shows_calls = shows_calls
        self.lossy = lossy


NO_FORM = "shows a call's arguments in no form that rig knows"


def derive(probe: Probe) -> CallShape:
    """Return the form of calls. Raises Unsupported."""
    text = probe.call((FIRST, _TWO))
    if text is None:
        raise Unsupported(probe.fault or "does not show the calls of earlier messages", shows_calls=False)
    shape = _json_shape(probe, text) or _tagged_shape(probe)
    if shape is None:
        raise Unsupported(NO_FORM)
    return _checked(probe, _with_several(probe, shape))


def _json_shape(probe: Probe, text: str) -> CallShape | None:
    """Return the form of calls whose arguments stand as one JSON object; None for another form."""
    after = text.index(FIRST) + len(FIRST)
    for brace in (brace_match.start() + after for brace_match in re.finditer(r"\{", text[after:])):
        try:
            value, end = json.JSONDecoder().raw_decode(text, brace)
        except ValueError:
            continue
        if value == _TWO:
            written = text[brace:end]
            spellings = [JSON, COMPACT]
            _, newline, last = written.rpartition("\n")
            if newline:  # laid out over lines, indented like its last one
                margin = len(last) - len(last.lstrip())
                spellings += [Spelling(indent=indent, margin=margin) for indent in (2, 4)]
            spelling = next((candidate for candidate in spellings if candidate.write(value) == written), JSON)
            accented = probe.call((FIRST, {_KEYS[0]: "é"}))
            spelling = replace(spelling, ascii=accented is not None and "é" not in accented)
            return CallShape(
                open=_opening(probe, text[: after - len(FIRST)]),
                after_name=text[after:brace].replace(FIRST, AGAIN),
                arguments=spelling,
                close=_closing(probe, text[end:]),
                trigger="",
                sorts=_sorts(probe),
            )
    return None


def _tagged_shape(probe: Probe) -> CallShape | None:
    """Return the form of calls in which every argument stands by itself; None for another form."""
    first, numbers = _between(probe, _TEXTS), _between(probe, _NUMBERS)
    if first is None or numbers is None or probe.call((FIRST, _ONE)) is None:
        return None
    opening, before, middle, between, _, after = first
    _, _, number_middle, number_between, *_ = numbers
    text_close = common_start(between, after)
    if (tag := text_close.rfind("<")) >= 0 and ">" not in text_close[tag:]:
        text_close = text_close[:tag]  # it must not end inside a tag
    rest = between[len(text_close) :]
    before_key = common_start(before[::-1], rest[::-1])[::-1]
    # It must not begin inside a tag either, nor with the end of one.
    if before_key.startswith(">") or (before_key == before and ">" in before_key.split("<")[0]):
        before_key = before_key[max(before_key.find("<"), 0) :]
    join = rest.removesuffix(before_key)
    if not number_between.endswith(rest):
        return None
    other_close = number_between.removesuffix(rest)
    quoted = middle.endswith('"') and text_close.startswith('"') and not number_middle.endswith('"')
    after = after[len(text_close) :]
    if not _closing(probe, after) and re.search(r"\w\w", MARKER.sub("", after)):
        raise Unsupported("ends calls with marks that end a message, too")
    if quoted:
        middle, text_close = middle[:-1], text_close[1:]
    tags = Tags(before_key, middle, text_close, number_middle, other_close, join=join, quoted=quoted)
    shape = CallShape(
        open=_opening(probe, opening),
        after_name=before.removesuffix(before_key).replace(FIRST, AGAIN),
        arguments=tags,
        close=_closing(probe, after),
        trigger="",
    )
    return _with_values(probe, shape, tags)


def _between(probe: Probe, values: Sequence[Json]) -> Sequence[str] | None:
    """Return the texts before the name, before each key and value of two arguments, and after them."""
    text = probe.call((FIRST, dict(zip(_KEYS, values, strict=True)))) or ""
    needles = (FIRST, _KEYS[0], values[0], _KEYS[1], values[1])
    match = re.match("".join(f"(.*?){needle}" for needle in needles) + "(.*)", text, re.DOTALL)
    return match and match.groups()


def _with_values(probe: Probe, shape: CallShape, tags: Tags) -> CallShape | None:
    """Return the shape with the spelling of values other than texts and numbers."""
    words = zip((True, False, None), JSON.words, strict=True)
    true, false, null = (_value_of(probe, shape, tags, value) or word for value, word in words)
    nested: JsonObject = {"also": [_TEXTS[1], 7], "inner": _TEXTS[0], "last": True}
    written = _value_of(probe, shape, tags, nested)
    spellings = [JSON, COMPACT]
    # Bare keys, and quotes of its own.
    if quote := re.search(rf"\binner:(.{{1,20}}){_TEXTS[0]}", written or ""):
        own = Spelling(quote[1], bare_keys=True, words=(true, false, null))
        spellings.append(replace(own, between_items=",", between_key_and_value=":"))
    spellings.append(PYTHON)
    unsafe = probe.call((FIRST, {_KEYS[0]: UNSAFE}))
    tags = replace(
        tags,
        words=(true, false, null),
        spelling=next((candidate for candidate in spellings if candidate.write(nested) == written), JSON),
        wrapped=unsafe is not None and UNSAFE.join(CDATA) in unsafe,
    )
    rest = (probe.call((FIRST, {})) or "").partition(FIRST)[2]
    after = shape.filled(shape.after_name, 0, FIRST)
    if shape.close and rest.startswith(after) and shape.close in rest[len(after) :]:
        tags = replace(tags, empty=rest[len(after) :].partition(shape.close)[0])
    return replace(shape, arguments=tags, sorts=_sorts(probe))


def _value_of(probe: Probe, shape: CallShape, tags: Tags, value: Json) -> str | None:
    """Return how the template writes a value other than a text, as an argument of its own."""
    before = f"{FIRST}{shape.filled(shape.after_name, 0, FIRST)}{tags.before_key}{_KEYS[0]}{tags.other_open}"
    _, separator, rest = (probe.call((FIRST, {_KEYS[0]: value})) or "").partition(before)
    end = rest.rfind(tags.other_close + shape.close)
    return rest[:end] if separator and end >= 0 else None


def _sorts(probe: Probe) -> Sorting:
    """Return the order in which a template sorts arguments, empty if it does not."""
    names = ("zeta", "Zulu", "Alpha", "beta")
    text = (probe.call((FIRST, dict.fromkeys(names, 1))) or "").partition(FIRST)[2]
    order = sorted(names, key=text.find)
    if order == sorted(names):
        return "capitals first"
    return "any case" if order == sorted(names, key=str.lower) else ""


def _with_several(probe: Probe, shape: CallShape) -> CallShape:
    """Return the shape with what stands between two calls, and with holes for what differs between calls."""
    rendered = probe.call((FIRST, _ONE), (SECOND, _ONE)) or ""
    open_, after_name, close = shape.open, shape.after_name, shape.close
    between = ""
    written = shape.arguments.write(_ONE)
    start, second = rendered.find(written), rendered.find(SECOND)
    if rendered.count(SECOND) == 1 + after_name.count(AGAIN) and 0 <= start < second:
        between = rendered[start + len(written) : second]
        after = rendered[second + len(SECOND) :].replace(SECOND, AGAIN)
        second_name = after[: after.find(written)] if written in after else after_name
        after_name = _with_holes(after_name, second_name)
        open_, between = _align(open_, between, backwards=True)
        close, between = _align(close, between)
    also_after = _before_results(probe, shape)
    shape = replace(
        shape, open=open_, after_name=after_name, close=close, between=between, also_after=also_after
    )
    lead = probe.words[0]
    if shape.open and not lead.startswith(shape.open):
        return replace(shape, trigger=_trigger(shape.open))
    trigger = between.removeprefix(close).removesuffix(open_)
    if not (lead.strip() and trigger):
        raise Unsupported("shows calls in a form that nothing tells from words")
    return replace(shape, trigger=trigger, lead=lead)


def _opening(probe: Probe, text: str) -> str:
    """Return what stands before a call's name, without white space unless words begin with it as well."""
    return text if text.strip() and probe.words[0].startswith(text) else text.lstrip()


def _before_results(probe: Probe, shape: CallShape) -> str:
    """Return the text, mostly an id, that stands after the arguments only where the call's result follows."""
    result = message("tool", "found", name=FIRST, tool_call_id=probe.id_of(FIRST, 0))
    if not shape.close:
        return ""
    rendered = probe.call((FIRST, _ONE), following=[result]) or ""
    after = rendered.partition(shape.arguments.write(_ONE))[2]
    extra = after.partition(shape.close)[0] if shape.close in after else ""
    return extra if len(extra) < 40 else ""


def _trigger(text: str) -> str:
    """Return the beginning of a call that distinguishes it from words."""
    before_hole = re.split(f"[{ID}{INDEX}]", text)[0]
    if before_hole.startswith("{"):
        return before_hole[: before_hole.find('"') + 1] or before_hole
    marker = MARKER.match(before_hole)
    if marker:
        return marker[0]
    head, bracket, _ = before_hole.partition("[")
    return head + bracket if head and bracket else before_hole


def _closing(probe: Probe, text: str) -> str:
    """Return what comes after the last argument, without the end of the message."""
    ends = [place for end in probe.ends if end and (place := text.find(end)) >= 0]
    return text[: min(ends)].rstrip() if ends else text.rstrip()


def _with_holes(one: str, other: str) -> str:
    """Return a text with holes for its numbers if another text differs from it only in numbers."""
    first, second = (re.split(r"(\d+)", text) for text in (one, other))
    if len(first) != len(second) or first[::2] != second[::2]:
        return one
    return "".join(a if a == b else INDEX for a, b in zip(first, second, strict=True))


def _align(text: str, other: str, *, backwards: bool = False) -> tuple[str, str]:
    """Return two texts that begin, or end, alike except for a number, with holes for that number."""
    step = -1 if backwards else 1
    texts = text[::step], other[::step]
    shared = len(common_start(*texts))
    number = re.compile(rf"\A(.{{{shared}}})\d+", re.DOTALL)
    first, second = (number.sub(rf"\g<1>{INDEX}", part) for part in texts)
    if not shared or first == texts[0] or second == texts[1]:
        return text, other
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
    """Return the shape, if the template shows calls as the shape writes them, and they can be read back.

    Raises Unsupported.
    """
    if shape.open and probe.prompt.rstrip().endswith(shape.trigger.rstrip()):
        raise Unsupported("shows calls in a form that nothing tells from words")
    fixed = "\n".join((shape.open, shape.after_name, shape.close, shape.between))
    if FIRST in fixed or SECOND in fixed:
        raise Unsupported("shows a call's name more than once")
    style = shape.arguments
    if any(key in f"{shape.close}{style.join if isinstance(style, Tags) else ''}" for key in _KEYS):
        raise Unsupported("shows an argument's name more than once")
    if not _is_shown(probe, shape, (SECOND, _ONE)):
        if not _is_shown(probe, shape, (FIRST, _ONE)):
            raise Unsupported(NO_FORM)
        raise Unsupported("shows calls of some tools in another form than those of others")
    for arguments in _TRIALS:
        example = json.dumps(arguments, ensure_ascii=False)[:60]
        if not _agrees(probe, shape, (FIRST, arguments)):
            raise Unsupported(f"shows {example} in a form of its own")
        if not _is_read(shape, shape.write((Call(FIRST, arguments),)), (FIRST, arguments)):
            raise Unsupported(f"shows {example} in a form that loses where values end", lossy=True)
    pairs = zip(_TRIALS, reversed(_TRIALS), strict=True)
    several = shape.lead or all(_agrees(probe, shape, (FIRST, one), (SECOND, two)) for one, two in pairs)
    return shape if several else replace(shape, between="")


def shows_all(probe: Probe, shape: CallShape, *, as_written: bool) -> bool:
    """Return whether the template shows values of every type as the shape writes or as it reads them."""
    shows = _is_shown if as_written else _agrees
    return all(shows(probe, shape, (FIRST, arguments)) for arguments in _TRIALS)


def _agrees(probe: Probe, shape: CallShape, *calls: tuple[str, JsonObject]) -> bool:
    """Return whether the template shows the calls of one message as the shape writes or reads them."""
    return _is_shown(probe, shape, *calls) or _is_read(shape, probe.call(*calls) or "", *calls)


def _is_shown(probe: Probe, shape: CallShape, *calls: tuple[str, JsonObject]) -> bool:
    """Return whether the template shows the calls of one message as the shape writes them."""
    rendered = probe.call(*calls)
    written = shape.write([Call(*call) for call in calls])
    return rendered is not None and written.replace(f"{0:09}", ID).replace(f"{1:09}", ID) in rendered


def _is_read(shape: CallShape, text: str, *calls: tuple[str, JsonObject]) -> bool:
    """Return whether the calls in a text are read as these."""
    types = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    schemas: dict[str, JsonObject] = {
        tool: {"properties": {name: {"type": types[type(value)]} for name, value in arguments.items()}}
        for tool, arguments in calls
    }
    with suppress(NotRead):
        reader = CallReader(shape, schemas, loose=False)
        return reader.read(text, max(text.find(shape.open), 0), shape.open)[0] == [
            Call(*call) for call in calls
        ]
    return False
