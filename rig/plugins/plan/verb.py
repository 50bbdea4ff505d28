"""`rig plan`: how much has to be played for a verdict, how long that takes, and what a suite can show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from rig.cli import options as shared
from rig.cli.output import print_facts, print_json, say
from rig.cli.verbs import argument, option, verb
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.metrics import ALPHA, ASSUMED, POWER
from rig.show.texts import clock_time, percent

if TYPE_CHECKING:
    from rig.plugins.plan.planned import KnownSpread, VerdictPlan
    from rig.plugins.plan.trial import ArmPace
    from rig.running.plan import Plan

_SHORTEST_S = 10.0
"""The fewest seconds for which each arm plays, however many arms there are."""


@verb(shared.RolesCommand, options=shared.table_options(without=("until",)))
def command(
    context: click.Context,
    *,
    models: tuple[str, ...] = argument("MODEL...", required=True, shell_complete=shared.complete_models),
    power: float = option(
        "How often a loss of that size is to be found.", "P", type=shared.SHARE, start=POWER
    ),
    alpha: float = option(
        "The chance of a false alarm, over all arms together.", "X", type=shared.SHARE, start=ALPHA
    ),
    flips: float | None = option(
        "The conversations, in percent, that end differently for arms that are equally good.  [default: as in"
        f" an earlier run, else {100 * ASSUMED:g}]",
        "X",
        type=shared.FloatRange(0, 100, max_open=True),
    ),
    like: str | None = option(
        "The run that says how many conversations flip.  [default: the newest that tells]",
        "RUN",
        shell_complete=shared.complete_runs,
    ),
    seconds: float = option(
        "Play the models for so long, to measure how fast they are; 0 leaves it out.",
        "S",
        type=shared.FloatRange(0, 3600),
        start=60.0,
    ),
    runs: Path = shared.STORE,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Say how many conversations and repeats a verdict needs, and how long they take on this machine.

    The first MODEL is the one that the others are compared with; the options are those of `rig run`. rig says
    what the conversations at hand can show, and what it takes to find a loss of `--loss` points in 4 of 5
    cases (`--power`). It plays the models for a minute in all and stores nothing.

    \b
    Examples:
      rig plan f16.gguf q4_k_m.gguf --suite all --loss 5
      rig plan f16.gguf q4_k_m.gguf --temperature 0.7 --repeats 5 --like latest
    """  # noqa: D301 - for click
    from rig.config.options import RunConfig, require_one_suite
    from rig.plugins.plan.planned import plan_verdict
    from rig.plugins.plan.trial import try_out
    from rig.running.planning import plan

    options = shared.chosen_options(context)
    require_one_suite(options)
    if flips is not None and like is not None:
        raise RigError("--flips says how many conversations flip, and --like where to read it; give one")
    chosen = RunConfig.of(**options)
    with TemporaryDirectory(prefix="rig-plan-") as folder:
        todo = plan(chosen, Path(folder) / "runs.sqlite")
        if todo.declaration.success_metric is None:
            raise RigError(
                f"the method {todo.method.name} does not say what succeeds, so nothing can be lost"
            )
        verdict = plan_verdict(
            todo.method.name,
            len(todo.tasks),
            len(todo.arms),
            chosen.loss / 100,
            _known(todo, flips, like, runs),
            repeats=chosen.repeats,
            power=power,
            alpha=alpha,
        )
        each_s = max(seconds / len(todo.arms), min(seconds, _SHORTEST_S))
        if seconds:
            say(f"playing {counted(len(todo.arms), 'arm')} for {each_s:g} s each …", err=True)
        paces = try_out(todo, each_s, *chosen.values("seed")) if seconds else []
    times = _times(todo, verdict, paces)
    if as_json:
        print_json({**verdict.as_json(), "times": times, "paces": [pace.as_json() for pace in paces]})
    else:
        print_facts(_facts(verdict, times, paces))


