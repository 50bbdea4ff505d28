"""`rig history`: every run of one model file, over time."""

from collections.abc import Sequence
from pathlib import Path

import click

from rig.cli import completion
from rig.cli.options import json_option, runs_option
from rig.cli.output import print_json, print_table, printable
from rig.compare.history import ComparableScores, history, is_hash
from rig.displays.numbers import measured
from rig.engine.files.checksums import sha256_of
from rig.engine.files.registry import resolve
from rig.engine.gguf.info import inspect
from rig.errors import RigError
from rig.paths import runs_file
from rig.store import Runs
from rig.words import counted

_NAMED = 3
"""Settings that are named where several changed."""


@click.command()
@click.argument("model", shell_complete=completion.model_files)
@runs_option()
@json_option()
def command(model: str, runs: Path | None, as_json: bool) -> None:
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
    with Runs.open(runs or runs_file()) as stored:
        hashes, lines = history(stored, sha256)
    if as_json:
        scores = [past.as_json() for line in lines for past in line.scores]
        print_json({"model.file_sha256": hashes[0], "scores": scores})
        return
    if not lines:
        raise RigError(f"no conversation of a run of {model} is scored yet")
    total = sum(len(line.scores) for line in lines)
    click.echo(printable(f"{model}, SHA-256 {hashes[0][:16]}…: {counted(total, 'score')}"))
    for line in lines:
        _print(line)
    if len(lines) > 1:
        click.echo("\nNumbers of different tables are not comparable: the graders differ.")


def _print(line: ComparableScores) -> None:
    metrics = line.declaration.shown("lines")
    header = (
        "run",
        "started",
        "rig",
        "arm",
        "suite",
        "conversations",
        *(m.title for m in metrics),
        "changed",
    )
    click.echo(printable(f"\n{line.declaration.method}, graded by {line.grader}"))
    rows = []
    version = line.scores[0].rig
    for past in line.scores:
        changed = ([f"rig {version} to {past.rig}"] if past.rig != version else []) + _named(past.changed)
        version = past.rig
        rows.append(
            (
                past.run,
                f"{past.created.astimezone():%Y-%m-%d %H:%M}",
                past.rig,
                past.arm,
                ", ".join(filter(None, past.suites)),
                str(past.tasks),
                *(measured(metric, past.counts) for metric in metrics),
                ", ".join(changed),
            )
        )
    print_table(header, rows)


def _named(names: Sequence[str]) -> list[str]:
    short = [name.rpartition(".")[2].replace("_", " ") for name in names[:_NAMED]]
    return [*short, f"{len(names) - _NAMED} more"] if len(names) > _NAMED else short
