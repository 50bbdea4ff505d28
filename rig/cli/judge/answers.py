"""`rig judge answers`: votes of a judge on the answers of stored runs, or of folders of answers."""

import sys
from pathlib import Path
from typing import Any, get_args

import click

from rig import displays
from rig.cli import completion, run
from rig.cli.options import (
    Grouped,
    chosen_options,
    display_option,
    json_option,
    name_option,
    runs_option,
    table_options,
)
from rig.cli.output import printable, terminal_width
from rig.displays.pages.summary import summary, whereabouts
from rig.errors import RigError
from rig.files import json_text
from rig.judging.evaluators import DEFAULT
from rig.judging.files import write_results
from rig.judging.planning import Wanted, plan_judging
from rig.judging.questions import ReasonPlace
from rig.judging.voting import Orders
from rig.paths import runs_file
from rig.running.plan import Plan
from rig.running.planning import plan_resume
from rig.solutions.decisions import DEFAULTS, Ties, Unsolvable, Unsure
from rig.solutions.judgements import SEED, Shape
from rig.store import StoredRun

_PATH = click.Path(path_type=Path)


@click.command("answers", cls=Grouped, params=table_options("judge"))
@click.argument("places", metavar="RUN|DIR...", nargs=-1, shell_complete=completion.runs)
@click.option("--judge", metavar="MODEL", shell_complete=completion.models, help="The model that judges.")
@click.option(
    "--evaluator",
    default=DEFAULT,
    show_default=True,
    metavar="NAME|DIR",
    help="How to ask the judge: one of rig's evaluators (default, normalized, fn), a folder with one of"
    " ToolBench's, or a rule that needs no judge (truth, keyword, details).",
)
@click.option(
    "--against", metavar="NAME", help="Compare every other arm with this arm or model, and give win rates."
)
@click.option(
    "--votes",
    type=click.IntRange(1, 120),
    metavar="N",
    help="Votes on each answer or pair.  [default: 3 on an answer, 1 on a pair, in both orders]",
)
@click.option(
    "--reason",
    type=click.Choice(get_args(ReasonPlace)),
    help="Ask for reasons before the verdict, after it, or not at all.",
)
@click.option(
    "--orders", type=click.Choice(get_args(Orders)), help="Show two answers in both orders, or in one."
)
@click.option(
    "--ties",
    type=click.Choice(get_args(Ties)),
    help=f"What a tie of votes counts as.  [default: {DEFAULTS.ties}]",
)
@click.option(
    "--unsure",
    type=click.Choice(get_args(Unsure)),
    help=f"What an unsure vote counts as.  [default: {DEFAULTS.unsure}]",
)
@click.option(
    "--unsolvable",
    type=click.Choice(get_args(Unsolvable)),
    help="Whether an answer that leaves an unsolvable task unsolved passes.  [default:"
    f" {DEFAULTS.unsolvable}]",
)
@click.option(
    "--passes",
    metavar="RUN",
    shell_complete=completion.runs,
    help="Take the passes from this earlier run of `rig judge`.",
)
@click.option(
    "--test-ids",
    type=_PATH,
    help="A file with the queries of each test set; a query without an answer counts as failed.",
)
@click.option("--answered-only", is_flag=True, help="Leave out queries that some arm has not answered.")
@click.option(
    "--invalid",
    type=click.Choice(get_args(Shape)),
    default="seeded",
    help="What stands for a raw answer that never finished.",
)
@click.option(
    "--walk-seed", type=int, metavar="N", default=SEED, help="The seed that picks a path of such an answer."
)
@click.option(
    "--fail-if-worse", is_flag=True, help="Refuse a judge that is not calibrated or is no better than chance."
)
@click.option(
    "--output",
    type=_PATH,
    help="Write ToolBench's result files into this folder, which must be new or empty.",
)
@click.option(
    "--raw", is_flag=True, help="Leave texts in its tables that a spreadsheet would execute as they are."
)
@display_option
@name_option
@runs_option("The run store to write.")
@run.resuming_options
@json_option("Print one JSON object at the end; the display uses stderr.")
@click.pass_context
def command(context: click.Context, /, places: tuple[str, ...], **given: Any) -> None:
    """Judge the answers of runs, or of folders with ToolBench's raw or converted answers.

    The judge votes several times on each answer: does it solve the query? With --against, it says which of
    two answers is better. Votes are stored as a run, so you can watch them and continue with --resume. `rig
    judge calibrate` measures how far you can trust a judge.
    """
    store = given["runs"] or runs_file()
    if given["resume"] is not None:
        if places:
            raise RigError("RUN|DIR makes a new run and --resume continues one; give one of them")
        todo = plan_resume(given["resume"], {}, store, retry_failed=given["retry_failed"])
    else:
        run.require_resume(given["retry_failed"])
        todo = plan_judging(_wanted(context, places, given), store, given["name"])
    if given["fail_if_worse"]:
        require_trusted(todo)
    finish(todo, given, store)


def finish(todo: Plan, options: dict[str, Any], store: Path) -> None:
    """Carry out a plan, print the results, write the files that the user wants, and exit."""
    as_json, display = options["as_json"], options["display"]
    stored, control = run.carry_out(todo, display, as_json=as_json)
    code = run.exit_code(stored, control)
    files = []
    if options.get("output") and not code:
        files = write_results(store, stored, options["output"], raw=options["raw"])
    if as_json:
        click.echo(json_text(_as_json(stored, store, files)))
    elif displays.is_watched(display):
        text = f"\n{summary(stored, terminal_width())}\n\n{whereabouts(stored, str(store))}"
        click.echo(printable(text))
    if control.is_stopped and (as_json or not displays.is_watched(display)):
        click.echo(printable(whereabouts(stored, str(store))), err=True)
    sys.exit(code)


def require_trusted(todo: Plan) -> None:
    """Raise RigError unless the judge of a plan was found to be better than chance."""
    if not todo.caution.decides:
        raise RigError(f"--fail-if-worse: {todo.caution.text}")


def _as_json(stored: StoredRun, store: Path, files: list[Path]) -> dict[str, Any]:
    arms = [arm.as_json(stored.declaration) for arm in stored.arms]
    caution = {"caution": stored.declaration.caution, "decides": stored.declaration.decides}
    paths = [str(file) for file in files]
    return {"run": stored.id, "store": str(store), "arms": arms, **caution, "files": paths}


def _wanted(context: click.Context, places: tuple[str, ...], options: dict[str, Any]) -> Wanted:
    if not places:
        raise RigError("what is to be judged? Give a run (`rig runs`) or a folder of answers")
    is_win = options["against"] is not None
    for name, belongs in (("orders", is_win), ("passes", is_win), ("ties", not is_win)):
        if options[name] is not None and not belongs:
            raise RigError(f"--{name} {'needs' if not is_win else 'has no effect with'} --against")
    of_method = ("reason", "orders") if is_win else ("reason", "ties", "unsure", "unsolvable")
    return Wanted(
        places=places,
        judge=options["judge"],
        evaluator=options["evaluator"],
        votes=options["votes"],
        against=options["against"],
        passes=options["passes"],
        test_ids=options["test_ids"],
        answered_only=options["answered_only"],
        shape=options["invalid"],
        seed=options["walk_seed"],
        options=chosen_options(context),
        rules={name: options[name] for name in of_method if options[name] is not None},
    )
