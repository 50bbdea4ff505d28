"""The configuration of a run: everything that shapes it, declared once.

An option is a field of `RunConfig`, or of a part that a plugin registers, as the engine does. Its annotation
is its type, its default holds if nobody sets it, and `option` has the rest. From that come the options of the
verbs and their help (`rig.cli.options`), the names in `rig.toml`, the keywords of `rig.run`, what is stored
with a run and the names of arms (`rig.running.planning`), and the fingerprint. To add an option, add a field.
To give one to a method alone, put an `Option` into its `options`; users set it with `--set`.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from rig.config.option import (
    CONVERSATIONS,
    GENERATION,
    GRADING,
    MACHINE,
    PROMPT,
    Reader,
    conversation_option,
    option,
    options_of,
)
from rig.config.option import Option as Option
from rig.core import registry as plugins
from rig.core.errors import RigError, did_you_mean
from rig.core.tasks import LeftOut as LeftOut

T = TypeVar("T")

Docs: TypeAlias = Literal["full", "names"]
"""Whether tools are described, or only named with their parameters (ToolTalk, section 4.3)."""
Tools: TypeAlias = Literal["all", "suite", "exact"]
"""All tools, those of the plugins a task uses, or only the tools it needs."""
History: TypeAlias = Literal["recorded", "replayed"]
"""Whether earlier calls are shown with the responses in the file or with those of the simulator."""
Answers: TypeAlias = Literal["live", "replay", "live-misses"]
"""Who answers calls of MCP servers: a running server, what was recorded, or a server where nothing was."""
Mode: TypeAlias = Literal["default", "upstream", "per-turn"]
"""The rules for matching and counting calls (docs/reference/metrics.md)."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options that say what is run, for the runner."""

    models: tuple[str, ...] = option((), "", listed=True, opens=True)
    lora: tuple[str, ...] = option(
        (),
        "Apply a LoRA adapter (GGUF), with a scale if it is not 1; `none` runs the model without.",
        MACHINE,
        metavar="FILE[:SCALE]",
        several=True,
        listed=True,
        opens=True,
        verbs="screen",
    )
    suite: str = conversation_option(
        "easy",
        "A suite by name (see `rig suites list`), or your own conversations by path.",
        metavar="NAME|PATH",
        common=True,
    )
    conversations: Path | None = conversation_option(
        None, "A folder of conversations in ToolTalk's JSON format.", verbs="screen bench"
    )
    only: tuple[str, ...] = conversation_option(
        (), "Run only this conversation. Repeatable.", metavar="NAME", listed=True, verbs="screen judge bench"
    )
    without: tuple[LeftOut, ...] = conversation_option(
        (),
        "Leave out tasks of public benchmarks that are known to be wrong (defects), or the fifth that models"
        " may be calibrated on (calibration). Repeatable.",
        listed=True,
    )
    limit: int | None = conversation_option(
        None, "Run only the first N conversations.", least=1, verbs="screen judge", common=True
    )
    repeats: int = option(
        1, "Run every conversation N times.", CONVERSATIONS, least=1, most=10_000, common=True
    )
    method: str | None = conversation_option(
        None, "How to run and score conversations.", metavar="NAME", unset="the suite's"
    )
    role: tuple[str, ...] = option(
        (),
        "Choose who plays a role that is not evaluated.",
        CONVERSATIONS,
        metavar="ROLE=MODEL",
        several=True,
        listed=True,
        opens=True,
    )
    set: tuple[str, ...] = conversation_option(
        (),
        "Set an option that only the method knows.",
        metavar="NAME=VALUE",
        several=True,
        listed=True,
    )
    loss: float = option(
        5.0,
        "The loss of success, in points, that arms are compared for, as with --until verdict.",
        CONVERSATIONS,
        more_than=0,
        most=100,
    )
    noise: bool = option(False, "")


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """How tasks are put to models and scored. Methods share these options; each lists those that it has."""

    toolbox: str | None = conversation_option(
        None,
        "Tools by name, or your own by folder, or those of an MCP server. Runs their code.",
        metavar="NAME|DIR|mcp:COMMAND",
        opens=True,
        common=True,
    )
    servers: Answers = conversation_option(
        "live", "Have MCP servers answer, or what `rig tools record` recorded, or servers where nothing was."
    )
    server_network: bool = conversation_option(
        False,
        "Let MCP servers use your network. Without it, they have none where the system can do that.",
    )
    world: Path | None = conversation_option(
        None, "A folder of databases in ToolTalk's JSON format.", unset="rig's own", opens=True
    )
    docs: Docs = option(
        "full", "Describe each tool in full, or only give its name.", PROMPT, several=True, verbs="screen"
    )
    tools: Tools = option(
        "all",
        "Offer all tools, the tools of the plugins that are needed, or only the tools that are needed.",
        PROMPT,
        several=True,
        verbs="screen",
    )
    history: History = option(
        "recorded",
        "Show the recorded results of earlier calls, or execute those calls again.",
        PROMPT,
        several=True,
        verbs="screen",
    )
    max_calls: int = option(10, "At most N calls in a turn.", GENERATION, least=1)
    grader: Mode = option("default", "The rules for matching calls. See `rig docs metrics`.", GRADING)
    similarity: str = option(
        "minilm",
        "What compares free text: minilm, exact, a sentence-transformers folder, or distilbert:DIR. NAME@X"
        " has a threshold of its own.",
        GRADING,
        metavar="NAME",
        opens=True,
    )
    reader: str | None = option(
        None,
        "A model that decides on texts that rig calls unclear, if it errs little enough on labelled pairs: a"
        " GGUF file, or a folder with a sentence-transformers cross-encoder for entailment.",
        GRADING,
        metavar="FILE",
        opens=True,
    )


