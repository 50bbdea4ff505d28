"""The score of an entry: right or wrong, counted for its category, and never for all of them together."""

from collections.abc import Iterable, Sequence
from typing import cast

from rig.calls import CallPlace, Fault, FaultKind, Json, Verdict
from rig.errors import MACHINE
from rig.methods.bfcl.answers import output_of
from rig.methods.bfcl.checker import Output, Wrong, check, is_calls
from rig.methods.bfcl.data import SingleTurnEntry
from rig.methods.bfcl.prompt import BfclSettings
from rig.metrics import Declaration, Metric, Part, Score
from rig.tasks import PlayedTurn


def rates(method: str, categories: Iterable[str], *outcome: Part) -> Declaration:
    """A rate for each of these categories."""
    metrics = tuple(
        Metric(name, name.replace("_", " "), f"correct.{name}", f"entries.{name}") for name in categories
    )
    right = Part("correct", "right", "entries")
    return Declaration(method=method, metrics=metrics, success="correct", outcome=(right, *outcome))


def judge(
    entry: SingleTurnEntry, turns: Sequence[PlayedTurn], settings: BfclSettings, *, as_written: bool = False
) -> Score:
    """The score of an entry that was played. Calls `as_written` are those that others asked for."""
    calls = [executed.call for turn in turns for executed in turn.executed]
    error = next((turn.error for turn in turns if turn.error), None)
    if error in MACHINE:
        wrong = Wrong("machine", f"no answer could be had: {error}")
        return _score(entry, len(calls), wrong, failed=True)
    output = (
        [{call.name: call.arguments} for call in calls] if as_written else output_of(calls, entry, settings)
    )
    return score_output(entry, output, settings, failed=error is not None)


def score_output(
    entry: SingleTurnEntry, output: Json, settings: BfclSettings, *, failed: bool = False
) -> Score:
    """The score of an answer in BFCL's form. `failed` says that generating it ended in an error."""
    calls = len(output) if isinstance(output, list) else 0
    has_call = is_calls(output) and bool(output)
    try:
        if entry.suite.endswith("irrelevance"):
            if has_call:
                raise Wrong("irrelevance_error:decoder_success", "nothing is to be called")
        elif entry.suite.endswith("relevance"):
            if not has_call:
                raise Wrong("relevance_error:decoder_failed", "something is to be called")
        elif not is_calls(output):
            raise Wrong("ast_decoder:decoder_wrong_output_format", "no list of calls")
        else:
            check(cast(Output, output), entry.as_truth(underscores=settings.underscores))
    except Wrong as wrong:
        return _score(entry, calls, wrong, failed=failed)
    return _score(entry, calls, None)


def _score(entry: SingleTurnEntry, calls: int, wrong: Wrong | None, *, failed: bool = False) -> Score:
    right = int(wrong is None)
    counts = {"correct": right, "entries": 1, f"correct.{entry.suite}": right, f"entries.{entry.suite}": 1}
    reason = "" if wrong is None else str(wrong)
    due = len(entry.truth)
    verdicts = tuple(
        Verdict(wrong is None, CallPlace(0, n) if wrong is None and n < due else None, reason=reason)
        for n in range(calls)
    )
    if wrong is None:
        return Score(counts, verdicts)
    due = 0 if entry.suite.endswith("irrelevance") else max(due, 1)
    if calls < due:
        kind = FaultKind.GENERATION_FAILED if failed else FaultKind.MISSING_CALL
    elif calls > due:
        kind = FaultKind.UNNEEDED_ACTION
    else:
        kind = FaultKind.WRONG_TOOL if "wrong_func_name" in wrong.kind else FaultKind.WRONG_ARGUMENT
    return Score(counts, verdicts, {0: {wrong.kind: 1}}, (Fault(kind, 0, f"{wrong.kind}: {reason}"),))
