"""A stored conversation as text for people, and as JSON."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, fields

from rig.calls import Json, JsonObject
from rig.displays import signs
from rig.displays.clip import Clip, clip, clip_json
from rig.displays.steps import (
    Called,
    Failed,
    Judged,
    Replied,
    StepView,
    again,
    ended,
    errors_of,
    expected,
    repeats,
    step_view,
)
from rig.displays.trees import back, branches, parent_of
from rig.episodes import Step
from rig.rescore import Effect, Effects
from rig.solutions.solution import FINISH, GIVE_ANSWER
from rig.store import Transcript
from rig.tasks import Task, numbered, turn_number
from rig.toolbox.diff import ColumnChange, RecordChange
from rig.toolbox.rules import is_optional
from rig.verdicts import CallPlace, StepPlace
from rig.words import counted

_LONGEST = 2000
"""Characters shown of one value; `--json` has all of it."""
_SHORT = 60
"""Characters shown of it in an outline."""


def transcript_text(
    transcript: Transcript, effects: Effects | None = None, path: Container[StepPlace] = ()
) -> str:
    """What was said, called, answered and judged, turn by turn, with the ground truth beside it.

    With `effects`, what each call did to the world is below it. Where steps are a tree, `path` are those
    that lead to the answer.
    """
    task = transcript.conversation
    repeat = f" #{transcript.repeat + 1}" if transcript.repeat else ""
    lines = [
        f"{task.name}, {transcript.arm}{repeat}: {_outcome(transcript)}",
        ", ".join(task.facts.values()),
    ]
    matched = _matched(transcript)
    for index in transcript.turn_numbers:
        lines += _said(task.expected(index).said)
        lines += ["", f"turn {turn_number(task, index)}"]
        played = transcript.turns.get(index)
        steps = played.steps if played else ()
        lines += [f"  {line}" for line in _outline(index, steps, path)]
        before: StepView | None = None
        same = 0
        for number, step in enumerate(steps):
            went = back(index, number, step)
            view = step_view(index, number, step, _LONGEST)
            if before is not None and effects is None and went is None and repeats(before, view):
                same += 1
                lines[-1:] = [] if same > 1 else lines[-1:]
                lines.append(f"     {again(same)}")
                continue
            before, same = view, 0
            lines += [f"  {went.sign.label}: {went.text}"] if went else []
            lines += [f"  {line}" for line in _step(view)]
            effect = effects.by_call.get(StepPlace(index, number)) if effects else None
            lines += [f"     {line}" for line in (effect_lines(effect) if effect else ())]
        if played is None:
            lines.append("  not played yet")
        lines += [f"  {line}" for line in _truth(task, index, matched, over=played is not None)]
        faults = (fault for fault in transcript.faults if fault.turn == index)
        lines += [f"  fault: {fault.kind}: {fault.text}" for fault in faults]
    return "\n".join([*lines, *_said(task.closing)])


def _outline(index: int, steps: Sequence[Step], path: Container[StepPlace]) -> list[str]:
    """The steps of a turn as a tree, where they are one: what follows on what, and what led to the answer."""
    lines = []
    for number, drawn in branches(steps):
        view = step_view(index, number, steps[number], _SHORT)
        label = f"{view.made.sign.label}: " if not isinstance(view.made, Called) else ""
        arguments = f" {_line(view.made.arguments)}" if isinstance(view.made, Called) else ""
        mark = " *" if StepPlace(index, number) in path else ""
        lines.append(f"{drawn}{number + 1}.{mark} {label}{_line(clip(view.words, _SHORT))}{arguments}")
    on_path = [step for number, step in enumerate(steps) if StepPlace(index, number) in path]
    legend = (
        "lead to the answer" if on_path and _is_answer(on_path[-1]) else "were tried last, without an answer"
    )
    legend = f"; those with * {legend}" if on_path else ""
    return [f"tree of {counted(len(lines), 'step')}{legend}:", *lines, ""] if lines else []


def _is_answer(step: Step) -> bool:
    """Whether a step of a search gives an answer that counts."""
    call, executed = step.prediction.call, step.executed
    if call is None or call.name != FINISH or not isinstance(call.arguments, dict):
        return False
    is_refused = executed is not None and executed.exception is not None
    return call.arguments.get("return_type") == GIVE_ANSWER and not is_refused


def _said(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in ("", f"{signs.USER.label}: {text}")]


def _outcome(transcript: Transcript) -> str:
    if transcript.counts is None:
        done, turns = len(transcript.turns), len(transcript.conversation.known_turns)
        return f"{done}{f' of {turns}' if turns else ''} turns played"
    end = ended(transcript.declaration, transcript.counts, errors_of(transcript.turns.values()))
    return ", ".join(filter(None, (end.sign.label, end.text)))


def _matched(transcript: Transcript) -> dict[CallPlace, StepPlace]:
    """For each ground-truth call that was matched, the step that did."""
    return {
        step.verdict.ground_truth: StepPlace(turn, number)
        for turn, played in transcript.turns.items()
        for number, step in enumerate(played.steps)
        if step.verdict and step.verdict.ground_truth
    }


def _step(view: StepView) -> list[str]:
    answer, label = view.made, f"{view.step + 1}. {view.made.sign.label}"
    salvaged = [f"   salvaged ({view.salvage}){_source(view)}"] if view.salvage else []
    match answer:
        case Called():
            lines = [f"{label}: {_call(answer)}", *salvaged]
        case Replied():
            lines = [f"{label}: {_line(answer.text)}", *salvaged]
        case Failed():
            lines = [f"{label}: {answer.why}", *(salvaged or [f"   raw: {_line(view.raw)}"])]
    if view.thought is not None:
        lines.insert(0, f"   {view.thought.sign.label}, {view.thought.words} {_line(view.thought.text)}")
    if view.returned is not None:
        lines.append(f"   {view.returned.sign.label}: {_line(view.returned.text)}")
    return [*lines, *(_judged(view.judged) if view.judged is not None else [])]


def _source(view: StepView) -> str:
    """What a salvaged answer was read from; of a reply that is all that was written, nothing."""
    is_all = isinstance(view.made, Replied) and view.made.text.text == view.raw.text.strip()
    return "" if is_all else f" from: {_line(view.raw)}"


def _judged(judged: Judged) -> list[str]:
    parts = [judged.said, "" if judged.match else _line(judged.reason)]
    lines = [f"   {judged.sign.label}: {'; '.join(filter(None, parts))}"]
    for difference in judged.differences:
        if difference.similarity is not None:
            lines.append(f"     {difference.what} expected: {_line(difference.expected)}")
            lines.append(f"     {difference.what} got:      {_line(difference.got)}")
    return lines


def effect_lines(effect: Effect) -> list[str]:
    """What a call did to the world, a line for each record, the simulator's own state left out."""
    lines = [_record(change) for change in effect.diff.changes if not change.is_bookkeeping]
    if effect.diff.omitted:
        lines.append(f"and {counted(effect.diff.omitted, 'more record')}")
    if effect.differs:
        lines.append("executed again, this call gives a different response from the stored one")
    return [f"world: {line}" for line in lines or ["no record changed"]]


