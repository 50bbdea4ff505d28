"""`rig run`: evaluate models, or go on with a run that was interrupted."""

import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from rig import displays
from rig.cli import INTERRUPTED, completion
from rig.cli.output import printable, terminal_width
from rig.cli.roles import CastCommand, take_roles
from rig.displays.pages.summary import summary, whereabouts
from rig.engine.settings import (
    GrammarArm,
    GrammarEngine,
    KvType,
    ParameterOrder,
    ThinkingArm,
    ToolChoice,
)
from rig.errors import RigError
from rig.events import Emit
from rig.files import json_text
from rig.methods.base import Docs, History, Tools
from rig.paths import runs_file
from rig.running.control import Control
from rig.running.options import Options
from rig.running.plan import Plan
from rig.running.planning import elsewhere, plan, plan_resume
from rig.running.runner import run as run_plan
from rig.scoring import Mode, Named
from rig.store import Runs, StoredRun

_OWN = frozenset({"display", "runs", "name", "resume", "retry_failed", "as_json", "threshold", "where"})
"""Parameters that do not shape a run's results or go with another; all others are fields of Options."""

_DEFAULTS = Options(models=())
_DIRECTORY = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path)
_COUNT = click.IntRange(min=1)
_THREADS = click.IntRange(1, 512)
"""llama.cpp's own bound (GGML_MAX_N_THREADS); beyond it the process dies of a segmentation fault."""


def _finite(_: click.Context, __: click.Parameter, values: tuple[float, ...]) -> tuple[float, ...]:
    """What click's ranges let through: NaN, which compares with nothing, and infinity."""
    for value in values:
        if not math.isfinite(value):
            raise click.BadParameter(f"{value} is not a finite number.")
    return values


def _option(name: str, help_text: str, **choices: Any) -> Callable[[Any], Any]:
    """A click option whose default is that of `Options`."""
    default = getattr(_DEFAULTS, name.split("/")[0].removeprefix("--").replace("-", "_"))
    choices.setdefault("show_default", default is not None)
    return click.option(name, default=default, help=help_text, multiple=isinstance(default, tuple), **choices)


