"""Score stored predictions or files of them again, without their models, and write stored ones to files."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from rig.errors import RigError
from rig.events import Where
from rig.files import filling, write, writing
from rig.methods import paper
from rig.methods.base import Method, Settings, Setup
from rig.metrics import Score
from rig.rescore.scored import Scored
from rig.rescore.setups import folders_of, settings_of
from rig.store import ConversationScore, GraderInfo, Runs, RunWriter, StoredRun
from rig.tasks import PlayedTurn, Task


def score_run(
    store: Path, run: StoredRun, setup: Setup, take: Callable[[Where, Scored], object] = lambda *_: None
) -> None:
    """Score every finished conversation of a run and store the scores beside those it has.

    Each is given to `take` once its score is stored, arm by arm; nothing of it is kept here. Raises RigError
    when the run is being written by another process, or when the store cannot be written.
    """
    info = GraderInfo.of(setup.grader)
    with RunWriter.claim(store, run.id) as writer:
        for where, scored in scored_again(store, run, setup):
            writer.add_score(where, ConversationScore(info, scored.score))
            take(where, scored)


def scored_again(store: Path, run: StoredRun, setup: Setup) -> Iterator[tuple[Where, Scored]]:
    """Every finished conversation of a run with what a grader makes of it now. Nothing is stored."""
    arms = settings_of(run)
    with Runs.open(store) as runs:
        for where, transcript in runs.finished(run):
            task, turns = transcript.conversation, transcript.turns
            score = _score(task, turns, setup, arms[where.arm])
            yield where, Scored(task, turns, score, run.declaration, where.repeat)


def score_files(place: Path, method: Method, setup: Setup) -> dict[str, list[Scored]]:
    """Score the predictions of a file, or of all files of a folder and of those in it, by folder.

    Files of one task are repeats of it, in the order of their names. Raises RigError if it is not one, and
    where the method reads no such files.
    """
    files = paper.of_method(method.name)
    scored: dict[str, list[Scored]] = {}
    for folder in folders_of(place):
        if not files.holds(folder, method.name):
            continue
        seen: Counter[str] = Counter()
        name = "" if folder == place else folder.relative_to(place).as_posix()
        repeats = scored.setdefault(name, [])
        for task, turns in files.predictions(setup, folder, method.name):
            score = _score(task, turns, setup, setup.settings)
            repeats.append(Scored(task, turns, score, method.declaration, seen[task.name]))
            seen[task.name] += 1
    if not scored:
        raise RigError(f"{place}: holds no predictions of the method {method.name}")
    return scored


def _score(task: Task, turns: Mapping[int, PlayedTurn], setup: Setup, settings: Settings) -> Score:
    return setup.score(task, [turns[index] for index in sorted(turns)], settings)


def export_run(store: Path, run: StoredRun, setup: Setup, directory: Path) -> list[Path]:
    """Write every finished task of a run as the method's upstream reads it.

    An arm's tasks are lines of one file, one repeat after the other; or each is a file, and several arms, and
    repeats, have folders of their own. All are there in the end, or none. Raises RigError if the method
    writes neither, and unless the directory is new or empty and can be written.
    """
    upstream = paper.of_method(run.declaration.method)
    if not upstream.writes:
        raise RigError(f"the method {run.declaration.method} has no files of its own; use csv or jsonl")
    written: list[Path] = []
    lines: dict[Path, TextIO] = {}
    arms = settings_of(run)
    # Of conversations, one is in memory.
    with Runs.open(store) as runs, filling(directory) as folder, ExitStack() as files:
        for where, transcript in runs.finished(run):
            text = upstream.record(transcript.conversation, transcript.turns, arms[where.arm])
            arm = _file_name(run.arms[where.arm].name)
            if upstream.writes == "files":
                own = folder / arm if len(run.arms) > 1 else folder
                own = own / f"repeat-{where.repeat + 1}" if run.repeats > 1 else own
                path = own / f"{_file_name(where.conversation)}.json"
                write(text, path, force=True, folders=True)
                written.append(path)
                continue
            name = upstream.file_of(transcript.conversation)
            path = folder / arm / _file_name(name) if name else folder / f"{arm}.jsonl"
            if path not in lines:
                lines[path] = files.enter_context(writing(path, force=True, folders=True))
            lines[path].write(f"{text}\n")
        if not written and not lines:
            raise RigError(
                f"run {run.id} has no finished conversation; `rig run --resume {run.id}` continues it"
            )
    return [directory / path.relative_to(folder) for path in (*written, *lines)]


def _file_name(name: str) -> str:
    """Any name in a form that can stand in a path."""
    safe = quote(name.encode("utf-8", "backslashreplace"), safe=" ()+,=@")
    return safe.replace(".", "%2E") if not safe.strip(".") else safe
