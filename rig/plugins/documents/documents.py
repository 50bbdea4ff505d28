"""Read files that others wrote, strictly: what does not fit is reported in one line that says where it is.

`read` is for YAML and JSON that people write by hand. Plain words are read as in YAML 1.2: `no` and `on` are
words, and so are times and dates. Anything but plain data (tags, merge keys, anchors that contain themselves)
is refused, and so is a key that appears twice.

`json_of` and `parsed` are for what programs wrote: large files, lines of JSON, and shapes that are read
leniently where nothing depends on them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from json import JSONDecodeError
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, cast

import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, FailFast, Field, TypeAdapter, ValidationError

from rig.core.budget import DEEPEST, PLAIN, Budget
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import LARGEST, read_text

MOST_VALUES = 200_000
MOST_TEXT = 2**22
"""The most values of a YAML file, and characters in them, counting what anchors repeat each time."""

YAML_ENDINGS = (".yaml", ".yml")
ENDINGS = (".json", *YAML_ENDINGS)

Lines: TypeAlias = dict[tuple[str | int, ...], int]

_WORDS: dict[str, Json] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,99})")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A value of a file and its place: the keys and positions that lead to it."""

    value: Json
    file: Path
    path: tuple[str | int, ...] = ()
    lines: Lines = field(default_factory=dict, repr=False)

    def fault(self, text: str) -> RigError:
        """Return an error of one line that says what is wrong with this value, and where."""
        return RigError(f"{self.place}: {text}")

    @property
    def place(self) -> str:
        """The file, the line if it is known, and the path."""
        line = self.lines.get(self.path)
        where = str(self.file) if line is None else f"{self.file}, line {line}"
        return f"{where}: {self.name}" if self.path else where

    @property
    def name(self) -> str:
        """The path as text: `turns.2.calls.1`, with positions from 1."""
        return ".".join(str(step + 1) if isinstance(step, int) else step for step in self.path)

    def inside(self, step: str | int) -> "DocumentPart":
        """Return the value at a key or position, which must exist."""
        return DocumentPart(self.value[step], self.file, (*self.path, step), self.lines)

    def items(self) -> Iterator["DocumentPart"]:
        """Return the values of a list. Raises RigError for anything else."""
        if not isinstance(self.value, list):
            raise self.fault(f"needs a list, not {_kind(self.value)}")
        return (self.inside(number) for number in range(len(self.value)))

    def fields(self) -> dict[str, "DocumentPart"]:
        """Return the values of an object by name. Raises RigError for anything else."""
        if not isinstance(self.value, dict):
            raise self.fault(f"needs names with values, not {_kind(self.value)}")
        return {name: self.inside(name) for name in self.value}

    def known_fields(self, names: Sequence[str]) -> dict[str, "DocumentPart"]:
        """Return the values of an object by name. Raises RigError for a name that is not one of these."""
        parts = self.fields()
        for name, part in parts.items():
            if name not in names:
                raise part.fault(f"is not known here; choose from: {', '.join(names)}")
        return parts

    def text(self) -> str:
        """Return a text that is not empty, or a whole number as text. Raises RigError for anything else."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            # Not as it reads: 1.50 would become 1.5.
            hint = "; put quotes around it" if isinstance(value, bool | float) else ""
            raise self.fault(f"needs a text, not {_kind(value)}{hint}")
        return value

    def flag(self) -> bool:
        """Return true or false. Raises RigError for anything else."""
        if not isinstance(self.value, bool):
            raise self.fault(f"needs true or false, not {_kind(self.value)}")
        return self.value

    def texts(self) -> list[str]:
        """Return a list of texts; a single text becomes a list of one."""
        return [part.text() for part in self.items()] if isinstance(self.value, list) else [self.text()]


def read(file: Path, **options: Any) -> list[DocumentPart]:
    """Read the documents of a file: one of JSON, any number of YAML. Raises RigError, with the place.

    `options` are those of `json.loads`.
    """
    is_yaml = file.suffix.lower() in YAML_ENDINGS
    text = read_text(file).removeprefix("\ufeff")
    return (
        list(from_yaml(text, file))
        if is_yaml
        else [DocumentPart(from_json(text, str(file), **options), file)]
    )


def from_json(text: str, where: str, **options: Any) -> Json:
    """Read a JSON value. Raises RigError for names that appear twice, for NaN, and for too deep nesting."""
    try:
        return Budget(where, levels=PLAIN).json(text, exact=True, **options)
    except JSONDecodeError as error:
        raise RigError(f"{where}, line {error.lineno}: not JSON: {error.msg}") from error
    except ValueError as error:
        raise RigError(f"{where}: not JSON: {error}") from error


def to_yaml(value: Json) -> str:
    """Write a value as YAML that `read` reads back, for people to continue with."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes no anchors, and quotes texts that would mean something else here without quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, text: str) -> Any:
        means_other = not isinstance(_plain(text), str)
        # Without escapes, YAML readers take these as line ends.
        style = '"' if not _LINE_ENDS.isdisjoint(text) else "'" if means_other else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_LINE_ENDS = frozenset("\x85\u2028\u2029")