@click.command(cls=CastCommand)
@click.argument("models", metavar="MODEL...", nargs=-1, shell_complete=completion.models)
@_option(
    "--lora",
    "An adapter (GGUF) for the models, at a scale if not 1; `none` is without one. *",
    metavar="FILE[:SCALE]",
)
@_option(
    "--suite", "Conversations that come with rig, by name, or others by their path.", metavar="NAME|PATH"
)
@_option("--method", "How tasks are played and scored; default: as the suite says.", metavar="NAME")
@_option("--role", "Who plays a role that is not evaluated. *", metavar="ROLE=MODEL")
@_option("--set", "An option that only the method knows. *", metavar="NAME=VALUE")
@_option("--conversations", "Directory of conversations in ToolTalk's JSON shape, instead.", type=_DIRECTORY)
@_option("--toolbox", "Tools: a name, or the folder of your own; its code is run.", metavar="NAME|DIR")
@_option("--world", "Directory of databases in ToolTalk's JSON shape; default: rig's own.", type=_DIRECTORY)
@click.option("--only", multiple=True, metavar="NAME", help="Only this conversation; can be repeated.")
@_option("--limit", "Only the first so many conversations.", type=_COUNT)
@_option("--docs", "Describe the tools, or only name them. *", type=click.Choice(get_args(Docs)))
@_option(
    "--tools",
    "Offer all tools, those of the plugins used, or those needed. *",
    type=click.Choice(get_args(Tools)),
)
@_option(
    "--history",
    "Show earlier calls with recorded or replayed responses. *",
    type=click.Choice(get_args(History)),
)
@_option("--search", "How answers are searched for: cot@N, or dfs with _wN and _filter. *", metavar="WAY")
@_option("--max-calls", "Calls executed in a turn, at most.", type=_COUNT)
@click.option(
    "--max-rounds", type=_COUNT, help="Replies to a user in a conversation, at most: --set max_rounds=N."
)
@_option("--max-tokens", "Tokens generated in a step, at most.", type=_COUNT)
@_option("--temperature", "0 is greedy. *", type=click.FloatRange(min=0), callback=_finite)
@_option(
    "--format",
    "Form in which the model answers: rig's; the model's own (native); its own where its chat template has"
    " one, else rig's (auto); or that of a family, by name. *",
    metavar="auto|rig|native|NAME",
)
@_option(
    "--tool-choice",
    "Whether a model may call tools, has to, or must not; in its own format. *",
    type=click.Choice(get_args(ToolChoice)),
)
@_option(
    "--several-calls/--one-call",
    "Let a model make several calls in one message, where its own format can.",
)
@_option(
    "--thinking",
    "Have a model think before it answers, or not, by its template's switch; auto: as the template has it. *",
    type=click.Choice(get_args(ThinkingArm)),
)
@_option(
    "--thinking-tokens",
    "Tokens of thoughts in a step, at most; --max-tokens is for the answer.",
    type=click.IntRange(min=0),
)
@_option(
    "--draft",
    "Decode several tokens at once and keep those that the model itself chooses: the answer of the arm before"
    " (sibling), what followed in the prompt (lookup), or what a smaller model of the family proposes. *",
    metavar="none|sibling|lookup|MODEL",
)
@_option(
    "--grammar",
    "Hold answers to the form and the tools' parameters; to the formats of dates, times and addresses too;"
    " or let the model write anything and salvage the answer. *",
    type=click.Choice(get_args(GrammarArm)),
)
@_option(
    "--grammar-engine",
    "What enforces the grammar: llguidance, or Outlines' own. *",
    type=click.Choice(get_args(GrammarEngine)),
)
@_option(
    "--parameter-order",
    "Arguments in the order of the tool's parameters, or in any. *",
    type=click.Choice(get_args(ParameterOrder)),
)
@_option("--seed", "For sampling; of no effect at temperature 0.", type=click.IntRange(0, 2**32 - 1))
@_option("--repeats", "Times each conversation is played.", type=click.IntRange(1, 10_000))
@_option(
    "--until",
    "Play conversations in a random order (--seed), and drop each arm as soon as it is clear whether it loses"
    " as much as --loss against the first.",
    type=click.Choice(["verdict"]),
)
@_option(
    "--loss",
    "Loss of success in points that --until verdict is about.",
    type=click.FloatRange(0, 100, min_open=True),
)
@_option(
    "--parallel",
    "Conversations played at once; default: measured, 1 where more do not pay well.",
    type=click.IntRange(1, 64),
)
@_option(
    "--exact", "The same bits whatever was computed before: one sequence, one token at a time.", is_flag=True
)
@_option(
    "--prefix-cache/--no-prefix-cache",
    "Keep the state of the prompt's beginning on disk, for the next start.",
)
@_option("--n-ctx", "Context in tokens; default: what the model was made for, up to 8192.", type=_COUNT)
@_option(
    "--n-batch", "Tokens computed at once; default: 512, memory permitting.", type=click.IntRange(1, 16384)
)
@_option(
    "--kv",
    "Type of the KV cache; q8_0 takes half the memory, and changes answers. *",
    type=click.Choice(get_args(KvType)),
)
@_option(
    "--flash-attention",
    "auto: on with a GPU, and where the KV cache is quantized, which needs it.",
    type=click.Choice(["auto", "on", "off"]),
)
@_option("--threads", "CPU threads.", type=_THREADS, show_default="the cores that may be used")
@_option("--gpu-layers", "Layers on the GPU, -1 for all; default: as many as fit.", type=click.IntRange(-1))
@_option("--chat-template", "Jinja2 file to use instead of the model's own template.", type=_FILE)
@_option("--grader", "How calls are matched.", type=click.Choice(get_args(Mode)))
@_option(
    "--similarity", "Of free texts: minilm, exact, a sentence-transformers directory, or distilbert:DIR."
)
@click.option(
    "--threshold",
    type=float,
    metavar="X",
    help="From which similarity on texts are the same, instead of the calibrated thresholds.",
)
@click.option(
    "--display", type=click.Choice(displays.NAMES), default="auto", show_default=True, help="Live view."
)
@click.option("--runs", type=_FILE, help="Run store to write (default: $RIG_RUNS, else runs.sqlite).")
@click.option("--name", help="A name for the run.")
@click.option(
    "--resume", metavar="RUN", shell_complete=completion.runs, help="Go on with an interrupted run."
)
@click.option(
    "--retry-failed/--skip-failed",
    default=None,
    help="With --resume: play turns that failed by the machine (memory, decode) again, too; or leave arms"
    " that failed as they are. Default: arms that failed are tried again, turns are not.",
)
@click.option(
    "--on", "where", metavar="ray[:ADDRESS]", help="Load the models in actors of Ray: here, or in a cluster."
)
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object; the display goes to stderr.")
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
    threshold: float | None,
    where: str | None,
    **_: Any,
) -> None:
    """Evaluate models one after another and store every turn.

    MODEL is a registry name, the path of a .gguf file, or `oracle`, which replays the ground truth.
    An option marked * can be given several times: every model is run with every combination, each under a
    name of its own, such as `smollm2-135m docs=names`.
    Ctrl-C stops a run so that --resume can go on with it; the exit code is 130. With --resume, models and
    options are those the run was started with.
    """
    given = options_of(context, threshold)
    store = runs or runs_file()
    todo = _plan(given, store, name, resume, retry_failed)
    if where is not None:
        todo = elsewhere(todo, where)
    stored, control = carry_out(todo, display, as_json=as_json)
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
    elif display in ("auto", "plain", "tui"):
        text = f"\n{summary(stored, terminal_width())}\n\n{whereabouts(stored, str(store))}"
        click.echo(printable(text))
    if control.is_stopped and (as_json or display in ("log", "none")):
        click.echo(printable(whereabouts(stored, str(store))), err=True)
    sys.exit(exit_code(stored, control))


