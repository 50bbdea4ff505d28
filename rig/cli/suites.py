"""`rig suites`: list suites, and make a folder to start your own."""

import shutil
from pathlib import Path

import click

from rig import methods
from rig.cli.options import AS_JSON
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import Verbs, argument, option
from rig.errors import RigError
from rig.toolbox.own.listing import read_listing, write_listing

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_STARTER = Path(__file__).parent / "starter"
_FIRST = (
    "# Say what the user says, and which calls are due; `rig check --record` fills in what they return.\n"
    "- user: Hello, who are you?\n"
    "  reply: I can help you with your tools.\n"
    "# - user: …\n#   calls:\n#     - {tool}: {{argument: value}}\n"
)
"""A conversation in which nothing is due yet."""


@click.group(cls=Verbs)
def command() -> None:
    """List suites of conversations, and start your own."""


@command.verb("list")
def list_(*, as_json: bool = AS_JSON) -> None:
    """List the suites that come with rig, and the method that plays each."""
    rows = [
        {"suite": name, "method": method.name, "tasks": len(method.load(place)), "place": str(place)}
        for name, (method, place) in methods.suites().items()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(("suite", "method", "tasks", "place"), [row.values() for row in rows])


@command.verb()
def info(suite: str = argument("NAME|PATH"), *, as_json: bool = AS_JSON) -> None:
    """List the tasks of a suite."""
    method, tasks = methods.find_tasks(suite)
    rows = [
        {"task": task.name, "turns": len(task.known_turns), "calls": task.ground_truth_count}
        for task in tasks
    ]
    if as_json:
        print_json({"suite": suite, "method": method.name, "tasks": rows})
    else:
        print_table(("task", "turns", "calls"), [row.values() for row in rows])


@command.verb()
def new(
    *,
    folder: Path = argument("NAME"),
    code: bool = option("Start with tools that are Python functions, and the tables they work on."),
    tools: Path | None = option(
        "Start with the tools in this file, in any form that `rig tools import` reads.",
        type=_FILE,
    ),
) -> None:
    """Make a folder with tools and conversations that runs at once, for you to change.

    Try it with `rig run oracle --toolbox NAME`. `rig docs your-own` explains the next steps.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RigError(f"{folder}: already exists; give a new name")
    if code and tools is not None:
        raise RigError("--code and --tools are two ways to begin; give one of them")
    listing = None if tools is None else read_listing(tools)
    conversations = folder / "conversations"
    try:
        conversations.mkdir(parents=True)
        if listing is not None:
            write_listing(listing, folder / "tools.json")
            text = _FIRST.format(tool=listing.tools[0].name)
            (conversations / "first.yaml").write_text(text, encoding="utf-8")
        else:
            name = "toolbox.py" if code else "tools.json"
            shutil.copyfile(_STARTER / (f"{name}.txt" if code else name), folder / name)
            shutil.copyfile(_STARTER / f"{'code' if code else 'data'}.yaml", conversations / "first.yaml")
    except OSError as error:
        raise RigError(f"{folder}: cannot be written: {error.strerror}") from error
    say(f"{folder} is ready: rig run oracle --toolbox {folder}")