_Dumper.add_representer(str, _Dumper.represent_str)


def from_yaml(text: str, file: Path) -> Iterator[DocumentPart]:
    """Read the documents of YAML text; errors name `file` as its source. Raises RigError."""
    budget = Budget(str(file), values=MOST_VALUES, text=MOST_TEXT, levels=PLAIN)
    try:
        yield from _YamlReader(file, budget).documents(budget.yaml(text))
    except yaml.MarkedYAMLError as error:
        hint, is_at_start = _HINTS.get(error.problem or "", ("", False))
        mark = error.context_mark if is_at_start and error.context_mark else error.problem_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise RigError(f"{file}{line}: not YAML: {error.problem or error.context}{hint}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise RigError(f"{file}: not YAML: {error}") from error


_HINTS = {
    "mapping values are not allowed in this context": (
        "; if a text has a colon and a blank in it, put the whole text in quotes",
        False,
    ),
    "found character that cannot start any token": (
        "; put a text that begins with @, `, % or a tab in quotes, and indent with blanks",
        False,
    ),
    "found unexpected end of stream": ("; a quote that opens here is not closed", True),
    "did not find expected ',' or ']'": (
        "; a [ that opens here is not closed, or needs quotes",
        True,
    ),
    "did not find expected ',' or '}'": ("; a { that opens here is not closed, or needs quotes", True),
}
"""What to do about messages of libyaml, and whether the fault is where the value begins."""

_TAGS = (None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")


class _YamlReader:
    """Makes values of YAML's events, and notes the line in which each begins.

    It has no recursion, and repeats the events of an anchor for each alias, so that depth, values and text
    are counted wherever they come from.
    """

    def __init__(self, file: Path, budget: Budget) -> None:
        self._file = file
        self._budget = budget
        self._lines: Lines = {}
        self._events: list[Any] = []
        self._anchors: dict[str, slice | None] = {}

    def documents(self, events: Iterator[Any]) -> Iterator[DocumentPart]:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._lines, self._events, self._anchors = {}, [], {}
                value = self._value(self._repeated(events))
                yield DocumentPart(value, self._file, (), self._lines)

    def _value(self, events: Iterator[Any]) -> Json:
        """Read one value with all that it holds."""
        root: list[Json] = []
        # What is open: the value, its path, and the name in it whose value comes next.
        above: list[tuple[Any, tuple[str | int, ...], Any]] = []
        for event in events:
            if isinstance(event, yaml.CollectionEndEvent):
                above.pop()
                if not above:
                    break
                continue
            outer, path, name = above[-1] if above else (root, (), None)
            if isinstance(outer, dict) and name is None:
                above[-1] = outer, path, self._name(event, outer)
                continue
            line = event.start_mark.line + 1
            if above:
                path = (*path, len(outer) if name is None else name.value)
                line = line if name is None else name.start_mark.line + 1
            self._lines[path] = line
            value = self._alone(event)
            if name is None:
                outer.append(value)
            else:
                outer[name.value] = value
                above[-1] = outer, above[-1][1], None
            if isinstance(event, yaml.CollectionStartEvent):
                if len(above) >= PLAIN:
                    raise self._fault(event, f"nested deeper than {PLAIN} levels")
                above.append((value, path, None))
            elif not above:
                break
        return root[0]

    def _alone(self, event: Any) -> Json:
        """Return a text, a word or a number, or a list or mapping that is still empty."""
        self._spend(event)
        if event.tag not in _TAGS:
            raise self._fault(event, f"the tag {event.tag!r} is not read; leave it out")
        if isinstance(event, yaml.ScalarEvent):
            return _plain(event.value) if event.style in (None, "") else event.value
        return {} if isinstance(event, yaml.MappingStartEvent) else []

    def _name(self, event: Any, mapping: JsonObject) -> Any:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._fault(event, "a name has to be a text")
        if event.value == "<<" and event.style in (None, ""):
            raise self._fault(event, "merge keys (<<) are not read; write the names out")
        if event.value in mapping:
            raise self._fault(event, f"the name {event.value!r} appears twice")
        self._spend(event)
        return event

    def _repeated(self, events: Iterator[Any]) -> Iterator[Any]:
        """Return the events of a document with those of its anchors in the place of each alias."""
        open_at: list[tuple[str | None, int]] = []
        for event in events:
            if isinstance(event, yaml.AliasEvent):
                yield from self._anchored(event)
                continue
            if not isinstance(event, yaml.CollectionEndEvent):
                if event.anchor in self._anchors and event.anchor is not None:
                    raise self._fault(event, f"the anchor {event.anchor!r} appears twice")
                start = len(self._events)
                if isinstance(event, yaml.CollectionStartEvent):
                    open_at.append((event.anchor, start))
                    self._anchors |= {event.anchor: None} if event.anchor else {}
                elif event.anchor:
                    self._anchors[event.anchor] = slice(start, start + 1)
            self._events.append(event)
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, start = open_at.pop()
                if anchor:
                    self._anchors[anchor] = slice(start, len(self._events))
            yield event

    def _anchored(self, alias: Any) -> Iterator[Any]:
        if alias.anchor not in self._anchors:
            raise self._fault(alias, f"there is no anchor {alias.anchor!r} before it")
        span = self._anchors[alias.anchor]
        if span is None:
            raise self._fault(alias, "an anchor holds itself")
        for number in range(span.start, span.stop):
            # What an anchor repeats is repeated by what repeats it, too, so it joins the events.
            self._events.append(self._events[number])
            yield self._events[number]

    def _spend(self, event: Any) -> None:
        try:
            self._budget.spend(1, len(getattr(event, "value", "")))
        except RigError as error:
            raise self._fault(event, str(error).removeprefix(f"{self._file}: ")) from error

    def _fault(self, event: Any, text: str) -> RigError:
        return RigError(f"{self._file}, line {event.start_mark.line + 1}: {text}")


def _plain(word: str) -> Json:
    """Return what a word without quotes means. Long numbers and leading zeros, as in ids, make texts."""
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else word


def _kind(value: Json) -> str:
    names = {dict: "names with values", list: "a list", str: "a text", bool: "true or false"}
    if value is None:
        return "nothing"
    return "an empty text" if value == "" else names.get(type(value), "a number")


Value = TypeVar("Value")


class _AtFirst(FailFast):
    """pydantic's `FailFast`, made hashable, which `Many[X] | None` needs."""

    def __hash__(self) -> int:
        return hash(self.fail_fast)


Many = Annotated[list[Value], _AtFirst()]
"""A list whose validation stops at its first fault."""

Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
"""A number of things in a file."""


class Foreign(BaseModel):
    """A value of a file that another program wrote. Names that are not declared are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Line(NamedTuple):
    """A line of a file; `where` names the file and the line's number. All lines share the file's budget."""

    where: str
    text: str
    budget: Budget

    def json(self, deepest: int = DEEPEST, *, exact: bool = False) -> Json:
        """Read the line's JSON as `json_of` does, or as `from_json` does when `exact`."""
        self.budget.where, self.budget.levels = self.where, deepest
        return _json(self.text, self.budget, exact=exact)


def lines_of(path: Path, largest: int = LARGEST) -> Iterator[Line]:
    """Return the lines of a file that are not blank. Raises RigError if it cannot be read."""
    budget = Budget(str(path))
    for number, text in enumerate(read_text(path, largest).removeprefix("\ufeff").split("\n"), 1):
        if text.strip():
            yield Line(f"{path}, line {number}", text, budget)


def read_lines(path: Path, read: Callable[[Json, str], Value], faults: list[str]) -> Iterator[Value]:
    """Read each line of JSON. A line that cannot be read adds a line to `faults` and is left out."""
    for line in lines_of(path):
        try:
            value = read(line.json(), line.where)
        except RigError as error:
            faults.append(str(error))
            if line.budget.is_spent:
                return
        else:
            yield value


def json_of(text: str, where: str, deepest: int = DEEPEST) -> Json:
    """Read a JSON text. Raises RigError if it is not JSON, or is nested too deeply."""
    return _json(text, Budget(where, levels=deepest))


def _json(text: str, budget: Budget, *, exact: bool = False) -> Json:
    try:
        return budget.json(text, exact=exact)
    except JSONDecodeError as error:
        raise RigError(f"{budget.where}: not JSON: {error.msg} (column {error.colno})") from error
    except ValueError as error:
        raise RigError(f"{budget.where}: not JSON: {error}") from error


def parsed(kind: type[Value], value: Json, where: str, what: str) -> Value:
    """Validate a value as a model, or as another type. Raises RigError with the path to its first fault.

    `what` says what it should have been: "a converted answer".
    """
    try:
        instance: Value = adapter(cast(Any, kind)).validate_python(value)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        steps = [str(step + 1) if isinstance(step, int) else step[:60] for step in fault["loc"]]
        text = _FAULTS.get(fault["type"], fault["msg"]).removeprefix("Input ")
        own = text.removeprefix("Value error, ")  # the words of a validator of rig's
        colon = "" if own == text else ":"
        raise RigError(f"{where}: not {what}: {'.'.join(steps) or 'it'}{colon} {own}") from None
    return instance


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what reads and writes values of a type. It is cached, as making it takes longer than reading."""
    return TypeAdapter(kind)


_FAULTS = {
    "missing": "is missing",
    "model_type": "should be an object",
    "dict_type": "should be an object",
    "list_type": "should be a list",
    "string_type": "should be a text",
    "too_short": "has too few values",
    "too_long": "has too many values",
    "recursion_depth_exceeded": "is nested too deeply",
    "extra_forbidden": "is not known here",
}
"""pydantic's kinds of fault as messages in terms of JSON."""
