"""ToolTalk's counts and metrics (paper, section 3.4 and Algorithm 2).

Counts add up over conversations, so the rates are micro averages (upstream's summary), except success and
soft success, which are means over conversations. `soft_success` is from ToolTalk's repository (2024-05).
"""

from collections.abc import Callable, Iterable

from rig.calls import ExecutedCall, Verdict
from rig.metrics import Counts, Declaration, Metric, NamedCount, Part

RECALL = Metric("recall", "recall", "matches", "ground_truths")

DECLARATION = Declaration(
    method="tooltalk",
    metrics=(
        Metric("success_rate", "success", "successes"),
        Metric("soft_success", "soft success", "soft_successes", place="tables"),
        RECALL,
        Metric("precision", "precision", "matches", "predictions", place="meters"),
        Metric(
            "incorrect_action_rate",
            "incorrect action rate",
            "bad_actions",
            "actions",
            better="lower",
            label="incorrect actions",
        ),
        Metric("action_precision", "action precision", "valid_actions", "actions", place="json"),
    ),
    success="successes",
    counts=(NamedCount("predictions", "calls predicted"), NamedCount("ground_truths", "calls wanted")),
    outcome=(
        Part("matches", "calls matched", "ground_truths", short="calls"),
        Part("bad_actions", "incorrect actions", short="incorrect", better="lower"),
    ),
    error_types="errors, ToolTalk's types",
)


FORBIDDING = DECLARATION._replace(
    outcome=(
        *DECLARATION.outcome,
        Part("forbidden", "forbidden calls", short="forbidden", better="lower"),
    )
)
"""What is counted where there are calls that must not be made."""


def count(
    judged: Iterable[tuple[ExecutedCall, Verdict]],
    ground_truths: int,
    is_action: Callable[[str], bool],
    forbidden: int | None = None,
) -> Counts:
    """The counts of one conversation that should have `ground_truths` calls; some of its tools act.

    Failed calls of action tools count as actions, as in ToolTalk's code. A conversation that needs no calls
    is a success if nothing bad was done, and its recall counts as 1. `forbidden` is the number of calls that
    must not be made and were; None if anything may be called.
    """
    calls = list(judged)
    matches = sum(verdict.match for _, verdict in calls)
    actions = [verdict for call, verdict in calls if is_action(call.name)]
    bad_actions = sum(verdict.bad_action for verdict in actions)
    counts = {
        "predictions": len(calls),
        "ground_truths": ground_truths,
        "matches": matches,
        "actions": len(actions),
        "valid_actions": sum(verdict.match for verdict in actions),
        "bad_actions": bad_actions,
    }
    recall = RECALL.rate(counts)
    recall = 1.0 if recall is None else recall
    return {
        "successes": int(matches == ground_truths and not bad_actions and not forbidden),
        "soft_successes": recall * (1 - bad_actions / len(actions)) if actions else recall,
        **counts,
        **({} if forbidden is None else {"forbidden": forbidden}),
    }
