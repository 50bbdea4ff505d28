"""`rig noise`: measure how much two identical runs differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rig.cli import options as shared
from rig.cli.options import Network, complete_runs
from rig.cli.output import print_json, say
from rig.cli.run import Playing, exit_code, show_run
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError
from rig.show.table import Row, columns
from rig.show.texts import estimate

if TYPE_CHECKING:
    from rig.compare.noise import Noise
    from rig.store import StoredRun


@verb(shared.RolesCommand, options=shared.table_options(without=("exact", "sweep")))
def command(
    context: click.Context,
    model: str | None = argument(shell_complete=shared.complete_models),
    *,
    of: str | None = option(
        "Read an earlier run of `rig noise` instead of making one.", "RUN", shell_complete=complete_runs
    ),
    alpha: float = option("Intervals cover 1 - alpha.", "X", type=shared.SHARE, start=0.05),
    playing: Playing,
    network: Network,
    full: bool = shared.FULL,
    as_json: bool = shared.JSON_LINES,
) -> int | None:
    """Run a model twice with the same settings, and once with --exact, and show what differs.

    This is the noise in every comparison: two models that differ by no more than this cannot be told apart.
    With a temperature, the second arm uses another seed. The options are those of `rig run`, each given once.
    The run is stored like any other, and `rig compare --noise RUN` shows it next to a comparison.
    """
    from rig.compare.arms import choose
    from rig.compare.noise import noise_between
    from rig.config.options import RunConfig
    from rig.running.planning import plan
    from rig.show.summary import whereabouts
    from rig.store import Runs

    store = playing.runs
    if of is None:
        options = shared.chosen_options(context)
        if model is None:
            raise RigError("which model? Give a name or the path of a .gguf file, or a run with --of")
        for name, value in options.items():
            if name != "only" and isinstance(value, tuple) and len(set(value)) > 1:
                raise RigError(f"noise measures one arm at a time; give --{name.replace('_', '-')} once")
        todo = plan(RunConfig.of(models=(model,), noise=True, **options), store, playing.name)
        stored, is_stopped = show_run(todo, playing.display, as_json=as_json, playing=playing)
        if code := exit_code(stored, is_stopped):
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
        say(_noise_text(stored, noises, alpha))
    return None


def _noise_text(stored: StoredRun, noises: list[Noise], alpha: float) -> str:
    shares = {
        "predictions with another text": [noise.steps for noise in noises],
        "calls judged otherwise": [noise.calls for noise in noises],
        "turns right in only one": [noise.turns for noise in noises],
        "conversations successful in only one": [noise.conversations for noise in noises],
    }
    rows = [
        Row(label, [f"{part.differ} of {part.of}, {estimate(part.share)}" for part in parts])
        for label, parts in shares.items()
    ]
    lines = [
        f"noise of {noises[0].arms[0]}, run {stored.id}",
        f"what differs from it, in brackets {100 * (1 - alpha):g}% intervals over conversations",
        *(f"{noise.arms[1]} differs in {', '.join(noise.settings) or 'no setting'}" for noise in noises),
        *("", *columns([Row("", [noise.arms[1] for noise in noises]), *rows]), ""),
        f"rig compare RUN --noise {stored.id} shows the first column beside a comparison",
    ]
    return "\n".join(lines)
