"""`rig history`: every run of one model file, over time."""

from pathlib import Path

import click

from rig.cli.options import AS_JSON, MODEL, STORE
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import verb
from rig.compare.history import ComparableScores, history, is_hash
from rig.displays.texts import measured
from rig.engine.files.checksums import sha256_of
from rig.engine.files.registry import resolve
from rig.engine.gguf.info import inspect
from rig.errors import RigError, counted
from rig.store import Runs

_NAMED = 3
"""Settings that are named where several changed."""


@verb()
def command(model: str = MODEL, *, runs: Path = STORE, as_json: bool = AS_JSON) -> None:
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
        scores = [past.as_json() for line in lines for past in line.scores]
        print_json({"model.file_sha256": hashes[0], "scores": scores})
        return
    if not lines:
        raise RigError(f"no conversation of a run of {model} is scored yet")
    total = sum(len(line.scores) for line in lines)
    say(f"{model}, SHA-256 {hashes[0][:16]}…: {counted(total, 'score')}")
    for line in lines:
        _print(line)
    if len(lines) > 1:
        click.echo("\nNumbers of different tables are not comparable: the graders differ.")


def _print(line: ComparableScores) -> None:
    metrics = line.declaration.shown("lines")
    columns = ("run", "started", "rig", "arm", "suite", "conversations")
    say(f"\n{line.declaration.method}, graded by {line.grader}")
    rows = []
    version = line.scores[0].rig
    for past in line.scores:
        changed = [f"rig {version} to {past.rig}"] if past.rig != version else []
        changed += [name.rpartition(".")[2].replace("_", " ") for name in past.changed[:_NAMED]]
        if len(past.changed) > _NAMED:
            changed.append(f"{len(past.changed) - _NAMED} more")
        version = past.rig
        about = (past.run, f"{past.created.astimezone():%Y-%m-%d %H:%M}", past.rig, past.arm)
        numbers = [measured(metric, past.counts) for metric in metrics]
        suites = ", ".join(filter(None, past.suites))
        rows.append((*about, suites, past.tasks, *numbers, ", ".join(changed)))
    print_table((*columns, *(metric.title for metric in metrics), "changed"), rows)