def options_of(context: click.Context, threshold: float | None) -> dict[str, Any]:
    """The options of a plan that were given, by name: what was left to its default is not among them."""
    given = {
        parameter: value
        for parameter, value in context.params.items()
        if parameter not in _OWN and context.get_parameter_source(parameter) is not ParameterSource.DEFAULT
    }
    if roles := take_roles(given):
        given["role"] = roles
    if (rounds := given.pop("max_rounds", None)) is not None:
        given["set"] = (*given.get("set", ()), f"max_rounds={rounds}")
    if threshold is not None:
        given["similarity"] = str(Named.parse(context.params["similarity"]).at(threshold))
    return given


def carry_out(todo: Plan, display: str, *, as_json: bool) -> tuple[StoredRun, Control]:
    """Run a plan under a display; the run as it is stored then. Raises RigError where nothing is."""
    for fault in todo.faults:
        click.echo(printable(f"rig: {fault}"), err=True)
    control = Control()
    shown = displays.choose(display, sys.stderr if as_json else sys.stdout)
    shown.run(partial(_job, todo, control), control)
    stored = _read(todo)
    if stored is None:
        raise RigError("stopped before anything was stored")
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
    given: dict[str, Any], store: Path, name: str | None, resume: str | None, retry_failed: bool | None
) -> Plan:
    if resume is not None:
        if name is not None:
            raise RigError("--name belongs to a new run, --resume to an old one; give one of them")
        return plan_resume(resume, given, store, retry_failed=retry_failed)
    if retry_failed is not None:
        raise RigError("--retry-failed and --skip-failed go with --resume; say which run")
    if name is not None and not name.isprintable():
        raise RigError(f"--name {name!a}: holds what cannot be shown; a name is UTF-8 text of one line")
    if name == "":
        raise RigError("--name is empty; leave it out, or give the run a name to find it by")
    if not given.get("models"):
        raise RigError("which model? Give a name, the path of a .gguf file, or `oracle` (`rig models list`)")
    if "suite" in given and "conversations" in given:
        raise RigError("--suite and --conversations are two answers to one question; give one of them")
    return plan(Options(**given), store, name)


def _job(todo: Plan, control: Control, emit: Emit) -> bool:
    return run_plan(todo, emit, control)


def _read(todo: Plan) -> StoredRun | None:
    """The run as it is stored now, None when it was stopped before its first model was loaded."""
    if not todo.store.is_file():
        return None
    with Runs.open(todo.store) as stored:
        return next((run for run in stored.all() if run.id == todo.run), None)
