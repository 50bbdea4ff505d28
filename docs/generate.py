"""What the documentation takes from the code. `python docs/generate.py` writes it into the pages.

A page says where by two comments: `<!-- commands -->` for the --help texts of all verbs, `<!-- columns -->`
for the columns of the run store, `<!-- api -->` for what `import rig` offers, `<!-- json -->` for what verbs
print under `--json`, up to `<!-- end -->`. So these pages can be read as they are; a test compares them with
the code. It also writes the keywords of `rig.run` for editors (`rig/config/keywords.pyi`).
`<!-- keys of MODULE:SCREEN -->` stands for the keys and signs of a screen, which only the built site has.
mkdocs calls `on_page_markdown` for each page. Of files outside docs/ the site has the changelog; links to
others become text.
"""

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click

import rig
from rig.cli import cli
from rig.cli.json_lines import LINES
from rig.cli.options import with_all_options
from rig.config.option import Option
from rig.config.options import TABLE
from rig.plugins.bundle.verb import commands
from rig.store.views import EXPORTED, described
from tui.widgets.keys import markdown

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

MARKER = re.compile(
    r"^(?P<begin><!-- (?:(?P<what>commands|columns|api|json)|keys of (?P<screen>[\w.:]+)) -->)$"
    r"(?:.*?^<!-- end -->$)?",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\[(?P<words>[^\]]*)\]\((?P<up>(?:\.\./)+)(?P<target>[^)]*)\)")
WIDTH = 92
KEYWORDS = Path(__file__).parents[1] / "rig" / "config" / "keywords.pyi"
SCHEMA = Path(__file__).parent / "reference" / "json.schema.json"
CHANGELOG = Path(__file__).parent.with_name("CHANGELOG.md")


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """All pages, with the changelog as one more."""
    from mkdocs.structure.files import File

    text = CHANGELOG.read_text(encoding="utf-8").replace("](docs/", "](")
    # It has a word on everything, so a search would put it before the page that explains.
    front = "---\nsearch:\n  boost: 0.2\n---\n"
    files.append(File.generated(config, "changelog.md", content=front + text))
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
    texts = {"commands": commands_text, "columns": columns_text, "api": api_text, "json": json_text}
    return texts[marker["what"]]()


def filled(page: str) -> str:
    """A page with what is generated between its comments."""

    def fill(marker: re.Match[str]) -> str:
        if marker["screen"]:
            return marker[0]  # Keys are the user's own as soon as a screen is loaded.
        return f"{marker['begin']}\n\n{_generated(marker).strip()}\n\n<!-- end -->"

    return MARKER.sub(fill, page)


def commands_text() -> str:
    """The --help text of every command, below a heading of its own."""
    parts = []
    for path, command in commands(cli):
        name = " ".join(path)
        context = click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
        context.help_option_names = ["-h", "--help"]
        level = "#" * min(len(path) + 1, 4)
        parts.append(
            f"{level} {name}\n\n```text\n{command.get_help(with_all_options(context)).rstrip()}\n```\n"
        )
    return "\n".join(parts)


def json_text() -> str:
    """A table of what each verb prints under --json, from docs/reference/json.schema.json."""
    definitions = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    rows = ["| verb | | its result |", "| --- | --- | --- |"]
    for (_, *words), command in commands(cli):
        for option in command.params:
            if option.name == "as_json" and isinstance(option, click.Option):
                path = " ".join(words)
                lines = "lines" if option.help == LINES else ""
                rows.append(f"| `{path}` | {lines} | {definitions[f'rig {path}']['description']} |")
    return "\n".join(rows)


def keywords_text() -> str:
    """The types of the options as keywords of `rig.run`, as a stub that editors complete from."""
    lines = [
        '"""The options of `rig run` as keywords of `rig.run`, written by `python docs/generate.py`."""\n',
        "from collections.abc import Sequence",
        "from pathlib import Path",
        "from typing import Literal, TypedDict\n",
        "class RunKeywords(TypedDict, total=False):",
    ]
    own = [option for option in TABLE.values() if option.help and option.reader != "plugin"]
    return "\n".join([*lines, *(f"    {option.name}: {_keyword(option)}" for option in own)]) + "\n"


def _keyword(option: Option) -> str:
    words = tuple(option.values or option.choices)
    literal = ", ".join(f'"{word}"' for word in words)
    kinds = [f"Literal[{literal}]"] if words else []
    if not option.choices or option.kind is bool:
        kinds.insert(0, "str | Path" if option.kind is Path or option.opens else option.kind.__name__)
    one = " | ".join(kinds)
    if option.listed or option.several:
        one = f"{one} | Sequence[{one}]"
    return f"{one} | None" if option.default is None else one


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


def api_text() -> str:
    """Every name that `import rig` offers: functions first, then types with their fields and methods."""
    offered = {name: getattr(rig, name) for name in rig.__all__ if name != "__version__"}
    functions = {name: value for name, value in offered.items() if inspect.isfunction(value)}
    parts = []
    for name, value in {**functions, **offered}.items():
        title = f"rig.{name}{_signature(value)}" if name in functions else f"rig.{name}"
        parts.append(f"## `{title}`\n\n{inspect.getdoc(value)}\n")
        if name not in functions and (rows := list(_members(value))):
            parts.append("| | |\n| --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _members(kind: type) -> Iterator[str]:
    """A row for each field, value, property and method that users have."""
    if issubclass(kind, Enum):
        yield from (f"| `{member.name}` | `{member.value}` |" for member in kind)
    elif is_dataclass(kind):
        yield from (
            f"| `{part.name}` | `{_type(part.type)}` |" for part in fields(kind) if part.name[0] != "_"
        )
    for name, member in vars(kind).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        title = name if isinstance(member, property) else f"{name}{_signature(function)}"
        yield f"| `{title}` | {' '.join(function.__doc__.split())} |"


def _signature(function: Any) -> str:
    text = re.sub(r"\((?:self|cls)(?:, )?", "(", str(inspect.signature(function)), count=1)
    return _type(text)


def _type(annotation: Any) -> str:
    """A type without the modules that its parts are from, so that a cell of a table can hold it."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    text = str(annotation) if "[" in str(annotation) else text
    text = re.sub(r"['\"]([A-Z][^'\"]*)['\"]", r"\1", text)
    return re.sub(r"\b(?:\w+\.)+(?=[A-Za-z])", "", text).replace("|", "or")


if __name__ == "__main__":
    for path in Path(__file__).parent.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(path)
    KEYWORDS.write_text(keywords_text(), encoding="utf-8")
