"""YAML and JSON files that people write, read strictly: every fault is a line that says where it is.

Plain words are read as in YAML 1.2: `no` and `on` are words, and so are times and dates. Anything but plain
data (tags, merge keys, anchors that contain themselves) is refused, and so is a key that appears twice.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import yaml  # type: ignore[import-untyped]

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.files import read_text, values_at

LARGEST_JSON = 16 * 2**20
LARGEST_YAML = 2**20
"""Bytes of a file. YAML is read slowly."""
DEEPEST = 64
MOST_VALUES = 200_000
"""Values of a YAML file, each as often as anchors repeat it."""

YAML_ENDINGS = (".yaml", ".yml")
ENDINGS = (".json", *YAML_ENDINGS)

Lines: TypeAlias = dict[tuple[str | int, ...], int]

_WORDS: dict[str, Json] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A value of a file, and where it stands: by the keys and positions that lead to it."""

    value: Json
    file: Path
    path: tuple[str | int, ...] = ()
    lines: Lines = field(default_factory=dict, repr=False)

    def fault(self, text: str) -> RigError:
        """That something is wrong here, in one line."""
        return RigError(f"{self.place}: {text}")

    @property
    def place(self) -> str:
        """The file, the line where it is known, and the path."""
        line = self.lines.get(self.path)
        where = str(self.file) if line is None else f"{self.file}, line {line}"
        return f"{where}: {self.name}" if self.path else where

    @property
    def name(self) -> str:
        """The path in words: `turns.2.calls.1`, positions from 1."""
        return ".".join(str(step + 1) if isinstance(step, int) else step for step in self.path)

    def inside(self, step: str | int) -> "DocumentPart":
        """The value at a key or position that is there."""
        return DocumentPart(self.value[step], self.file, (*self.path, step), self.lines)

    def items(self) -> Iterator["DocumentPart"]:
        """The values of a list. Raises RigError for anything else."""
        if not isinstance(self.value, list):
            raise self.fault(f"needs a list, not {_kind(self.value)}")
        return (self.inside(number) for number in range(len(self.value)))

    def fields(self) -> dict[str, "DocumentPart"]:
        """The values of an object by name. Raises RigError for anything else."""
        if not isinstance(self.value, dict):
            raise self.fault(f"needs names with values, not {_kind(self.value)}")
        return {name: self.inside(name) for name in self.value}

    def known_fields(self, names: Sequence[str]) -> dict[str, "DocumentPart"]:
        """The values of an object that has no names but these."""
        parts = self.fields()
        for name, part in parts.items():
            if name not in names:
                raise part.fault(f"is not known here; choose from: {', '.join(names)}")
        return parts

    def text(self) -> str:
        """A text that is not empty. Raises RigError for anything else; a number is taken as it is written."""
        value = self.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise self.fault(f"needs a text, not {_kind(value)}")
        return value

    def flag(self) -> bool:
        """True or false. Raises RigError for anything else."""
        if not isinstance(self.value, bool):
            raise self.fault(f"needs true or false, not {_kind(self.value)}")
        return self.value

    def texts(self) -> list[str]:
        """A list of texts; a text alone is one of one."""
        return [self.text()] if isinstance(self.value, str) else [part.text() for part in self.items()]


def read(file: Path) -> list[DocumentPart]:
    """The documents of a file: of JSON one, of YAML any number. Raises RigError, with the place."""
    is_yaml = file.suffix.lower() in YAML_ENDINGS
    text = read_text(file, LARGEST_YAML if is_yaml else LARGEST_JSON).removeprefix("\ufeff")
    return list(_yaml(text, file)) if is_yaml else [DocumentPart(from_json(text, str(file)), file)]


def from_json(text: str, where: str, *, lines: bool = True) -> Json:
    """A JSON value. Raises RigError for names that appear twice, for NaN, and if it is nested too deeply.

    `lines` says that the text has lines, which a fault should name.
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
    if values_at(value, DEEPEST):
        raise RigError(f"{where}: nested deeper than {DEEPEST} levels")
    return value


def to_yaml(value: Json) -> str:
    """YAML that `read` reads as this value, for people to continue with."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes no anchors, and quotes every text that without quotes would mean something else here."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, text: str) -> Any:
        means_other = not isinstance(_plain(text), str)
        # Unescaped, these end a line for whoever reads it.
        style = '"' if not _LINE_ENDS.isdisjoint(text) else "'" if means_other else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_LINE_ENDS = frozenset("\x85\u2028\u2029")
_Dumper.add_representer(str, _Dumper.represent_str)


def _yaml(text: str, file: Path) -> Iterator[DocumentPart]:
    try:
        for node in yaml.compose_all(text, Loader=_Loader):
            reader = _NodeReader(file)
            yield DocumentPart(reader.value(node, ()), file, (), reader.lines)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise RigError(f"{file}{line}: not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise RigError(f"{file}: not YAML: {error}") from error
    except RecursionError as error:
        raise RigError(f"{file}: nested too deeply") from error


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Leaves plain words alone: what they mean is said here."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


class _NodeReader:
    """Makes values of nodes, noting in which line each begins."""

    def __init__(self, file: Path) -> None:
        self.lines: Lines = {}
        self._file = file
        self._left = MOST_VALUES
        self._above: list[Any] = []

    def value(self, node: Any, path: tuple[str | int, ...]) -> Json:
        self.lines[path] = node.start_mark.line + 1
        self._left -= 1
        if self._left < 0:
            raise self._fault(node, f"more than {MOST_VALUES} values; make several files of it")
        if any(node is other for other in self._above):
            raise self._fault(node, "an anchor holds itself")
        if len(self._above) > DEEPEST:
            raise self._fault(node, f"nested deeper than {DEEPEST} levels")
        if node.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"):
            raise self._fault(node, f"the tag {node.tag!r} is not read; leave it out")
        if isinstance(node, yaml.ScalarNode):
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
    """What a word without quotes means. Long numbers and those with leading zeros are texts: ids are such."""
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
