"""Options of verbs: those of the table (`rig.options`) as click takes them, and those that verbs share."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from rig import displays
from rig.options import GROUPS, TABLE, Option

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

OUTPUT = "Output"
_OTHERS = "Options"
_MARK = " *"
"""Ends the help of an option that you can repeat to make several arms."""
_WIDEST = 24
"""Cells of an option's name; what is longer has its help on the next line."""
PATH = click.Path(path_type=Path)


class GroupedOption(click.Option):
    """An option that knows its group in the help of verbs that have many."""

    def __init__(self, *names: Any, group: str = OUTPUT, **parts: Any) -> None:
        super().__init__(*names, **parts)
        self.group = group


def click_option(option: Option, *, single: bool = False, **changes: Any) -> click.Option:
    """An option of the table as click takes it, but for `changes`. A `single` one has no default and makes no
    arms.
    """
    is_several = option.listed or (option.several and not single)
    unset = (
        f"  [default: {option.unset}]" if option.unset and (single or not callable(option.default)) else ""
    )
    default = (() if is_several else None) if single else option.start
    parts: dict[str, Any] = {
        "help": f"{option.help}{_MARK if option.several and not single else ''}{unset}",
        "group": option.group,
        "type": _type(option),
        "default": default,
        "multiple": is_several,
        "metavar": option.metavar,
        "show_default": False if single or default is None else option.unset or True,
    }
    names = option.flag
    if option.kind is bool:
        parts |= {"is_flag": True, "type": None, "multiple": False}
        if option.default:
            names = f"{option.flag}/--{option.off or f'no-{option.name}'.replace('_', '-')}"
        else:
            parts["show_default"] = False
    elif option.kind in (int, float) and not option.choices:
        parts["metavar"] = option.metavar or ("N" if option.kind is int else "X")
        parts["callback"] = _finite
    return GroupedOption([names, option.name], **{**parts, **changes})


def _type(option: Option) -> click.ParamType[Any]:
    if option.choices:
        return click.Choice(option.choices)
    if option.kind is Path:
        return PATH
    if option.kind is float:
        least = option.least if option.more_than is None else option.more_than
        return click.FloatRange(least, option.most, min_open=option.more_than is not None)
    if option.kind is int:
        # click takes whole numbers alone as bounds of whole numbers.
        least, most = (None if bound is None else int(bound) for bound in (option.least, option.most))
        return click.IntRange(least, most)
    return click.STRING


def _finite(_: click.Context, __: click.Parameter, values: Any) -> Any:
    """What click's ranges let through: NaN, which compares with nothing, and infinity."""
    for value in values if isinstance(values, tuple) else (values,):
        if value is not None and not math.isfinite(value):
            raise click.BadParameter(f"{value} is not a finite number.")
    return values


def table_options(verb: str = "", *, single: bool = False, without: Sequence[str] = ()) -> list[click.Option]:
    """The options of the table that a verb has, all of them for `rig run`."""
    chosen = (option for option in TABLE.values() if option.help and option.name not in without)
    return [click_option(option, single=single) for option in chosen if not verb or verb in option.verbs]


def named_options(*names: str, **changes: Any) -> Callable[[Decorated], Decorated]:
    """Adds options of the table by name, but for `changes`."""

    def add(command: Decorated) -> Decorated:
        options = [click_option(TABLE[name], single=True, **changes) for name in names]
        command.__dict__.setdefault("__click_params__", []).extend(reversed(options))
        return command

    return add


def chosen_options(context: click.Context) -> dict[str, Any]:
    """The options of the table that were given, by name: none that was left to its default."""
    return {
        name: value
        for name, value in context.params.items()
        if name in TABLE and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


def runs_option(help_text: str = "The run store.") -> Callable[[Decorated], Decorated]:
    """Adds `--runs`."""
    where = f"{help_text}  [default: $RIG_RUNS, or runs.sqlite]"
    return click.option("--runs", cls=GroupedOption, type=PATH, help=where)


def json_option(help_text: str = "Print JSON.") -> Callable[[Decorated], Decorated]:
    """Adds `--json`."""
    return click.option("--json", "as_json", cls=GroupedOption, is_flag=True, help=help_text)


def name_option(command: Decorated) -> Decorated:
    """Adds `--name`."""
    return click.option("--name", cls=GroupedOption, help="Give the run a name.", metavar="NAME")(command)


class _DisplayName(click.Choice[str]):
    """Asks for the registered displays, those of plugins among them, when the option is read."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        return displays.names()


def display_option(command: Decorated) -> Decorated:
    """Adds `--display`."""
    return click.option(
        "--display",
        cls=GroupedOption,
        type=_DisplayName(),
        default="auto",
        show_default=True,
        help="How to show the run: live, a line for each conversation, JSON lines, or not at all.",
    )(command)


def full_option(command: Decorated) -> Decorated:
    """Adds `--full`: all numbers at the end instead of one screen."""
    return click.option(
        "--full", cls=GroupedOption, is_flag=True, help="Print every number at the end instead of one screen."
    )(command)


GRADED_BY = click.option(
    "--graded-by",
    metavar="NAME",
    default="",
    help="Use the scores of this grader: own for those made during the run, or a part of a name that"
    " `rig show` lists.  [default: the newest with your answers, else own]",
)


class Grouped(click.Command):
    """A verb with many options, shown in groups. Those that are in no group come first.

    The mark of what can be repeated is shown where the help explains it, as that of `rig run` does.
    """

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (_OTHERS, *GROUPS, OUTPUT)}
        is_explained = f"marked{_MARK}" in (self.help or "")
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                name, text = record
                text = text if is_explained else text.replace(_MARK, "", 1)
                group = OUTPUT if parameter.is_eager else getattr(parameter, "group", _OTHERS)
                sections.setdefault(group, []).append((name, text))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=_WIDEST)


class RolesCommand(Grouped):
    """A verb with an option for each role that is not evaluated: `--user MODEL` for `--role user=MODEL`."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        parameters = super().get_params(context)
        flags = {flag for parameter in parameters for flag in parameter.opts}
        players = "a model, `human` (you), or a player of the method such as `scripted`"
        roles: list[click.Parameter] = [
            GroupedOption(
                [f"--{role}"],
                group=TABLE["role"].group,
                multiple=True,
                metavar="MODEL",
                help=f"Choose who plays the {role}: {players}.{_MARK}",
            )
            for role in _other_roles()
            if f"--{role}" not in flags
        ]
        place = 1 + max((n for n, parameter in enumerate(parameters) if parameter.name == "role"), default=-1)
        return [*parameters[:place], *roles, *parameters[place:]]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(context, formatter)
        rows = [
            (f"{option.name}={option.default}", f"{method}: {option.help}{_MARK if option.several else ''}")
            for method, option in _own_options()
        ]
        if rows:
            with formatter.section("Options of one method, for --set"):
                formatter.write_dl(rows, col_max=_WIDEST)


def _other_roles() -> tuple[str, ...]:
    # Kept from the verbs that play nothing.
    from rig import methods

    return methods.other_roles()


def _own_options() -> list[tuple[str, Option]]:
    """The options that one method alone has, with its name. Judging has verbs of its own."""
    from rig import methods

    return [
        (method.name, option)
        for method in methods.known().values()
        for option in method.options
        if option.name not in TABLE and option.help
    ]


def chosen_roles(context: click.Context) -> tuple[str, ...]:
    """What was said about roles with options of their own, as `ROLE=MODEL`."""
    return tuple(f"{role}={player}" for role in _other_roles() for player in context.params.get(role) or ())
