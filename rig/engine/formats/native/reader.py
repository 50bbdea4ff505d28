"""Read calls that a model wrote in its own form: strictly, or overlooking what has to be overlooked."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from rig.calls import Json, JsonObject
from rig.engine.formats.judging import fits
from rig.engine.formats.native.shape import HOLES, ID, CallShape
from rig.engine.formats.native.values import read_value, skip
from rig.engine.formats.salvage import JsonError, read_json_at
from rig.engine.grammar.schema import holds_any_names
from rig.engine.grammar.spelling import CDATA, Spelling, Tags

ID_REGEX, INDEX_REGEX = "[A-Za-z0-9_.:-]{1,64}", "[0-9]{1,4}"
NAME = re.compile(r"[\w.-]{1,200}")
_MOST_CALLS = 64


class NotRead(ValueError):
    """A text that is not in the form; the message says in one line where it leaves it."""


class Found(NamedTuple):
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

    def read(self, text: str, place: int, opening: str) -> tuple[list[Found], int]:
        """The calls that begin at a place with this opening, and where they end. Raises NotRead."""
        shape, calls = self._shape, list[Found]()
        place = self._over(text, place, opening)
        while True:
            found, place = self._call(text, place)
            calls.append(found)
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
        for found in re.finditer(re.escape(opening), text):
            for after in (shape.after_name, *shape.also_after_name):
                if _named(after, self._loose).match(text, found.end()):
                    return found.start()
        return None

    def _call(self, text: str, place: int) -> tuple[Found, int]:
        shape = self._shape
        for after in (shape.after_name, *shape.also_after_name):
            found = _named(after, self._loose).match(text, place)
            if found:
                self._note_space(found[0][len(found[1]) :], after)
                arguments, end = self._arguments(text, found.end(), found[1])
                return Found(found[1], arguments), end
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
        made: JsonObject = {}
        properties = schema.get("properties", {})
        start = place
        while True:
            begin = place if not made else self._tried(text, place, tags.join)
            found = None if begin is None else _key(tags, self._loose).match(text, begin)
            if begin is None or found is None:
                break
            if found["name"] in made:
                raise JsonError("a name comes twice")
            value, place = self._value(tags, text, found, properties.get(found["name"]))
            made[found["name"]] = value
        if not made and tags.empty:
            place = self._tried(text, start, tags.empty) or start
        return made, place

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
            raw, end = self._until(text, place, tags.other_close)
            return raw, end
        raw, end = self._until(text, place, tags.text_close)
        if tags.wrapped and raw.startswith(CDATA[0]):
            raw, end = self._until(text, place + len(CDATA[0]), CDATA[1] + tags.text_close)
            return raw, end
        return cast(raw, schema, tags.spelling, repeats=self._repeats), end

    def _until(self, text: str, place: int, close: str) -> tuple[str, int]:
        found = _literal(close, False).search(text, place)
        if found is None and self._loose:
            found = _literal(close, True).search(text, place)
        if found is None:
            raise JsonError(f"{close.strip()!r} is missing")
        return text[place : found.start()], found.end()

    def _over(self, text: str, place: int, literal: str) -> int:
        end = self._tried(text, place, literal)
        if end is None:
            raise NotRead(f"{literal.strip()!r} is missing at {_at(text, place)}")
        return end

    def _tried(self, text: str, place: int, literal: str) -> int | None:
        """Where a text ends that stands at a place; None if it does not."""
        found = _literal(literal, False).match(text, place)
        if found is None and self._loose:
            found = _literal(literal, True).match(text, place)
            if found is not None:
                self.notes.append("other white space")
        return None if found is None else found.end()

    def _note_space(self, written: str, literal: str) -> None:
        if self._loose and not _literal(literal, False).fullmatch(written):
            self.notes.append("other white space")


def cast(raw: str, schema: JsonObject | None, spelling: Spelling, *, repeats: bool = False) -> Json:
    """The value that a text without quotes stands for, by the schema of its parameter.

    A text that is not a value of any other type is a string.
    """
    options = [] if schema is None else schema.get("anyOf", [schema])
    if schema is not None and all(each.get("type") == "string" for each in options):
        return raw
    try:
        value, end = read_value(raw, 0, spelling.quote, repeats=repeats)
    except (JsonError, ValueError):
        return raw
    if skip(raw, end) != len(raw) or isinstance(value, str):
        return raw
    if schema is None or not fits(raw, schema):
        return value
    return value if fits(value, schema) else raw


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
        return r"\s{0,20}"
    return rf"\s{{0,20}}{re.escape(part)}\s{{0,20}}" if part in "{}[]:," else re.escape(part)


@lru_cache(maxsize=1024)
def _named(after: str, loose: bool) -> re.Pattern[str]:
    # What follows on a name may begin as names do.
    lazy = "?" if (after and re.match(r"[\w.-]", after)) or HOLES.match(after) else ""
    return re.compile(rf"([\w.-]{{1,200}}{lazy}){_regex(after, loose)}")


@lru_cache(maxsize=1024)
def _key(tags: Tags, loose: bool) -> re.Pattern[str]:
    """What stands before an argument's value."""
    opened = "|".join(
        _regex(each, loose) for each in sorted({tags.text_open, tags.other_open}, key=len)[::-1]
    )
    return re.compile(rf"{_regex(tags.before_key, loose)}(?P<name>[\w.$@-][\w .$@-]{{0,127}}?)(?:{opened})")


def _at(text: str, place: int) -> str:
    return repr(text[place : place + 30])
