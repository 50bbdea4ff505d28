"""Read calls that a model wrote in its own form: strictly, or overlooking deviations."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from rig.core.budget import parse_json
from rig.core.calls import Call, Json, JsonObject
from rig.plugins.llama.formats.json_text import DEEPEST, JsonError, read_json_at
from rig.plugins.llama.formats.shape import AGAIN, HOLES, ID, CallShape
from rig.plugins.llama.grammar.language import BARE_KEY, CDATA, JSON, KIND, KINDS, NestedTags, Spelling, Tags
from rig.plugins.llama.grammar.schema import holds_any_names
from rig.world.schemas import fits
from rig.world.spec import NAME_CHARACTER, NAME_REGEX

ID_REGEX, INDEX_REGEX = "[A-Za-z0-9_.:-]{1,64}", "[0-9]{1,4}"
NAME = re.compile(NAME_REGEX)
_MOST_CALLS = 64
_SPACES = r"\s{0,20}"

_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"-?\d{1,400}(?:\.\d+)?(?:[eE][+-]?\d{1,4})?")
_ZERO_LED = re.compile(r"-?0\d")
_ARGUMENT = re.compile(r"[\w.$@-][\w .$@-]{0,127}")
"""The name of an argument that is told by its form from the text around it."""
_SPACE = re.compile(r"[ \t\r\n]*")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_BRACKETS = re.compile(r"[\s})]*")
"""What ends arguments, before the marks that end a call."""
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class NotRead(ValueError):
    """A text is not in the form; the message says in one line where it departs from it.

    `calls` are those that were read whole before that place.
    """

    def __init__(self, message: str, calls: Sequence[Call] = ()) -> None:
        super().__init__(message)
        self.calls = calls


class CallReader:
    """Reads calls of one shape without judging them. `schemas` give the types of arguments without quotes.

    With `loose`, white space may differ, and the final text may be missing; `notes` collects what was
    overlooked.
    """

    def __init__(self, shape: CallShape, schemas: Mapping[str, JsonObject], *, loose: bool) -> None:
        self._shape = shape
        self._schemas = schemas
        self._loose = loose
        self._repeats = any(map(holds_any_names, schemas.values()))
        self._text, self._place = "", 0
        self.notes: list[str] = []

    def read(self, text: str, place: int, opening: str) -> tuple[list[Call], int]:
        """Return the calls that begin at a place with this opening, and where they end. Raises NotRead."""
        calls = list[Call]()
        self._text, self._place = text, place
        if not self._take(opening):
            raise NotRead(f"{opening.strip()!r} is missing at {self._here()}")
        try:
            self._read_calls(calls)
        except NotRead as error:
            error.calls = calls
            raise
        return calls, self._place

    def _read_calls(self, calls: list[Call]) -> None:
        """Read calls and their end; each is added when it is whole. Raises NotRead."""
        shape = self._shape
        while True:
            call = self._call()
            if shape.also_after:
                self._take(shape.also_after)
            end = self._place
            if not (shape.between and self._take(shape.between)):
                break
            if not NAME.match(self._text, self._place) or len(calls) + 1 >= _MOST_CALLS:
                self._place = end
                break
            calls.append(call)
        if not self._take(shape.close):
            if not self._loose:
                raise NotRead(f"{shape.close.strip()!r} is missing at {self._here()}")
            self._check_arguments_end()
            self.notes.append("not closed")
        calls.append(call)

    def _check_arguments_end(self) -> None:
        """Check that a call without its end is whole but for marks. Raises NotRead within its arguments."""
        style, close = self._shape.arguments, self._shape.close
        ends_by_space = isinstance(style, Tags) and style.other_close.isspace()
        if ends_by_space and not self._text[self._place - 1].isspace():  # 12 may be the beginning of 123
            raise NotRead(f"an argument has no end before {self._here()}")
        if not self._take(_BRACKETS.match(close)[0].rstrip()):  # type: ignore[index]
            raise NotRead(f"the arguments do not end at {self._here()}")
        rest = self._text[skip(self._text, self._place) :]
        next_one = ""
        if isinstance(style, NestedTags):
            next_one = f"{style.mark}<"
        elif isinstance(style, Tags):
            next_one = (style.join + style.before_key).strip()
        has_begun = next_one and rest and (rest.startswith(next_one) or next_one.startswith(rest))
        if has_begun and not close.lstrip().startswith(rest):
            raise NotRead(f"an argument has no end at {self._here()}")

    def first(self, text: str, opening: str) -> int | None:
        """Return the first place where this opening is followed by a name and what comes after names."""
        shape = self._shape
        for start in re.finditer(re.escape(opening), text):
            for after in (shape.after_name, *shape.also_after_name):
                if _named(after, self._loose).match(text, start.end()):
                    return start.start()
        return None

    def _here(self) -> str:
        return repr(self._text[self._place : self._place + 30])

    def _call(self) -> Call:
        shape = self._shape
        for loose in (False, True) if self._loose else (False,):
            for after in (shape.after_name, *shape.also_after_name):
                if name := _named(after, loose).match(self._text, self._place):
                    self._note_space(loose)
                    self._place = name.end()
                    return Call(name[1], self._arguments(name[1]))
        raise NotRead(f"no tool's name with {shape.after_name.strip()!r} after it at {self._here()}")

    def _arguments(self, tool: str) -> JsonObject:
        style, text, place = self._shape.arguments, self._text, self._place
        try:
            if isinstance(style, NestedTags):
                return self._members(style, self._schemas.get(tool, {}))
            if isinstance(style, Tags):
                return self._tagged(style, self._schemas.get(tool, {}).get("properties", {}))
            if style.is_json:
                place = skip(text, place) if self._loose else place
                value, self._place = read_json_at(text, place, repeats=self._repeats)
            else:
                value, self._place = read_value(text, place, style.quote, repeats=self._repeats)
        except JsonError as error:
            raise NotRead(f"{tool}: the arguments cannot be read: {error}") from error
        if isinstance(value, str) and self._loose:
            with suppress(JsonError):
                value, _ = read_json_at(value, 0)
                self.notes.append("arguments as text")
        if not isinstance(value, dict):
            raise NotRead(f"{tool}: the arguments are no object")
        return value

    def _members(self, style: NestedTags, schema: JsonObject) -> JsonObject:
        """Return an object whose members are the elements that begin here; one that is missing is null."""
        properties, members = schema.get("properties", {}), dict[str, Json]()
        opened = re.compile(rf"{re.escape(style.mark)}<([^<>/][^<>]{{0,127}})>")
        while match := opened.match(self._text, self._place):
            name = match[1]
            if name in members:
                raise JsonError("a name comes twice")
            self._place = match.end()
            inner = properties.get(name, schema.get("additionalProperties"))
            members[name] = self._element(style, name, inner if isinstance(inner, dict) else {})
        missing = [name for name in schema.get("required", ()) if name not in members]
        nulls = dict.fromkeys(name for name in missing if fits(None, properties.get(name, {})))
        return {**members, **nulls}

    def _element(self, style: NestedTags, name: str, schema: JsonObject) -> Json:
        """Return the value of an element that was opened: elements within it, or a text."""
        close = style.closed(name)
        options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "string"]
        opened = re.compile(re.escape(style.mark) + "<[^/]")
        if options and opened.match(self._text, self._place):
            value = self._inside(style, [option for option in options if option.get("type") != "null"])
        else:
            end = self._text.find(close, self._place)
            if end < 0:
                raise JsonError(f"{close!r} is missing")
            raw, self._place = self._text[self._place : end], end
            empty: list[Json] = ["", [], {}, *(self._members(style, option) for option in options), None]
            fitting = (each for each in empty if not raw and fits(each, schema))
            value = next(fitting, cast(raw, schema, JSON))
        if not self._take(close):
            raise JsonError(f"{close!r} is missing")
        return value

    def _inside(self, style: NestedTags, options: Sequence[JsonObject]) -> Json:
        """Return the list or object of one of these types whose elements begin here, the first that fits."""
        start = self._place
        value: Json = None
        for option in options:
            self._place = start
            has_items = self._text.startswith(style.opened("item"), start)
            if option.get("type", "array" if has_items else "object") != "array":
                value = self._members(style, option)
            else:
                items: list[Json] = []
                while self._take(style.opened("item")):
                    items.append(self._element(style, "item", option.get("items", {})))
                value = items
            if fits(value, option):
                break
        return value

    def _tagged(self, tags: Tags, properties: JsonObject) -> JsonObject:
        arguments: JsonObject = {}
        # Other names are read because they are declared, the longest first.
        names = tuple(sorted((name for name in properties if not _ARGUMENT.fullmatch(name)), key=len)[::-1])
        while True:
            end = self._place
            key = self._key(tags, names) if not arguments or self._take(tags.join) else None
            if key is None:
                self._place = end
                break
            name = key["name"]
            if name in arguments:
                raise JsonError("a name comes twice")
            self._place = key.end()
            arguments[name] = self._value(tags, key[0], properties.get(name))
        if not arguments and tags.empty:
            self._take(tags.empty)
        return arguments

    def _key(self, tags: Tags, names: tuple[str, ...]) -> re.Match[str] | None:
        """Match what precedes the value of the argument that begins here, if there is one."""
        key = _key(tags, names, False).match(self._text, self._place)
        if key is None and self._loose:
            key = _key(tags, names, True).match(self._text, skip(self._text, self._place))
            self._note_space(key is not None)
        return key

    def _value(self, tags: Tags, opened: str, schema: JsonObject | None) -> Json:
        text, place = self._text, self._place
        is_other = tags.other_open != tags.text_open and not opened.endswith(tags.text_open)
        if tags.quoted or is_other:  # what precedes the value shows that it is not a bare string
            try:
                value, self._place = read_value(text, place, tags.spelling.quote, repeats=self._repeats)
            except JsonError:
                if tags.quoted or not tags.other_close:
                    raise
            else:
                if self._take(tags.other_close):
                    return value
            self._place = place
            return self._until(tags.other_close)
        if tags.wrapped and text.startswith(CDATA[0], place):
            self._place += len(CDATA[0])
            return self._until(CDATA[1] + tags.text_close)
        raw = self._until(tags.text_close)
        is_marked = tags.text_open != tags.other_open
        if is_marked and (schema is None or fits(raw, schema)):
            return raw
        return cast(raw, schema, tags.spelling, repeats=self._repeats)

    def _until(self, close: str) -> str:
        """Read a string as it is, up to the text that closes it. Raises JsonError if that is missing.

        Other white space around the closing text may be overlooked if the call continues as it should.
        """
        text, start = self._text, self._place
        exactly = _literal(close, False)
        for end in (_closing(close) if self._loose else exactly).finditer(text, start):
            exact = exactly.match(text, end.start())
            if exact or self._goes_on(end.end()):
                self._note_space(not exact)
                self._place = (exact or end).end()
                return text[start : end.start()]
        raise JsonError(f"{close.strip()!r} is missing")

    def _goes_on(self, place: int) -> bool:
        """Return whether another argument, the end of the call, or nothing at all follows at a place."""
        shape, text, place = self._shape, self._text, skip(self._text, place)
        assert isinstance(shape.arguments, Tags)
        following = (shape.arguments.join + shape.arguments.before_key, shape.close, shape.between)
        return place == len(text) or any(
            literal.strip() and _literal(literal.lstrip(), True).match(text, place) for literal in following
        )

    def _take(self, literal: str) -> bool:
        """Move past a text if it stands here; return whether it does."""
        match = _literal(literal, False).match(self._text, self._place)
        if match is None and self._loose:
            loosely = _literal(literal, True)
            match = loosely.match(self._text, self._place) or loosely.match(
                self._text, skip(self._text, self._place)
            )
            self._note_space(match is not None)
        if match is not None:
            self._place = match.end()
        return match is not None

    def _note_space(self, is_other: bool) -> None:
        if is_other:
            self.notes.append("other white space")


def cast(raw: str, schema: JsonObject | None, spelling: Spelling, *, repeats: bool = False) -> Json:
    """Return the value that a text without quotes stands for, by the schema of its parameter.

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
    # Only strings have white space around them or begin with a zero as 0171, a phone number, does.
    is_bare = (skip(raw, 0), end) == (0, len(raw)) and not _ZERO_LED.match(raw)
    return value if is_bare and fits(value, schema) else raw


