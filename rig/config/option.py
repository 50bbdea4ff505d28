"""What an option is, and how fields of the configuration (`rig.config.options`) declare them."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from rig.core.errors import RigError

Reader: TypeAlias = Literal["run", "method", "engine", "plugin"]
Recorded: TypeAlias = Literal["always", "changed", "never"]

GROUPS = CONVERSATIONS, PROMPT, GENERATION, MACHINE, GRADING = (
    "Conversations",
    "Prompt",
    "Generation",
    "Machine",
    "Grading",
)
"""The groups of rig's own options in the help, in order; those of plugins follow."""

_FLAGS = {"true": True, "false": False}
_WIDEST = {int: 2**63 - 1, float: sys.float_info.max}
"""The largest numbers; whole ones must fit into the store."""


@dataclass(frozen=True)
class Option:
    """An option with everything that is known about it.

    With `several`, each value makes an arm. `opens` says that a value can name a file or folder, which rig
    opens for the user alone (`rig.core.opening`). A `listed` option is stored as a list, of one value too.
    With `commas` several values can be written as one text, and thousands as `2k`. `values` are what the
    words of a choice mean, or words that stand for numbers. `unset` says in the help what holds without a
    value. `off` is the name of the switch that turns off what is on by default. `verbs` are the verbs that
    have the option, besides `run` and `noise`. In the help it is in a `group`, of a `tenant` unless it is
    rig's own; a `common` one is in the short help. Without a `kind`, values are of the default's type. `arms`
    makes the levels of arms from the values.

    It is the `field` of a `table`, `key` is its name in the fingerprint. It is in the fingerprint `always`,
    only if `changed` from the default, or `never`, if the reader records the outcome itself.
    """

    name: str
    default: Any = None
    several: bool = False
    opens: bool = False
    help: str = ""
    group: str = ""
    tenant: str = ""
    common: bool = False
    reader: Reader = "method"
    kind: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    more_than: float | None = None
    metavar: str | None = None
    unset: str = ""
    off: str = ""
    listed: bool = False
    values: Mapping[str, Any] | None = None
    verbs: tuple[str, ...] = ()
    commas: bool = False
    arms: Callable[[Iterable[Any]], Sequence[Any]] | None = None
    table: type = NoneType
    field: str = ""
    key: str = ""
    recorded: Recorded = "changed"

    def __post_init__(self) -> None:
        if self.kind is None:
            object.__setattr__(self, "kind", str if self.default is None else type(self.default))

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def title(self) -> str:
        """The title above it in the help."""
        return f"{self.group} ({self.tenant})" if self.group and self.tenant else self.group or self.tenant

    @property
    def start(self) -> Any:
        """What `read` returns for the value that holds if nobody sets one."""
        value = self.default() if callable(self.default) else self.default
        return value if self.listed else (value,)

    @property
    def place(self) -> str:
        """The key in an arm's whole fingerprint."""
        if self.reader == "plugin":
            return self.key
        return f"{'model' if self.reader == 'engine' else 'protocol'}.{self.key}"

    def is_recorded(self, value: Any) -> bool:
        """Return whether a value is in the fingerprint of an arm by the option's own rule."""
        is_changed = self.recorded == "changed" and value != self.default
        return is_changed or self.recorded == "always"

    @property
    def bounds(self) -> str:
        """The numbers that it takes, in words; empty if all."""
        least = f"above {self.more_than:g}" if self.more_than is not None else ""
        if self.least is not None:
            least = f"from {self.least:.15g}"
        most = f"to {self.most:.15g}" if self.most is not None else "on" if self.least is not None else ""
        return f"{least} {most}".strip()

    @property
    def takes(self) -> str:
        """What it takes, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kinds = {int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
        words = (" ".join(filter(None, [kinds.get(self.kind, "a text"), self.bounds])), *(self.values or ()))
        return " or ".join(words)

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for. Raises RigError that names no option."""
        value: Any = text
        try:
            if text in (self.values or ()):
                pass
            elif self.kind is bool:
                value = _FLAGS[text]
            elif self.kind is int and self.commas:
                number = 1000 * float(text[:-1]) if text[-1:] in ("k", "K") else float(text)
                value = int(number) if number == int(number) else text
            elif self.kind in (int, float):
                value = self.kind(text)
        except (KeyError, ValueError, OverflowError):
            pass  # what is left is a text, which is refused
        return self.check(value)

    def check(self, value: Any) -> Any:
        """Return one value, or the word for one, as it is read. Raises RigError that names no option."""
        if isinstance(value, str) and value in (self.values or ()):
            return (self.values or {})[value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None:
            is_right = self.default is None
        elif self.choices and self.kind is str:
            is_right = value in self.choices
        elif self.kind in (int, float):
            is_right = is_number and (self.kind is float or isinstance(value, int)) and self._is_within(value)
        elif self.kind is bool:
            is_right = isinstance(value, bool)
        else:
            is_right = isinstance(value, str | os.PathLike)
        if not is_right:
            raise RigError(f"takes {self.takes}, not {value!r}")
        if value is None or self.kind in (int, bool):
            return value
        return self.kind(os.fspath(value) if isinstance(value, os.PathLike) else value)

    def _is_within(self, value: float) -> bool:
        widest = _WIDEST[self.kind]  # without infinity and NaN
        least = -widest if self.least is None else self.least
        most = widest if self.most is None else self.most
        return least <= value <= most and (self.more_than is None or value > self.more_than)

    def levels(self, text: str) -> tuple[Any, ...]:
        """Parse the values of a text with commas, such as `0,2k,4k`. Raises RigError that names no option."""
        return tuple(dict.fromkeys(self.parse(word.strip()) for word in text.split(",")))

    def read(self, given: Any) -> tuple[Any, ...]:
        """Return the values that somebody gave in Python, or as texts with commas: each value once if they
        make arms. Raises RigError that names no option.
        """
        several = given if isinstance(given, list | tuple) else (given,)
        if self.commas:
            parts = (self.levels(part) if isinstance(part, str) else part for part in several)
            several = [one for part in parts for one in (part if isinstance(part, list | tuple) else (part,))]
        if len(several) != 1 and not self.listed and not (self.several and several):
            raise RigError("takes at least one value" if self.several else "takes one value")
        values = tuple(map(self.check, several))
        return values if self.listed else tuple(dict.fromkeys(values))

    def word(self, value: Any) -> Any:
        """Return the word for a value, which people write and the store keeps; else the value."""
        words = (word for word, meaning in (self.values or {}).items() if meaning == value)
        return next(words, value)


def option(default: Any, help_text: str, group: str = "", *, verbs: str = "", **more: Any) -> Any:
    """Declare a field of a table. `more` are parts of `Option`; `verbs` are separated by spaces."""
    told = {"help": help_text, "group": group, "verbs": tuple(verbs.split()), **more}
    kind = "default_factory" if callable(default) else "default"
    return field(**{kind: default}, metadata={"option": told})


# Defaults for the options of a group, which each option can override; all but the first are of engines.
conversation_option = partial(option, group=CONVERSATIONS, verbs="screen")
generation_option = partial(option, group=GENERATION, recorded="never", reader="engine")
machine_option = partial(option, group=MACHINE, verbs="judge screen fit", reader="engine")
prompt_option = partial(option, group=PROMPT, recorded="never", reader="engine")


def options_of(table: type, reader: Reader, tenant: str = "") -> dict[str, Option]:
    """Return the options that the fields of a class of a tenant declare, by name."""
    hints = get_type_hints(table)
    options = []
    for part in fields(table):
        if "option" not in part.metadata:
            continue
        hint = value_type(hints[part.name])
        default: Any = part.default if part.default is not MISSING else part.default_factory
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        told: dict[str, Any] = {"name": part.name, "key": part.name, **part.metadata["option"]}
        if (values := told.get("values")) and hint is bool:
            choices = tuple(values)
        told |= {"kind": str if get_origin(hint) is Literal else hint, "choices": choices}
        options.append(
            Option(
                **{"reader": reader, "tenant": tenant, **told}, default=default, table=table, field=part.name
            )
        )
    return {option.name: option for option in options}


def value_type(hint: Any) -> Any:
    """Return the type of a value that is not None; for a tuple, that of its values."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (arg for arg in get_args(hint) if arg is not NoneType)
    return get_args(hint)[0] if get_origin(hint) is tuple else hint
