"""Write docs/cli.md from the --help texts; with --check, only say whether it is up to date."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rig.cli import cli

TARGET = Path(__file__).with_name("cli.md")
PREFACE = """# Command line

Every verb takes `-h`. Exit codes: 0 when done; 1 when something was found (`rig check`, `rig doctor`,
`rig world check`, `rig models verify`, `rig score --reexecute`); 2 when the request cannot be carried out,
with one line that says why; 130 when a run was stopped with Ctrl-C.

<!-- Made by `make docs` from the --help texts; a test compares. Edit those, not this. -->
"""


def commands(
    command: click.Command = cli, path: tuple[str, ...] = ("rig",)
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


def render() -> str:
    """The whole page."""
    parts = [PREFACE]
    for path, command in commands():
        name = " ".join(path)
        context = click.Context(command, info_name=name, terminal_width=92, max_content_width=92)
        context.help_option_names = ["-h", "--help"]
        level = "#" * min(len(path) + 1, 4)
        parts.append(f"{level} {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write, or compare."""
    page = render()
    if sys.argv[1:] == ["--check"]:
        if not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != page:
            sys.exit("docs/cli.md is not what --help says; run `make docs`")
    else:
        TARGET.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
