"""`rig run`: evaluate models, or continue an interrupted run."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from rig import displays
from rig.cli import INTERRUPTED, completion
from rig.cli.config import from_file, say_what_is_from_file
from rig.cli.notify import Notifier
from rig.cli.options import (
    GroupedOption,
    RolesCommand,
    chosen_options,
    chosen_roles,
    display_option,
    full_option,
    json_option,
    name_option,
    runs_option,
    table_options,
)
from rig.cli.output import printable, terminal_width
from rig.displays.pages.card import ending
from rig.displays.pages.summary import whereabouts
from rig.errors import RigError
from rig.events import Emit, Event
from rig.files import json_text
from rig.options import CONVERSATIONS, GRADING, TABLE
from rig.paths import runs_file
from rig.running.control import Control
from rig.running.options import Options
from rig.running.plan import Plan
from rig.running.planning import elsewhere, plan, plan_resume
from rig.running.runner import run as run_plan
from rig.scoring import Named
from rig.store import Runs, StoredRun

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_RESUMING = ("display", "runs", "as_json", "where", "bell", "notify")
"""What a settings file may say of a run that is resumed."""


def progress_options(command: Decorated) -> Decorated:
    """Adds what verbs that play have besides the table: how to show a run, and what to do at its end."""
    for add in (
        display_option,
        name_option,
        runs_option("The run store to write."),
        click.option(
            "--bell/--no-bell",
            cls=GroupedOption,
            default=True,
            show_default=True,
            help="Ring the terminal when a run of a minute or more ends.",
        ),
        click.option(
            "--notify",
            cls=GroupedOption,
            metavar="COMMAND",
            help="Run this shell command when the run ends. It can use $RIG_RUN, $RIG_STATE and"
            " $RIG_SUMMARY.",
        ),
        click.option(
            "--max-rounds",
            cls=GroupedOption,
            group=CONVERSATIONS,
            type=click.IntRange(min=1),
            metavar="N",
            help="At most N replies to the user in a conversation.",
        ),
        click.option(
            "--threshold",
            cls=GroupedOption,
            group=GRADING,
            type=float,
            metavar="X",
            help="Texts at least this similar are the same.  [default: calibrated for each kind of text]",
        ),
    )[::-1]:
        command = add(command)
    return command


def resuming_options(command: Decorated) -> Decorated:
    """Adds `--resume`, and what is done about failures then."""
    for add in (
        click.option(
            "--resume",
            cls=GroupedOption,
            metavar="RUN",
            shell_complete=completion.runs,
            help="Continue a run that was interrupted.",
        ),
        click.option(
            "--retry-failed/--skip-failed",
            cls=GroupedOption,
            default=None,
            help="With --resume: also repeat turns that failed because of the machine (memory, decode), or do"
            " not repeat arms that failed.  [default: repeat arms, not turns]",
        ),
    )[::-1]:
        command = add(command)
    return command


@click.command(cls=RolesCommand, params=table_options())
@click.argument("models", metavar="MODEL...", nargs=-1, shell_complete=completion.models)
@progress_options
@resuming_options
@json_option("Print one JSON object at the end; the display uses stderr.")
@click.option(
    "--on",
    "where",
    cls=GroupedOption,
    metavar="ray[:ADDRESS]",
    help="Load the models in Ray actors, on this machine or in a cluster.",
)
@full_option
@click.pass_context
def command(
    context: click.Context,
    /,
    display: str,
    runs: Path | None,
    name: str | None,
    resume: str | None,
    retry_failed: bool | None,
    as_json: bool,
    full: bool,
    where: str | None,
    bell: bool,
    notify: str | None,
    **_: Any,
) -> None:
    """Evaluate one or more models, and store every turn.

    MODEL is a name from `rig models list`, the path of a .gguf file, or `oracle`, which replays the right
    calls. You can repeat an option marked *: rig then runs every combination as an arm of its own, such as
    `smollm2-135m docs=names`.

    Ctrl-C stops the run; `rig run --resume RUN` continues it with the same models and options.

    \b
    Examples:
      rig run smollm2-135m-tools                    the easy suite, 28 conversations
      rig run a-Q8_0.gguf a-Q4_K_M.gguf --name q    two files, to compare afterwards
      rig run a.gguf --suite hard --limit 10        the first 10 of a harder suite
      rig run a.gguf --docs full --docs names       with and without descriptions
      rig run a.gguf --temperature 0.7 --repeats 5  five samples of every answer
      rig run a.gguf --toolbox my-tools             your own tools and conversations
    """  # noqa: D301 - for click
    if resume is not None:
        # A run continues with the options that it was started with.
        for parameter in from_file(context).keys() - _RESUMING:
            context.params[parameter] = None
            context.set_parameter_source(parameter, ParameterSource.DEFAULT)
        name = context.params["name"]
    options = options_of(context)
    store = runs or runs_file()
    todo = _plan(options, store, name, resume, retry_failed)
    if where is not None:
        todo = elsewhere(todo, where)
    notifier = Notifier(bell=bell, command=notify)
    stored, control = carry_out(todo, display, as_json=as_json, notifier=notifier)
    if as_json:
        click.echo(
            json_text(
                {
                    "run": stored.id,
                    "store": str(store),
                    "arms": [arm.as_json(stored.declaration) for arm in stored.arms],
                }
            )
        )
    elif displays.is_watched(display):
        click.echo(printable(f"\n{ending(stored, store, terminal_width(), full=full)}"))
    if control.is_stopped and (as_json or not displays.is_watched(display)):
        click.echo(printable(whereabouts(stored, str(store))), err=True)
    sys.exit(exit_code(stored, control))


def options_of(context: click.Context) -> dict[str, Any]:
    """The options of a plan that were given, by name: what was left to its default is not among them.

    What a file says is given, too, and said on stderr. Of a suite and a folder, the command line decides.
    """
    files = from_file(context)
    for name, other in (("suite", "conversations"), ("conversations", "suite")):
        if name in files and other not in files and context.params[other] != TABLE[other].start:
            context.params[name] = TABLE[name].start
            context.set_parameter_source(name, ParameterSource.DEFAULT)
    say_what_is_from_file(context)
    options = chosen_options(context)
    if roles := (*options.get("role", ()), *chosen_roles(context)):
        options["role"] = roles
    if (rounds := context.params["max_rounds"]) is not None:
        options["set"] = (*options.get("set", ()), f"max_rounds={rounds}")
    if (threshold := context.params["threshold"]) is not None:
        options["similarity"] = str(Named.parse(context.params["similarity"]).at(threshold))
    return options


def carry_out(
    todo: Plan, display: str, *, as_json: bool, notifier: Notifier | None = None
) -> tuple[StoredRun, Control]:
    """Run a plan under a display; the run as it is stored then. Raises RigError if nothing is.

    Where the display is for people, the terminal's title says how far it is, and `notifier` that it ended.
    """
    for fault in todo.faults:
        click.echo(printable(f"rig: {fault}"), err=True)
    control = Control()
    notifier = notifier or Notifier(bell=False)
    view = displays.choose(display, sys.stderr if as_json else sys.stdout)
    with notifier.titles(is_wanted=displays.is_watched(display)):
        view.run(partial(_job, todo, control, notifier), control)
    stored = _read(todo)
    if stored is None:
        raise RigError("stopped before anything was stored")
    wrong = notifier.ended(stored)
    if wrong:
        click.echo(printable(f"rig: {wrong}"), err=True)
    return stored, control


def exit_code(stored: StoredRun, control: Control) -> int:
    """130 for a run that was stopped, 1 with a line for each arm that failed or was not evaluated, else 0."""
    if control.is_stopped:
        return INTERRUPTED
    failures = [f"{arm.name}: {arm.failure}" for arm in stored.arms if arm.failure]
    failures += [
        f"{arm.name}: not evaluated: {arm.not_evaluated}" for arm in stored.arms if arm.not_evaluated
    ]
    for failure in failures:
        click.echo(f"rig: {printable(failure)}", err=True)
    return 1 if failures else 0


def _plan(
    options: dict[str, Any], store: Path, name: str | None, resume: str | None, retry_failed: bool | None
) -> Plan:
    if resume is not None:
        if name is not None:
            raise RigError("--name is for a new run and --resume for an old one; give one of them")
        return plan_resume(resume, options, store, retry_failed=retry_failed)
    require_resume(retry_failed)
    if name is not None and not name.isprintable():
        raise RigError(f"--name {name!a}: cannot be shown; a name is one line of UTF-8 text")
    if name == "":
        raise RigError("--name is empty; leave it out, or give the run a name to find it by")
    if not options.get("models"):
        raise RigError(
            "which model? Give a name from `rig models list`, the path of a .gguf file, or `oracle`"
        )
    if "suite" in options and "conversations" in options:
        raise RigError("--suite and --conversations both choose the conversations; give one of them")
    return plan(Options(**options), store, name)


def require_resume(retry_failed: bool | None) -> None:
    """Raise RigError for what only a run has that was begun before."""
    if retry_failed is not None:
        raise RigError("--retry-failed and --skip-failed go with --resume; say which run")


def _job(todo: Plan, control: Control, notifier: Notifier, emit: Emit) -> bool:
    def both(event: Event) -> None:
        notifier.tell(event)
        emit(event)

    return run_plan(todo, both, control)


def _read(todo: Plan) -> StoredRun | None:
    """The run as it is stored now, None when it was stopped before its first model was loaded."""
    if not todo.store.is_file():
        return None
    with Runs.open(todo.store) as stored:
        return next((run for run in stored.all() if run.id == todo.run), None)
