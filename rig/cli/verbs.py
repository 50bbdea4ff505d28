"""How verbs are declared: a verb is a function, and the defaults of its parameters declare what it takes.

    @verb()
    def command(run: str = argument(), by: Way | None = option("Break it down.")) -> None:

The type says which values there are. A parameter whose type is a dataclass stands for all its fields, which
are declared in the same way. What a verb returns is its exit code.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial, wraps
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

from rig.cli import json_lines
from rig.cli.sources import settle
from rig.config.option import value_type
from rig.core import registry
from rig.core.errors import RigError, did_you_mean

HELP_NAMES = ("-h", "--help")
"""The help options of every verb. click caches them, so a context without them would spoil a command."""
OTHERS = "Options"
"""The group of options without a group."""
PATH = click.Path(path_type=Path)
_NO_LIMIT = 10_000

AnyCommand = TypeVar("AnyCommand", bound=click.Command)
Function: TypeAlias = Callable[..., int | None]


class GroupedOption(click.Option):
    """An option that knows its group in the help of verbs with many options, and if most people use it."""

    def __init__(self, *names: Any, group: str = OTHERS, common: bool = True, **parts: Any) -> None:
        super().__init__(*names, **parts)
        self.group = group
        self.common = common


def option(
    help_text: str, metavar: str | None = None, flags: str = "", *, start: Any = None, **changes: Any
) -> Any:
    """Declare an option, named after its parameter or by `flags`. `start` is a default that help shows."""

    def make(name: str, kind: Any) -> click.Option:
        names = flags.split() or [f"--{name.replace('_', '-')}"]
        parts: dict[str, Any] = {"help": help_text, "metavar": metavar, **_type(kind)}
        parts["multiple"] = get_origin(kind) is tuple
        if start is not None:
            parts |= {"default": start, "show_default": True}
        return GroupedOption([*names, name], **{**parts, **changes})

    return make


def argument(metavar: str | None = None, **changes: Any) -> Any:
    """Declare an argument; a tuple takes any number of values."""

    def make(name: str, kind: Any) -> click.Argument:
        parts = _type(kind)
        if NoneType in get_args(kind):
            parts["required"] = False
        if get_origin(kind) is tuple:
            parts["nargs"] = -1
        return click.Argument([name], metavar=metavar, **{**parts, **changes})

    return make


def _type(kind: Any) -> dict[str, Any]:
    """Return the parameters of click for a type."""
    kind = value_type(kind)
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    return {"is_flag": True} if kind is bool else {"type": PATH if kind is Path else kind}


class Viewed(click.Command):
    """A verb with views: options of tenants with which it shows something else instead.

    A view is registered as `VERB --flag` in `registry.views`, with `choices` if it takes one of these, or a
    `metavar` if it takes any other value.
    Its function gets the arguments of the verb's own function by name, and the values of all flags that were
    registered for the same function.
    """

    def views(self) -> dict[str, str]:
        """Return the names of this verb's views, by the parameters of their flags."""
        names = [name for name in registry.registered().views if name.startswith(f"{self.name} ")]
        return {name.partition("--")[2].replace("-", "_"): name for name in names}

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        flags: list[click.Parameter] = []
        for name in self.views().values():
            told = registry.registered().views.attributes(name)
            takes: dict[str, Any] = {"metavar": told.get("metavar"), "is_flag": "metavar" not in told}
            if "choices" in told:
                takes = {"type": click.Choice(told["choices"])}
            flags.append(GroupedOption([name.split()[-1]], help=told["help"], **takes))
        *own, get_help = super().get_params(context)
        return [*own, *flags, get_help]

    def invoke(self, context: click.Context) -> Any:
        views, data = self.views(), registry.registered().views
        values = {name: context.params.pop(name) for name in views}
        of_flag = {name: data.data[view] for name, view in views.items()}
        chosen = {of_flag[name]: name for name, is_given in values.items() if is_given}
        if len(chosen) > 1:
            one, other, *_ = (views[name].split()[-1] for name in chosen.values())
            raise RigError(f"{one} and {other} show different things; give one of them")
        for view, name in chosen.items():
            own = {other: values[other] for other in values if of_flag[other] == view}
            context.meta[_VIEW] = partial(data[views[name]], **own)
        return super().invoke(context)


_VIEW = "rig.cli.view"
"""The key in a context's `meta` of the view to show instead."""


