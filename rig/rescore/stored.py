"""Scoring a stored run again without its models, and writing it as ToolTalk's prediction files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from urllib.parse import quote

from rig.errors import RigError
from rig.events import Where
from rig.methods.base import Recording, Setup
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.metrics import DECLARATION
from rig.rescore.files import with_predictions
from rig.rescore.scored import Scored, score_turns
from rig.store import ConversationScore, GraderInfo, Runs, RunWriter, StoredRun, Transcript


def score_run(store: Path, run: StoredRun, setup: Setup) -> dict[str, list[Scored]]:
    """Score every finished conversation of a run, by arm, and store the scores beside those it has.

    Raises RigError when the run is being written by another process, or when the store cannot be written.
    """
    info = GraderInfo.of(setup.grader)
    with RunWriter.claim(store, run.id) as writer:
        with Runs.open(store) as runs:
            transcripts = list(_finished(runs, run))
        found: dict[str, list[Scored]] = {arm.name: [] for arm in run.arms}
        for where, transcript in transcripts:
            scored = score_turns(
                transcript.conversation, transcript.turns, setup, run.declaration, where.repeat
            )
            writer.add_score(where, ConversationScore(info, scored.score))
            found[run.arms[where.arm].name].append(scored)
    return found


def export_run(store: Path, run: StoredRun, directory: Path) -> list[Path]:
    """Write every finished conversation of a run as a prediction file.

    The files of one arm go into the directory itself; several arms, and repeats, have folders of their own.
    Raises RigError unless the directory is new or empty and can be written.
    """
    _require_empty(directory)
    if run.declaration.method != DECLARATION.method:
        raise RigError(
            f"run {run.id} is of the method {run.declaration.method}; prediction files are ToolTalk's"
        )
    written = []
    with Runs.open(store) as runs:
        for where, transcript in _finished(runs, run):
            folder = directory
            if len(run.arms) > 1:
                folder /= _file_name(run.arms[where.arm].name)
            if run.repeats > 1:
                folder /= f"repeat-{where.repeat + 1}"
            path = folder / f"{_file_name(where.conversation)}.json"
            _write(
                path,
                json.dumps(
                    with_predictions(cast(Conversation, transcript.conversation), transcript.turns), indent=4
                ),
            )
            written.append(path)
    return _some(written, run)


def export_lines(store: Path, run: StoredRun, setup: Setup, directory: Path) -> list[Path]:
    """Write every finished task of a run as a line, with a file for each arm, one repeat after the other.

    Raises RigError where the method has no such lines, and unless the directory is new or empty and can be
    written.
    """
    _require_empty(directory)
    if not isinstance(setup, Recording):
        raise RigError(f"the method {run.declaration.method} has no lines to write")
    lines: dict[Path, list[str]] = {}
    with Runs.open(store) as runs:
        for where, transcript in sorted(_finished(runs, run), key=lambda each: each[0].repeat):
            path = directory / f"{_file_name(run.arms[where.arm].name)}.jsonl"
            line = setup.line(transcript.conversation, tuple(transcript.turns.values()))
            lines.setdefault(path, []).append(line)
    for path, each in lines.items():
        _write(path, "".join(f"{line}\n" for line in each))
    return _some(list(lines), run)


def _require_empty(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise RigError(f"{directory}: exists and is not an empty directory; choose a new one")


def _some(written: list[Path], run: StoredRun) -> list[Path]:
    if not written:
        raise RigError(
            f"run {run.id} has no finished conversation; `rig run --resume {run.id}` goes on with it"
        )
    return written


def _finished(runs: Runs, run: StoredRun) -> Iterator[tuple[Where, Transcript]]:
    for cell in runs.cells(run):
        if cell.state == "finished":
            transcript = runs.transcript(run, cell.conversation, cell.arm, cell.repeat)
            yield Where(cell.arm, cell.conversation, cell.repeat), transcript


def _file_name(name: str) -> str:
    """A name as it can stand in a path, whatever is in it."""
    safe = quote(name.encode("utf-8", "backslashreplace"), safe=" ()+,=@")
    return safe.replace(".", "%2E") if not safe.strip(".") else safe


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror}") from error
