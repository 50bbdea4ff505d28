"""A stored conversation as text and as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import NamedTuple

from rig.core.calls import CallPlace, JsonObject, StepPlace
from rig.core.errors import counted
from rig.core.tasks import NO_PATH, AnswerPath, Step, Task, numbered, turn_number
from rig.show import signs, steps
from rig.show.steps import Called, Failed, Lengths, Replied, StepView, parent_of, step_view
from rig.show.texts import clip
from rig.store import Transcript

LONGEST = 2000
"""The most characters shown of one value; `--json` has all of it."""
_SHORT = 60
"""The most characters shown of a value in an outline."""


class StepNotes(NamedTuple):
    """What is said of the steps of a conversation beside what is stored: lines and JSON, by the place of a
    step. `caution` is what a reader must know of all of it.
    """

    lines: Mapping[StepPlace, Sequence[str]]
    values: Mapping[StepPlace, JsonObject]
    caution: str = ""


def transcript_text(
    transcript: Transcript, notes: StepNotes | None = None, path: AnswerPath = NO_PATH
) -> str:
    """Return what was said, called, answered and judged, turn by turn, with the ground truth.

    Each step is followed by the `notes` on it.
    """
    task = transcript.conversation
    repeat = f" #{transcript.repeat + 1}" if transcript.repeat else ""
    lines = [
        f"{task.name}, {transcript.arm}{repeat}: {_outcome(transcript)}",
        ", ".join(task.facts.values()),
    ]
    matches = steps.matched(transcript)
    for turn in transcript.turn_numbers:
        lines += [*_said(task.expected(turn).said), "", f"turn {turn_number(task, turn)}"]
        below = ["not played yet"]
        if played := transcript.turns.get(turn):
            below = [*_outline(turn, played.steps, path), *_steps(turn, played.steps, notes)]
        below += _truth(transcript, turn, matches)
        below += [f"fault: {fault.kind}: {fault.text}" for fault in transcript.faults if fault.turn == turn]
        lines += [f"  {line}" for line in below]
    return "\n".join([*lines, *_said(task.closing)])


def _steps(turn: int, played: Sequence[Step], notes: StepNotes | None) -> list[str]:
    """Return the steps of a turn as lines. Repetitions of a call are only counted, unless with notes."""
    lines: list[str] = []
    before: StepView | None = None
    same = 0
    for number, step in enumerate(played):
        view = step_view(StepPlace(turn, number), step, LONGEST)
        if before is not None and notes is None and steps.repeats(before, view):
            same += 1
            if same > 1:
                lines.pop()
            lines.append(f"   {steps.again(same)}")
            continue
        before, same = view, 0
        lines += _step(view)
        lines += [f"   {line}" for line in notes.lines.get(StepPlace(turn, number), ())] if notes else []
    return lines


def _outline(turn: int, played: Sequence[Step], path: AnswerPath) -> list[str]:
    """Return the steps of a turn as a tree, with the path to the answer; no lines if they do not branch."""
    lines = []
    for number, drawn in branches(played):
        view = step_view(StepPlace(turn, number), played[number], _SHORT)
        answer, words = view.made, clip(view.words, _SHORT).line
        told = f"{answer.sign.label}: {words}"
        if isinstance(answer, Called):
            told = f"{words} {answer.arguments.line}"
        lines.append(f"{drawn}{number + 1}.{' *' * (StepPlace(turn, number) in path.places)} {told}")
    on_path = [number for number in range(len(played)) if StepPlace(turn, number) in path.places]
    is_last = bool(on_path) and on_path[-1] == len(played) - 1
    legend = "were tried last, without an answer" if is_last else "are what counts, without an answer"
    if on_path and path.is_answered:
        legend = "lead to the answer"
    legend = f"; those with * {legend}" if on_path else ""
    return [f"tree of {counted(len(lines), 'step')}{legend}:", *lines, ""] if lines else []


def branches(steps: Sequence[Step]) -> list[tuple[int, str]]:
    """Return the steps as an outline: the number of each step, and the branches drawn before it.

    It is empty if no step has several followers. Steps are indented only below one that has.
    """
    below: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        below.setdefault(parent_of(number, step), []).append(number)
    if all(len(followers) == 1 for followers in below.values()):
        return []
    rows: list[tuple[int, str]] = []
    waiting = [(-1, "", "")]
    while waiting:
        number, drawn, further = waiting.pop()
        rows.append((number, drawn))
        numbers = below.get(number, [])
        # The last one appended is the first to be popped.
        for follower in reversed(numbers):
            own, after = str(signs.BRANCH), str(signs.BESIDE_BRANCH)
            if follower == numbers[-1]:
                own, after = ("", "") if len(numbers) == 1 else (str(signs.LAST_BRANCH), "   ")
            waiting.append((follower, further + own, further + after))
    return rows[1:]


def _said(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in ("", f"{signs.USER.label}: {text}")]


def _outcome(transcript: Transcript) -> str:
    if end := steps.end_of(transcript):
        return ", ".join(filter(None, (end.sign.label, end.text)))
    done, turns = len(transcript.turns), len(transcript.conversation.known_turns)
    return f"{done}{f' of {turns}' if turns else ''} turns played"


def _step(view: StepView) -> list[str]:
    answer, thought, judged = view.made, view.thought, view.judged
    below: list[str] = []
    match answer:
        case Failed():
            words, below = answer.why, [f"raw: {view.raw.line}"]
        case Called():
            words = _call(answer)
        case Replied():
            words = answer.text.line
    if answer.form and not view.salvage:
        below.append(f"{answer.form}{'' if isinstance(answer, Replied) else f' from: {view.raw.line}'}")
    if view.salvage:
        # If a reply is all that was written, the raw text need not be shown.
        is_all = isinstance(answer, Replied) and answer.text.text == view.raw.text.strip()
        below = [f"salvaged ({view.salvage}){'' if is_all else f' from: {view.raw.line}'}"]
    below += [f"{view.returned.sign.label}: {view.returned.text.line}"] if view.returned else []
    if judged is not None:
        parts = filter(None, (judged.said, "" if judged.match else judged.reason.line))
        below.append(f"{judged.sign.label}: {'; '.join(parts)}")
        for difference in judged.differences:
            if difference.similarity is not None:
                below.append(f"  {difference.what} expected: {difference.expected.line}")
                below.append(f"  {difference.what} got:      {difference.got.line}")
    lines = [f"{view.back.sign.label}: {view.back.text}"] if view.back else []
    lines += [f"   {thought.sign.label}, {thought.words} {thought.text.line}"] if thought else []
    return [*lines, f"{view.step + 1}. {answer.sign.label}: {words}", *(f"   {line}" for line in below)]


def _truth(transcript: Transcript, turn: int, matches: Mapping[CallPlace, StepPlace]) -> list[str]:
    """Return what should have been done and said; no lines if it is unknown."""
    lines = []
    task, over = transcript.conversation, turn in transcript.turns
    is_paired = transcript.pairs_calls
    truth = task.expected(turn)
    for number, executed in enumerate(truth.calls):
        due = steps.expected(turn, number, executed, Lengths.of(LONGEST))
        by = matches.get(CallPlace(turn, number))
        status = signs.due(made=by is not None, over=over, optional=due.is_optional).label
        where = f" in turn {turn_number(task, by.turn)}, step {by.step + 1}" if by else ""
        made = f" ({status}{where})" if is_paired else ""
        lines.append(f"expected: {_call(due.call)}{made}")
        lines += [f"   {due.returned.sign.label}: {due.returned.text.line}"] if due.returned else []
    return [*lines, *([f"expected: {signs.REPLY.label}: {truth.reply}"] if truth.reply else [])]


def _call(call: Called) -> str:
    return f"{call.name.line} {call.arguments.line}"


def transcript_json(transcript: Transcript, notes: StepNotes | None = None) -> JsonObject:
    """Return all that is stored of a conversation, with its ground truth and any `notes` on its steps."""
    matches = steps.matched(transcript)
    task = transcript.conversation
    turns: list[JsonObject] = []
    for index in transcript.turn_numbers:
        truth, number = task.expected(index), turn_number(task, index)
        played = transcript.turns.get(index)
        turns += _said_json(truth.said, index - len(truth.said), number)
        entry: JsonObject = {"turn": number, "position": index, "role": "assistant", "text": truth.reply}
        entry["ground_truth"] = [
            {**call.as_json(), "match": CallPlace(index, place) in matches}
            for place, call in enumerate(truth.calls)
        ]
        entry["steps"] = played and [_step_json(place, step, task) for place, step in enumerate(played.steps)]
        for place, note in (notes.values if notes is not None and played is not None else {}).items():
            if place.turn == index:
                entry["steps"][place.step] |= note
        faults = (fault for fault in transcript.faults if fault.turn == index)
        entry["faults"] = [numbered(fault.as_json(), task) for fault in faults]
        turns.append(entry)
    turns += _said_json(task.closing, 1 + max(transcript.turn_numbers, default=-1), None)
    metrics = transcript.counts and transcript.declaration.as_json(transcript.counts)
    return {"arm": transcript.arm, "repeat": transcript.repeat, "metrics": metrics, "turns": turns}


def _said_json(texts: Sequence[str], first: int, turn: int | None) -> list[JsonObject]:
    """Return the user's texts with their positions, from `first` on; None if `first` is negative."""
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
        # `asdict` of the whole prediction would recurse into arguments, which may be nested deeply.
        "call": prediction.call and {"name": prediction.call.name, "arguments": prediction.call.arguments},
        "usage": asdict(prediction.usage),
    }
    if step.executed:
        entry["executed"] = step.executed.as_json()
    if step.verdict:
        entry["verdict"] = numbered(step.verdict.as_json(), task)
    return entry
