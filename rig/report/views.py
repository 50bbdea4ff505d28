"""Conversations as a report shows them: what was said once, and what each arm did beside the others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rig.calls import ExecutedCall
from rig.compare import Comparison, ConversationResult
from rig.displays import signs
from rig.displays.clip import Clip, clip
from rig.displays.signs import Sign
from rig.displays.steps import Called, Failed, Replied, Returned, StepView, ended, expected, step_view
from rig.displays.trees import back
from rig.episodes import PlayedTurn
from rig.metrics import Declaration
from rig.store import Transcript
from rig.tasks import turn_number
from rig.toolbox.rules import is_optional
from rig.verdicts import CallPlace

_BEST = 10
_TRUTH = 300
"""What the user says and what is due stands once, and is not cut shorter than this."""


@dataclass(frozen=True, slots=True)
class StepBox:
    """One step, or `times` alike one after another: the first's `answer` stands for theirs.

    `back` says where a search went back to before it.
    """

    sign: Sign
    text: str
    answer: str = ""
    judged: Sign | None = None
    reason: str = ""
    times: int = 1
    back: str = ""


@dataclass(frozen=True, slots=True)
class CellView:
    """What arms did in a turn: `letters` are of all that did the very same."""

    letters: tuple[str, ...]
    steps: tuple[StepBox, ...]
    faults: tuple[str, ...]
    played: bool


@dataclass(frozen=True, slots=True)
class WantedView:
    """A call that is due, what it gives, and the letters of the arms that made it."""

    text: str
    answer: str
    made_by: tuple[str, ...]
    left_out: Sign = signs.MISSED


@dataclass(frozen=True, slots=True)
class TurnView:
    """An assistant turn, the `number`th: what was said before it, what is due, and what was done."""

    number: int
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
    tools: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether it did not end alike for all arms."""
        return len({(outcome.short, outcome.level) for outcome in self.outcomes}) > 1

    @property
    def right(self) -> str:
        """Whether it ended well for `all` arms, for `some`, or for `none`."""
        well = [outcome.level == _BEST for outcome in self.outcomes]
        return "all" if all(well) else "some" if any(well) else "none"


def conversation_views(
    comparison: Comparison,
    transcripts: Sequence[Sequence[Transcript]],
    shown: Sequence[int],
    letters: Sequence[str],
    longest: int,
) -> Iterator[ConversationView]:
    """The conversations `shown`, by their numbers; `transcripts` are by conversation, then arm.

    Texts are cut at `longest` characters. Raises nothing, for anything that models wrote.
    """
    flipped = {
        (pair.arm, flip.conversation): flip.outcome for pair in comparison.pairs for flip in pair.flips
    }
    results = [{result.conversation: result for result in arm.conversations} for arm in comparison.arms]
    for number, of_arms in zip(shown, transcripts, strict=True):
        name, suite = comparison.conversations[number]
        yield ConversationView(
            number,
            name,
            suite,
            ", ".join(of_arms[0].conversation.facts.values()),
            tuple(
                _outcome(
                    letter,
                    by_name[name],
                    flipped.get((arm.label, name), ""),
                    comparison.declaration,
                )
                for letter, arm, by_name in zip(letters, comparison.arms, results, strict=True)
            ),
            tuple(_turns(of_arms, letters, longest)),
            _tools(of_arms[0]),
        )


def _tools(transcript: Transcript) -> tuple[str, ...]:
    """The tools that a conversation is about: those of the calls that are due."""
    due = (transcript.conversation.expected(turn).calls for turn in transcript.turn_numbers)
    return tuple(sorted({executed.call.name for calls in due for executed in calls}))


def _outcome(letter: str, result: ConversationResult, flip: str, declaration: Declaration) -> OutcomeView:
    end = ended(declaration, result.counts, result.errors)
    short = f"{result.successes}/{result.repeats}" if result.repeats > 1 else end.sign.word
    # Half of the scale is for what failed, by how far it got, so that no failure looks like a success.
    level = round(10 * result.success_share)
    if not result.successes:
        level = min(5, int(6 * declaration.partly(result.counts)))
    return OutcomeView(letter, short, f"{short}{': ' if end.text else ''}{end.text}", level, flip)


