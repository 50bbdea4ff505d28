"""A stored conversation as text and as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import NamedTuple

from rig.core.calls import CallPlace, JsonObject, StepPlace
from rig.core.errors import counted
from rig.core.tasks import NO_PATH, AnswerPath, Step, Task, numbered, turn_number
from rig.show import signs, steps
from rig.show.steps import Called, Failed, Lengths, Replied, StepView, parent_of
from rig.show.story import Story, StoryTurn, matched
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
    task, story = transcript.conversation, Story.of(transcript, Lengths.of(LONGEST))
    repeat = f" #{transcript.repeat + 1}" if transcript.repeat else ""
    lines = [
        f"{task.name}, {transcript.arm}{repeat}: {_outcome(transcript, story)}",
        ", ".join(task.facts.values()),
    ]
    for turn in story.turns:
        lines += [*_said(turn.said), "", turn.heading.text()]
        below = [*_outline(transcript, turn, path), *_steps(turn, notes)]
        below = below if turn.is_played else ["not played yet"]
        below += _truth(task, turn)
        below += [f"fault: {fault.kind}: {fault.text}" for fault in turn.faults]
        lines += [f"  {line}" for line in below]
    return "\n".join([*lines, *_said(story.closing)])


def _steps(turn: StoryTurn, notes: StepNotes | None) -> list[str]:
    """Return the steps of a turn as lines. Repetitions of a call are only counted, unless with notes."""
    lines: list[str] = []
    before: StepView | None = None
    same = 0
    for view in turn.steps:
        if before is not None and notes is None and steps.repeats(before, view):
            same += 1
            if same > 1:
                lines.pop()
            lines.append(f"   {steps.again(same)}")
            continue
        before, same = view, 0
        lines += _step(view)
        lines += [f"   {line}" for line in notes.lines.get(view.place, ())] if notes else []
    return lines


def _outline(transcript: Transcript, turn: StoryTurn, path: AnswerPath) -> list[str]:
    """Return the steps of a turn as a tree, with the path to the answer; no lines if they do not branch."""
    if not turn.outline:
        return []
    lines = []
    for view, drawn in StoryTurn.of(transcript, turn.heading.turn, Lengths.of(_SHORT)).outline:
        answer, words = view.made, clip(view.words, _SHORT).line
        text = f"{answer.sign.label}: {words}"
        if isinstance(answer, Called):
            text = f"{words} {answer.arguments.line}"
        lines.append(f"{drawn}{view.step + 1}.{' *' * (view.place in path.places)} {text}")
    on_path = [view for view in turn.steps if view.place in path.places]
    legend = ""
    if on_path and path.is_answered:
        legend = "; those with * lead to the answer"
    elif on_path:
        what = "were tried last" if on_path[-1] is turn.steps[-1] else "are what counts"
        legend = f"; those with * {what}, without an answer"
    return [f"tree of {counted(len(lines), 'step')}{legend}:", *lines, ""]


def _said(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in ("", f"{signs.USER.label}: {text}")]


def _outcome(transcript: Transcript, story: Story) -> str:
    if story.ended:
        return ", ".join(filter(None, (story.ended.sign.label, story.ended.text)))
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


def _truth(task: Task, turn: StoryTurn) -> list[str]:
    """Return what should have been done and said; no lines if it is unknown."""
    lines = []
    for due in turn.due:
        where = f" in turn {turn_number(task, due.by.turn)}, step {due.by.step + 1}" if due.by else ""
        made = f" ({due.sign(over=turn.is_played).label}{where})" if turn.is_paired else ""
        lines.append(f"expected: {_call(due.call)}{made}")
        lines += [f"   {due.returned.sign.label}: {due.returned.text.line}"] if due.returned else []
    return [*lines, *([f"expected: {signs.REPLY.label}: {turn.reply}"] if turn.reply else [])]


def _call(call: Called) -> str:
    return f"{call.name.line} {call.arguments.line}"


def transcript_json(transcript: Transcript, notes: StepNotes | None = None) -> JsonObject:
    """Return all that is stored of a conversation, with its ground truth and any `notes` on its steps."""
    matches = matched(transcript)
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
