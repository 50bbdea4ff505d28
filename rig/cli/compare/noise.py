"""`rig noise`: measure how much two identical runs differ."""

import sys
from pathlib import Path
from typing import Any

import click

from rig.cli import completion, run
from rig.cli.notify import Notifier
from rig.cli.options import RolesCommand, full_option, json_option, table_options
from rig.cli.output import print_json, printable
from rig.compare import DifferingShare, Noise
from rig.compare.arms import choose
from rig.compare.noise import noise_between
from rig.displays.pages.compare import table
from rig.displays.pages.compare_rows import estimate
from rig.displays.pages.summary import whereabouts
from rig.displays.table import Row
from rig.errors import RigError
from rig.paths import runs_file
from rig.running.options import Options
from rig.running.planning import plan
from rig.store import Runs, StoredRun

_KINDS = (
    ("predictions with another text", "steps"),
    ("calls judged otherwise", "calls"),
    ("turns right in only one", "turns"),
    ("conversations successful in only one", "conversations"),
)


@click.command(cls=RolesCommand, params=table_options(without=("exact",)))
@click.argument("model", required=False, shell_complete=completion.models)
@click.option(
    "--of",
    metavar="RUN",
    shell_complete=completion.runs,
    help="Read an earlier run of `rig noise` instead of making one.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="X",
    default=0.05,
    show_default=True,
    help="Intervals cover 1 - alpha.",
)
@run.progress_options
@full_option
@json_option("Print JSON; the display uses stderr.")
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str | None,
    of: str | None,
    alpha: float,
    as_json: bool,
    display: str,
    runs: Path | None,
    name: str | None,
    bell: bool,
    notify: str | None,
    **_: Any,
) -> None:
    """Run a model twice with the same settings, and once with --exact, and show what differs.

    This is the noise in every comparison: two models that differ by no more than this cannot be told apart.
    With a temperature, the second arm uses another seed. The options are those of `rig run`, each given once.
    The run is stored like any other, and `rig compare --noise RUN` shows it next to a comparison.
    """
    store = runs or runs_file()
    code = 0
    if of is None:
        options = run.options_of(context)
        todo = plan(_options(options, model), store, name)
        stored, control = run.carry_out(
            todo, display, as_json=as_json, notifier=Notifier(bell=bell, command=notify)
        )
        code = run.exit_code(stored, control)
        if code:
            click.echo(
                printable(f"{whereabouts(stored, str(store))}\n  rig noise --of {stored.id}"), err=True
            )
            sys.exit(code)
        of = stored.id
    elif model is not None:
        raise RigError("MODEL makes a new run and --of reads one; give one of them")
    with Runs.open(store) as opened:
        arms = choose(opened, [of])
        if len(arms) < 2:
            raise RigError(
                f"{arms[0].address} is the only arm of its run; `rig noise` makes a run that has more"
            )
        noises = [noise_between(opened, arms[0], other, alpha) for other in arms[1:]]
        stored = opened.get(of)
    if as_json:
        print_json({"run": stored.id, "store": str(store), "noise": [noise.as_json() for noise in noises]})
    else:
        click.echo(printable(_text(stored, noises, alpha)))


def _options(options: dict[str, Any], model: str | None) -> Options:
    if model is None:
        raise RigError("which model? Give a name or the path of a .gguf file, or a run with --of")
    several = [name for name, value in options.items() if isinstance(value, tuple) and len(set(value)) > 1]
    several = [name for name in several if name != "only"]
    if several:
        raise RigError(f"noise measures one arm at a time; give --{several[0].replace('_', '-')} once")
    return Options(models=(model,), noise=True, **options)


def _text(stored: StoredRun, noises: list[Noise], alpha: float) -> str:
    rows = [Row(label, tuple(_share(getattr(noise, kind)) for noise in noises)) for label, kind in _KINDS]
    lines = [f"{noise.arms[1]} differs in {', '.join(noise.settings) or 'nothing'}" for noise in noises]
    return "\n".join(
        [
            f"noise of {noises[0].arms[0]}, run {stored.id}",
            f"what differs from it, in brackets {100 * (1 - alpha):g}% intervals over conversations",
            *lines,
            "",
            table("", [noise.arms[1] for noise in noises], rows),
            "",
            f"rig compare RUN --noise {stored.id} shows the first column beside a comparison",
        ]
    )


def _share(differing: DifferingShare) -> str:
    return f"{differing.differ} of {differing.of}, {estimate(differing.share)}"