def _turns(transcripts: Sequence[Transcript], letters: Sequence[str], longest: int) -> Iterator[TurnView]:
    most = max(longest, _TRUTH)
    matched = [_made(transcript) for transcript in transcripts]
    for index in sorted({turn for transcript in transcripts for turn in transcript.turn_numbers}):
        truth = transcripts[0].conversation.expected(index)
        due = (
            _wanted(index, number, call, letters, matched, longest) for number, call in enumerate(truth.calls)
        )
        yield TurnView(
            turn_number(transcripts[0].conversation, index),
            tuple(_cut(text, most) for text in truth.said),
            tuple(due),
            _cut(truth.reply, most),
            _cells(index, transcripts, letters, longest),
        )


def _wanted(
    turn: int,
    number: int,
    executed: ExecutedCall,
    letters: Sequence[str],
    made: Sequence[set[CallPlace]],
    longest: int,
) -> WantedView:
    call, result = expected(turn, number, executed, max(longest, _TRUTH))
    arms = zip(letters, made, strict=True)
    made_by = tuple(letter for letter, places in arms if CallPlace(turn, number) in places)
    left_out = signs.due(made=False, over=True, optional=is_optional(executed))
    return WantedView(_call(call, max(longest, _TRUTH)), _answer(result, longest), made_by, left_out)


def _made(transcript: Transcript) -> set[CallPlace]:
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
    cells: dict[CellView, tuple[str, ...]] = {}
    for letter, transcript in zip(letters, transcripts, strict=True):
        played: PlayedTurn | None = transcript.turns.get(index)
        fault_texts = " ".join(fault.text for fault in transcript.faults if fault.turn == index)
        steps = _merged(
            replace(
                step_box(step_view(index, number, step, longest), fault_texts, longest),
                back=went.text if (went := back(index, number, step)) else "",
            )
            for number, step in enumerate(played.steps if played else ())
        )
        cell = CellView((), steps, tuple(_faults(transcript, index, longest)), played is not None)
        cells[cell] = (*cells.get(cell, ()), letter)
    return tuple(replace(cell, letters=those) for cell, those in cells.items())


def _faults(transcript: Transcript, index: int, longest: int) -> Iterator[str]:
    """A line for each kind: the first of it, and how many there were."""
    by_kind: dict[str, list[str]] = {}
    for fault in transcript.faults:
        if fault.turn == index:
            by_kind.setdefault(fault.kind, []).append(fault.text)
    for kind, texts in by_kind.items():
        often = f" ×{len(texts)}" if len(texts) > 1 else ""
        yield f"{kind}{often}: {_cut(texts[0], longest)}"


def _merged(steps: Iterable[StepBox]) -> tuple[StepBox, ...]:
    merged: list[StepBox] = []
    for step in steps:
        if merged and replace(merged[-1], times=1, answer="") == replace(step, answer=""):
            merged[-1] = replace(merged[-1], times=merged[-1].times + 1)
        else:
            merged.append(step)
    return tuple(merged)


def step_box(view: StepView, faults: str, longest: int) -> StepBox:
    """Without the reason for its verdict where the turn's faults give the same."""
    made, judged = view.made, view.judged
    if isinstance(made, Failed):
        return StepBox(made.sign, made.why, str(view.raw))
    if isinstance(made, Replied):
        return StepBox(made.sign, str(made.text))
    answer = _answer(view.returned, longest) if view.returned else ""
    if judged is None or judged.match:
        return StepBox(made.sign, _call(made, longest), answer, judged.sign if judged else None)
    reason = "" if judged.reason.text in faults else str(judged.reason)
    why = "; ".join(filter(None, (judged.said, reason)))
    return StepBox(made.sign, _call(made, longest), answer, judged.sign, why)


def _call(call: Called, longest: int) -> str:
    if not call.pairs:
        return _joined(f"{call.name.text} {call.arguments.text}", call.arguments.omitted, longest)
    arguments = ", ".join(f"{name.text}: {value.text}" for name, value in call.pairs)
    omitted = sum(value.omitted for _, value in call.pairs)
    return _joined(f"{call.name.text}({arguments})", omitted, longest)


def _answer(returned: Returned, longest: int) -> str:
    text = returned.text.text
    said = f"{returned.sign.word}: {text}" if returned.failed else text
    return _joined(said, returned.text.omitted, longest)


def _joined(text: str, omitted: int, longest: int) -> str:
    """A text of several parts, with this many characters already left out."""
    cut = clip(text, longest)
    return str(Clip(cut.text, cut.omitted + omitted))


def _cut(text: str, longest: int) -> str:
    return str(clip(text, longest))
