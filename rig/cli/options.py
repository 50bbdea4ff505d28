"""Options of verbs: those of the table (`rig.config.options`) as click takes them, and those that are shared.

They include the shell completion of models, runs and conversations, which offers nothing after a fault.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from rig import show
from rig.cli import json_lines
from rig.cli.verbs import OTHERS, GroupedOption, argument, option
from rig.config.option import GROUPS, Option
from rig.config.options import TABLE
from rig.core import opening, registry
from rig.core.errors import RigError
from rig.core.paths import runs_file

if TYPE_CHECKING:
    from rig.store import Runs


def complete_model_files(
    context: click.Context, parameter: click.Parameter, typed: str, others: Sequence[str] = ()
) -> list[CompletionItem]:
    """Complete registry names, files in the models directory, `others`, or any path."""
    from rig.config.schemes import FILE

    names: Sequence[str] = ()
    with suppress(RigError):
        names = registry.registered().schemes[FILE].names()
    fitting = [CompletionItem(name) for name in (*names, *others) if name.startswith(typed)]
    return fitting or [CompletionItem(typed, type="file")]


complete_models = partial(complete_model_files, others=("oracle",))
"""Complete what can be run, which includes the oracle."""


def complete_runs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Complete `latest`, and the names and ids of the stored runs, newest first."""

    def names(stored: "Runs") -> Iterable[str]:
        runs = stored.all()
        return dict.fromkeys(["latest", *(run.name for run in runs if run.name), *(run.id for run in runs)])

    return _stored(context, typed, names)


