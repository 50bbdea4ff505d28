"""`rig noise`: measure how much two identical runs differ."""

from typing import Any

import click

from rig.cli import run
from rig.cli.options import FULL, RolesCommand, complete_models, complete_runs, json_option, table_options
from rig.cli.output import print_json, say
from rig.cli.run import Notifier
from rig.cli.verbs import argument, option, verb
from rig.compare.arms import choose
from rig.compare.noise import Noise, noise_between
from rig.displays.compare import estimate, table
from rig.displays.summary import whereabouts
from rig.displays.table import Row
from rig.errors import RigError
from rig.running.planning import Options, plan
from rig.store import Runs, StoredRun

_KINDS = (
    ("predictions with another text", "steps"),
    ("calls judged otherwise", "calls"),
    ("turns right in only one", "turns"),
    ("conversations successful in only one", "conversations"),
)


@verb(RolesCommand, options=table_options(without=("exact",)))
def command(
    context: click.Context,
    model: str | None = argument(shell_complete=complete_models),
    *,
    of: str | None = option(
        "Read an earlier run of `rig noise` instead of making one.", "RUN", shell_complete=complete_runs
    ),
    alpha: float = option(
        "Intervals cover 1 - alpha.",
        "X",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        start=0.05,
    ),
    playing: run.Playing,
    full: bool = FULL,
    as_json: bool = json_option("Print JSON; the display uses stderr."),
) -> int | None:
    """Run a model twice with the same settings, and once with --exact, and show what differs.

    This is the noise in every comparison: two models that differ by no more than this cannot be told apart.
    With a temperature, the second arm uses another seed. The options are those of `rig run`, each given once.
    The run is stored like any other, and `rig compare --noise RUN` shows it next to a comparison.
    """
    store = playing.runs
    if of is None:
        options = run.options_of(context)
        todo = plan(_options(options, model), store, playing.name)
        notifier = Notifier(bell=playing.bell, command=playing.notify)
        stored, control = run.carry_out(todo, playing.display, as_json=as_json, notifier=notifier)
        if code := run.exit_code(stored, control):
            say(f"{whereabouts(stored, str(store))}\n  rig noise --of {stored.id}", err=True)
            return code
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
        say(_text(stored, noises, alpha))
    return None


def _options(options: dict[str, Any], model: str | None) -> Options:
    if model is None:
        raise RigError("which model? Give a name or the path of a .gguf file, or a run with --of")
    for name, value in options.items():
        if name != "only" and isinstance(value, tuple) and len(set(value)) > 1:
            raise RigError(f"noise measures one arm at a time; give --{name.replace('_', '-')} once")
    return Options(models=(model,), noise=True, **options)


def _text(stored: StoredRun, noises: list[Noise], alpha: float) -> str:
    differing = [(label, [getattr(noise, kind) for noise in noises]) for label, kind in _KINDS]
    rows = [
        Row(label, tuple(f"{part.differ} of {part.of}, {estimate(part.share)}" for part in parts))
        for label, parts in differing
    ]
    return "\n".join(
        [
            f"noise of {noises[0].arms[0]}, run {stored.id}",
            f"what differs from it, in brackets {100 * (1 - alpha):g}% intervals over conversations",
            *(f"{noise.arms[1]} differs in {', '.join(noise.settings) or 'nothing'}" for noise in noises),
            "",
            table("", [noise.arms[1] for noise in noises], rows),
            "",
            f"rig compare RUN --noise {stored.id} shows the first column beside a comparison",
        ]
    )