def verb(
    kind: type[AnyCommand] = click.Command,  # type: ignore[assignment]
    name: str | None = None,
    *,
    options: Sequence[click.Option] = (),
    **parts: Any,
) -> Callable[[Function], AnyCommand]:
    """Make a function a verb. `options` come first in its help, and the function gets them as `**values`."""

    def make(function: Function) -> AnyCommand:
        takes_all = inspect.getfullargspec(function).varkw is not None
        parameters = [*options, *_parameters(function)]
        is_told = "as_json" in {parameter.name for parameter in parameters}
        if not is_told and (not issubclass(kind, click.Group) or parts.get("invoke_without_command")):
            parameters.append(_JSON("as_json", bool))

        @wraps(function)
        def run(**values: Any) -> None:
            context = click.get_current_context()
            settle(context)
            values |= {name: context.params[name] for name in values}
            as_json = values.get("as_json") if is_told else values.pop("as_json", None)
            if as_json:
                json_lines.start(context)
            own = {part: _value(part, hint, values) for part, hint, _ in _declared(function)}
            code = context.meta.pop(_VIEW, function)(**own, **(values if takes_all else {}))
            if code is not None:
                sys.exit(int(code))

        return click.command(name, kind, params=parameters, **parts)(run)

    return make


_JSON = option("Print a JSON object with the text that is printed otherwise.", flags="--json")


def _declared(function: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the type and the declaration of each parameter."""
    hints = get_type_hints(function)
    for name, part in inspect.signature(function).parameters.items():
        if part.kind is not part.VAR_KEYWORD:
            yield name, hints[name], part.default


def _parameters(function: Callable[..., Any]) -> Iterator[click.Parameter]:
    for name, hint, make in _declared(function):
        if is_dataclass(hint) and isinstance(hint, type):
            yield from _parameters(hint)
        elif hint is not click.Context:
            yield make(name, hint)


def _value(name: str, hint: Any, values: dict[str, Any]) -> Any:
    """Return a parameter's value, and remove it from the `values` that are left."""
    if hint is click.Context:
        return click.get_current_context()
    if is_dataclass(hint) and isinstance(hint, type):
        return hint(**{part: values.pop(part) for part in hint.__dataclass_fields__})
    return values.pop(name)


class Verb(NamedTuple):
    """The module of a verb, a short description, and its group in help.

    Its click command is `command` if none is named.
    """

    place: str
    does: str = ""
    group: str = ""


def members_of(group: str) -> dict[str, Verb | click.Command]:
    """Return the verbs that plugins registered as `GROUP NAME`, by the name."""
    verbs = registry.registered().verbs
    return {
        name.removeprefix(f"{group} "): Verb(verb.place) if isinstance(verb, registry.Reference) else verb
        for name, verb in verbs.data.items()
        if name.startswith(f"{group} ")
    }


class Verbs(click.Group):
    """A group whose members are listed with the whole first sentence of their help. The `later` ones are
    imported when they are used. If the first word is not a member, it is an argument of the `default` one.
    """

    def __init__(
        self,
        *names: Any,
        later: Mapping[str, Verb | click.Command] | None = None,
        default: str = "",
        **parts: Any,
    ) -> None:
        super().__init__(*names, **parts)
        self.later = later or {}
        self.default = default

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        is_implied = self.default and args and args[0] not in (*self.commands, *HELP_NAMES)
        return super().parse_args(context, [self.default, *args] if is_implied else args)

    def verb(
        self, name: str | None = None, kind: type[click.Command] = click.Command, **parts: Any
    ) -> Callable[[Function], click.Command]:
        """Make a function a member."""

        def add(function: Function) -> click.Command:
            member = verb(kind, name, **parts)(function)
            self.add_command(member)
            return member

        return add

    def list_commands(self, context: click.Context) -> list[str]:
        return [*super().list_commands(context), *self.later]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.later:
            return super().get_command(context, name)
        if isinstance(verb := self.later[name], click.Command):
            return verb
        module, _, attribute = verb.place.partition(":")
        member: click.Command = getattr(importlib.import_module(module), attribute or "command")
        return member

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of members, without importing those that are imported when they are used."""
        names = [name for name in self.list_commands(context) if name.startswith(incomplete)]
        visible = [name for name in names if name not in self.commands or not self.commands[name].hidden]
        members = [CompletionItem(name, help=self.does(context, name)) for name in visible]
        return [*members, *click.Command.shell_complete(self, context, incomplete)]

    def does(self, context: click.Context, name: str) -> str:
        """Return what a member does, in one sentence."""
        verb = self.later.get(name)
        text = verb.does if isinstance(verb, Verb) else ""
        command = None if text else self.get_command(context, name)
        return command.get_short_help_str(limit=_NO_LIMIT) if command else text

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.does(context, name)) for name in self.list_commands(context)])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, path = args[0], context.command_path
        is_name = not name.startswith("-") and not context.resilient_parsing
        if is_name and self.get_command(context, name) is None:
            from rig.cli.mistakes import elsewhere

            near = elsewhere(name) if context.parent is None else ""
            near = near or did_you_mean(name, self.list_commands(context))
            raise RigError(f"there is no `{path} {name}`{near}; `{path} --help` lists what there is")
        return super().resolve_command(context, args)