@lru_cache(maxsize=1024)
def _literal(text: str, loose: bool) -> re.Pattern[str]:
    """Return a regular expression for a text of a shape."""
    return re.compile(_regex(text, loose))


def _regex(text: str, loose: bool) -> str:
    regex = ""
    holes = f"{HOLES.pattern}|{KIND}"
    for piece in re.split(rf"({holes}|\s+|[{{}}\[\]:,])" if loose else f"({holes})", text):
        if piece == KIND:
            regex += f"(?:{'|'.join(KINDS)}|integer)"
        elif HOLES.match(piece):
            regex += {ID: ID_REGEX, AGAIN: r"\1"}.get(piece, INDEX_REGEX)
        elif loose and piece.isspace():
            regex += _SPACES
        else:
            around = _SPACES if loose and piece and piece in "{}[]:," else ""
            regex += f"{around}{re.escape(piece)}{around}"
    return regex


@lru_cache(maxsize=1024)
def _named(after: str, loose: bool) -> re.Pattern[str]:
    # What follows a name may begin with characters of names.
    lazy = "?" if re.match(NAME_CHARACTER, after) or HOLES.match(after) else ""
    return re.compile(rf"({NAME_REGEX}{lazy}){_regex(after, loose)}")


@lru_cache(maxsize=1024)
def _key(tags: Tags, names: tuple[str, ...], loose: bool) -> re.Pattern[str]:
    """Return a pattern for what precedes an argument's value, without white space that begins the value."""
    longest_first = sorted({tags.text_open, tags.other_open}, key=len)[::-1]
    opened = "|".join(_before_text(opening) if loose else _regex(opening, False) for opening in longest_first)
    name = "|".join([*map(re.escape, names), f"{_ARGUMENT.pattern}?"])
    return re.compile(rf"{_regex(tags.before_key, loose)}(?P<name>{name})(?:{opened})")


