"""`rig runs` and `show`: the stored runs, and what is in one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rig.cli import options as shared
from rig.cli.options import AS_JSON, STORE
from rig.cli.output import print_json, print_table, say, terminal_width
from rig.cli.verbs import Viewed, argument, option, verb
from rig.core import registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.show.texts import headline, measured, out_of

if TYPE_CHECKING:
    from rig.show.transcript import StepNotes
    from rig.store import Cell, Runs, StoredRun, StoredScore, Transcript


@verb(Viewed, "runs")
def command(
    context: click.Context,
    *,
    runs: Path = STORE,
    datasette: bool = option("Print metadata for Datasette instead: a description of each column."),
    copy: Path | None = option(
        "Copy the store to a new file instead. Safe while a run is in progress.", flags="--backup"
    ),
    as_json: bool = AS_JSON,
) -> None:
    """List the stored runs, newest first."""
    from rig.store import Runs, backup, datasette_metadata

    if copy is not None and (datasette or as_json):
        raise RigError("--backup copies the store instead of showing it; give it alone")
    if copy is not None:
        backup(runs, copy)
        say(f"{runs} is copied to {copy}")
    elif datasette:
        print_json(datasette_metadata(runs))
    else:
        with Runs.open(runs) as store:
            stored = store.all()
        if as_json:
            print_json([run_json(run) for run in stored])
            return
        header = ("run", "name", "started", "state", "conversations", "turns", "success by arm")
        rows = []
        for run in stored:
            started, turns = f"{run.created.astimezone():%Y-%m-%d %H:%M}", out_of(run.turns_done, run.turns)
            rates = ", ".join(f"{arm.name} {headline(run.declaration, arm.rated)}" for arm in run.arms)
            rows.append((run.id, run.name or "", started, run.state, len(run.conversations), turns, rates))
        print_table(header, rows)
        print_cautions(stored)


def print_cautions(runs: Iterable[StoredRun]) -> None:
    """Print the remarks on runs whose rates were printed, each remark once with all its runs."""
    remarks: dict[str, list[str]] = {}
    for run in runs:
        if run.declaration.caution:
            remarks.setdefault(run.declaration.caution, []).append(run.id)
    for caution, ids in remarks.items():
        say(f"{', '.join(ids)}: {caution}")


def go_on(context: click.Context, run: str, store: Path) -> None:
    """Continue a run as `rig run --resume` does; like that, it ends the process."""
    resume: click.Command = importlib.import_module("rig.cli.run").command
    with resume.make_context("run", ["--resume", run, "--runs", str(store)], parent=context) as again:
        resume.invoke(again)


def run_json(run: StoredRun) -> JsonObject:
    """Return a run with its arms, without its conversations."""
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


def print_scores(run: StoredRun, scores: list[StoredScore]) -> None:
    """Print one line for each arm and grader."""
    metrics = run.declaration.shown("meters")
    header = ("arm", "grader", "version", "similarity", *(metric.title for metric in metrics))
    rows = []
    for score in scores:
        by = score.grader
        numbers = [measured(metric, score.counts) for metric in metrics]
        rows.append((run.arms[score.arm].name, by.grader, by.grader_version, by.similarity, *numbers))
    print_table(header, rows)


@verb(Viewed, "show")
def show(
    run: str = shared.RUN,
    conversation: str | None = argument(shell_complete=shared.complete_conversations),
    *,
    runs: Path = STORE,
    arms: tuple[str, ...] = option("Show only this arm of the conversation. Repeatable.", "ARM", "--arm"),
    graded_by: str = shared.GRADED_BY,
    as_json: bool = AS_JSON,
) -> None:
    """Show a run's numbers and conversations, or one conversation call by call.

    RUN is an id or its first characters, a name given with --name, or `latest`.
    """
    from rig.store import Runs

    if arms and conversation is None:
        raise RigError("--arm needs a conversation; name it after the run")
    with Runs.open(runs, graded_by) as store:
        stored = store.get(run)
        if conversation is not None:
            print_conversation(store, stored, conversation, arms, as_json=as_json)
        elif as_json:
            print_json(_run_json(store, stored))
        else:
            _show_run(store, stored)


def _run_json(stored: Runs, run: StoredRun) -> JsonObject:
    from rig.show.summary import repeated_arms

    arms = [{**arm.as_json(run.declaration), "fingerprint": arm.fingerprint} for arm in run.arms]
    for arm, repeated in zip(arms, repeated_arms(run, stored.each_cell(run)), strict=False):
        arm |= repeated.as_json()
    return {
        **run_json(run),
        "arms": arms,
        "store": str(stored.path),
        "conversations": [
            {
                "conversation": cell.conversation,
                "arm": run.arms[cell.arm].name,
                "repeat": cell.repeat,
                "state": cell.state,
                "turns": cell.turns,
                "turns_done": cell.turns_done,
                "metrics": cell.counts and run.declaration.as_json(cell.counts),
                "errors": cell.errors,
            }
            for cell in stored.each_cell(run)
        ],
        "scores": [
            {
                "arm": run.arms[score.arm].name,
                **score.grader.as_json(),
                "metrics": run.declaration.as_json(score.counts),
                "error_types": score.error_types,
                "faults": score.faults,
            }
            for score in stored.scores(run)
        ],
    }


def _show_run(stored: Runs, run: StoredRun) -> None:
    from rig.show.summary import repeated_arms, summary, whereabouts

    name = f" ({run.name})" if run.name else ""
    say(f"run {run.id}{name}, {run.created.astimezone():%Y-%m-%d %H:%M}, {run.state}")
    repeated = repeated_arms(run, stored.each_cell(run))
    say(f"\n{summary(run, terminal_width(), repeated)}\n")
    for table in registry.registered().tables.values():
        if text := table(stored, run, terminal_width()):
            say(f"{text}\n")
    columns = [(arm.position, repeat) for arm in run.arms for repeat in range(run.repeats)]
    header = [run.arms[arm].name + (f" #{n + 1}" if run.repeats > 1 else "") for arm, n in columns]
    # Cells come column by column.
    states = (_state(run, cell) for cell in stored.each_cell(run))
    by_column = [list(islice(states, len(run.conversations))) for _ in columns]
    rows = zip(run.conversations, *by_column, strict=True)
    print_table(("conversation", *header), rows, terminal_width() or _WIDEST)
    if len({grader for _, grader in stored.graders(run)}) > 1:
        click.echo("\nall scores")
        print_scores(run, stored.scores(run))
    say(f"\n{whereabouts(run, str(stored.path))}")


_WIDEST = 200
"""The most characters of a line without a terminal, if there are several arms."""


def print_conversation(
    stored: Runs,
    run: StoredRun,
    conversation: str,
    arms: Sequence[str] = (),
    *,
    as_json: bool,
    notes_on: Callable[[StoredRun, Transcript], StepNotes] | None = None,
) -> None:
    """Print a conversation of a run, as these arms played it or all, with notes on its steps."""
    # Listing runs starts faster without the methods that this loads.
    from rig.running.stored_settings import path_of
    from rig.show.transcript import transcript_json, transcript_text

    positions = {run.arm(name).position for name in arms}
    transcripts = [
        stored.transcript(run, conversation, arm.position, repeat)
        for arm in run.arms
        if not arms or arm.position in positions
        for repeat in range(run.repeats)
    ]
    both = [(transcript, notes_on and notes_on(run, transcript)) for transcript in transcripts]
    if as_json:
        as_values = [transcript_json(*pair) for pair in both]
        print_json({"run": run.id, "conversation": conversation, "transcripts": as_values})
    else:
        say("\n\n".join(transcript_text(*pair, path_of(run, pair[0])) for pair in both))
    for caution in dict.fromkeys(notes.caution for _, notes in both if notes and notes.caution):
        click.echo(f"rig: {caution}", err=True)


def _state(run: StoredRun, cell: Cell) -> str:
    """Return in a few words how a conversation went."""
    from rig.show.steps import ended

    errors = "".join(f", {count} {kind}" for kind, count in cell.errors.items())
    if cell.counts is None:
        return f"{out_of(cell.turns_done, cell.turns)} turns{errors}" if cell.turns_done else "-"
    sign = ended(run.declaration, cell.counts, cell.errors).sign
    return f"{sign.label} {run.declaration.brief(cell.counts)}".rstrip() + errors
