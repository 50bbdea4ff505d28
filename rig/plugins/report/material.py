"""What a report is made of: the comparison, and every conversation with what each arm did."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, product
from string import ascii_uppercase
from typing import Literal, NamedTuple, get_args

from rig.compare.arms import ComparisonOptions, choose
from rig.compare.compare import compare_chosen
from rig.compare.findings import Comparison, ConversationResult
from rig.compare.noise import Noise
from rig.core.calls import JsonObject
from rig.core.metrics import UNPLAYED, Declaration
from rig.plugins.groups.groups import WAYS, Groups, groups
from rig.plugins.papers.grids import Table
from rig.plugins.ranking.tables import published
from rig.plugins.resources.measured import Resources, resources_in
from rig.show import signs, steps
from rig.show.signs import Sign
from rig.show.story import StoryTurn
from rig.show.texts import Clip, clip
from rig.store import Runs, StoredRun, Transcript

Format = Literal["html", "md", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


MOST = 5_000
"""The most transcripts in a report, one for each conversation and arm. No browser shows many more."""


@dataclass(frozen=True, slots=True)
class Material:
    """A comparison with its runs by id and, by conversation and arm, the transcripts of the first repeat.

    `shown` are the numbers of the conversations that have transcripts: all of them, unless there are too
    many. `groups` are what was right in all repeats by tool, skill, tag and suite, where there are several of
    them, if all conversations are shown. `letters` stand for the arms where there is no room for names.
    `tables` are those of the method's paper, if they were requested. `resources` are the arms', in order.
    """

    comparison: Comparison
    runs: dict[str, StoredRun]
    transcripts: tuple[tuple[Transcript, ...], ...]
    shown: Sequence[int]
    resources: Sequence[Resources]
    groups: Sequence[Groups] = ()
    tables: Sequence[Table] = ()

    @property
    def left_out(self) -> int:
        """The number of conversations that are not shown."""
        return len(self.comparison.conversations) - len(self.shown)

    @property
    def flipped(self) -> dict[tuple[str, str], str]:
        """The outcome of each flip (`won` or `lost`), by the arm's label and the conversation's name."""
        pairs = self.comparison.pairs
        return {(pair.arm, flip.conversation): flip.outcome for pair in pairs for flip in pair.flips}

    @property
    def letters(self) -> tuple[str, ...]:
        """A letter for each arm: A to Z, then AA, AB and so on."""
        names = ("".join(letters) for size in count(1) for letters in product(ascii_uppercase, repeat=size))
        return tuple(islice(names, len(self.comparison.arms)))


def gather(
    runs: Runs,
    addresses: Sequence[str],
    question: ComparisonOptions | None = None,
    noise: Noise | None = None,
    *,
    with_tables: bool = False,
) -> Material:
    """Read what a report of these arms needs; a single arm is enough. Raises RigError as `compare` does."""
    chosen = choose(runs, addresses)
    question = replace(question or ComparisonOptions(), one_will_do=True)
    comparison = compare_chosen(runs, chosen, question, noise)
    read = {arm.run.id: arm.run for arm in chosen}
    stored = {arm.run: read[arm.run] for arm in comparison.arms}
    numbers = _shown(comparison)
    transcripts = tuple(
        tuple(
            runs.transcript(stored[arm.run], comparison.conversations[number][0], arm.position, 0)
            for arm in comparison.arms
        )
        for number in numbers
    )
    grouped: Iterator[Groups] = iter(())
    # Of an arm that stopped by its results, no share would be fair.
    is_fair = not any(UNPLAYED in arm.counts for arm in comparison.arms)
    if is_fair and len(numbers) == len(comparison.conversations):
        played = [
            _all_repeats(runs, stored[arm.run], arm.position, [row[place] for row in transcripts])
            for place, arm in enumerate(comparison.arms)
        ]
        grouped = groups(WAYS, [arm.label for arm in comparison.arms], played)
    several = [group for group in grouped if len(group.rows) > 1]
    tables = published(runs, addresses) if with_tables else ()
    resources = tuple(resources_in(runs, comparison.arms).values())
    return Material(comparison, stored, transcripts, numbers, resources, several, tables)


def _all_repeats(runs: Runs, run: StoredRun, arm: int, first: Sequence[Transcript]) -> Iterator[Transcript]:
    """Yield the transcripts of an arm's first repeat, each with those of the same conversation's others."""
    for transcript in first:
        yield transcript
        for repeat in range(1, run.repeats):
            yield runs.transcript(run, transcript.conversation.name, arm, repeat)


def _shown(comparison: Comparison) -> Sequence[int]:
    """Return the numbers of the conversations to show, in order; flipped ones are preferred."""
    numbers = range(len(comparison.conversations))
    most = max(MOST // len(comparison.arms), 1)
    if len(numbers) <= most:
        return numbers
    flipped = {flip.conversation for pair in comparison.pairs for flip in pair.flips}
    first = sorted(numbers, key=lambda number: comparison.conversations[number][0] not in flipped)
    return sorted(first[:most])


_BEST = 10
_TRUTH = 300
"""The user's words and the ground truth appear only once, so they are never cut shorter than this."""


