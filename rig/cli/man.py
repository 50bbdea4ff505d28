"""Manual pages for `man`, made from the help of every command."""

from collections.abc import Iterator

import click

from rig import __version__
from rig.cli.verbs import HELP_NAMES


def commands(
    command: click.Command, path: tuple[str, ...] = ("rig",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its path, each group before its members."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is None:
                raise LookupError(f"{' '.join(path)} lists {name} but does not have it")
            yield from commands(member, (*path, name))


def man_pages(command: click.Command) -> Iterator[tuple[str, str]]:
    """The name and the text of a page for each command: `rig.1`, `rig-compare.1`, `rig-models-list.1`."""
    pages = list(commands(command))
    for path, member in pages:
        name = "-".join(path)
        below = ["-".join(other) for other, _ in pages if other[:-1] == path]
        yield f"{name}.1", "".join(f"{line}\n" for line in _page(name, " ".join(path), member, below))


def _page(name: str, typed: str, command: click.Command, below: list[str]) -> Iterator[str]:
    context = click.Context(command, info_name=typed)
    context.help_option_names = list(HELP_NAMES)
    summary = command.get_short_help_str(limit=1_000).rstrip(".")
    yield f'.TH {name.upper()} 1 "" "rig {__version__}" "rig"'
    yield from (".SH NAME", f"{_text(name)} \\- {_text(summary)}", ".SH SYNOPSIS")
    yield f"\\fB{_text(typed)}\\fR {_text(' '.join(command.collect_usage_pieces(context)))}"
    yield ".SH DESCRIPTION"
    for paragraph in (command.help or "").split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines and lines[0].strip() == "\b":
            yield from (".PP", ".nf", *map(_text, lines[1:]), ".fi")
        elif lines:
            yield from (".PP", *(_text(line.strip()) for line in lines))
    records = [
        record for option in command.get_params(context) if (record := option.get_help_record(context))
    ]
    yield from (".SH OPTIONS",) if records else ()
    for flags, does in records:
        yield from (".TP", f"\\fB{_text(flags)}\\fR", _text(" ".join(does.split())) or "\\&")
    if below:
        yield from (".SH SEE ALSO", ", ".join(f"\\fB{_text(other)}\\fR(1)" for other in below))


def _text(text: str) -> str:
    """A line for roff, in which nothing is a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
