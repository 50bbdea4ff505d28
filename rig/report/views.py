"""Conversations as a report shows them: what was said once, and what each arm did beside the others."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rig.calls import ExecutedCall, Json, without_token
from rig.compare import Comparison, ConversationResult
from rig.episodes import PlayedTurn, Step
from rig.metrics import Declaration
from rig.store import Transcript

_TRUTH = 300
"""What the user says and what is due stands once, and is not cut shorter than this."""


@dataclass(frozen=True, slots=True)
class StepView:
    """One prediction, or `times` alike one after the other: the first's `answer` stands for theirs."""

    kind: str
    text: str
    answer: str = ""
    judged: str = ""
    reason: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class CellView:
    """What arms did in a turn: `letters` are of all that did the very same."""

    letters: tuple[str, ...]
    steps: tuple[StepView, ...]
    faults: tuple[str, ...]
    played: bool


@dataclass(frozen=True, slots=True)
class WantedView:
    """A call that is due, what it gives, and the letters of the arms that made it."""

    text: str
    answer: str
    made_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnView:
    """An assistant turn: what was said before it, what is due, and what was done."""

    index: int
    said: tuple[str, ...]
    wanted: tuple[WantedView, ...]
    reply: str
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """How a conversation ended for an arm: in short, and from 0 to 10 how well.

    `flip` is `won` or `lost` against the baseline, or empty.
    """

    letter: str
    short: str
    title: str
    level: int
    flip: str


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation with everything that is shown of it."""

    number: int
    name: str
    suite: str
    place: str
    outcomes: tuple[OutcomeView, ...]
    turns: tuple[TurnView, ...]


def conversation_views(
    comparison: Comparison,
    transcripts: Sequence[Sequence[Transcript]],
    letters: Sequence[str],
    longest: int,
) -> Iterator[ConversationView]:
    """The conversations in the order of the comparison; `transcripts` are by conversation, then arm.

    Texts are cut at `longest` characters. Raises nothing, whatever the models wrote.
    """
    flipped = {
        (pair.arm, flip.conversation): flip.outcome for pair in comparison.pairs for flip in pair.flips
    }
    for number, (name, suite) in enumerate(comparison.conversations):
        of_arms = transcripts[number]
        metadata = of_arms[0].conversation.metadata
        yield ConversationView(
            number,
            name,
            suite,
            f"{metadata.timestamp}, {metadata.location}, {metadata.username or 'nobody is logged in'}",
            tuple(
                _outcome(
                    letter,
                    arm.conversations[number],
                    flipped.get((arm.label, name), ""),
                    comparison.declaration,
                )
                for letter, arm in zip(letters, comparison.arms, strict=True)
            ),
            tuple(_turns(of_arms, letters, longest)),
        )


def _outcome(letter: str, result: ConversationResult, flip: str, declaration: Declaration) -> OutcomeView:
    repeated = result.repeats > 1
    short = f"{result.successes}/{result.repeats}" if repeated else "pass" if result.successes else "fail"
    said = declaration.text(result.counts)
    errors = "".join(f", {count} {kind}" for kind, count in result.errors.items())
    # Half of the scale is for what failed, by how far it got, so that no failure looks like a success.
    level = round(10 * result.success_share)
    if not result.successes:
        level = min(5, int(6 * declaration.partly(result.counts)))
    return OutcomeView(letter, short, f"{short}{': ' if said else ''}{said}{errors}", level, flip)


def _turns(transcripts: Sequence[Transcript], letters: Sequence[str], longest: int) -> Iterator[TurnView]:
    said: list[str] = []
    for index, turn in enumerate(transcripts[0].conversation.turns):
        if turn.role == "user":
            said.append(_cut(turn.text, max(longest, _TRUTH)))
            continue
        made = [_made(transcript) for transcript in transcripts]
        yield TurnView(
            index,
            tuple(said),
            tuple(
                WantedView(
                    _call(call, max(longest, _TRUTH)),
                    _answer(call, longest),
                    tuple(
                        letter
                        for letter, found in zip(letters, made, strict=True)
                        if (index, number) in found
                    ),
                )
                for number, call in enumerate(turn.calls)
            ),
            _cut(turn.text, max(longest, _TRUTH)),
            _cells(index, transcripts, letters, longest),
        )
        said = []


def _made(transcript: Transcript) -> set[tuple[int, int]]:
    return {
        step.verdict.ground_truth
        for played in transcript.turns.values()
        for step in played.steps
        if step.verdict is not None and step.verdict.ground_truth is not None
    }


def _cells(
    index: int, transcripts: Sequence[Transcript], letters: Sequence[str], longest: int
) -> tuple[CellView, ...]:
    """One for each way in which the turn went, in the order of the arms."""
    found: dict[CellView, tuple[str, ...]] = {}
    for letter, transcript in zip(letters, transcripts, strict=True):
        played: PlayedTurn | None = transcript.turns.get(index)
        said = " ".join(fault.text for fault in transcript.faults if fault.turn == index)
        steps = _merged(_step(step, said, longest) for step in (played.steps if played else ()))
        cell = CellView((), steps, tuple(_faults(transcript, index, longest)), played is not None)
        found[cell] = (*found.get(cell, ()), letter)
    return tuple(replace(cell, letters=those) for cell, those in found.items())


def _faults(transcript: Transcript, index: int, longest: int) -> Iterator[str]:
    """A line for each kind: the first of it, and how many there were."""
    by_kind: dict[str, list[str]] = {}
    for fault in transcript.faults:
        if fault.turn == index:
            by_kind.setdefault(fault.kind, []).append(fault.text)
    for kind, texts in by_kind.items():
        often = f" ×{len(texts)}" if len(texts) > 1 else ""
        yield f"{kind}{often}: {_cut(texts[0], longest)}"


def _merged(steps: Iterator[StepView]) -> tuple[StepView, ...]:
    merged: list[StepView] = []
    for step in steps:
        if merged and replace(merged[-1], times=1, answer="") == replace(step, answer=""):
            merged[-1] = replace(merged[-1], times=merged[-1].times + 1)
        else:
            merged.append(step)
    return tuple(merged)


def _step(step: Step, faults: str, longest: int) -> StepView:
    """Without the reason for its verdict where the turn's faults give the same."""
    prediction, executed, verdict = step.prediction, step.executed, step.verdict
    if prediction.reply is not None:
        return StepView("reply", _cut(prediction.reply, longest))
    if executed is None or verdict is None:
        error = f"{prediction.error}: {prediction.error_detail}".removesuffix(": ")
        return StepView("error", _cut(error, longest), _cut(prediction.raw, longest))
    judged = "match" if verdict.match else "incorrect action" if verdict.bad_action else "no match"
    reason = "" if verdict.match or verdict.reason in faults else _cut(verdict.reason, longest)
    return StepView("call", _call(executed, longest), _answer(executed, longest), judged, reason)


def _call(executed: ExecutedCall, longest: int) -> str:
    arguments = without_token(executed.arguments)
    if not isinstance(arguments, Mapping):
        return _cut(f"{executed.name} {_value(arguments)}", longest)
    given = ", ".join(f"{name}: {_value(value)}" for name, value in arguments.items())
    return _cut(f"{executed.name}({given})", longest)


def _answer(executed: ExecutedCall, longest: int) -> str:
    if executed.exception is not None:
        return _cut(f"failed: {executed.exception}", longest)
    return _cut(_value(executed.response), longest)


def _value(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