OF_RUN = options_of(RunOptions, "run")
OF_METHODS = options_of(MethodOptions, "method")
_OWN: Mapping[str, Option] = {**OF_RUN, **OF_METHODS}


class OptionTable(Mapping[str, Option]):
    """Every option by name: rig's own, and those of registered groups."""

    def __getitem__(self, name: str) -> Option:
        return _OWN[name] if name in _OWN else of_plugins()[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*_OWN, *of_plugins()))

    def __len__(self) -> int:
        return len(_OWN) + len(of_plugins())


TABLE = OptionTable()


def of_plugins() -> Mapping[str, Option]:
    """Return the options of registered groups, by name. Raises RigError for a name that there is already."""
    return _of_groups(plugins.registered())


@lru_cache(maxsize=4)
def _of_groups(registry: plugins.Registry) -> Mapping[str, Option]:
    table: dict[str, Option] = {}
    for group, fields in registry.options.items():
        for name, declared in options_of(fields, "plugin", group).items():
            if name in _OWN or name in table:
                raise RigError(f"there is already an option named {name}; rename that of {group}")
            # What is recorded of a model is its own, whoever loads it.
            key = declared.key if declared.reader == "engine" else f"{group}.{declared.key}"
            table[name] = replace(declared, key=key)
    return table


