"""Score predictions without their models: stored ones, files of them, and what another tool recorded."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from rig.config.options import RunConfig
from rig.core.calls import CallPlace, JsonObject
from rig.core.errors import RigError
from rig.core.events import Where
from rig.core.files import write, writing
from rig.core.metrics import Declaration, Score
from rig.core.tasks import PlayedTurn, Task, numbered
from rig.methods.base import Method, Setup
from rig.plugins.documents.folders import filling
from rig.plugins.papers import paper
from rig.plugins.papers.paper import RecordedRun
from rig.plugins.rescore.setups import folders_of
from rig.running.planning import first_values, recipe_of
from rig.running.stored_settings import settings_of
from rig.store import GraderInfo, NewRun, Runs, RunWriter, StoredRun, check_writable
from rig.store.deletion import new_run_id


@dataclass(frozen=True, slots=True)
class Scored:
    """A conversation, the predictions at its turns, and what a grader makes of them.

    `repeat` counts the times that a run's arm played it.
    """

    conversation: Task
    turns: Mapping[int, PlayedTurn]
    score: Score
    declaration: Declaration
    repeat: int = 0

    @property
    def breakdown(self) -> dict[str, Counter[str]]:
        """How often each kind of failed step, of error, and of fault occurred."""
        steps = (step for played in self.turns.values() for step in played.steps)
        types: Counter[str] = Counter()
        for counts in self.score.error_types.values():
            types.update(counts)
        return {
            "errors": Counter(str(step.prediction.error) for step in steps if step.prediction.error),
            "error_types": types,
            "faults": Counter(str(fault.kind) for fault in self.score.faults),
        }

    def as_json(self) -> JsonObject:
        """Return the metrics, and whether each predicted call and each ground-truth call was matched."""
        score, task = self.score, self.conversation
        calls = [
            {"turn": turn, "step": step, "tool": executed.name}
            for turn, played in sorted(self.turns.items())
            for step, executed in enumerate(played.executed)
        ]
        parts = ("match", "bad_action", "ground_truth", "reason")
        matches = [
            {**call, **{part: getattr(verdict, part) for part in parts}}
            for call, verdict in zip(calls, score.verdicts, strict=bool(score.verdicts))
        ]
        held = {verdict.ground_truth for verdict in score.verdicts}
        truths = [
            {"turn": turn, "call": call, "tool": truth.name, "match": CallPlace(turn, call) in held}
            for turn in sorted({*task.known_turns, *self.turns})
            for call, truth in enumerate(task.expected(turn).calls)
        ]
        types = [
            {"turn": turn, "type": kind, "errors": count}
            for turn, counts in score.error_types.items()
            for kind, count in counts.items()
        ]
        return {
            "conversation": task.name,
            "repeat": self.repeat,
            "success": self.declaration.succeeded(score.counts),
            "metrics": self.declaration.as_json(score.counts),
            "matches": [numbered(match, task) for match in matches],
            "ground_truth": [numbered(truth, task) for truth in truths],
            "errors": self.breakdown["errors"],
            "error_types": [numbered(kind, task) for kind in types],
            "faults": [numbered(fault.as_json(), task) for fault in score.faults],
        }


def score_run(
    store: Path, run: StoredRun, setup: Setup, take: Callable[[Where, Scored], object] = lambda *_: None
) -> None:
    """Score every finished conversation of a run and store the scores beside those it has.

    Each is passed to `take` once its score is stored, arm by arm; nothing is kept here. Raises RigError when
    the run is being written by another process, when the store cannot be written, or, before anything is
    stored, when the grader cannot score a task.
    """
    with Runs.open(store) as runs:
        for task in runs.conversations(run):
            setup.require_gradable(task)
    with RunWriter.claim(store, run.id, GraderInfo.of(setup.grader)) as writer:
        for where, scored in scored_again(store, run, setup):
            writer.add_score(where, scored.score)
            take(where, scored)


def scored_again(store: Path, run: StoredRun, setup: Setup) -> Iterator[tuple[Where, Scored]]:
    """Yield every finished conversation of a run with what a grader makes of it now. Nothing is stored."""
    arms = settings_of(run)
    with Runs.open(store) as runs:
        for where, transcript in runs.transcripts(run):
            task, turns = transcript.conversation, transcript.turns
            score = setup.scored(task, [turns[index] for index in sorted(turns)], arms[where.arm])
            yield where, Scored(task, turns, score, run.declaration, where.repeat)


def score_files(place: Path, method: Method, setup: Setup) -> dict[str, list[Scored]]:
    """Score the predictions in a file, or in a folder and the folders below it, by folder.

    Files of the same task are its repeats, in the order of their names. Raises RigError for a file that is
    not one, and if the method reads no such files.
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
            setup.require_gradable(task)
            score = setup.scored(task, [turns[index] for index in sorted(turns)], setup.settings)
            repeats.append(Scored(task, turns, score, method.declaration, seen[task.name]))
            seen[task.name] += 1
    if not scored:
        raise RigError(f"{place}: holds no predictions of the method {method.name}")
    return scored


