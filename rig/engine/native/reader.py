"""Read calls that a model wrote in its own form: strictly, or overlooking what has to be overlooked."""

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from rig.calls import Json, JsonObject
from rig.engine.formats.salvage import DEEPEST, JsonError, read_json_at
from rig.engine.grammar.language import CDATA, Spelling, Tags
from rig.engine.grammar.schema import holds_any_names
from rig.engine.native.shape import HOLES, ID, CallShape
from rig.toolbox.schemas import fits

ID_REGEX, INDEX_REGEX = "[A-Za-z0-9_.:-]{1,64}", "[0-9]{1,4}"
NAME = re.compile(r"[\w.-]{1,200}")
_MOST_CALLS = 64
_SPACES = r"\s{0,20}"

_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?")
_BARE_KEY = re.compile(r"[^\s:,{}\[\]\"']{1,200}")
_SPACE = re.compile(r"[ \t\r\n]*")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class NotRead(ValueError):
    """A text that is not in the form; the message says in one line where it leaves it."""


class RawCall(NamedTuple):
    """A call in a text: its tool's name and its arguments, not yet judged."""

    name: str
    arguments: JsonObject


class CallReader:
    """Reads calls of one shape. `schemas` give the type of an argument without quotes.

    With `loose`, white space may be anything, and the last text may be missing; `notes` collects what was
    overlooked.
    """

    def __init__(self, shape: CallShape, schemas: Mapping[str, JsonObject], *, loose: bool) -> None:
        self._shape = shape
        self._schemas = schemas
        self._loose = loose
        self._repeats = any(map(holds_any_names, schemas.values()))
        self.notes: list[str] = []

    def read(self, text: str, place: int, opening: str) -> tuple[list[RawCall], int]:
        """The calls that begin at a place with this opening, and where they end. Raises NotRead."""
        shape, calls = self._shape, list[RawCall]()
        place = self._over(text, place, opening)
        while True:
            call, place = self._call(text, place)
            calls.append(call)
            place = (self._tried(text, place, shape.also_after) if shape.also_after else None) or place
            following = self._tried(text, place, shape.between) if shape.between else None
            if following is not None and NAME.match(text, following) and len(calls) < _MOST_CALLS:
                place = following
                continue
            end = self._tried(text, place, shape.close)
            if end is None:
                if not self._loose:
                    raise NotRead(f"{shape.close.strip()!r} is missing at {_at(text, place)}")
                self.notes.append("not closed")
                return calls, place
            return calls, end

    def first(self, text: str, opening: str) -> int | None:
        """The first place at which this opening stands with a name behind it, and what follows on names."""
        shape = self._shape
        for start in re.finditer(re.escape(opening), text):
            for after in (shape.after_name, *shape.also_after_name):
                if _named(after, self._loose).match(text, start.end()):
                    return start.start()
        return None

    def _call(self, text: str, place: int) -> tuple[RawCall, int]:
        shape = self._shape
        for loose in (False, True) if self._loose else (False,):
            for after in (shape.after_name, *shape.also_after_name):
                name = _named(after, loose).match(text, place)
                if name:
                    self._note_space(loose)
                    arguments, end = self._arguments(text, name.end(), name[1])
                    return RawCall(name[1], arguments), end
        raise NotRead(f"no tool's name with {shape.after_name.strip()!r} after it at {_at(text, place)}")

    def _arguments(self, text: str, place: int, tool: str) -> tuple[JsonObject, int]:
        style = self._shape.arguments
        try:
            if isinstance(style, Tags):
                return self._tagged(style, text, place, self._schemas.get(tool, {}))
            if style.is_json:
                value, end = read_json_at(
                    text, skip(text, place) if self._loose else place, repeats=self._repeats
                )
            else:
                value, end = read_value(text, place, style.quote, repeats=self._repeats)
        except JsonError as error:
            raise NotRead(f"{tool}: the arguments cannot be read: {error}") from error
        if isinstance(value, str) and self._loose:
            value, end = self._from_text(value), end
        if not isinstance(value, dict):
            raise NotRead(f"{tool}: the arguments are no object")
        return value, end

    def _from_text(self, text: str) -> Json:
        try:
            value, _ = read_json_at(text, 0)
        except JsonError:
            return text
        self.notes.append("arguments as text")
        return value

    def _tagged(self, tags: Tags, text: str, place: int, schema: JsonObject) -> tuple[JsonObject, int]:
        arguments: JsonObject = {}
        properties = schema.get("properties", {})
        start = place
        while True:
            begin = place if not arguments else self._tried(text, place, tags.join)
            key = None if begin is None else self._key(tags, text, begin)
            if key is None:
                break
            name = key["name"]
            if name in arguments:
                raise JsonError("a name comes twice")
            arguments[name], place = self._value(tags, text, key, properties.get(name))
        if not arguments and tags.empty:
            place = self._tried(text, start, tags.empty) or start
        return arguments, place

    def _key(self, tags: Tags, text: str, place: int) -> re.Match[str] | None:
        """What stands before the value of the argument that begins here, if one does."""
        if (key := _key(tags, False).match(text, place)) or not self._loose:
            return key
        key = _key(tags, True).match(text, skip(text, place))
        self._note_space(key is not None)
        return key

    def _value(
        self, tags: Tags, text: str, key: re.Match[str], schema: JsonObject | None
    ) -> tuple[Json, int]:
        place = key.end()
        if tags.quoted or _is_other(tags, key[0]):
            try:
                value, end = read_value(text, place, tags.spelling.quote, repeats=self._repeats)
            except JsonError:
                if tags.quoted or not tags.other_close:
                    raise
            else:
                closed = self._tried(text, end, tags.other_close)
                if closed is not None:
                    return value, closed
            return self._until(text, place, tags.other_close)
        if tags.wrapped and text.startswith(CDATA[0], place):
            return self._until(text, place + len(CDATA[0]), CDATA[1] + tags.text_close)
        raw, end = self._until(text, place, tags.text_close)
        if tags.marks_texts and (schema is None or fits(raw, schema)):
            return raw, end
        return cast(raw, schema, tags.spelling, repeats=self._repeats), end

    def _until(self, text: str, place: int, close: str) -> tuple[str, int]:
        """A string as it is, up to what closes it, and where that ends.

        Other white space around what closes it may be overlooked where the call goes on as it should.
        """
        if not self._loose:
            if not (end := _literal(close, False).search(text, place)):
                raise JsonError(f"{close.strip()!r} is missing")
            return text[place : end.start()], end.end()
        for end in _closing(close).finditer(text, place):
            if exact := _literal(close, False).match(text, end.start()):
                return text[place : end.start()], exact.end()
            if self._goes_on(text, end.end()):
                self._note_space(True)
                return text[place : end.start()], end.end()
        raise JsonError(f"{close.strip()!r} is missing")

    def _goes_on(self, text: str, place: int) -> bool:
        """Whether another argument, the end of the call, or nothing at all follows here."""
        shape = self._shape
        assert isinstance(shape.arguments, Tags)
        following = (shape.arguments.join + shape.arguments.before_key, shape.close, shape.between)
        return skip(text, place) == len(text) or any(
            literal.strip() and _literal(literal.lstrip(), True).match(text, skip(text, place))
            for literal in following
        )

    def _over(self, text: str, place: int, literal: str) -> int:
        end = self._tried(text, place, literal)
        if end is None:
            raise NotRead(f"{literal.strip()!r} is missing at {_at(text, place)}")
        return end

    def _tried(self, text: str, place: int, literal: str) -> int | None:
        """Where a text ends that stands at a place; None if it does not."""
        match = _literal(literal, False).match(text, place)
        if match is None and self._loose:
            loosely = _literal(literal, True)
            match = loosely.match(text, place) or loosely.match(text, skip(text, place))
            self._note_space(match is not None)
        return None if match is None else match.end()

    def _note_space(self, is_other: bool) -> None:
        if is_other:
            self.notes.append("other white space")


