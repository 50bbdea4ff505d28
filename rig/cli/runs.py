"""`rig runs`: list the stored runs."""

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from rig.calls import JsonObject
from rig.cli.options import AS_JSON, STORE
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import option, verb
from rig.displays.compare import tables_markdown
from rig.displays.texts import headline, measured, out_of
from rig.errors import RigError
from rig.methods.paper import Table
from rig.store import Runs, StoredRun, StoredScore, backup, datasette_metadata


@verb()
def command(
    context: click.Context,
    *,
    runs: Path = STORE,
    live: bool = option(
        "Browse the runs in the terminal: open, watch, resume, compare and delete them.", flags="--tui"
    ),
    datasette: bool = option("Print metadata for Datasette instead: a description of each column."),
    copy: Path | None = option(
        "Copy the store to a new file instead. Safe while a run is in progress.", flags="--backup"
    ),
    as_json: bool = AS_JSON,
) -> None:
    """List the stored runs, newest first."""
    if live and (datasette or as_json):
        raise RigError("--tui is for people, --datasette and --json are for programs; give one of them")
    if copy is not None:
        backup(runs, copy)
        say(f"{runs} is copied to {copy}")
    elif live:
        if chosen := importlib.import_module("tui.watch").browse(runs):
            go_on(context, chosen.run, runs)
    elif datasette:
        print_json(datasette_metadata(runs))
    else:
        with Runs.open(runs) as store:
            stored = store.all()
        if as_json:
            print_json([run_json(run) for run in stored])
            return
        print_table(
            ("run", "name", "started", "state", "conversations", "turns", "success by arm"), map(_row, stored)
        )
        print_cautions(stored)


def print_cautions(runs: Iterable[StoredRun]) -> None:
    """Remarks on the runs whose rates were printed, each remark once for all runs it applies to."""
    remarks: dict[str, list[str]] = {}
    for run in runs:
        if run.declaration.caution:
            remarks.setdefault(run.declaration.caution, []).append(run.id)
    for caution, ids in remarks.items():
        say(f"{', '.join(ids)}: {caution}")


def go_on(context: click.Context, run: str, store: Path) -> None:
    """Do what `rig run --resume` does; it ends the process as that does."""
    resume: click.Command = importlib.import_module("rig.cli.run").command
    with resume.make_context("run", ["--resume", run, "--runs", str(store)], parent=context) as again:
        resume.invoke(again)


def run_json(run: StoredRun) -> JsonObject:
    """A run with its arms, without its conversations."""
    return {
        "run": run.id,
        "name": run.name,
        "created": run.created.isoformat(),
        "finished": run.finished.isoformat() if run.finished else None,
        "state": run.state,
        "rig": run.rig,
        "settings": run.settings,
        "conversations": len(run.conversations),
        "turns": run.turns,
        "turns_done": run.turns_done,
        "arms": [arm.as_json(run.declaration) for arm in run.arms],
        "caution": run.declaration.caution,
    }


def score_json(run: StoredRun, score: StoredScore) -> JsonObject:
    """One grader's score of one arm."""
    return {
        "arm": run.arms[score.arm].name,
        **score.grader.as_json(),
        "metrics": run.declaration.as_json(score.counts),
        "error_types": score.error_types,
        "faults": score.faults,
    }


def print_scores(run: StoredRun, scores: list[StoredScore]) -> None:
    """One line for each arm and grader."""
    metrics = run.declaration.shown("meters")
    header = ("arm", "grader", "version", "similarity", *(metric.title for metric in metrics))
    rows = []
    for score in scores:
        by = score.grader
        numbers = [measured(metric, score.counts) for metric in metrics]
        rows.append((run.arms[score.arm].name, by.grader, by.grader_version, by.similarity, *numbers))
    print_table(header, rows)


def _row(run: StoredRun) -> tuple[object, ...]:
    return (
        run.id,
        run.name or "",
        f"{run.created.astimezone():%Y-%m-%d %H:%M}",
        run.state,
        len(run.conversations),
        out_of(run.turns_done, run.turns),
        ", ".join(f"{arm.name} {headline(run.declaration, arm.rated)}" for arm in run.arms),
    )


def print_tables(tables: Sequence[Table], of: JsonObject, *, as_json: bool) -> None:
    """The tables of a method's paper, as Markdown; as JSON beside what they are of."""
    if as_json:
        print_json({**of, "tables": [table.as_json() for table in tables]})
    else:
        say(tables_markdown(tables) or "no conversation of these arms is finished yet")