class StepBox(NamedTuple):
    """One step, or `times` identical steps in a row, of which `answer` is the first's.

    `back` says where a search went back to before the step.
    """

    sign: Sign
    text: str
    answer: str = ""
    judged: Sign | None = None
    reason: str = ""
    times: int = 1
    back: str = ""


class CellView(NamedTuple):
    """What arms did in a turn; `letters` are those of all arms that did exactly the same."""

    letters: tuple[str, ...]
    steps: tuple[StepBox, ...]
    faults: tuple[str, ...]
    played: bool


class OutcomeView(NamedTuple):
    """How a conversation ended for an arm.

    `level` says how well, from 0 to 10; `share` is the share of repeats that succeeded. `flip` is `won` or
    `lost` against the baseline, or empty. `is_alarm` says that the arm did something that nobody asked for.
    """

    letter: str
    short: str
    title: str
    level: int
    share: float
    flip: str
    is_alarm: bool


class ConversationView(NamedTuple):
    """Everything that the report shows of a conversation."""

    number: int
    name: str
    suite: str
    place: str
    outcomes: tuple[OutcomeView, ...]
    turns: tuple[JsonObject, ...]
    tools: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether it ended differently for some arms."""
        return len({(outcome.short, outcome.level) for outcome in self.outcomes}) > 1

    @property
    def right(self) -> str:
        """Whether it ended well for `all` arms, for `some`, or for `none`."""
        well = [outcome.level == _BEST for outcome in self.outcomes]
        return "all" if all(well) else "some" if any(well) else "none"


def conversation_views(material: Material, longest: int) -> Iterator[ConversationView]:
    """Yield the conversations that a report shows, with texts cut at `longest` characters.

    Nothing that a model wrote makes this raise.
    """
    comparison, letters, flipped = material.comparison, material.letters, material.flipped
    results = [{result.conversation: result for result in arm.conversations} for arm in comparison.arms]
    for number, transcripts in zip(material.shown, material.transcripts, strict=True):
        name, suite = comparison.conversations[number]
        outcomes = (
            _outcome(letter, by_name[name], flipped.get((arm.label, name), ""), comparison.declaration)
            for letter, arm, by_name in zip(letters, comparison.arms, results, strict=True)
        )
        task = transcripts[0].conversation
        due = (task.expected(turn).calls for turn in transcripts[0].turn_numbers)
        tools = sorted({executed.call.name for calls in due for executed in calls})
        place = ", ".join(task.facts.values())
        turns = tuple(_turns(transcripts, letters, longest))
        yield ConversationView(number, name, suite, place, tuple(outcomes), turns, tuple(tools))


def _outcome(letter: str, result: ConversationResult, flip: str, declaration: Declaration) -> OutcomeView:
    end = steps.ended(declaration, result.counts, result.errors)
    is_alarm = bool(declaration.faults(result.counts))
    short = f"{result.successes}/{result.repeats}" if result.repeats > 1 else end.sign.word
    short = f"{signs.INCORRECT.glyph} {short}" if is_alarm else short
    # Failures use the lower half of the scale, by how far they got, so that none looks like a success.
    level = round(_BEST * result.success_share)
    if not result.successes:
        level = min(5, int(6 * declaration.partly(result.counts)))
    title = f"{short}{': ' if end.text else ''}{end.text}"
    return OutcomeView(letter, short, title, level, round(result.success_share, 4), flip, is_alarm)


def _turns(transcripts: Sequence[Transcript], letters: Sequence[str], longest: int) -> Iterator[JsonObject]:
    """Yield the assistant turns: what was said before, which calls are due, and what each arm did.

    A due call comes with its text, its answer, and the letters of the arms that made it.
    """
    most = max(longest, _TRUTH)
    for turn in sorted({turn for transcript in transcripts for turn in transcript.turn_numbers}):
        truth = StoryTurn.of(transcripts[0], turn, steps.Lengths.of(most))
        of_arms = [StoryTurn.of(transcript, turn, steps.Lengths.of(longest)) for transcript in transcripts]
        is_paired = all(arm.is_paired for arm in of_arms)
        due = []
        for number, call in enumerate(truth.due):
            told = {
                "text": _call(call.call, most),
                "answer": _answer(call.returned, longest) if call.returned else "",
            }
            sides = zip(letters, of_arms, strict=True)
            made_by = tuple(letter for letter, arm in sides if arm.due[number].by is not None)
            left_out = signs.due(made=False, over=is_paired, optional=call.is_optional)
            due.append({**told, "made_by": made_by, "left_out": left_out})
        cells: dict[CellView, tuple[str, ...]] = {}
        for letter, arm in zip(letters, of_arms, strict=True):
            cell = _cell(arm, longest)
            cells[cell] = (*cells.get(cell, ()), letter)
        yield {
            "number": truth.heading.number,
            "said": tuple(str(clip(text, most)) for text in truth.said),
            "due": due,
            "reply": str(clip(truth.reply, most)),
            "cells": tuple(cell._replace(letters=of_cell) for cell, of_cell in cells.items()),
        }


def _cell(turn: StoryTurn, longest: int) -> CellView:
    """Return what one arm did in a turn. Each kind of fault is shown by its first one and their number."""
    by_kind: dict[str, list[str]] = {}
    for fault in turn.faults:
        by_kind.setdefault(fault.kind, []).append(fault.text)
    texts = " ".join(fault.text for fault in turn.faults)
    boxes: list[StepBox] = []
    for view in turn.steps:
        box = step_box(view, texts, longest)
        if boxes and boxes[-1]._replace(times=1, answer="") == box._replace(answer=""):
            boxes[-1] = boxes[-1]._replace(times=boxes[-1].times + 1)
        else:
            boxes.append(box)
    told = []
    for kind, (first, *others) in by_kind.items():
        told.append(f"{kind}{f' ×{1 + len(others)}' if others else ''}: {clip(first, longest)}")
    return CellView((), tuple(boxes), tuple(told), turn.is_played)


def step_box(view: steps.StepView, faults: str, longest: int) -> StepBox:
    """Return the box of a step, without the reason for its verdict if the turn's `faults` already give it."""
    prediction, judged, back = view.made, view.judged, view.back.text if view.back else ""
    if isinstance(prediction, steps.Failed):
        return StepBox(prediction.sign, prediction.why, str(view.raw), back=back)
    if isinstance(prediction, steps.Replied):
        return StepBox(prediction.sign, str(prediction.text), reason=prediction.form, back=back)
    answer = _answer(view.returned, longest) if view.returned else ""
    why = ""
    if judged is not None and not judged.match:
        reason = "" if judged.reason.text in faults else str(judged.reason)
        why = "; ".join(filter(None, (judged.said, reason)))
    why = "; ".join(filter(None, (prediction.form, why)))
    sign = judged.sign if judged else None
    return StepBox(prediction.sign, _call(prediction, longest), answer, sign, why, back=back)


def _call(call: steps.Called, longest: int) -> str:
    if not call.pairs:
        return _joined(f"{call.name.text} {call.arguments.text}", call.arguments.omitted, longest)
    arguments = ", ".join(f"{name.text}: {value.text}" for name, value in call.pairs)
    omitted = sum(value.omitted for _, value in call.pairs)
    return _joined(f"{call.name.text}({arguments})", omitted, longest)


def _answer(returned: steps.Returned, longest: int) -> str:
    refused = f"{returned.sign.word}: " if returned.failed else ""
    return _joined(f"{refused}{returned.text.text}", returned.text.omitted, longest)


def _joined(text: str, omitted: int, longest: int) -> str:
    """Cut a text again whose parts have already lost `omitted` characters, and say how many are missing."""
    cut = clip(text, longest)
    return str(Clip(cut.text, cut.omitted + omitted))