def _before_text(opening: str) -> str:
    core = opening.rstrip()
    space = opening[len(core) :]
    return _regex(core, True).removesuffix(_SPACES) + (f"(?:{re.escape(space)})?" if space else "")


@lru_cache(maxsize=1024)
def _closing(close: str) -> re.Pattern[str]:
    """Return a pattern for what closes a string, with any white space except at its beginning.

    White space there belongs to the string.
    """
    core = close.lstrip()
    space = close[: len(close) - len(core)]
    begin = f"(?:{re.escape(space)})?" if space else ""
    return re.compile(begin + _regex(core, True).removeprefix(_SPACES))


def skip(text: str, place: int) -> int:
    """Return the place where the white space ends."""
    space = _SPACE.match(text, place)
    return space.end() if space else place


def read_value(
    text: str, place: int, quote: str = "", depth: int = 0, *, repeats: bool = False
) -> tuple[Json, int]:
    """Return the value that begins at a place, and where it ends. `quote` stands around strings, if given.

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
        case "{" | "[" as bracket:
            return _inside(text, place + 1, bracket, quote, depth, repeats)
        case '"' | "'":
            return _string(text, place)
    word = _WORD.match(text, place)
    if word and word[0] in _WORDS:
        return _WORDS[word[0]], word.end()
    digits = _NUMBER.match(text, place)
    if not digits:
        raise JsonError(f"no value at {text[place : place + 20]!r}")
    number = int(digits[0]) if digits[0].lstrip("-").isdigit() else float(digits[0])
    if isinstance(number, float) and not math.isfinite(number):
        raise JsonError("a number is too large")
    return number, digits.end()


def _string(text: str, place: int) -> tuple[str, int]:
    """Read a string in Python's quotes, or as JSON's where it can be read as that."""
    literal = (_DOUBLE if text[place] == '"' else _SINGLE).match(text, place)
    if not literal:
        raise JsonError("a string has no end")
    if text[place] == '"':
        with suppress(ValueError):
            return str(parse_json(literal[0], strict=False)), literal.end()
    return _ESCAPE.sub(_unescaped, literal[0][1:-1]), literal.end()


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _CONTROLS.get(escape, escape)


def _inside(text: str, place: int, bracket: str, quote: str, depth: int, repeats: bool) -> tuple[Json, int]:
    """Read the object or list after a bracket."""
    members: dict[Any, Json] = {}
    end = "}" if bracket == "{" else "]"
    place = skip(text, place)
    while not text.startswith(end, place):
        key: Any = len(members)
        if bracket == "{":
            key, place = _object_key(text, place, quote)
            if key in members and not repeats:
                raise JsonError("a name comes twice in one object")
        members[key], place = read_value(text, place, quote, depth + 1, repeats=repeats)
        place = skip(text, place)
        if text.startswith(",", place):
            place = skip(text, place + 1)
        elif not text.startswith(end, place):
            raise JsonError(f"{end} or a comma is missing at {text[place : place + 20]!r}")
    return members if bracket == "{" else list(members.values()), place + 1


def _object_key(text: str, place: int, quote: str) -> tuple[str, int]:
    """Read a name in an object, in quotes or bare; return it and where the colon after it ends."""
    if text[place : place + 1] in ('"', "'") or (quote and text.startswith(quote, place)):
        key, place = read_value(text, place, quote)
    elif bare := BARE_KEY.match(text, place):
        key, place = bare[0], bare.end()
    else:
        raise JsonError(f"no name at {text[place : place + 20]!r}")
    place = skip(text, place)
    if not text.startswith(":", place):
        raise JsonError(f"no colon after {str(key)[:40]!r}")
    return str(key), place + 1
