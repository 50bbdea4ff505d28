"""`rig history`: every run of one model file, over time."""

from __future__ import annotations

from pathlib import Path

import click

from rig.cli.options import AS_JSON, MODEL, STORE
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import verb
from rig.core.errors import RigError, counted
from rig.show.texts import measured

_PLAYED = ("run", "started", "rig", "arm", "suite", "conversations")
_NAMED = 3
"""The most changed settings that are named."""


@verb()
def history_of_model(model: str = MODEL, *, runs: Path = STORE, as_json: bool = AS_JSON) -> None:
    """Show every run of one model file, over time.

    MODEL is a name from `rig models list`, the path of a .gguf file, or the first 8 or more characters of its
    SHA-256. rig recognizes a file by its content, even if it had another name at the time of the run.

    There is one table for each version of a grader, because you cannot compare the scores of different
    graders. `rig score RUN` adds a score by the current version to an old run. The last column names what
    changed since the row above: the version of rig, the suite, or a setting.
    """
    from rig.compare.leaks import leak_text
    from rig.plugins.llama.files.caches import sha256_of
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import resolve
    from rig.plugins.ranking.history import history, is_hash
    from rig.store import Runs

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
    say(f"{model}, SHA-256 {hashes[0][:16]}…: {counted(sum(map(len, lines)), 'score')}")
    for line in lines:
        first = line[0]
        metrics, version = first.run.declaration.shown("lines"), first.run.rig
        say(f"\n{first.run.declaration.method}, graded by {first.score.grader}")
        rows = []
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
        titles = (metric.title for metric in metrics)
        print_table((*_PLAYED, *titles, "changed"), rows)
    leaks = {f"{past.run.id}/{past.arm}": past.leaks for line in lines for past in line if past.leaks}
    for name, tasks in leaks.items():
        say(leak_text(name, tasks, "that it played"))
    if len(lines) > 1:
        click.echo("\nNumbers of different tables are not comparable: the graders differ.")