def export_run(store: Path, run: StoredRun, setup: Setup, directory: Path) -> list[Path]:
    """Write every finished task of a run in the format of the method's upstream.

    An arm's tasks are lines of one file, one repeat after the other; or each is a file, and several arms or
    repeats have their own folders. Either all files are written or none. Raises RigError if the method writes
    neither, and unless the directory is new or empty and can be written.
    """
    upstream = paper.of_method(run.declaration.method)
    if not upstream.writes:
        raise RigError(f"the method {run.declaration.method} has no files of its own; use csv or jsonl")
    written: list[Path] = []
    lines: dict[Path, TextIO] = {}
    arms = settings_of(run)
    # Only one conversation is in memory at a time.
    with Runs.open(store) as runs, filling(directory) as folder, ExitStack() as files:
        for where, transcript in runs.transcripts(run):
            task, settings, arm = transcript.conversation, arms[where.arm], run.arms[where.arm].name
            text = upstream.record(task, transcript.turns, settings, setup)
            if upstream.writes == "files":
                own = folder / _file_name(arm) if len(run.arms) > 1 else folder
                own = own / f"repeat-{where.repeat + 1}" if run.repeats > 1 else own
                path = own / f"{_file_name(where.conversation)}.json"
                write(text, path, force=True, folders=True)
                written.append(path)
                continue
            path = folder.joinpath(*map(_file_name, upstream.file_of(task, arm, settings)))
            if path not in lines:
                lines[path] = files.enter_context(writing(path, force=True, folders=True))
            lines[path].write(f"{text}\n")
        if not written and not lines:
            raise RigError(
                f"run {run.id} has no finished conversation; `rig run --resume {run.id}` continues it"
            )
    return [directory / path.relative_to(folder) for path in (*written, *lines)]


def _file_name(name: str) -> str:
    """Return any name in a form that can be part of a path."""
    safe = quote(name.encode("utf-8", "backslashreplace"), safe=" ()+,=@")
    return safe.replace(".", "%2E") if not safe.strip(".") else safe


def import_run(store: Path, method: Method, recorded: RecordedRun, name: str | None = None) -> str:
    """Store a recorded run, scored by the method, and return its id. Raises RigError if that fails."""
    check_writable(store)
    config = RunConfig.of(method=method.name, set=recorded.options)
    values = first_values(config, method)
    setup = method.ready(values)
    tasks: dict[str, Task] = {task.name: task for task in recorded.tasks}
    run = new_run_id(store)
    recipe = {**recipe_of(config, ()), "models": [arm.name for arm in recorded.arms]}
    repeats = max((repeat for arm in recorded.arms for _, repeat, _ in arm.episodes), default=0) + 1
    arms = tuple(arm.name for arm in recorded.arms)
    new = NewRun(run, name, recipe, arms, tuple(tasks.values()), method.declaration, repeats)
    with RunWriter.create(store, new, GraderInfo.of(setup.grader)) as writer:
        for position, arm in enumerate(recorded.arms):
            writer.arm_ready(position, arm.fingerprint, 0.0)
            for task, repeat, turns in arm.episodes:
                score = setup.scored(tasks[task], turns, arm.settings)
                writer.commit_episode(Where(position, task, repeat), turns, score)
        writer.finish()
    return run
