"""Scores of a stored run, by whoever made them."""

from rig.calls import JsonObject
from rig.cli.output import print_table
from rig.displays.numbers import percent
from rig.store import StoredRun, StoredScore


def score_json(run: StoredRun, score: StoredScore) -> JsonObject:
    """One grader's score of one arm."""
    return {
        "arm": run.arms[score.arm].name,
        **score.grader.as_json(),
        "metrics": score.metrics.as_json(),
        "error_types": score.error_types,
        "faults": score.faults,
    }


def print_scores(run: StoredRun, scores: list[StoredScore]) -> None:
    """One line for each arm and grader."""
    header = ("arm", "grader", "version", "similarity", "success", "recall", "precision", "incorrect")
    print_table(
        header,
        [
            (
                run.arms[score.arm].name,
                score.grader.grader,
                score.grader.grader_version,
                score.grader.similarity,
                percent(score.metrics.success_rate),
                percent(score.metrics.recall),
                percent(score.metrics.precision),
                percent(score.metrics.incorrect_action_rate),
            )
            for score in scores
        ],
    )
