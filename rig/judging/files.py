"""A judging run as upstream's result files, and its votes read again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

from rig.calls import JsonObject
from rig.errors import RigError
from rig.files import filling
from rig.judging.decisions import Rules, tally
from rig.judging.judgements import Judgement
from rig.judging.method import PassSetup, Settings, WinSetup
from rig.judging.metrics import PASSES
from rig.judging.toolbench.tables import (
    Judged,
    Preference,
    pass_json,
    pass_table,
    preference_json,
    preference_table,
)
from rig.judging.voting import PreferenceVote, StatusVote
from rig.rescore import settings_of, setup_of
from rig.solutions.answers import file_name, write_text
from rig.store import Runs, StoredRun


class Votes(NamedTuple):
    """The votes on one judgement: `model` is whose answer was judged, `settings` how."""

    model: str
    task: Judgement
    settings: Settings
    votes: Sequence[StatusVote] | Sequence[PreferenceVote]


def read_votes(store: Path, run: StoredRun) -> tuple[Rules, list[Votes]]:
    """The votes of the finished judgements of a run. Raises RigError for a run of another kind."""
    setup = setup_of(run)
    if not isinstance(setup, PassSetup | WinSetup):
        raise RigError(
            f"run {run.id} is of the method {run.declaration.method}; it holds no votes of a judge"
        )
    settings = cast(tuple[Settings, ...], settings_of(run))
    found = []
    with Runs.open(store) as runs:
        tasks = {task.name: cast(Judgement, task) for task in runs.conversations(run)}
        for cell in runs.each_cell(run):
            if cell.state != "finished":
                continue
            transcript = runs.transcript(run, cell.conversation, cell.arm, cell.repeat)
            task, arm = tasks[cell.conversation], settings[cell.arm]
            votes = setup.read(task, tuple(transcript.turns.values()), arm)
            found.append(Votes(arm.answers, task, arm, votes))
    return setup.rules, found


def write_results(store: Path, run: StoredRun, directory: Path, *, raw: bool = False) -> list[Path]:
    """Write upstream's files, of pass rates or preferences, all or none.

    What a spreadsheet would execute in a table is made inert, unless it is wanted `raw`. Raises RigError
    unless the directory is new or empty.
    """
    rules, votes = read_votes(store, run)
    is_pass = run.declaration.method == PASSES.method
    groups: dict[tuple[str, str], list[Votes]] = {}
    for each in votes:
        groups.setdefault((each.task.suite or "answers", each.model), []).append(each)
    written = []
    with filling(directory) as folder:
        for (test_set, model), rows in groups.items():
            texts = _pass_texts(rows, model, rules, raw) if is_pass else _win_texts(rows, model, raw)
            others = () if is_pass else (rows[0].settings.reference,)
            stem = file_name("_".join((test_set, *others, model)))
            for name, text in zip((f"{stem}.json", f"{stem}.csv"), texts, strict=True):
                write_text(folder / name, text)
                written.append(directory / name)
    return written


def _pass_texts(rows: Sequence[Votes], model: str, rules: Rules, raw: bool) -> tuple[str, str]:
    judged = {}
    for task, votes in ((row.task, cast(Sequence[StatusVote], row.votes)) for row in rows):
        solution = task.answers[model]
        if solution is not None:
            cast_votes = tuple(each.vote for each in votes)
            made = tally(cast_votes, rules, f"{model}/{task.query_id}")
            judged[task.own_id] = Judged(solution, cast_votes, made, votes[-1].reasons)
    text = pass_json(judged)
    rows_of: dict[str, JsonObject] = json.loads(text)
    passes = {name: each.tally.passes for name, each in judged.items()}
    return text, pass_table(rows_of, model, passes=passes, raw=raw)


def _win_texts(rows: Sequence[Votes], model: str, raw: bool) -> tuple[str, str]:
    reference = rows[0].settings.reference
    preferences, solutions = {}, {}
    for row in rows:
        votes = cast(Sequence[PreferenceVote], row.votes)
        won = [vote.winner for vote in votes]
        counted = Preference(won.count(0), won.count(1), won.count(None), len(won))
        preferences[row.task.own_id] = counted
        pair = row.task.answers[reference], row.task.answers[model]
        if pair[0] is not None and pair[1] is not None:
            solutions[row.task.own_id] = pair[0], pair[1]
    table = {name: vote for name, vote in preferences.items() if name in solutions}
    return preference_json(preferences, reference, model), preference_table(
        table, solutions, reference, model, raw=raw
    )
