"""`rig leaderboard` and `rig history`: the arms of all runs on a suite, and all runs of a model file."""

from collections.abc import Sequence
from math import isnan
from pathlib import Path

import click

from rig import files
from rig.cli.options import AS_JSON, MODEL, STORE
from rig.cli.output import print_json, print_table, say
from rig.cli.runs import print_cautions
from rig.cli.verbs import argument, option, verb
from rig.compare.leaderboard import Leaderboard, PastScore, history, is_hash, leaderboard, standings
from rig.displays.compare import with_interval
from rig.displays.texts import measured, out_of
from rig.engine.files.caches import sha256_of
from rig.engine.files.info import inspect
from rig.engine.files.registry import resolve
from rig.errors import RigError, counted
from rig.methods import paper
from rig.store import Runs


@verb()
def command(
    file: Path | None = argument(),
    *,
    suite: str | None = option("The suite.  [default: that of the latest run]", "NAME"),
    method: str | None = option("The method, such as judge-win.  [default: that of the latest run]", "NAME"),
    csv_path: Path | None = option(
        "Also write the ranking to a new file, in the form of ToolBench's leaderboard.", flags="--csv"
    ),
    runs: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Rank the arms of all runs on a suite, with intervals and the settings that differ.

    With FILE, a leaderboard in ToolBench's form, print that one instead.
    """
    if file is not None:
        _print_file(file, as_json)
        return
    with Runs.open(runs) as opened:
        ranking = leaderboard(opened, suite, method)
    if csv_path is not None:
        files.write(paper.toolbench().leaderboard_text(standings(ranking)), csv_path)
    if as_json:
        print_json(ranking.as_json())
    else:
        _print(ranking)


def _print(ranking: Leaderboard) -> None:
    rows = []
    for place in ranking.places:
        cells = [with_interval(metric.amount, place.rates[metric.name]) for metric in ranking.metrics]
        played = len(place.tasks)
        count = str(played) if played == place.planned else out_of(played, place.planned, " of ")
        count += f"{'' if place.tasks == ranking.tasks else ' *'}"
        settings = ", ".join(place.differs) or "-"
        rows.append((place.name, count, *cells, settings))
    titles = [metric.title for metric in ranking.metrics]
    say(f"{ranking.suite}, by the method {ranking.method}")
    print_table(("arm", "tasks", *titles, "differs from the first in"), rows)
    if any(place.tasks != ranking.tasks for place in ranking.places):
        left = len(frozenset.union(*(place.tasks for place in ranking.places))) - len(ranking.tasks)
        click.echo(
            f"* has other tasks, too: arms are ranked by the {len(ranking.tasks)} that all have in common,"
            f" word for word; {left} are left out"
        )
    if texts := ranking.deciding_texts:
        decide = f"{counted(texts, 'unclear text')} {'decides' if texts == 1 else 'decide'} it"
        click.echo(f"cannot tell the order: {decide}; `rig adjudicate RUN` asks you about them")
    if len({grader.rules for grader in ranking.graders}) > 1:
        click.echo(
            "the graders differ, so the order means little; `rig compare` goes by one that all arms share"
        )
    elif len(ranking.graders) > 1:
        runs = dict.fromkeys(f"`rig score {place.run.id}`" for place in ranking.places)
        say(f"unclear texts were decided by different answers; to use all: {' and '.join(runs)}")
    for line in ranking.left_out:
        say(line)
    print_cautions({place.run.id: place.run for place in ranking.places}.values())


def _print_file(file: Path, as_json: bool) -> None:
    rows = paper.toolbench().leaderboard(file)
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


_NAMED = 3
"""Settings that are named where several changed."""


@verb()
def history_of_model(model: str = MODEL, *, runs: Path = STORE, as_json: bool = AS_JSON) -> None:
    """Show every run of one model file, over time.

    MODEL is a name from `rig models list`, the path of a .gguf file, or the first characters of its SHA-256.
    rig recognizes a file by its content, even if it had another name at the time of the run.

    There is one table for each version of a grader, because you cannot compare the scores of different
    graders. `rig score RUN` adds a score by the current version to an old run. The last column names what
    changed since the row above: the version of rig, the suite, or a setting.
    """
    sha256 = model
    if not is_hash(model) or Path(model).exists():
        sha256 = sha256_of(inspect(resolve(model).path).path)  # what is no model may have no end
    with Runs.open(runs) as stored:
        hashes, lines = history(stored, sha256)
    if as_json:
        scores = [past.as_json() for line in lines for past in line]
        print_json({"model.file_sha256": hashes[0], "scores": scores})
        return
    if not lines:
        raise RigError(f"no conversation of a run of {model} is scored yet")
    total = sum(map(len, lines))
    say(f"{model}, SHA-256 {hashes[0][:16]}…: {counted(total, 'score')}")
    for line in lines:
        _print_scores(line)
    if len(lines) > 1:
        click.echo("\nNumbers of different tables are not comparable: the graders differ.")


def _print_scores(line: Sequence[PastScore]) -> None:
    first = line[0]
    metrics = first.run.declaration.shown("lines")
    columns = ("run", "started", "rig", "arm", "suite", "conversations")
    say(f"\n{first.run.declaration.method}, graded by {first.score.grader}")
    rows = []
    version = first.run.rig
    for past in line:
        changed = [f"rig {version} to {past.run.rig}"] if past.run.rig != version else []
        changed += [name.rpartition(".")[2].replace("_", " ") for name in past.changed[:_NAMED]]
        if len(past.changed) > _NAMED:
            changed.append(f"{len(past.changed) - _NAMED} more")
        version = past.run.rig
        about = (past.run.id, f"{past.run.created.astimezone():%Y-%m-%d %H:%M}", version, past.arm)
        numbers = [measured(metric, past.score.counts) for metric in metrics]
        suites = ", ".join(filter(None, past.suites))
        rows.append((*about, suites, past.tasks, *numbers, ", ".join(changed)))
    print_table((*columns, *(metric.title for metric in metrics), "changed"), rows)