def _known(todo: Plan, flips: float | None, like: str | None, store: Path) -> KnownSpread:
    """Return the spread of flips, and its source."""
    from rig.plugins.plan.planned import KnownSpread, earlier_spread
    from rig.stats.power import Spread
    from rig.store import Runs

    if flips is not None:
        return KnownSpread(Spread(flips / 100), "--flips")
    names = {task.name for task in todo.tasks}
    spread = None
    if like is not None or store.is_file():
        with Runs.open(store) as runs:
            spread = earlier_spread(runs, todo.method.name, names, like)
    return spread or KnownSpread(Spread(ASSUMED), "assumed: no earlier run says it")


def _times(todo: Plan, verdict: VerdictPlan, paces: Sequence[ArmPace]) -> JsonObject:
    """Return the seconds for the conversations at hand, those needed, the repeats and a larger suite."""
    turns = sum(max(len(task.known_turns), 1) for task in todo.tasks)
    per_task = turns / len(todo.tasks)
    needed, repeats = verdict.conversations_needed, verdict.repeats_needed
    plays = {
        "at_hand": turns * verdict.repeats,
        "needed": per_task * needed * verdict.repeats if needed else None,
        "repeated": turns * repeats if repeats else None,
        "larger": (verdict.larger.turns or per_task * verdict.larger.conversations) * verdict.repeats
        if verdict.larger
        else None,
    }
    times: JsonObject = {}
    for name, played in plays.items():
        seconds = [pace.seconds_for(played) for pace in paces] if played else []
        times[name] = sum(filter(None, seconds)) if seconds and None not in seconds else None
    return times


def _facts(verdict: VerdictPlan, times: JsonObject, paces: Sequence[ArmPace]) -> dict[str, str]:
    """Return the plan in words, by title."""
    from rig.plugins.plan.planned import MOST

    loss, often = counted(100 * verdict.loss, "point"), f"in {100 * verdict.power:g}% of cases"
    at_hand = counted(verdict.conversations, "conversation")
    plays = f" × {verdict.repeats} repeats" if verdict.repeats > 1 else ""
    within = verdict.spread.within
    sampled = f"; each repeat decides {percent(2 * within)} anew" if within else ""
    finds = f"find a loss of {loss} {often}"
    most = "no number of" if verdict.spread.flips + verdict.loss > 1 else f"only more than {MOST:,}"
    needed = [f"{most} conversations would {finds}"]
    if verdict.conversations_needed:
        needed = [f"{counted(verdict.conversations_needed, 'conversation')}{plays} {finds}"]
    if not verdict.is_enough and verdict.repeats_needed:
        needed.append(f"and so do the {at_hand} × {verdict.repeats_needed} repeats")
    if verdict.larger:
        needed.append(f"--suite {verdict.larger.name} has {verdict.larger.conversations}")
    detectable = "can show no loss at all"
    if verdict.detectable is not None:
        detectable = f"would find a loss above {100 * verdict.detectable:.1f} points {often}"
    lasts = {"for those at hand": times["at_hand"]}
    if not verdict.is_enough:
        lasts |= {"for those needed": times["needed"], "with the repeats": times["repeated"]}
        lasts |= {f"for --suite {verdict.larger.name}": times["larger"]} if verdict.larger else {}
    took = (f"{pace.arm} {counted(pace.turns, 'turn')} in {pace.seconds:.0f} s" for pace in paces)
    told = ", ".join(f"{clock_time(lasting)} {what}" for what, lasting in lasts.items() if lasting)
    slow = "no turn was finished in time; give more --seconds"
    return {
        "flips": f"{percent(verdict.spread.flips)} of conversations ({verdict.source}){sampled}",
        "at hand": f"{at_hand}{plays} {detectable}",
        "needed": "; ".join(needed),
        "time": f"{told or slow} (measured: {', '.join(took)})" if paces else "",
    }