def _record(change: RecordChange) -> str:
    key = " ".join(
        _line(clip(value, _LONGEST)) if isinstance(value, str) else _value(value) for _, value in change.key
    )
    columns = "; ".join(map(_column, change.columns)) or "the record"
    return f"{change.kind} {change.table} {key}: {columns}"


def _column(column: ColumnChange) -> str:
    parts = [_value(value) for value in (column.before, column.after) if value is not None]
    return f"{column.name} {' -> '.join(parts) if len(parts) == 2 else ''.join(parts)}"


def _truth(task: Task, index: int, matched: Mapping[CallPlace, StepPlace], *, over: bool) -> list[str]:
    """What should have been done and said; nothing if nobody knows."""
    lines = []
    truth = task.expected(index)
    for number, executed in enumerate(truth.calls):
        call, result = expected(index, number, executed, _LONGEST)
        place = matched.get(CallPlace(index, number))
        status = signs.due(made=place is not None, over=over, optional=is_optional(executed)).label
        where = f" in turn {turn_number(task, place.turn)}, step {place.step + 1}" if place else ""
        lines += [
            f"expected: {_call(call)} ({status}{where})",
            f"   {result.sign.label}: {_line(result.text)}",
        ]
    if truth.reply:
        lines.append(f"expected: {signs.REPLY.label}: {truth.reply}")
    return lines


def _call(call: Called) -> str:
    return f"{_line(call.name)} {_line(call.arguments)}"


def _line(text: Clip) -> str:
    """A text on one line, even a reply or an unconstrained answer of several lines."""
    return str(text).replace("\n", "\\n")


def _value(value: Json) -> str:
    return _line(clip_json(value, _LONGEST))


def transcript_json(transcript: Transcript, effects: Effects | None = None) -> JsonObject:
    """All that is stored of a conversation, with its ground truth; with `effects`, those of its calls."""
    matched = _matched(transcript)
    task = transcript.conversation
    turns: list[JsonObject] = []
    for index in transcript.turn_numbers:
        truth = task.expected(index)
        position = turn_number(task, index)
        turns += _said_json(truth.said, index - len(truth.said), position)
        played = transcript.turns.get(index)
        entry: JsonObject = {"turn": position, "position": index, "role": "assistant", "text": truth.reply}
        entry["ground_truth"] = [
            {**call.as_json(), "match": CallPlace(index, number) in matched}
            for number, call in enumerate(truth.calls)
        ]
        entry["steps"] = (
            None
            if played is None
            else [_step_json(number, step, task) for number, step in enumerate(played.steps)]
        )
        if effects is not None and played is not None:
            for place, effect in effects.by_call.items():
                if place.turn == index:
                    entry["steps"][place.step]["effect"] = effect.as_json()
        entry["faults"] = [
            numbered(fault.as_json(), task) for fault in transcript.faults if fault.turn == index
        ]
        turns.append(entry)
    turns += _said_json(task.closing, 1 + max(transcript.turn_numbers, default=-1), None)
    return {
        "arm": transcript.arm,
        "repeat": transcript.repeat,
        "metrics": transcript.counts and transcript.declaration.as_json(transcript.counts),
        "turns": turns,
    }


def _said_json(texts: Sequence[str], first: int, turn: int | None) -> list[JsonObject]:
    """What was said before an assistant turn, by its position in the conversation from `first` on, where it
    has one.
    """
    return [
        {"turn": turn, "position": first + number if first >= 0 else None, "role": "user", "text": text}
        for number, text in enumerate(texts)
    ]


def _step_json(number: int, step: Step, task: Task) -> JsonObject:
    prediction = step.prediction
    entry: JsonObject = {
        "kind": prediction.kind,
        "role": step.role,
        "follows": parent_of(number, step),
        **{field.name: getattr(prediction, field.name) for field in fields(prediction)},
        # `asdict` of the whole would recurse into arguments, which a model may have nested deeply.
        "call": prediction.call and {"name": prediction.call.name, "arguments": prediction.call.arguments},
        "usage": asdict(prediction.usage),
    }
    if step.executed:
        entry["executed"] = step.executed.as_json()
    if step.verdict:
        entry["verdict"] = numbered(step.verdict.as_json(), task)
    return entry
