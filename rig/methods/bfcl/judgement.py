"""The score of an entry: right or wrong, counted for its category, and never for all of them together."""

from collections.abc import Iterable, Sequence
from typing import Any

from rig.calls import Json
from rig.episodes import PlayedTurn
from rig.errors import MACHINE
from rig.methods.bfcl.answers import output_of
from rig.methods.bfcl.checker import Wrong, check, has_call, is_calls
from rig.methods.bfcl.data import CATEGORIES, Entry
from rig.methods.bfcl.prompt import Settings
from rig.metrics import Declaration, Metric, Part, Score
from rig.verdicts import CallPlace, Fault, FaultKind, Verdict


def declaration_of(categories: Iterable[str] = CATEGORIES) -> Declaration:
    """A rate for each of these categories."""
    names = set(categories)
    metrics = tuple(
        Metric(name, name.replace("_", " "), f"correct.{name}", f"entries.{name}")
        for name in CATEGORIES
        if name in names
    )
    return Declaration(
        method="bfcl", metrics=metrics, success="correct", outcome=(Part("correct", "right", "entries"),)
    )


def judge(
    entry: Entry, turns: Sequence[PlayedTurn], settings: Settings, *, as_written: bool = False
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


def score_output(entry: Entry, output: Json, settings: Settings, *, failed: bool = False) -> Score:
    """The score of an answer in BFCL's form. `failed` says that generating it ended in an error."""
    calls = len(output) if isinstance(output, list) else 0
    try:
        _check(entry, output, settings)
    except Wrong as wrong:
        return _score(entry, calls, wrong, failed=failed)
    return _score(entry, calls, None)


def _check(entry: Entry, output: Any, settings: Settings) -> None:
    if entry.suite.endswith("irrelevance"):
        if has_call(output):
            raise Wrong("irrelevance_error:decoder_success", "nothing is to be called")
    elif entry.suite.endswith("relevance"):
        if not has_call(output):
            raise Wrong("relevance_error:decoder_failed", "something is to be called")
    elif not is_calls(output):
        raise Wrong("ast_decoder:decoder_wrong_output_format", "no list of calls")
    else:
        check(output, entry.as_truth(underscores=settings.underscores))


def _score(entry: Entry, calls: int, wrong: Wrong | None, *, failed: bool = False) -> Score:
    right = int(wrong is None)
    counts = {"correct": right, "entries": 1, f"correct.{entry.suite}": right, f"entries.{entry.suite}": 1}
    reason = "" if wrong is None else str(wrong)
    numbers = range(calls)
    due = len(entry.truth)
    verdicts = tuple(
        Verdict(wrong is None, CallPlace(0, n) if wrong is None and n < due else None, reason=reason)
        for n in numbers
    )
    if wrong is None:
        return Score(counts, verdicts)
    kind = _fault_kind(wrong, calls, 0 if entry.suite.endswith("irrelevance") else max(due, 1), failed)
    return Score(counts, verdicts, {0: {wrong.kind: 1}}, (Fault(kind, 0, f"{wrong.kind}: {reason}"),))


def _fault_kind(wrong: Wrong, calls: int, due: int, failed: bool) -> FaultKind:
    if failed and calls < due:
        return FaultKind.GENERATION_FAILED
    if calls < due:
        return FaultKind.MISSING_CALL
    if calls > due:
        return FaultKind.UNNEEDED_ACTION
    return FaultKind.WRONG_TOOL if "wrong_func_name" in wrong.kind else FaultKind.WRONG_ARGUMENT