def cast(raw: str, schema: JsonObject | None, spelling: Spelling, *, repeats: bool = False) -> Json:
    """The value that a text without quotes stands for, by the schema of its parameter.

    A text that is not a value of any other type is a string.
    """
    options = [] if schema is None else schema.get("anyOf", [schema])
    if schema is not None and all(option.get("type") == "string" for option in options):
        return raw
    try:
        value, end = read_value(raw, 0, spelling.quote, repeats=repeats)
    except (JsonError, ValueError):
        return raw
    if skip(raw, end) != len(raw) or isinstance(value, str):
        return raw
    if schema is None or not fits(raw, schema):
        return value
    is_bare = (skip(raw, 0), end) == (0, len(raw))  # no other value has white space around it
    return value if is_bare and fits(value, schema) else raw


def _is_other(tags: Tags, opened: str) -> bool:
    """Whether the text before a value says that it is not a string."""
    return tags.other_open != tags.text_open and not opened.endswith(tags.text_open)


@lru_cache(maxsize=1024)
def _literal(text: str, loose: bool) -> re.Pattern[str]:
    """A text of a shape as a regular expression."""
    return re.compile(_regex(text, loose))


def _regex(text: str, loose: bool) -> str:
    pieces = []
    for place, piece in enumerate(re.split(f"({HOLES.pattern})", text)):
        if place % 2:
            pieces.append(ID_REGEX if piece == ID else INDEX_REGEX)
        elif loose:
            pieces += [_loosened(part) for part in re.split(r"(\s+|[{}\[\]:,])", piece) if part]
        else:
            pieces.append(re.escape(piece))
    return "".join(pieces)


def _loosened(part: str) -> str:
    if part.isspace():
        return _SPACES
    return f"{_SPACES}{re.escape(part)}{_SPACES}" if part in "{}[]:," else re.escape(part)


@lru_cache(maxsize=1024)
def _named(after: str, loose: bool) -> re.Pattern[str]:
    # What follows on a name may begin as names do.
    lazy = "?" if (after and re.match(r"[\w.-]", after)) or HOLES.match(after) else ""
    return re.compile(rf"([\w.-]{{1,200}}{lazy}){_regex(after, loose)}")