def complete_conversations(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Complete conversations of the run that was typed before."""
    run = context.params.get("run") or "latest"
    return _stored(context, typed, lambda stored: stored.get(run).conversations)


def complete_suites(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the suites that come with rig and with plugins, or any path."""
    tenants = registry.registered()
    shipped = [name for method in tenants.methods for name in tenants.methods.attribute(method, "shipped")]
    return _names_or_path((*shipped, *tenants.suites, "all"), typed)


def complete_toolboxes(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete the installed toolboxes, or any path."""
    return _names_or_path(registry.registered().toolboxes, typed)


def complete_methods(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the registered methods."""
    return [CompletionItem(name) for name in registry.registered().methods if name.startswith(typed)]


def _names_or_path(names: Iterable[str], typed: str) -> list[CompletionItem]:
    fitting = [CompletionItem(name) for name in names if name.startswith(typed)]
    return fitting or [CompletionItem(typed, type="file")]


def _stored(context: click.Context, typed: str, names: "Callable[[Runs], Iterable[str]]") -> list[str]:
    from rig.store import Runs

    with suppress(RigError), Runs.open(context.params.get("runs") or runs_file()) as stored:
        return [name for name in names(stored) if name.startswith(typed)]
    return []


OUTPUT, SERVERS = "Output", "Servers"


class FloatRange(click.FloatRange):
    """A number in a range. Unlike click's, it refuses NaN, which compares with nothing, and infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"{number} is not a finite number.", param, ctx)


SHARE = FloatRange(0, 1, min_open=True, max_open=True)
"""Above 0 and below 1."""
_MARK = " *"
"""Ends the help of an option that you can repeat to make several arms."""
_WIDEST = 24
"""The most cells of an option's name; the help of a longer one starts on the next line."""


_COMPLETED = {"suite": complete_suites, "toolbox": complete_toolboxes, "method": complete_methods}
"""How the values of options in the table are completed, by name."""


class RefusedValue(click.BadParameter):
    """Says what an option takes, and what was given."""

    def format_message(self) -> str:
        return f"{max(self.param.opts, key=len)} {self.message}" if self.param else self.message


class OptionType(click.ParamType[Any]):
    """What an option of the table takes: a number, or several values as one text with commas."""

    def __init__(self, told: Option) -> None:
        self.told = told
        self.name = told.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            if self.told.commas:
                return tuple(map(self.told.word, self.told.read(value)))
            checked = self.told.parse(value) if isinstance(value, str) else self.told.check(value)
            return self.told.word(checked)  # what a word means is read with the rest of the configuration
        except RigError as error:
            raise RefusedValue(str(error), ctx, param) from error


def click_option(told: Option, *, single: bool = False, **changes: Any) -> click.Option:
    """Return an option of the table as click takes it, with `changes`. A `single` one has no default, makes
    no arms, and takes no words for numbers.
    """
    is_several = told.listed or (told.several and not single)
    start = tuple(map(told.word, told.start))
    default: Any = (() if is_several else None) if single else start if is_several else start[0]
    start_text = told.unset if single or start in ((), (None,)) else told.unset or ", ".join(map(str, start))
    flag, metavar = told.flag, told.metavar
    parts: dict[str, Any] = {
        "group": told.title,
        "common": told.common,
        "default": default,
        "multiple": is_several,
    }
    if told.choices and not told.commas:
        parts["type"] = click.Choice(told.choices)
    elif told.kind is bool:
        no = f"--{told.off or f'no-{told.name}'.replace('_', '-')}"
        flag = f"{flag}/{no}" if told.default else flag
        start_text = told.flag.removeprefix("--") if told.default and not single else ""
    elif told.commas or told.kind in (int, float) or (told.values and not single):
        own = replace(told, values=None) if single else told
        metavar = metavar or "|".join(["N" if told.kind is int else "X", *(own.values or ())])
        parts["type"] = OptionType(own)
    if told.name in _COMPLETED:
        parts["shell_complete"] = _COMPLETED[told.name]
    mark = _MARK if told.several and not single else ""
    notes = "; ".join(filter(None, [start_text and f"default: {start_text}", told.bounds]))
    make = option(f"{told.help}{mark}{notes and f'  [{notes}]'}", metavar, flag, **{**parts, **changes})
    parameter: click.Option = make(told.name, str if told.choices else told.kind)
    return parameter


def table_options(verb: str = "", *, single: bool = False, without: Sequence[str] = ()) -> list[click.Option]:
    """Return the options of the table that a verb has; all of them without a verb, as for `rig run`."""
    chosen = (option for option in TABLE.values() if option.help and option.name not in without)
    return [click_option(option, single=single) for option in chosen if not verb or verb in option.verbs]


def of_table(name: str, **changes: Any) -> Any:
    """Declare an option of the table, with `changes`. It has no default."""
    return lambda _name, _kind: click_option(TABLE[name], single=True, **changes)


def chosen_options(context: click.Context) -> dict[str, Any]:
    """Return the options of the table that were given, by name, without those left to their defaults.

    What a role's own option says is in `role` as `ROLE=MODEL`.
    """
    options = {
        name: value
        for name, value in context.params.items()
        if name in TABLE and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    roles = context.command.roles() if isinstance(context.command, RolesCommand) else ()
    by_role = [f"{role}={model}" for role in roles for model in context.params.get(role) or ()]
    if by_role:
        options["role"] = (*options.get("role", ()), *by_role)
    return options


def runs_option(help_text: str) -> Any:
    """Declare `--runs`: the run store, which becomes a path whether somebody names it or not."""
    where = f"{help_text}  [default: $RIG_RUNS, or runs.sqlite]"
    return option(where, group=OUTPUT, callback=lambda _context, _parameter, path: path or runs_file())


def json_option(help_text: str) -> Any:
    """Declare `--json`."""
    return option(help_text, flags="--json", group=OUTPUT)


class _DisplayName(click.Choice[str]):
    """A choice of the registered displays, including those of plugins, looked up when the option is read."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        return show.names()


RUN = argument(shell_complete=complete_runs)
"""A stored run: an id or its beginning, a name, or `latest`."""
MODEL = argument(shell_complete=complete_model_files)
STORE = runs_option("The run store.")
WRITTEN_STORE = runs_option("The run store to write.")
AS_JSON = json_option("Print JSON.")
JSON_LINES = json_option(json_lines.LINES)
NAME = option("Give the run a name.", "NAME", group=OUTPUT)
FULL = option("Print every number at the end instead of one screen.", group=OUTPUT, common=False)
DISPLAY = option(
    "How to show the run: live, a line for each conversation, JSON lines, or not at all.",
    type=_DisplayName(),
    group=OUTPUT,
    start="auto",
)
GRADED_BY = option(
    "Use the scores of this grader: own for those made during the run, or a part of a name that"
    " `rig show` lists.  [default: the newest with your answers, else own]",
    "NAME",
    default="",
)


@dataclass(frozen=True, kw_only=True)
class Network:
    """The hosts that rig may connect to besides this machine, and the key. Nothing of that is stored."""

    allow_host: tuple[str, ...] = option(
        "Let a server be on this host; prompts then leave this machine. Give it each time.",
        "HOST",
        group=SERVERS,
        common=False,
    )
    key_from: str | None = option(
        "Send the key in this environment variable to the server.", "VARIABLE", group=SERVERS, common=False
    )

    def __post_init__(self) -> None:
        opening.allow_hosts(self.allow_host)
        if self.key_from is not None:
            opening.use_key(self.key_from)


_MOST_SHOWN = 20
"""The most options that the help of a verb shows; --help-all shows more."""
_ALL = "rig.cli.help_all"


def with_all_options(context: click.Context) -> click.Context:
    """Have the help of a verb show every option."""
    context.meta[_ALL] = True
    return context


def _show_all(context: click.Context, _: click.Parameter, is_given: bool) -> None:
    if is_given and not context.resilient_parsing:
        click.echo(with_all_options(context).get_help(), color=context.color)
        context.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options.",
)


class Grouped(click.Command):
    """A verb with many options, shown in groups. Those without a group come first.

    If there are many, --help shows the common ones. The mark of repeatable options is shown if the help
    explains it, as that of `rig run` does.
    """

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        parameters = super().get_params(context)
        return [*parameters, *[_HELP_ALL] * (len(parameters) > _MOST_SHOWN)]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (OTHERS, *GROUPS)}
        is_explained = f"marked{_MARK}" in (self.help or "")
        parameters = self.get_params(context)
        is_short = _HELP_ALL in parameters and _ALL not in context.meta
        for parameter in parameters:
            record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
            if record is None or (is_short and not getattr(parameter, "common", True)):
                continue
            name, text = record
            text = text if is_explained else text.replace(_MARK, "", 1)
            group = OUTPUT if parameter.is_eager else getattr(parameter, "group", OTHERS)
            sections.setdefault(group, []).append((name, text))
        sections[OUTPUT] = sections.pop(OUTPUT, [])  # the last
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=_WIDEST)


class RolesCommand(Grouped):
    """A verb with an option for each role that is not evaluated: `--user MODEL` for `--role user=MODEL`."""

    @staticmethod
    def roles() -> tuple[str, ...]:
        """Return the roles."""
        tenants = registry.registered().methods
        return tuple(dict.fromkeys(role for name in tenants for role in tenants.attribute(name, "roles")[1:]))

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        parameters = super().get_params(context)
        flags = {flag for parameter in parameters for flag in parameter.opts}
        players = "a model, `human` (you), or a player of the method such as `scripted`"
        roles: list[click.Parameter] = [
            GroupedOption(
                [f"--{role}"],
                group=TABLE["role"].group,
                common=False,
                multiple=True,
                metavar="MODEL",
                help=f"Choose who plays the {role}: {players}.{_MARK}",
            )
            for role in self.roles()
            if f"--{role}" not in flags
        ]
        place = 1 + max((n for n, parameter in enumerate(parameters) if parameter.name == "role"), default=-1)
        return [*parameters[:place], *roles, *parameters[place:]]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(context, formatter)
        tenants = registry.registered().methods
        rows = _ALL in context.meta and [
            (f"{own.name}={own.default}", f"{name}: {own.help}{_MARK if own.several else ''}")
            for name in tenants
            for own in tenants.attribute(name, "explained")
        ]
        if rows:
            with formatter.section("Options of one method, for --set"):
                formatter.write_dl(rows, col_max=_WIDEST)
