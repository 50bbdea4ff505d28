"""A stored conversation as text for people, and as JSON."""

import json
from dataclasses import asdict, fields

from rig.calls import ExecutedCall, Json, JsonObject, without_token
from rig.conversations import Turn
from rig.episodes import Step
from rig.rescore import Effect, Effects
from rig.store import Transcript
from rig.toolbox.diff import ColumnChange, RecordChange

_LONGEST = 2000
"""Characters shown of one value; `--json` has all of it."""


def transcript_text(transcript: Transcript, effects: Effects | None = None) -> str:
    """What was said, called, answered and judged, turn by turn, with the ground truth beside it.

    With `effects`, what each call did to the world is below it.
    """
    conversation = transcript.conversation
    metadata = conversation.metadata
    repeat = f" #{transcript.repeat + 1}" if transcript.repeat else ""
    lines = [
        f"{conversation.name}, {transcript.arm}{repeat}: {_outcome(transcript)}",
        f"{metadata.timestamp}, {metadata.location}, {metadata.username or 'nobody is logged in'}",
    ]
    matched = _matched(transcript)
    for index, turn in enumerate(conversation.turns):
        lines.append("")
        if turn.role == "user":
            lines.append(f"user: {turn.text}")
            continue
        lines.append(f"turn {index}")
        played = transcript.turns.get(index)
        for number, step in enumerate(played.steps if played else ()):
            lines += [f"  {line}" for line in _step(number, step)]
            if effects is not None and (index, number) in effects.by_call:
                lines += [f"     {line}" for line in effect_lines(effects.by_call[index, number])]
        if played is None:
            lines.append("  not played yet")
        lines += [f"  {line}" for line in _truth(index, turn, matched)]
        faults = (fault for fault in transcript.faults if fault.turn == index)
        lines += [f"  fault: {fault.kind}: {fault.text}" for fault in faults]
    return "\n".join(lines)


def _outcome(transcript: Transcript) -> str:
    counts, declaration = transcript.counts, transcript.declaration
    if counts is None:
        done, turns = len(transcript.turns), len(transcript.conversation.assistant_turns)
        return f"{done} of {turns} turns played"
    verdict = "pass" if declaration.succeeded(counts) else "fail"
    return ", ".join(filter(None, (verdict, declaration.text(counts))))


def _matched(transcript: Transcript) -> dict[tuple[int, int], tuple[int, int]]:
    """For each ground-truth call that was matched, the turn and step that did."""
    return {
        step.verdict.ground_truth: (turn, number)
        for turn, played in transcript.turns.items()
        for number, step in enumerate(played.steps)
        if step.verdict and step.verdict.ground_truth
    }


def _step(number: int, step: Step) -> list[str]:
    prediction, executed, verdict = step.prediction, step.executed, step.verdict
    raw = _short(prediction.raw)
    source = "" if prediction.reply == prediction.raw.strip() else f" from: {raw}"
    salvaged = [f"   salvaged ({prediction.salvage}){source}"] if prediction.salvage else []
    if prediction.reply is not None:
        return [f"{number}. reply: {_short(prediction.reply)}", *salvaged]
    if executed is None or verdict is None:
        error = f"{number}. error: {prediction.error}: {prediction.error_detail}"
        return [error, *(salvaged or [f"   raw: {raw}"])]
    judged = "match" if verdict.match else "INCORRECT ACTION" if verdict.bad_action else "no match"
    lines = [
        f"{number}. call: {_call(executed)}",
        *salvaged,
        f"   {_answer(executed)}",
        f"   {judged}: {verdict.reason}",
    ]
    for difference in verdict.differences:
        if difference.similarity is not None:
            lines.append(f"     {difference.what} expected: {_value(difference.expected)}")
            lines.append(f"     {difference.what} got:      {_value(difference.got)}")
    return lines


def effect_lines(effect: Effect) -> list[str]:
    """What a call did to the world, a line for each record, the simulator's own state left out."""
    lines = [_record(change) for change in effect.diff.changes if not change.is_bookkeeping]
    if effect.diff.omitted:
        lines.append(f"and {effect.diff.omitted} more records")
    if effect.differs:
        lines.append("executed again, this call gives another response than the one stored")
    return [f"world: {line}" for line in lines or ["no record changed"]]


def _record(change: RecordChange) -> str:
    key = " ".join(_short(value) if isinstance(value, str) else _value(value) for _, value in change.key)
    columns = "; ".join(map(_column, change.columns)) or "the record"
    return f"{change.kind} {change.table} {key}: {columns}"


def _column(column: ColumnChange) -> str:
    parts = [_value(value) for value in (column.before, column.after) if value is not None]
    return f"{column.name} {' -> '.join(parts) if len(parts) == 2 else ''.join(parts)}"


def _truth(index: int, turn: Turn, matched: dict[tuple[int, int], tuple[int, int]]) -> list[str]:
    lines = []
    for number, call in enumerate(turn.calls):
        place = matched.get((index, number))
        found = "missed" if place is None else f"matched in turn {place[0]}, step {place[1]}"
        lines += [f"wanted: {_call(call)} ({found})", f"   {_answer(call)}"]
    return [*lines, f"wanted: reply: {turn.text}"]


def _call(executed: ExecutedCall) -> str:
    return f"{executed.name} {_value(without_token(executed.arguments))}"


def _answer(executed: ExecutedCall) -> str:
    if executed.exception is not None:
        return f"failed: {_short(executed.exception)}"
    return f"gave: {_value(executed.response)}"


def _value(value: Json) -> str:
    return _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    text = text.replace("\n", "\\n")  # of a reply, or of an answer that no grammar kept on one line
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def transcript_json(transcript: Transcript, effects: Effects | None = None) -> JsonObject:
    """All that is stored of a conversation, with its ground truth; with `effects`, those of its calls."""
    matched = _matched(transcript)
    turns: list[JsonObject] = []
    for index, turn in enumerate(transcript.conversation.turns):
        shown: JsonObject = {"turn": index, "role": turn.role, "text": turn.text}
        if turn.role == "assistant":
            played = transcript.turns.get(index)
            shown["ground_truth"] = [
                {**call.as_json(), "match": (index, number) in matched}
                for number, call in enumerate(turn.calls)
            ]
            shown["steps"] = None if played is None else [_step_json(step) for step in played.steps]
            if effects is not None and played is not None:
                for number in range(len(played.executed)):
                    shown["steps"][number]["effect"] = effects.by_call[index, number].as_json()
            shown["faults"] = [fault.as_json() for fault in transcript.faults if fault.turn == index]
        turns.append(shown)
    return {
        "arm": transcript.arm,
        "repeat": transcript.repeat,
        "metrics": transcript.counts and transcript.declaration.as_json(transcript.counts),
        "turns": turns,
    }


def _step_json(step: Step) -> JsonObject:
    prediction = step.prediction
    shown: JsonObject = {
        "kind": prediction.kind,
        **{field.name: getattr(prediction, field.name) for field in fields(prediction)},
        # `asdict` of the whole would recurse into arguments, which a model may have nested deeply.
        "call": prediction.call and {"name": prediction.call.name, "arguments": prediction.call.arguments},
        "usage": asdict(prediction.usage),
    }
    if step.executed and step.verdict:
        shown["executed"] = step.executed.as_json()
        shown["verdict"] = step.verdict.as_json()
    return shown
