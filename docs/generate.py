"""What the documentation takes from the code, put into its pages when `make docs` builds them.

A page says where by a comment: `<!-- commands -->` for the --help texts of all verbs, `<!-- columns -->` for
the columns of the run store, and `<!-- keys of MODULE:SCREEN -->` for the keys and signs of a screen. mkdocs
calls `on_page_markdown` for each page. Of files outside docs/ the site has the changelog; links to others
become text.
"""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from rig.cli import cli
from rig.store.views import EXPORTED, described
from tui.widgets.keys import markdown

MARKER = re.compile(r"^<!-- (?:(?P<what>commands|columns)|keys of (?P<screen>[\w.:]+)) -->$", re.MULTILINE)
LINK = re.compile(r"\[(?P<words>[^\]]*)\]\((?P<up>(?:\.\./)+)(?P<target>[^)]*)\)")
WIDTH = 92
CHANGELOG = Path(__file__).parent.with_name("CHANGELOG.md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """All pages, with the changelog as one more."""
    text = CHANGELOG.read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "changelog.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page with its markers replaced, and without links to what the site does not have."""
    depth = len(PurePosixPath(page.file.src_uri).parents) - 1

    def inside(link: re.Match[str]) -> str:
        if link["up"].count("../") <= depth:
            return link[0]
        if link["target"].startswith(CHANGELOG.name):
            return f"[{link['words']}]({link['up'].removeprefix('../')}changelog.md)"
        return link["words"]

    return MARKER.sub(_generated, LINK.sub(inside, markdown))


def _generated(marker: re.Match[str]) -> str:
    if marker["screen"]:
        return keys_text(marker["screen"])
    return commands_text() if marker["what"] == "commands" else columns_text()


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


def commands_text() -> str:
    """The --help text of every command, below a heading of its own."""
    parts = []
    for path, command in commands():
        name = " ".join(path)
        context = click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
        context.help_option_names = ["-h", "--help"]
        level = "#" * min(len(path) + 1, 4)
        parts.append(f"{level} {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def columns_text() -> str:
    """A table of the columns of each view and table of the store, from rig/store/datasette.json."""
    views = described()
    parts = []
    kinds = (("Views", views.keys() & set(EXPORTED)), ("Tables", views.keys() - set(EXPORTED)))
    for heading, names in kinds:
        parts.append(f"## {heading}\n")
        for name in (name for name in views if name in names):
            rows = "\n".join(f"| `{column}` | {text} |" for column, text in views[name]["columns"].items())
            title = f"### {name}\n\n{views[name]['description']}"
            parts.append(f"{title}\n\n| column | |\n| --- | --- |\n{rows}\n")
    return "\n".join(parts)


def keys_text(screen: str) -> str:
    """The keys of a screen, named as `module:class`, and the signs that it shows."""
    module, _, name = screen.partition(":")
    entry = getattr(importlib.import_module(module), name)
    parts = [markdown(entry.KEYS)]
    if entry.SIGNS:
        rows = "\n".join(
            f"| `{sign.unicode}` | `{sign.ascii}` | {meaning} |" for sign, meaning in entry.SIGNS
        )
        parts.append(f"**Signs**\n\n| sign | in ASCII | |\n| --- | --- | --- |\n{rows}")
    return "\n\n".join(parts)