@lru_cache(maxsize=1024)
def _key(tags: Tags, loose: bool) -> re.Pattern[str]:
    """What stands before an argument's value. White space that the value begins with is left to it."""
    before = _regex(tags.before_key, loose)
    opened = "|".join(
        _before_text(opening) if loose else _regex(opening, False)
        for opening in sorted({tags.text_open, tags.other_open}, key=len)[::-1]
    )
    return re.compile(rf"{before}(?P<name>[\w.$@-][\w .$@-]{{0,127}}?)(?:{opened})")


def _before_text(opening: str) -> str:
    core = opening.rstrip()
    space = opening[len(core) :]
    return _regex(core, True).removesuffix(_SPACES) + (f"(?:{re.escape(space)})?" if space else "")


@lru_cache(maxsize=1024)
def _closing(close: str) -> re.Pattern[str]:
    """What closes a string, with any white space but at its beginning, which is the string's."""
    core = close.lstrip()
    space = close[: len(close) - len(core)]
    begin = f"(?:{re.escape(space)})?" if space else ""
    return re.compile(begin + _regex(core, True).removeprefix(_SPACES))


def _at(text: str, place: int) -> str:
    return repr(text[place : place + 30])


def read_value(
    text: str, place: int, quote: str = "", depth: int = 0, *, repeats: bool = False
) -> tuple[Json, int]:
    """The value that begins at a place, and where it ends. `quote` stands around strings, if given.

    With `repeats` a name may come twice; the last value counts. Raises JsonError if there is no value.
    """
    if depth > DEEPEST:
        raise JsonError(f"nested deeper than {DEEPEST} levels")
    place = skip(text, place)
    if quote and text.startswith(quote, place):
        end = text.find(quote, place + len(quote))
        if end < 0:
            raise JsonError(f"a string has no {quote} at its end")
        return text[place + len(quote) : end], end + len(quote)
    match text[place : place + 1]:
        case "{":
            return _object(text, place + 1, quote, depth, repeats)
        case "[":
            return _list(text, place + 1, quote, depth, repeats)
        case '"':
            return _double(text, place)
        case "'":
            return _single(text, place)
    word = _WORD.match(text, place)
    if word and word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    return _number(text, place)


def skip(text: str, place: int) -> int:
    """Where the white space ends."""
    space = _SPACE.match(text, place)
    return space.end() if space else place


def _number(text: str, place: int) -> tuple[Json, int]:
    digits = _NUMBER.match(text, place)
    if not digits:
        raise JsonError(f"no value at {text[place : place + 20]!r}")
    whole = digits[0].lstrip("-").isdigit()
    number = int(digits[0]) if whole else float(digits[0])
    if not whole and not math.isfinite(number):
        raise JsonError("a number is too large")
    return number, digits.end()


def _double(text: str, place: int) -> tuple[str, int]:
    literal = _DOUBLE.match(text, place)
    if not literal:
        raise JsonError("a string has no end")
    try:
        return str(json.loads(literal[0], strict=False)), literal.end()
    except ValueError:
        return _ESCAPE.sub(_unescaped, literal[0][1:-1]), literal.end()


def _single(text: str, place: int) -> tuple[str, int]:
    literal = _SINGLE.match(text, place)
    if not literal:
        raise JsonError("a string has no end")
    return _ESCAPE.sub(_unescaped, literal[1]), literal.end()


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _CONTROLS.get(escape, escape)


def _object(text: str, place: int, quote: str, depth: int, repeats: bool) -> tuple[Json, int]:
    members: dict[str, Any] = {}
    place = skip(text, place)
    while not text.startswith("}", place):
        key, place = _object_key(text, place, quote)
        place = skip(text, place)
        if not text.startswith(":", place):
            raise JsonError(f"no colon after {key[:40]!r}")
        if key in members and not repeats:
            raise JsonError("a name comes twice in one object")
        members[key], place = read_value(text, place + 1, quote, depth + 1, repeats=repeats)
        place = _next(text, place, "}")
    return members, place + 1


def _object_key(text: str, place: int, quote: str) -> tuple[str, int]:
    if text[place : place + 1] in ('"', "'") or (quote and text.startswith(quote, place)):
        key, place = read_value(text, place, quote)
        return str(key), place
    bare = _BARE_KEY.match(text, place)
    if not bare:
        raise JsonError(f"no name at {text[place : place + 20]!r}")
    return bare[0], bare.end()


def _list(text: str, place: int, quote: str, depth: int, repeats: bool) -> tuple[Json, int]:
    items: list[Any] = []
    place = skip(text, place)
    while not text.startswith("]", place):
        value, place = read_value(text, place, quote, depth + 1, repeats=repeats)
        items.append(value)
        place = _next(text, place, "]")
    return items, place + 1


def _next(text: str, place: int, end: str) -> int:
    """Where the next item begins, or the end stands."""
    place = skip(text, place)
    if text.startswith(",", place):
        return skip(text, place + 1)
    if not text.startswith(end, place):
        raise JsonError(f"{end} or a comma is missing at {text[place : place + 20]!r}")
    return place
