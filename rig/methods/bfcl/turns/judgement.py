"""The score of an entry of several turns: the states and the results of its calls, turn by turn."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rig.calls import Call, Fault, FaultKind, Verdict
from rig.methods.bfcl.turns.classes import Instances, PythonCall
from rig.methods.bfcl.turns.data import MultiTurnEntry
from rig.metrics import Score
from rig.tasks import PlayedTurn

VERSION = "1"
"""Raised whenever a change can change a verdict; stored with every score."""


def fault_of(talk: MultiTurnEntry, calls: Sequence[Sequence[Call]], code: Path) -> tuple[int, str] | None:
    """The first turn that is wrong, and why; None if all are right.

    `calls` are those of each turn that was played. A turn in which nothing is due is not judged.
    """
    world, truth = (Instances(code, talk.involved, talk.config, long=talk.is_long) for _ in range(2))
    results: list[str] = []
    for turn, due in enumerate(talk.truth):
        if turn >= len(calls):
            return turn, "multi_turn:force_terminated: the entry was given up before"
        for call in calls[turn]:
            arguments = call.arguments if isinstance(call.arguments, dict) else {"": call.arguments}
            results.append(world.call(PythonCall(call.name, (), arguments)))
        expected = [truth.call(call) for call in due]
        if not due:
            continue
        if not calls[turn]:
            return turn, "multi_turn:empty_turn_model_response: nothing was called"
        if wrong := list(world.differences(truth)):
            return turn, f"multi_turn:instance_state_mismatch: {', '.join(wrong)}"
        if missing := Counter(expected) - Counter(results):
            lacking = next(iter(missing))[:200]
            return turn, f"multi_turn:execution_response_mismatch: no call gave {lacking}"
    return None


def judge(talk: MultiTurnEntry, turns: Sequence[PlayedTurn], code: Path) -> Score:
    """The score of an entry that was played. One that was given up in a turn is not judged beyond it."""
    calls = [[executed.call for executed in turn.executed] for turn in turns]
    stopped = next((number for number, turn in enumerate(turns) if turn.error), None)
    fault = fault_of(talk, calls if stopped is None else calls[:stopped], code)
    right = int(fault is None)
    counts = {
        "correct": right,
        "entries": 1,
        "turns": len(talk.truth),
        "turns_right": len(talk.truth) if fault is None else fault[0],
        f"correct.{talk.suite}": right,
        f"entries.{talk.suite}": 1,
    }
    reasons = (
        "" if fault is None or turn < fault[0] else fault[1]
        for turn, calls_of_turn in enumerate(calls)
        for _ in calls_of_turn
    )
    verdicts = tuple(Verdict(not reason, reason=reason) for reason in reasons)
    if fault is None:
        return Score(counts, verdicts)
    turn, reason = fault
    kind = reason.split(": ")[0]
    return Score(counts, verdicts, {turn: {kind: 1}}, (Fault(FaultKind.WORLD_DIFFERS, turn, reason),))
