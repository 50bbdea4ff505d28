"""The one table of options: everything that shapes a run, declared once.

An option is a field of one of three classes, two here and the engine's in `rig.config.engine`, or of a class
that a plugin registers. Its
annotation is its type, its default holds if nobody sets it, and `option` has the rest. From that come the
options of the verbs and their help (`rig.cli.options`), the names in `rig.toml`, what is stored with a run
and the names of arms (`rig.running.planning`), the settings of the engine (`rig.plugins.llama`), and the
fingerprint. To add an option, add a field. To give one to a method alone, put an `Option` into its `options`;
users set it with `--set`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from rig.config.engine import EngineOptions
from rig.config.option import (
    CONVERSATIONS,
    GENERATION,
    GRADING,
    MACHINE,
    PROMPT,
    conversation_option,
    dial_option,
    option,
    options_of,
)
from rig.config.option import Option as Option
from rig.core import registry as plugins
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.tasks import LeftOut as LeftOut

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
Injections: TypeAlias = Literal["none", "ignore", "send", "delete", "leak"]
"""What injected instructions ask for: ignore the user, send a message, delete a record, leak a name."""
Wording: TypeAlias = Literal[
    "plain", "polite", "bullets", "numbered", "headed", "tags", "reversed", "capitals"
]
"""The wording of the instructions: eight ways to say the same."""
Reorder: TypeAlias = Literal["none", "tools", "arguments", "both"]
"""What to reorder in the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        None, "Run only the first N conversations.", least=1, verbs="screen judge"
    )
    repeats: int = option(1, "Run every conversation N times.", CONVERSATIONS, least=1, most=10_000)
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
    until: Literal["verdict", "verdict-in-suite"] | None = option(
        None,
        "Play conversations in a random order (--seed), and drop each arm as soon as it is clear whether it"
        " loses as much as --loss compared with the first: in conversations like these, or in this suite"
        " alone, which says less of the files. What the first gets wrong is played only if it matters.",
        CONVERSATIONS,
    )
    loss: float = option(
        5.0,
        "The loss of success, in points, that arms are compared for, as with --until verdict.",
        CONVERSATIONS,
        more_than=0,
        most=100,
    )
    sweep: str | None = option(
        None,
        "Play levels of an option that makes arms, such as fill=0,2k,8k: the ends first, then the middle of"
        " what is left, conversations in a random order, until it is clear where success breaks (--loss).",
        CONVERSATIONS,
        metavar="OPTION=LEVEL,…",
    )
    noise: bool = option(False, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodOptions:
    """How tasks are put to models and scored. Methods share these options; each lists those that it has."""

    toolbox: str | None = conversation_option(
        None,
        "Tools by name, or your own by folder, or those of an MCP server. Runs their code.",
        metavar="NAME|DIR|mcp:COMMAND",
        opens=True,
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
    fill: int = dial_option(
        0, "Put true, irrelevant history of about N tokens before each conversation.", "N,…"
    )
    distractors: int = dial_option(
        0, "Offer N tools of other toolboxes besides, those nearest to yours first.", "N,…"
    )
    tool_errors: float = dial_option(
        0.0, "Let this share of calls fail once, by a timeout and the like. To call again is right.", "P,…"
    )
    injections: Injections = dial_option(
        "none",
        "Put instructions of an attacker into the results of tools, and count whether they are followed.",
        "none|ignore|send|delete|leak",
    )
    wording: Wording = dial_option(
        "plain",
        "Put the instructions in other words, order or markup; `rig compare` says how far success spreads.",
        "plain|polite|bullets|numbered|headed|tags|reversed|capitals",
    )
    reorder: Reorder = dial_option(
        "none", "Put tools, the arguments of each, or both in another order.", "none|tools|arguments|both"
    )
    typos: float = dial_option(0.0, "Mistype this share of the user's words, but no names and values.", "P,…")
    language: str = dial_option(
        "own", "Have the user speak this language, where conversations have `translations`.", "own|CODE"
    )


OF_RUN = options_of(RunOptions, "run")
OF_METHODS = options_of(MethodOptions, "method")
OF_ENGINE = options_of(EngineOptions, "engine")
_OWN: Mapping[str, Option] = {**OF_RUN, **OF_METHODS, **OF_ENGINE}


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
        for name, declared in options_of(fields, "plugin").items():
            if name in _OWN or name in table:
                raise RigError(f"there is already an option named {name}; rename that of {group}")
            table[name] = replace(declared, group=declared.group or group, key=f"{group}.{declared.key}")
    return table


def shared(*names: str) -> tuple[Option, ...]:
    """Return shared options by name, for the `options` of a method that has them."""
    return tuple(OF_METHODS[name] for name in names)


def engine_fingerprint(settings: EngineOptions) -> JsonObject:
    """Return what an arm's fingerprint records of the engine's options, besides what the engine records."""
    values = ((option, getattr(settings, option.field)) for option in OF_ENGINE.values())
    return {
        option.key: value
        for option, value in values
        if option.recorded == "always" or (option.recorded == "changed" and value != option.default)
    }
