"""`rig leaderboard`: the arms of all runs on a suite, ranked."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import click

from rig.cli.options import AS_JSON, STORE, complete_suites
from rig.cli.output import print_json, print_table, say
from rig.cli.runs import print_cautions
from rig.cli.verbs import argument, option, verb
from rig.core.errors import counted
from rig.core.files import write
from rig.show.texts import out_of


@verb()
def rank(
    file: Path | None = argument(),
    *,
    suite: str | None = option(
        "The suite.  [default: that of the latest run]", "NAME", shell_complete=complete_suites
    ),
    method: str | None = option("The method, such as judge-win.  [default: that of the latest run]", "NAME"),
    csv_path: Path | None = option(
        "Also write the ranking to a new file, in the form of ToolBench's leaderboard.", flags="--csv"
    ),
    every: bool = option(
        "Rank oracles, and arms that played only a part of the suite, too. All are then ranked by what they"
        " have in common.",
        flags="--all",
    ),
    runs: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Rank the arms of all runs on a suite, with intervals and the settings that differ.

    With FILE, a leaderboard in ToolBench's form, print that one instead.
    """
    from rig.compare.leaks import leak_text
    from rig.core.intervals import with_interval
    from rig.plugins.judging import toolbench_paper
    from rig.plugins.ranking import leaderboard
    from rig.store import Runs

    if file is not None:
        _print_file(file, as_json=as_json)
        return
    with Runs.open(runs) as opened:
        ranking = leaderboard.leaderboard(opened, suite, method, every=every)
    if csv_path is not None:
        write(toolbench_paper().leaderboard_text(leaderboard.standings(ranking)), csv_path)
    if as_json:
        print_json(ranking.as_json())
        return
    rows = []
    for place in ranking.places:
        cells = [with_interval(metric.amount, place.rates[metric.name]) for metric in ranking.metrics]
        played = len(place.tasks)
        count = str(played) if played == place.planned else out_of(played, place.planned, " of ")
        count += "" if place.tasks == ranking.tasks else " *"
        rows.append((place.name, count, *cells, ", ".join(place.differs) or "-"))
    titles = [metric.title for metric in ranking.metrics]
    say(f"{ranking.suite}, by the method {ranking.method}")
    print_table(("arm", "tasks", *titles, "differs from the first in"), rows)
    if any(place.tasks != ranking.tasks for place in ranking.places):
        left = len(frozenset.union(*(place.tasks for place in ranking.places))) - len(ranking.tasks)
        click.echo(
            f"* has other tasks, too: arms are ranked by the {len(ranking.tasks)} that all have in common,"
            f" word for word; {left} {'is' if left == 1 else 'are'} left out"
        )
    if texts := ranking.deciding_texts:
        decide = f"{counted(texts, 'unclear text')} {'decides' if texts == 1 else 'decide'} it"
        click.echo(f"cannot tell the order: {decide}; `rig adjudicate RUN` asks you about them")
    if len({grader.rules for grader in ranking.graders}) > 1:
        click.echo(
            "the graders differ, so the order means little; `rig compare` goes by one that all arms share"
        )
    elif len(ranking.graders) > 1:
        again = dict.fromkeys(f"`rig score {place.run.id}`" for place in ranking.places)
        say(f"unclear texts were decided by different answers; to use all: {' and '.join(again)}")
    for line in ranking.left_out:
        say(line)
    for place in ranking.places:
        if place.leaks:
            say(leak_text(place.name, place.leaks, "that it is ranked by"))
    print_cautions({place.run.id: place.run for place in ranking.places}.values())


def _print_file(file: Path, *, as_json: bool) -> None:
    from rig.plugins.judging import toolbench_paper

    rows = toolbench_paper().leaderboard(file)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    sets = list(dict.fromkeys(name for row in rows for name in row.by_set))
    cells = []
    for row in rows:
        by_set = [f"{row.by_set[name][0]:.3f}" if name in row.by_set else "-" for name in sets]
        error = "-" if isnan(row.std_error) else f"{row.std_error:.4f}"
        cells.append((row.method, f"{row.win_rate:.3f}", error, *by_set))
    print_table(("method", "win rate", "std error", *sets), cells)
    if others := [row.method for row in rows if not row.is_consistent]:
        say(
            f"the test sets of {others[0]}{' and others' if others[1:] else ''} do not average to its win"
            " rate, so these columns hold something else; in ToolBench's own table against ChatGPT-DFSDT"
            " they are pass rates"
        )
