"""A judging run as upstream's result files, and its votes read again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from rig.errors import RigError
from rig.judging.method import JudgeSettings, JudgingSetup
from rig.methods import paper
from rig.rescore import settings_of, setup_of
from rig.solutions.decisions import Compared, Judged, Preference, VoteRules, tally
from rig.solutions.judgements import Judgement
from rig.store import Runs, StoredRun


class TaskVotes(NamedTuple):
    """The votes on one judgement: `model` is whose answer was judged, `settings` how."""

    model: str
    task: Judgement
    settings: JudgeSettings
    votes: Sequence[Any]
    """Each a `StatusVote`, or a `PreferenceVote` where there is a reference."""


def read_votes(store: Path, run: StoredRun) -> tuple[VoteRules, list[TaskVotes]]:
    """The votes of the finished judgements of a run. Raises RigError for a run of another kind."""
    setup = setup_of(run)
    if not isinstance(setup, JudgingSetup):
        raise RigError(
            f"run {run.id} is of the method {run.declaration.method}; it holds no votes of a judge"
        )
    settings = cast(tuple[JudgeSettings, ...], settings_of(run))
    votes_of_run = []
    with Runs.open(store) as runs:
        for where, transcript in runs.finished(run):
            task, arm = cast(Judgement, transcript.conversation), settings[where.arm]
            votes = setup.read(task, tuple(transcript.turns.values()), arm)
            votes_of_run.append(TaskVotes(arm.answers, task, arm, votes))
    return setup.rules, votes_of_run


def write_results(store: Path, run: StoredRun, directory: Path, *, raw: bool = False) -> list[Path]:
    """Write upstream's files, of pass rates or preferences, all or none (`rig.methods.paper`)."""
    rules, votes_of_run = read_votes(store, run)
    rows: list[Any] = []
    for model, task, settings, votes in votes_of_run:
        solution, reference = task.answers[model], settings.reference
        if reference:
            won = [vote.winner for vote in votes]
            counts = Preference(won.count(0), won.count(1), won.count(None), len(won))
            pair = task.answers[reference], solution
            rows.append(Compared(task.suite, reference, model, task.own_id, pair, counts))
        elif solution is not None:
            cast_votes = tuple(vote.vote for vote in votes)
            tallied = tally(cast_votes, rules, f"{model}/{task.query_id}")
            of_answer = task.suite, model, task.own_id, solution, cast_votes, tallied, votes[-1].reasons
            rows.append(Judged(*of_answer))
    return paper.toolbench().write_results(rows, directory, raw=raw)
