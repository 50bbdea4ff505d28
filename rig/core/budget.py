"""What reading one file may cost, and the only place that parses JSON, TOML and YAML.

A few kilobytes can stand for gigabytes: anchors that repeat each other, keys of a hundred thousand parts,
schemas that multiply. Whatever a person, a model, a server or a store wrote is therefore parsed through a
`Budget`, which counts while it is read, and again wherever it grows.
"""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NoReturn

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError

DEEPEST = 500
"""Levels of lists and objects in a JSON file. Python's own JSON writer fails at slightly more."""
PLAIN = 64
"""Levels of lists and objects in files that hold no trees."""
LARGEST_TOML = 1 << 20
LARGEST_YAML = 1 << 20
"""The most bytes of a file. Reading TOML and YAML is slow."""

MOST_VALUES = 2_000_000
"""The most values of a file: as Python objects they take some 400 MB at worst."""
MOST_TEXT = 1 << 28
"""The most characters of a file."""
MOST_CPU_S = 15.0
"""The most CPU time for what somebody else wrote to be expanded. Ten times what any honest file needs."""

_EVERY = 1 << 10
"""After how many values the clock is looked at, as that takes longer than counting one."""
_MOST_DIRECTIVES = 16
"""The most tag directives of a YAML file: libyaml's time grows with their square."""


@dataclass(slots=True)
class Budget:
    """What may still be spent on one file, listing or answer; `where` names it in messages.

    `values` and `text` are the values and characters left, and `cpu_s` the seconds of CPU time that `spend`
    allows in this thread from the first value on.
    """

    where: str
    values: int = MOST_VALUES
    text: int = MOST_TEXT
    cpu_s: float = MOST_CPU_S
    levels: int | None = DEEPEST
    _most: tuple[int, int] = field(init=False)
    _next: int = field(default=0, init=False)
    _end: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._most = self.values, self.text

    def spend(self, values: int = 1, text: int = 0) -> None:
        """Count values that are read or made, and their characters. Raises RigError if none are left."""
        self._count(values, text)
        self._next -= values
        if self._next <= 0:
            self._next = _EVERY
            now = time.thread_time()
            if self._end is None:
                self._end = now + self.cpu_s
            elif now > self._end:
                self._refuse(f"took more than {self.cpu_s:g} seconds to read; make several files of it")

    @property
    def is_spent(self) -> bool:
        """Whether nothing more can be read."""
        return self.values < 0 or self.text < 0

    def json(self, text: str, *, exact: bool = False, **options: Any) -> Json:
        """Parse JSON. Raises ValueError if it is not JSON, and RigError for more than the budget.

        When `exact`, names that appear twice in an object, and NaN, raise RigError, too. `options` are
        those of `json.loads`.
        """
        # Commas and brackets in texts count, too, until that would make a difference.
        most = 1 + text.count(",") + text.count("[") + text.count("{")
        self._count(most if most <= self.values else _values(text, self.values), len(text))
        try:
            if exact:
                own = {"object_pairs_hook": self._unique, "parse_constant": self._constant}
                options = {**own, **options}
            value = json.loads(text, **options)
        except RecursionError:
            self._refuse("nested too deeply")
        if self.levels is not None and _is_deeper(value, self.levels):
            self._refuse(f"nested deeper than {self.levels} levels")
        return value

    def toml(self, text: str) -> dict[str, Any]:
        """Parse TOML. Raises ValueError if it is not TOML, and RigError for more than the budget."""
        import tomllib

        if len(text) > LARGEST_TOML:
            self._refuse(f"larger than {LARGEST_TOML >> 20} MiB")
        # The time and memory that tomllib takes for a key grow with the square of its parts.
        if _LONG_KEY.search(_TOML_TEXT.sub(lambda match: "#" if match[0][0] == "#" else "s", text)):
            self._refuse(f"nested deeper than {PLAIN} levels")
        self._count(1 + sum(map(text.count, ",[{=.")), len(text))
        try:
            values = tomllib.loads(text)
        except RecursionError:
            self._refuse("nested too deeply")
        if _is_deeper(values, PLAIN):
            self._refuse(f"nested deeper than {PLAIN} levels")
        return values

    def yaml(self, text: str) -> Iterator[Any]:
        """Return the events of YAML, as PyYAML's `parse` does. Raises yaml.YAMLError if it is not YAML.

        Whoever builds values of them spends what aliases stand for, and stops at a depth of `levels`.
        """
        import yaml  # type: ignore[import-untyped]

        if len(text) > LARGEST_YAML:
            self._refuse(f"larger than {LARGEST_YAML >> 20} MiB")
        if text.count("\n%TAG") > _MOST_DIRECTIVES:
            self._refuse("tags are not read; leave the lines that begin with %TAG out")
        return iter(yaml.parse(text, Loader=_loader(yaml)))

    def yaml_nodes(self, text: str) -> Iterator[Any]:
        """Return the nodes of YAML that was read before, for their places in the text."""
        import yaml

        return iter(yaml.compose_all(text, Loader=_loader(yaml)))

    def _count(self, values: int, text: int) -> None:
        self.values -= values
        self.text -= text
        if self.values < 0:
            self._refuse(f"stands for more than {self._most[0]:,} values; make several files of it")
        if self.text < 0:
            self._refuse(f"stands for more than {self._most[1]:,} characters; make several files of it")

    def _refuse(self, text: str) -> NoReturn:
        raise RigError(f"{self.where}: {text}" if self.where else text)

    def _constant(self, name: str) -> NoReturn:
        self._refuse(f"{name} is not a JSON number")

    def _unique(self, pairs: list[tuple[str, Any]]) -> JsonObject:
        value: JsonObject = {}
        for name, inner in pairs:
            if name in value:
                self._refuse(f"the name {name!r} appears twice in one object")
            value[name] = inner
        return value


def _loader(yaml: Any) -> Any:
    # Written in C, it is ten times as fast as PyYAML's own parser, which stands in where it is missing.
    return getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def parse_json(text: str | bytes, **options: Any) -> Json:
    """Parse JSON of any depth, as in a cell of a store or an answer; `options` are those of `json.loads`.

    Raises ValueError if it is not JSON, or more than the budget.
    """
    try:
        whole = text if isinstance(text, str) else text.decode()
        return Budget("JSON", levels=None).json(whole, **options)
    except RigError as error:
        raise ValueError(str(error)) from error


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError if it is not TOML, or more than the budget."""
    try:
        return Budget("TOML").toml(text)
    except RigError as error:
        raise ValueError(str(error)) from error


def values_at(value: Json, depth: int) -> list[Json]:
    """Return the values at this depth of lists and objects in a JSON value; none if it is not that deep."""
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            break
    return level


def _is_deeper(value: Json, levels: int) -> bool:
    return any(isinstance(inner, dict | list) for inner in values_at(value, levels))


def _values(text: str, most: int) -> int:
    """Return the number of values in a text of JSON; above `most`, any number above it."""
    marks = (match for match in _JSON_MARK.finditer(text) if match[0][0] != '"')
    return 1 + sum(1 for _ in islice(marks, most + 1))


_JSON_MARK = re.compile(r'"(?:[^"\\]|\\.)*+"?|[,\[{]', re.DOTALL)
_TOML_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*+\'|#[^\n]*+', re.DOTALL
)
_LONG_KEY = re.compile(rf"(?:[\w-]++[ \t]*+\.[ \t]*+){{{PLAIN}}}")
