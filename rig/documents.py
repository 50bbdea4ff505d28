"""Read files that others wrote, strictly: what does not fit is reported in one line that says where it is.

`read` is for YAML and JSON that people write by hand. Plain words are read as in YAML 1.2: `no` and `on` are
words, and so are times and dates. Anything but plain data (tags, merge keys, anchors that contain themselves)
is refused, and so is a key that appears twice.

`json_of` and `parsed` are for what programs wrote: large files, lines of JSON, and shapes that are read
leniently where nothing depends on them.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, cast

import yaml  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, FailFast, Field, TypeAdapter, ValidationError

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.files import DEEPEST, LARGEST, PLAIN, read_text, values_at

LARGEST_JSON = 16 * 2**20
LARGEST_YAML = 2**20
"""The most bytes of a file. Reading YAML is slow."""
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
        """Return a text that is not empty, or a number as text. Raises RigError for anything else."""
        value = self.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise self.fault(f"needs a text, not {_kind(value)}")
        return value

    def flag(self) -> bool:
        """Return true or false. Raises RigError for anything else."""
        if not isinstance(self.value, bool):
            raise self.fault(f"needs true or false, not {_kind(self.value)}")
        return self.value

    def texts(self) -> list[str]:
        """Return a list of texts; a single text becomes a list of one."""
        return [self.text()] if isinstance(self.value, str) else [part.text() for part in self.items()]


def read(file: Path) -> list[DocumentPart]:
    """Read the documents of a file: one of JSON, any number of YAML. Raises RigError, with the place."""
    is_yaml = file.suffix.lower() in YAML_ENDINGS
    text = read_text(file, LARGEST_YAML if is_yaml else LARGEST_JSON).removeprefix("\ufeff")
    return list(from_yaml(text, file)) if is_yaml else [DocumentPart(from_json(text, str(file)), file)]


def from_json(text: str, where: str, *, lines: bool = True) -> Json:
    """Read a JSON value. Raises RigError for names that appear twice, for NaN, and for too deep nesting.

    With `lines`, errors name the line of the text.
    """

    def refuse(constant: str) -> Json:
        raise RigError(f"{where}: {constant} is not a JSON number")

    def once(pairs: list[tuple[str, Any]]) -> JsonObject:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise RigError(f"{where}: the name {twice!r} appears twice in one object")
        return value

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if lines else ""
        raise RigError(f"{where}{line}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise RigError(f"{where}: nested too deeply") from error
    except ValueError as error:
        raise RigError(f"{where}: not JSON: {error}") from error
    if values_at(value, PLAIN):
        raise RigError(f"{where}: nested deeper than {PLAIN} levels")
    return value


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
    try:
        # This loader leaves plain words as texts; `_plain` decides what they mean.
        for node in yaml.compose_all(text, Loader=yaml.BaseLoader):
            reader = _NodeReader(file)
            yield DocumentPart(reader.value(node, ()), file, (), reader.lines)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise RigError(f"{file}{line}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise RigError(f"{file}: not YAML: {error}") from error
    except RecursionError as error:
        raise RigError(f"{file}: nested too deeply") from error


class _NodeReader:
    """Makes values of YAML nodes, and notes the line in which each begins."""

    def __init__(self, file: Path) -> None:
        self.lines: Lines = {}
        self._file = file
        self._left, self._text = MOST_VALUES, MOST_TEXT
        self._above: list[Any] = []

    def value(self, node: Any, path: tuple[str | int, ...]) -> Json:
        self.lines[path] = node.start_mark.line + 1
        self._left -= 1
        if self._left < 0:
            raise self._fault(node, f"more than {MOST_VALUES} values; make several files of it")
        if any(node is other for other in self._above):
            raise self._fault(node, "an anchor holds itself")
        if len(self._above) > PLAIN:
            raise self._fault(node, f"nested deeper than {PLAIN} levels")
        if node.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"):
            raise self._fault(node, f"the tag {node.tag!r} is not read; leave it out")
        if isinstance(node, yaml.ScalarNode):
            self._text -= len(node.value)
            if self._text < 0:
                raise self._fault(node, f"anchors repeat more than {MOST_TEXT} characters; write less")
            return _plain(node.value) if node.style is None else node.value
        self._above.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.value(child, (*path, number)) for number, child in enumerate(node.value)]
        finally:
            self._above.pop()

    def _mapping(self, node: Any, path: tuple[str | int, ...]) -> JsonObject:
        mapping: JsonObject = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._fault(key, "a name has to be a text")
            if key.value == "<<" and key.style is None:
                raise self._fault(key, "merge keys (<<) are not read; write the names out")
            if key.value in mapping:
                raise self._fault(key, f"the name {key.value!r} appears twice")
            mapping[key.value] = self.value(value, (*path, key.value))
            self.lines[(*path, key.value)] = key.start_mark.line + 1
        return mapping

    def _fault(self, node: Any, text: str) -> RigError:
        return RigError(f"{self._file}, line {node.start_mark.line + 1}: {text}")


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
    """A line of a file; `where` names the file and the line's number."""

    where: str
    text: str


def lines_of(path: Path, largest: int = LARGEST) -> Iterator[Line]:
    """Return the lines of a file that are not blank. Raises RigError if it cannot be read."""
    for number, text in enumerate(read_text(path, largest).removeprefix("\ufeff").split("\n"), 1):
        if text.strip():
            yield Line(f"{path}, line {number}", text)


def read_lines(path: Path, read: Callable[[Json, str], Value], faults: list[str]) -> Iterator[Value]:
    """Read each line of JSON. A line that cannot be read adds a line to `faults` and is left out."""
    for line in lines_of(path):
        try:
            value = read(json_of(line.text, line.where), line.where)
        except RigError as error:
            faults.append(str(error))
        else:
            yield value


def json_of(text: str, where: str, deepest: int = DEEPEST) -> Json:
    """Read a JSON text. Raises RigError if it is not JSON, or is nested too deeply."""
    try:
        value: Json = json.loads(text)
    except json.JSONDecodeError as error:
        raise RigError(f"{where}: not JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise RigError(f"{where}: not JSON: {error}") from error
    if any(isinstance(inner, dict | list) for inner in values_at(value, deepest)):
        raise RigError(f"{where}: nested deeper than {deepest} levels")
    return value


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
