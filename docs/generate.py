"""Write docs/cli.md, the columns in docs/store.md and the keys of screens; with --check, only compare.

They are made from the --help texts, from the store's description of its columns, and from the bindings of the
screens.
"""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rig.cli import cli
from rig.store.describe import described
from rig.store.views import EXPORTED
from tui.widgets.keys import markdown

TARGET = Path(__file__).with_name("cli.md")
STORE = Path(__file__).with_name("store.md")
SCREENS = sorted((TARGET.parent / "screens").glob("*.md"))
COLUMNS = "<!-- From here on made by `make docs` from rig/store/datasette.json; edit that. -->"
_END = "<!-- end of the keys -->"
_KEYS = re.compile(
    rf"(?P<begin><!-- keys of (?P<screen>[\w.:]+), made by `make docs` -->).*?{re.escape(_END)}", re.DOTALL
)
PREFACE = """# Command line

Every verb takes `-h`. The exit code is

- 0 if all went well,
- 1 if `rig check`, `rig doctor`, `rig world check`, `rig models verify`, `rig score --reexecute`,
  `rig bundle verify` or `rig compare --fail-if-worse` found something,
- 2 if rig cannot do what you asked; it says why in one line,
- 130 if you stopped a run with Ctrl-C.

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


def render_store() -> str:
    """The page on the store: its text as it is, with a table of columns for each view and table."""
    text = STORE.read_text(encoding="utf-8").partition(COLUMNS)[0]
    parts = [f"{text}{COLUMNS}\n"]
    views = described()
    kinds = (("Views", views.keys() & set(EXPORTED)), ("Tables", views.keys() - set(EXPORTED)))
    for heading, names in kinds:
        parts.append(f"## {heading}\n")
        for name in (name for name in views if name in names):
            rows = "\n".join(f"| `{column}` | {said} |" for column, said in views[name]["columns"].items())
            title = f"### {name}\n\n{views[name]['description']}"
            parts.append(f"{title}\n\n| column | |\n| --- | --- |\n{rows}\n")
    return "\n".join(parts)


def render_screen(page: Path) -> str:
    """A page of docs/screens: its text as it is, with the keys and signs of the screens it names."""
    return _KEYS.sub(_keys, page.read_text(encoding="utf-8"))


def _keys(found: re.Match[str]) -> str:
    module, _, name = found["screen"].partition(":")
    screen = getattr(importlib.import_module(module), name)
    parts = [found["begin"], markdown(screen.KEYS)]
    if screen.SIGNS:
        rows = "\n".join(
            f"| `{sign.unicode}` | `{sign.ascii}` | {meaning} |" for sign, meaning in screen.SIGNS
        )
        parts.append(f"**Signs**\n\n| sign | in ASCII | |\n| --- | --- | --- |\n{rows}")
    return "\n\n".join([*parts, _END])


def main() -> None:
    """Write, or compare."""
    pages = [(TARGET, render()), (STORE, render_store())]
    pages += [(page, render_screen(page)) for page in SCREENS]
    for target, page in pages:
        if sys.argv[1:] == ["--check"]:
            if not target.is_file() or target.read_text(encoding="utf-8") != page:
                sys.exit(f"{target.relative_to(TARGET.parent.parent)} is not what rig says; run `make docs`")
        else:
            target.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
