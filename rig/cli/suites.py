"""`rig suites` and `rig check`: list suites, start your own, and check conversations for mistakes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from rig import methods
from rig.cli.options import AS_JSON, json_option
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import Verbs, argument, option, verb
from rig.errors import RigError
from rig.methods.base import Report
from rig.toolbox.folder import find_toolbox
from rig.toolbox.listing import read_listing, write_listing

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_STARTER = Path(__file__).parent / "starter"
_FIRST = (
    "# Say what the user says, and which calls are due; `rig check --record` fills in what they return.\n"
    "- user: Hello, who are you?\n"
    "  reply: I can help you with your tools.\n"
    "# - user: …\n#   calls:\n#     - {tool}: {{argument: value}}\n"
)
"""A conversation in which nothing is due yet."""


@verb(Verbs)
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


@verb()
def check(
    *,
    directory: Path | None = argument(),
    world: Path | None = option("A folder of JSON databases to replay the calls in."),
    toolbox: str | None = option(
        "The tools that the conversations call. rig runs the code in DIR.", "NAME|DIR"
    ),
    record: bool = option("First write what the simulator returns into the conversations in DIRECTORY."),
    as_json: bool = json_option("Print the report as JSON."),
) -> int:
    """Check the conversations in DIRECTORY, or the suites that come with rig.

    With --toolbox and no DIRECTORY, check the conversations that come with the toolbox. rig prints one line
    for each fault, and exits with code 1 if there are any.
    """
    if directory is None and toolbox is not None:
        suites = find_toolbox(toolbox).suites
        if not suites:
            raise RigError(f"the toolbox {toolbox} comes with no conversations; name their folder")
        directory = suites[0]
    if directory is None:
        if record:
            raise click.UsageError("--record needs a DIRECTORY.")
        reports = list(_of_suites(world))
    else:
        reports = [_check(directory, world, toolbox, record=record, as_json=as_json)]
    if as_json:
        print_json([report.as_json() for report in reports])
    else:
        for report in reports:
            for line in (*report.faults, *report.summary):
                say(str(line))
    return any(report.faults for report in reports)


def _of_suites(world: Path | None) -> Iterator[Report]:
    """The reports on the suites of all methods that can be checked, in this world if one is named."""
    for method in methods.known().values():
        if world is None or method.holds_responses:
            reports = (method.check(place, world) for place in method.suites().values())
            yield from (report for report in reports if report is not None)


def _check(place: Path, world: Path | None, toolbox: str | None, *, record: bool, as_json: bool) -> Report:
    method = methods.of_place(place)
    if (record or world is not None or toolbox is not None) and not method.holds_responses:
        raise RigError(f"the tasks of the method {method.name} hold no responses of a world to be replayed")
    for path in method.record(place, world, toolbox) if record else ():
        click.echo(f"recorded {path}", err=as_json)
    report = method.check(place, world, toolbox)
    if report is None:
        raise RigError(f"{place}: the method {method.name} has no check of its tasks")
    return report
