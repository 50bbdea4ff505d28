"""ToolTalk's metrics of one conversation (section 3.4 and Algorithm 2)."""

from collections.abc import Callable, Iterable

from rig.calls import ExecutedCall
from rig.verdicts import Metrics, Verdict


def measure(
    judged: Iterable[tuple[ExecutedCall, Verdict]], ground_truths: int, is_action: Callable[[str], bool]
) -> Metrics:
    """The metrics of one conversation with `ground_truths` calls to be made, by tools of which some act.

    Failed calls of action tools count as actions, as in ToolTalk's code. A conversation that calls for
    nothing is a success when nothing bad was done, and its recall is taken as 1.
    """
    calls = list(judged)
    matches = sum(verdict.match for _, verdict in calls)
    actions = [verdict for call, verdict in calls if is_action(call.name)]
    bad_actions = sum(verdict.bad_action for verdict in actions)
    recall = matches / ground_truths if ground_truths else 1.0
    return Metrics(
        conversations=1,
        successes=int(matches == ground_truths and not bad_actions),
        soft_successes=recall * (1 - bad_actions / len(actions)) if actions else recall,
        predictions=len(calls),
        ground_truths=ground_truths,
        matches=matches,
        actions=len(actions),
        valid_actions=sum(verdict.match for verdict in actions),
        bad_actions=bad_actions,
    )
