"""`rig run`: evaluate models, or continue an interrupted run."""

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
from rig.cli.attention import Attention
from rig.cli.options.groups import GroupedCommand
from rig.cli.options.roles import take_roles
from rig.cli.options.settings import from_file, say_what_is_from_file
from rig.cli.output import full_option, printable, terminal_width
from rig.displays.pages.card import ending
from rig.displays.pages.summary import whereabouts
from rig.engine.core.settings import (
    GrammarArm,
    GrammarEngine,
    KvType,
    ParameterOrder,
    ThinkingArm,
    ToolChoice,
)
from rig.errors import RigError
from rig.events import Emit, Event
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

_OWN = frozenset(
    {
        "display",
        "runs",
        "name",
        "resume",
        "retry_failed",
        "as_json",
        "full",
        "threshold",
        "where",
        "bell",
        "notify",
    }
)
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
    if isinstance(choices.get("type"), click.IntRange | click.FloatRange):
        choices.setdefault("metavar", "N" if isinstance(choices["type"], click.IntRange) else "X")
    return click.option(name, default=default, help=help_text, multiple=isinstance(default, tuple), **choices)


@click.command(cls=GroupedCommand)
@click.argument("models", metavar="MODEL...", nargs=-1, shell_complete=completion.models)
@_option(
    "--suite",
    "A suite by name (see `rig suites list`), or your own conversations by path.",
    metavar="NAME|PATH",
)
@_option("--conversations", "A folder of conversations in ToolTalk's JSON format.", type=_DIRECTORY)
@click.option("--only", multiple=True, metavar="NAME", help="Run only this conversation. Repeatable.")
@_option("--limit", "Run only the first N conversations.", type=_COUNT)
@_option("--repeats", "Run every conversation N times.", type=click.IntRange(1, 10_000))
@_option("--toolbox", "Tools by name, or your own by folder. Runs their code.", metavar="NAME|DIR")
@_option("--world", "A folder of databases in ToolTalk's JSON format.  [default: rig's own]", type=_DIRECTORY)
@_option("--method", "How to run and score conversations.  [default: the suite's]", metavar="NAME")
@_option("--role", "Choose who plays a role that is not evaluated. *", metavar="ROLE=MODEL")
@click.option(
    "--max-rounds", type=_COUNT, metavar="N", help="At most N replies to the user in a conversation."
)
@_option("--set", "Set an option that only the method knows. *", metavar="NAME=VALUE")
@_option("--docs", "Describe each tool in full, or only give its name. *", type=click.Choice(get_args(Docs)))
@_option(
    "--tools",
    "Offer all tools, the tools of the plugins that are needed, or only the tools that are needed. *",
    type=click.Choice(get_args(Tools)),
)
@_option(
    "--history",
    "Show the recorded results of earlier calls, or execute those calls again. *",
    type=click.Choice(get_args(History)),
)
@_option(
    "--format",
    "The form of an answer: rig's own, the model's own (native), a model family's by name, or native if the"
    " chat template has a form and rig's otherwise (auto). *",
    metavar="auto|rig|native|NAME",
)
@_option(
    "--tool-choice",
    "Whether the model may, must or must not call tools. Needs the model's own format. *",
    type=click.Choice(get_args(ToolChoice)),
)
@_option("--several-calls/--one-call", "Allow several calls in one message, if the model's format has them.")
@_option(
    "--thinking",
    "Turn thinking on or off, if the chat template has a switch for it. *",
    type=click.Choice(get_args(ThinkingArm)),
)
@_option("--chat-template", "Use this Jinja2 file instead of the model's own chat template.", type=_FILE)
@_option("--search", "Search for an answer: cot@N, or dfs with _wN and _filter. *", metavar="WAY")
@_option("--max-calls", "At most N calls in a turn.", type=_COUNT)
@_option("--max-tokens", "At most N tokens in a step.", type=_COUNT)
@_option(
    "--thinking-tokens",
    "At most N tokens of thinking in a step, on top of --max-tokens.",
    type=click.IntRange(min=0),
)
@_option(
    "--draft",
    "Draft several tokens at once, and keep those that the model itself chooses. The draft is the previous"
    " arm's answer (sibling), text that followed earlier in the prompt (lookup), or comes from a smaller"
    " model of the family. *",
    metavar="none|sibling|lookup|MODEL",
)
@_option(
    "--temperature", "0 always takes the likeliest token. *", type=click.FloatRange(min=0), callback=_finite
)
@_option("--seed", "Seed for sampling, when the temperature is not 0.", type=click.IntRange(0, 2**32 - 1))
@_option(
    "--grammar",
    "json makes calls fit the parameters of the tools; strict also enforces formats such as dates; none lets"
    " the model write anything, and rig looks for calls in it. *",
    type=click.Choice(get_args(GrammarArm)),
)
@_option(
    "--grammar-engine", "The library that enforces the grammar. *", type=click.Choice(get_args(GrammarEngine))
)
@_option(
    "--parameter-order",
    "Require arguments in the order of the tool's parameters, or allow any order. *",
    type=click.Choice(get_args(ParameterOrder)),
)
@_option(
    "--exact", "Give the same bits every time: one conversation at a time, one token at a time.", is_flag=True
)
@_option(
    "--lora",
    "Apply a LoRA adapter (GGUF), with a scale if it is not 1; `none` runs the model without. *",
    metavar="FILE[:SCALE]",
)
@_option("--threads", "CPU threads.", type=_THREADS, show_default="all cores")
@_option("--gpu-layers", "Layers on the GPU; -1 for all.  [default: as many as fit]", type=click.IntRange(-1))
@_option("--n-ctx", "Context in tokens.  [default: the model's own, at most 8192]", type=_COUNT)
@_option(
    "--n-batch",
    "Tokens in a batch.  [default: 512, or less if memory is short]",
    type=click.IntRange(1, 16384),
)
@_option(
    "--until",
    "Play conversations in a random order (--seed), and drop each arm as soon as it is clear whether it"
    " loses as much as --loss compared with the first. What the first gets wrong is played only if it"
    " matters.",
    type=click.Choice(["verdict"]),
)
@_option(
    "--loss",
    "The loss of success, in points, that --until verdict tests for.",
    type=click.FloatRange(0, 100, min_open=True),
)
@_option(
    "--parallel",
    "Run N conversations at once.  [default: measured; 1 unless more are faster]",
    type=click.IntRange(1, 64),
)
@_option(
    "--kv",
    "Type of the KV cache. q8_0 needs half the memory and changes answers. *",
    type=click.Choice(get_args(KvType)),
)
@_option(
    "--flash-attention",
    "auto turns it on with a GPU, and with a quantized KV cache, which needs it.",
    type=click.Choice(["auto", "on", "off"]),
)
@_option(
    "--prefix-cache/--no-prefix-cache",
    "Keep the processed beginning of the prompt on disk, so that the next run starts faster.",
)
@_option("--grader", "The rules for matching calls. See docs/metrics.md.", type=click.Choice(get_args(Mode)))
@_option(
    "--similarity",
    "What compares free text: minilm, exact, a sentence-transformers folder, or distilbert:DIR.",
    metavar="NAME",
)
@click.option(
    "--threshold",
    type=float,
    metavar="X",
    help="Texts at least this similar are the same.  [default: calibrated for each kind of text]",
)
@click.option(
    "--display",
    type=click.Choice(displays.NAMES),
    default="auto",
    show_default=True,
    help="How to show the run: live, a line for each conversation, JSON lines, or not at all.",
)
@click.option("--name", help="Give the run a name.", metavar="NAME")
@click.option("--runs", type=_FILE, help="The run store to write.  [default: $RIG_RUNS, or runs.sqlite]")
@click.option(
    "--resume", metavar="RUN", shell_complete=completion.runs, help="Continue a run that was interrupted."
)
@click.option(
    "--bell/--no-bell",
    default=True,
    show_default=True,
    help="Ring the terminal when a run of a minute or more ends.",
)
@click.option(
    "--notify",
    metavar="COMMAND",
    help="Run this shell command when the run ends. It can use $RIG_RUN, $RIG_STATE and $RIG_SUMMARY.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object at the end; the display uses stderr."
)
@click.option(
    "--retry-failed/--skip-failed",
    default=None,
    help="With --resume: also repeat turns that failed because of the machine (memory, decode), or do not"
    " repeat arms that failed.  [default: repeat arms, not turns]",
)
@click.option(
    "--on",
    "where",
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
    threshold: float | None,
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
        _leave_to_the_run(context)
        threshold, name = context.params["threshold"], context.params["name"]
    given = options_of(context, threshold)
    store = runs or runs_file()
    todo = _plan(given, store, name, resume, retry_failed)
    if where is not None:
        todo = elsewhere(todo, where)
    attention = Attention(bell=bell, command=notify)
    stored, control = carry_out(todo, display, as_json=as_json, attention=attention)
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
        click.echo(printable(f"\n{ending(stored, store, terminal_width(), full=full)}"))
    if control.is_stopped and (as_json or display in ("log", "none")):
        click.echo(printable(whereabouts(stored, str(store))), err=True)
    sys.exit(exit_code(stored, control))


def _leave_to_the_run(context: click.Context) -> None:
    """Forget what a settings file says about options: a run continues with those that it was started with."""
    for name in from_file(context):
        if name not in ("display", "runs", "as_json", "where", "bell", "notify"):
            context.params[name] = None
            context.set_parameter_source(name, ParameterSource.DEFAULT)


def options_of(context: click.Context, threshold: float | None) -> dict[str, Any]:
    """The options of a plan that were given, by name: what was left to its default is not among them.

    What a file says is given, too, and said on stderr. Of a suite and a folder, the command line decides.
    """
    files = from_file(context)
    for name, other in (("suite", "conversations"), ("conversations", "suite")):
        if name in files and other not in files and context.params[other] != getattr(_DEFAULTS, other):
            context.params[name] = getattr(_DEFAULTS, name)
            context.set_parameter_source(name, ParameterSource.DEFAULT)
    say_what_is_from_file(context)
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


def carry_out(
    todo: Plan, display: str, *, as_json: bool, attention: Attention | None = None
) -> tuple[StoredRun, Control]:
    """Run a plan under a display; the run as it is stored then. Raises RigError if nothing is.

    Where the display is for people, the terminal's title says how far it is, and `attention` that it ended.
    """
    for fault in todo.faults:
        click.echo(printable(f"rig: {fault}"), err=True)
    control = Control()
    attention = attention or Attention(bell=False)
    shown = displays.choose(display, sys.stderr if as_json else sys.stdout)
    with attention.titles(is_wanted=display in ("auto", "plain", "tui")):
        shown.run(partial(_job, todo, control, attention), control)
    stored = _read(todo)
    if stored is None:
        raise RigError("stopped before anything was stored")
    wrong = attention.ended(stored)
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
    given: dict[str, Any], store: Path, name: str | None, resume: str | None, retry_failed: bool | None
) -> Plan:
    if resume is not None:
        if name is not None:
            raise RigError("--name is for a new run and --resume for an old one; give one of them")
        return plan_resume(resume, given, store, retry_failed=retry_failed)
    require_resume(retry_failed)
    if name is not None and not name.isprintable():
        raise RigError(f"--name {name!a}: cannot be shown; a name is one line of UTF-8 text")
    if name == "":
        raise RigError("--name is empty; leave it out, or give the run a name to find it by")
    if not given.get("models"):
        raise RigError(
            "which model? Give a name from `rig models list`, the path of a .gguf file, or `oracle`"
        )
    if "suite" in given and "conversations" in given:
        raise RigError("--suite and --conversations both choose the conversations; give one of them")
    return plan(Options(**given), store, name)


def require_resume(retry_failed: bool | None) -> None:
    """Raise RigError for what only a run has that was begun before."""
    if retry_failed is not None:
        raise RigError("--retry-failed and --skip-failed go with --resume; say which run")


def _job(todo: Plan, control: Control, attention: Attention, emit: Emit) -> bool:
    def both(event: Event) -> None:
        attention.tell(event)
        emit(event)

    return run_plan(todo, both, control)


def _read(todo: Plan) -> StoredRun | None:
    """The run as it is stored now, None when it was stopped before its first model was loaded."""
    if not todo.store.is_file():
        return None
    with Runs.open(todo.store) as stored:
        return next((run for run in stored.all() if run.id == todo.run), None)