@dataclass(frozen=True, kw_only=True)
class RunConfig(RunOptions, MethodOptions):
    """Everything that somebody chose for a run, checked.

    rig's own options are attributes, and those of a plugin are in the `part` that it registered. Of an option
    that makes arms, `levels` has the values by its name if there are several, and the attribute is the first.
    With `noise`, every arm gets two others that should answer alike.
    """

    parts: Mapping[type, Any] = field(default_factory=dict)
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, **given: Any) -> "RunConfig":
        """Make it of values by the names of their options; several values make arms.

        Raises RigError for a name or a value that cannot be.
        """
        tables: dict[type, dict[str, Any]] = {}
        levels: dict[str, tuple[Any, ...]] = {}
        for name, value in given.items():
            told = named(name)
            try:
                values = told.read(value)
            except RigError as error:
                raise RigError(f"{name} {error}") from error
            tables.setdefault(told.table, {})[told.field] = values if told.listed else values[0]
            if len(values) > 1 and not told.listed:
                levels[name] = values
        own = {**tables.pop(RunOptions, {}), **tables.pop(MethodOptions, {})}
        parts = {table: table(**values) for table, values in tables.items()}
        changed = {table: part for table, part in parts.items() if part != table()}
        return cls(**own, parts=changed, levels=levels)

    def part(self, table: type[T]) -> T:
        """Return the options of a group that a plugin registers, by its class."""
        return self.parts[table] if table in self.parts else table()

    def values(self, name: str) -> tuple[Any, ...]:
        """Return the values of an option: all that make arms, or that are listed, or the only one."""
        told = TABLE[name]
        if name in self.levels:
            return self.levels[name]
        table = self if told.table in (RunOptions, MethodOptions) else self.part(told.table)
        value = getattr(table, told.field)
        return tuple(value) if told.listed else (value,)

    def is_changed(self, name: str) -> bool:
        """Return whether an option differs from its default."""
        return bool(self.values(name) != TABLE[name].start)

    def replace(self, **changes: Any) -> "RunConfig":
        """Return a copy with these values, as `of` takes them. Raises RigError."""
        changed = {name: told for name, told in TABLE.items() if self.is_changed(name)}
        # By their words, as what a word means is no value that people give: 0 for an automatic context.
        kept = {name: tuple(map(told.word, self.values(name))) for name, told in changed.items()}
        return self.of(**{**kept, **changes})

    def players(self) -> dict[str, tuple[str, ...]]:
        """Return the players of each role, one or several. Raises RigError for what is not ROLE=MODEL."""
        players: dict[str, tuple[str, ...]] = {}
        for text in self.role:
            role, model = pair(text, "--role", "ROLE=MODEL")
            players[role] = tuple(dict.fromkeys([*players.get(role, ()), model]))
        return players

    def combinations(self, reader: Reader) -> dict[str, dict[str, Any]]:
        """Return each combination of the levels of a reader's options, by what is said of it."""
        levels = {}
        for name, told in of_reader(reader).items():
            if told.several and not told.listed:
                values = self.values(name)
                levels[name] = told.arms(values) if told.arms else values
        return combined(levels)


def combined(levels: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """Return every combination of the values of options, by what distinguishes it, in words."""
    varied = [name for name, values in levels.items() if len(values) > 1]
    combinations = [dict(zip(levels, one, strict=True)) for one in itertools.product(*levels.values())]
    labels = {name: _labels(name, levels[name]) for name in varied}
    return {" ".join(labels[name][values[name]] for name in varied): values for values in combinations}


def _labels(name: str, values: Sequence[Any]) -> dict[Any, str]:
    """Return what says which of an option's values one is; of files the names, or all that tells them
    apart.
    """
    words = {value: TABLE[name].word(value) if name in TABLE else value for value in values}
    short = {value: word.name if isinstance(word, Path) else word for value, word in words.items()}
    if len(set(map(str, short.values()))) < len(words):
        short = {value: word.absolute() if isinstance(word, Path) else word for value, word in words.items()}
    return {
        value: f"{name.replace('_', '-')}={str(word).removesuffix('.0')}" for value, word in short.items()
    }


def told_by(arm: str, name: str, values: Sequence[Any]) -> Any:
    """Return which of an option's several values the name of an arm tells; None if it tells none."""
    labels = _labels(name, values)
    # The longest first, as one can end like another that has a space in it.
    ordered = sorted(values, key=lambda value: len(labels[value]), reverse=True)
    return next((value for value in ordered if f" {labels[value]} " in f" {arm} "), None)


def pair(text: str, option: str, form: str) -> tuple[str, str]:
    """Return the name and the value in a text with `=`. Raises RigError that asks for this form."""
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise RigError(f"{option} {text}: give {form}")
    return name, value


def require_one_suite(options: Mapping[str, object]) -> None:
    """Raise RigError if the conversations are chosen twice."""
    if "suite" in options and "conversations" in options:
        raise RigError("--suite and --conversations both choose the conversations; give one of them")


def named(name: str) -> Option:
    """Return an option by its name. Raises RigError if there is none."""
    if name in TABLE:
        return TABLE[name]
    near = did_you_mean(name.replace("-", "_"), [option.name for option in TABLE.values() if option.help])
    raise RigError(f"no option {name!r}{near or '; `rig run --help-all` lists them'}")


def of_reader(reader: Reader) -> dict[str, Option]:
    """Return the options of a reader, by name."""
    return {name: told for name, told in TABLE.items() if told.reader == reader}


def shared(*names: str) -> tuple[Option, ...]:
    """Return shared options by name, for the `options` of a method that has them."""
    return tuple(OF_METHODS[name] for name in names)
