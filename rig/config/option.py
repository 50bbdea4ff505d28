"""What an option is, and how fields of the table of options (`rig.config.options`) declare them."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from rig.core.errors import RigError

Reader: TypeAlias = Literal["run", "method", "engine", "plugin"]
Recorded: TypeAlias = Literal["always", "changed", "never"]

GROUPS = CONVERSATIONS, DIALS, PROMPT, GENERATION, MACHINE, SERVERS, GRADING = (
    "Conversations",
    "Dials",
    "Prompt",
    "Generation",
    "Machine",
    "Servers",
    "Grading",
)
"""The groups of options in the help, in order."""

_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class Option:
    """An option with everything that is known about it.

    With `several`, each value makes an arm. `opens` says that a value can name a file or folder, which rig
    opens for the user alone (`rig.core.opening`). A `listed` option is stored as a list, of one value too.
    With `commas` several values can be written as one text, and thousands as `2k`. `values` are what the
    words of a choice mean, or words that stand for numbers. `unset` says in the help what holds without a
    value. `off` is the name of the switch that turns off what is on by default. `verbs` are the verbs that
    have the option, besides `run` and `noise`.

    `field` is the name that its reader uses, `key` the name in the fingerprint. It is in the fingerprint
    `always`, only if `changed` from the default, so that runs older than the option can go on, or `never`, if
    the reader records the outcome itself.
    """

    name: str
    default: Any = None
    several: bool = False
    opens: bool = False
    help: str = ""
    group: str = ""
    reader: Reader = "method"
    kind: type = str
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
    field: str = ""
    key: str = ""
    recorded: Recorded = "changed"

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def start(self) -> Any:
        """The value if nobody sets one: a tuple if the option takes several."""
        value = self.default() if callable(self.default) else self.default
        return (value,) if self.several and not self.listed else value

    @property
    def place(self) -> str:
        """The key in an arm's whole fingerprint."""
        if self.reader == "plugin":
            return self.key
        return f"{'model' if self.reader == 'engine' else 'protocol'}.{self.key}"

    def parse(self, text: str) -> Any:
        """Parse a text as a value of the default's type that the option takes.

        Raises RigError that names no option.
        """
        kind = type(self.default)
        try:
            value = _FLAGS[text] if kind is bool else kind(text)
        except (KeyError, ValueError) as error:
            raise RigError(f"not a value such as {self.default}") from error
        if self.choices and value not in self.choices:
            raise RigError(f"choose from: {', '.join(self.choices)}")
        if self.least is not None and value < self.least:
            raise RigError(f"must be at least {self.least:g}")
        return value

    def levels(self, text: str) -> tuple[Any, ...]:
        """Parse the values of a text with commas, such as `0,2k,4k`. Raises RigError that names no option."""
        return tuple(dict.fromkeys(self._level(word.strip()) for word in text.split(",")))

    def _level(self, word: str) -> Any:
        if self.kind is str:
            if not word or (self.choices and word not in self.choices):
                raise RigError(f"{word!r} is not one of {', '.join(self.choices) or 'what it takes'}.")
            return word
        is_thousands = self.kind is int and word[-1:] in ("k", "K")
        try:
            number = 1000 * float(word[:-1]) if is_thousands else float(word)
            value = self.kind(number)
        except (ValueError, OverflowError) as error:
            raise RigError(f"{word!r} is not a number.") from error
        least, most = self.least or 0, math.inf if self.most is None else self.most
        if value != number or not least <= number <= most:
            whole = "a whole number " * (self.kind is int)
            raise RigError(f"{word} is not {whole}from {least:g} to {most:g}.")
        return value


def option(default: Any, help_text: str, group: str = "", *, verbs: str = "", **more: Any) -> Any:
    """Declare a field of the table. `more` are parts of `Option`; `verbs` are separated by spaces."""
    told = {"help": help_text, "group": group, "verbs": tuple(verbs.split()), **more}
    kind = "default_factory" if callable(default) else "default"
    return field(**{kind: default}, metadata={"option": told})


# Defaults for the options of a group, which each option can override.
conversation_option = partial(option, group=CONVERSATIONS, verbs="screen")
generation_option = partial(option, group=GENERATION, recorded="never")
machine_option = partial(option, group=MACHINE, verbs="judge screen fit")
prompt_option = partial(option, group=PROMPT, recorded="never")


def dial_option(neutral: Any, help_text: str, metavar: str) -> Any:
    """Declare a dial by its neutral level: numbers up to a million, shares up to 1, or words."""
    most = 1 if isinstance(neutral, float) else 1_000_000
    more: dict[str, Any] = {"key": "stress.", "metavar": metavar, "most": most}
    return option(neutral, help_text, DIALS, several=True, commas=True, **more)


def options_of(table: type, reader: Reader) -> dict[str, Option]:
    """Return the options that the fields of a class declare, by name."""
    hints = get_type_hints(table)
    options = []
    for part in fields(table):
        hint = value_type(hints[part.name])
        default: Any = part.default if part.default is not MISSING else part.default_factory
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        told: dict[str, Any] = {"name": part.name, "key": part.name, **part.metadata["option"]}
        if told["key"].endswith("."):  # the dials', which go by their names
            told["key"] += part.name
        if (values := told.get("values")) and hint is not int:
            choices = tuple(values)
            default = next(word for word, value in values.items() if value == default)
        told |= {"kind": hint if isinstance(hint, type) and not choices else str, "choices": choices}
        options.append(Option(default=default, reader=reader, field=part.name, **told))
    return {option.name: option for option in options}


def value_type(hint: Any) -> Any:
    """Return the type of a value that is not None; for a tuple, that of its values."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (arg for arg in get_args(hint) if arg is not NoneType)
    return get_args(hint)[0] if get_origin(hint) is tuple else hint
