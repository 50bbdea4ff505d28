"""The finished tasks of a stored run as solutions, and what is known about them without a judge."""

from collections.abc import Iterator
from pathlib import Path

from rig import methods
from rig.errors import RigError
from rig.rescore import settings_of, setup_of
from rig.solutions.judgements import Judgement, joined
from rig.solutions.solution import Finished, Solution, solution_of, tree_of
from rig.store import Runs, StoredRun


def finished(store: Path, text: str) -> tuple[StoredRun, list[Finished]]:
    """A run, and its finished tasks. Raises RigError if there are none."""
    with Runs.open(store) as runs:
        run = runs.get(text)
        tasks = list(_finished(runs, run))
    if not tasks:
        raise RigError(f"run {run.id} has no finished conversation; `rig run --resume {run.id}` continues it")
    return run, tasks


def judgements_of_run(store: Path, text: str, votes: int) -> tuple[StoredRun, list[Judgement]]:
    """What there is to judge in a run: its tasks, each with the answers of all arms."""
    run, rows = finished(store, text)
    answers: dict[str, dict[str, Solution | None]] = {}
    truths: dict[str, dict[str, bool]] = {}
    for row in rows:
        answers.setdefault(row.model, {})[row.name] = row.solution
        if row.success is not None:
            truths.setdefault(row.model, {})[row.name] = row.success
    answered = dict.fromkeys(
        name for name in run.conversations if any(name in answer for answer in answers.values())
    )
    suites = {row.name: row.suite for row in rows}
    if not run.declaration.success:
        truths = {}
    return run, [
        task for name in answered for task in joined(answers, votes, suites[name], truths, ids=[name])
    ]


def _finished(runs: Runs, run: StoredRun) -> Iterator[Finished]:
    method, setup, settings_by_arm = methods.get(run.declaration.method), setup_of(run), settings_of(run)
    role = method.roles[0]
    for where, transcript in runs.finished(run):
        task, turns = transcript.conversation, tuple(transcript.turns.values())
        settings, name = settings_by_arm[where.arm], run.arms[where.arm].name
        tools = method.opening(task, settings, role).tools
        solution: Solution | None
        success: bool | None = None
        search = setup.searched(task, turns, settings)
        tree = tree_of(turns, role, search)
        if setup.is_recorded:
            solution = setup.solution(task, turns, settings)
            tree = solution.details if solution is not None and tree else ()
        else:
            path = setup.path(task, turns, settings)
            solution = solution_of(task, turns, tools, role, search.name if search else method.name, path)
            success = run.declaration.succeeded(transcript.counts or {})
        label = f"{name} repeat {where.repeat + 1}" if where.repeat else name
        yield Finished(label, where.conversation, task.suite, solution, success, tree, search)
