"""ToolTalk's three types of error (section 4.2), counted as its `calculate_error_types.py` does."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

from rig.calls import CallPlace, ExecutedCall, Verdict


class ErrorType(StrEnum):
    """What went wrong in a turn of a failed conversation."""

    PREMATURE_CALL = "premature call"
    """A bad action in a turn that calls for none. Each such call counts."""
    FAULTY_PLANNING = "faulty planning"
    """A tool was left out, was not needed, or was called too often."""
    INCORRECT_INVOCATION = "incorrect invocation"
    """The right tools were called, but not as they should have been."""


def error_types(
    judged: Iterable[tuple[int, ExecutedCall, Verdict]],
    ground_truth: Iterable[tuple[CallPlace, ExecutedCall]],
) -> Mapping[int, Counter[ErrorType]]:
    """The errors of one conversation by turn; none for a success.

    `judged` are its predictions as (turn, call, final verdict), `ground_truth` its calls by their places.
    """
    calls: defaultdict[int, list[tuple[ExecutedCall, Verdict]]] = defaultdict(list)
    for turn, executed, verdict in judged:
        calls[turn].append((executed, verdict))
    held = {verdict.ground_truth for turn in calls.values() for _, verdict in turn}
    due: defaultdict[int, list[str]] = defaultdict(list)
    missed: defaultdict[int, list[str]] = defaultdict(list)
    for position, truth in ground_truth:
        due[position.turn].append(truth.name)
        if position not in held:
            missed[position.turn].append(truth.name)
    bad_actions = any(verdict.bad_action for turn in calls.values() for _, verdict in turn)
    if not missed and not bad_actions:
        return {}
    types: dict[int, Counter[ErrorType]] = {}
    for turn in sorted({*calls, *due}):
        if turn not in due:
            premature = sum(verdict.bad_action for _, verdict in calls[turn])
            types[turn] = +Counter({ErrorType.PREMATURE_CALL: premature})
            continue
        wrong = Counter(executed.name for executed, verdict in calls[turn] if not verdict.match)
        lacking = Counter(missed[turn])
        if wrong or lacking:
            # An inclusion of multisets; equal sets of names, and none called more often than it was missed.
            is_planned = wrong.keys() == lacking.keys() and wrong <= lacking
            types[turn] = Counter(
                [ErrorType.INCORRECT_INVOCATION if is_planned else ErrorType.FAULTY_PLANNING]
            )
    return {turn: errors for turn, errors in types.items() if errors}
