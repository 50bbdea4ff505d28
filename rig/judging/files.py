"""A judging run as upstream's result files, and its votes read again."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from rig.errors import RigError
from rig.judging.method import PassSetup, Settings, WinSetup
from rig.judging.voting import PreferenceVote, StatusVote
from rig.methods import paper
from rig.rescore import settings_of, setup_of
from rig.solutions.decisions import Compared, Judged, Preference, Rules, tally
from rig.solutions.judgements import Judgement
from rig.store import Runs, StoredRun


class TaskVotes(NamedTuple):
    """The votes on one judgement: `model` is whose answer was judged, `settings` how."""

    model: str
    task: Judgement
    settings: Settings
    votes: Sequence[StatusVote] | Sequence[PreferenceVote]


def read_votes(store: Path, run: StoredRun) -> tuple[Rules, list[TaskVotes]]:
    """The votes of the finished judgements of a run. Raises RigError for a run of another kind."""
    setup = setup_of(run)
    if not isinstance(setup, PassSetup | WinSetup):
        raise RigError(
            f"run {run.id} is of the method {run.declaration.method}; it holds no votes of a judge"
        )
    settings = cast(tuple[Settings, ...], settings_of(run))
    votes_of_run = []
    with Runs.open(store) as runs:
        tasks = {task.name: cast(Judgement, task) for task in runs.conversations(run)}
        for cell in runs.each_cell(run):
            if cell.state != "finished":
                continue
            transcript = runs.transcript(run, cell.conversation, cell.arm, cell.repeat)
            task, arm = tasks[cell.conversation], settings[cell.arm]
            votes = setup.read(task, tuple(transcript.turns.values()), arm)
            votes_of_run.append(TaskVotes(arm.answers, task, arm, votes))
    return setup.rules, votes_of_run


def write_results(store: Path, run: StoredRun, directory: Path, *, raw: bool = False) -> list[Path]:
    """Write upstream's files, of pass rates or preferences, all or none (`rig.methods.paper`)."""
    rules, votes = read_votes(store, run)
    rows = [row for vote in votes for row in _row(vote, rules)]
    return paper.toolbench().write_results(
        cast(Sequence[Judged] | Sequence[Compared], rows), directory, raw=raw
    )


def _row(row: TaskVotes, rules: Rules) -> Iterator[Judged | Compared]:
    """The votes as a row of a file; none on an answer that there is not."""
    task, model, reference = row.task, row.model, row.settings.reference
    if reference:
        won = [vote.winner for vote in cast(Sequence[PreferenceVote], row.votes)]
        counted = Preference(won.count(0), won.count(1), won.count(None), len(won))
        pair = task.answers[reference], task.answers[model]
        yield Compared(task.suite, reference, model, task.own_id, pair, counted)
        return
    solution, votes = task.answers[model], cast(Sequence[StatusVote], row.votes)
    if solution is not None:
        cast_votes = tuple(vote.vote for vote in votes)
        made = tally(cast_votes, rules, f"{model}/{task.query_id}")
        yield Judged(task.suite, model, task.own_id, solution, cast_votes, made, votes[-1].reasons)
