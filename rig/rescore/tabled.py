"""The scores of a run as methods take them to make tables of."""

from collections import defaultdict
from collections.abc import Iterator

from rig.methods.base import ArmScore
from rig.metrics import Counts
from rig.store import Runs, StoredRun


def arm_scores(runs: Runs, run: StoredRun) -> Iterator[ArmScore]:
    """Every score of a run: arm by arm, suite by suite, by each grader, with the counts of each task."""
    scores = runs.suite_scores(run)
    by_task: dict[tuple[object, int], dict[str, list[Counts]]] = {}
    for grader in dict.fromkeys(score.grader for score in scores):
        for cell in runs.scored_cells(run, grader):
            tasks = by_task.setdefault((grader, cell.arm), defaultdict(list))
            tasks[cell.conversation].append(cell.counts)
    for score in scores:
        yield score.of(run.arms[score.arm], by_task.get((score.grader, score.arm), {}))
