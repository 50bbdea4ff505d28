"""A conversation as a story: what was said, done, due and found out, turn by turn. Every painter draws it.

It is made of what is stored. Its pieces are those that the live view collects from events.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rig.core.calls import CallPlace, ExecutedCall, Fault, Outcome, StepPlace
from rig.core.tasks import PlayedTurn, turn_number
from rig.show import signs
from rig.show.signs import Sign
from rig.show.steps import (
    Called,
    Ended,
    Lengths,
    Piece,
    Returned,
    Said,
    StepView,
    TurnHeading,
    ended,
    returned,
    shown_call,
    step_view,
)
from rig.show.texts import clip
from rig.store import Transcript
from rig.world.rules import is_optional


@dataclass(frozen=True, slots=True)
class Due:
    """A call of the ground truth, and what it returns if that is known. `by` is the step that made it."""

    call: Called
    returned: Returned | None
    is_optional: bool
    by: StepPlace | None = None

    @property
    def place(self) -> CallPlace:
        """Which call of the ground truth it is."""
        return CallPlace(*self.call.place)

    def sign(self, *, over: bool) -> Sign:
        """Return the sign of the call; `over` once its turn is played."""
        return signs.due(made=self.by is not None, over=over, optional=self.is_optional)


def due_calls(
    turn: int,
    calls: Sequence[ExecutedCall],
    lengths: Lengths,
    matches: Mapping[CallPlace, StepPlace] | None = None,
) -> tuple[Due, ...]:
    """Return the calls that are due in a turn. `matches` are the steps that made them, as far as known."""
    # One by one, they are compared with what was called.
    lengths = lengths._replace(by_argument=True)
    dues = []
    for number, executed in enumerate(calls):
        place, outcome = StepPlace(turn, number), executed.outcome
        answer = None if outcome == Outcome() else returned(place, outcome, lengths)
        by = (matches or {}).get(CallPlace(turn, number))
        dues.append(Due(shown_call(place, executed.call, lengths), answer, is_optional(executed), by))
    return tuple(dues)


@dataclass(frozen=True, slots=True)
class StoryTurn:
    """An assistant turn: what was `said` before it, its steps, and the calls and the reply that are due.

    `is_paired` is whether verdicts say which due calls were made; some methods judge only where a task ends.
    """

    heading: TurnHeading
    said: tuple[str, ...]
    steps: tuple[StepView, ...]
    due: tuple[Due, ...]
    reply: str
    faults: tuple[Fault, ...]
    is_played: bool
    is_paired: bool

    @classmethod
    def of(cls, transcript: Transcript, turn: int, lengths: Lengths) -> "StoryTurn":
        """Return a turn of a stored conversation, with its texts cut."""
        truth, played = transcript.conversation.expected(turn), transcript.turns.get(turn)
        return cls(
            TurnHeading(turn, turn_number(transcript.conversation, turn)),
            tuple(truth.said),
            tuple(
                step_view(StepPlace(turn, number), step, lengths)
                for number, step in enumerate(played.steps if played else ())
            ),
            due_calls(turn, truth.calls, lengths, matched(transcript)),
            truth.reply,
            tuple(fault for fault in transcript.faults if fault.turn == turn),
            played is not None,
            transcript.pairs_calls,
        )

    @property
    def made(self) -> int:
        """How many of the due calls were made."""
        return sum(due.by is not None for due in self.due)

    @property
    def is_complete(self) -> bool:
        """Whether all was done that was due; where nothing is paired, whether no step went wrong."""
        if self.is_paired:
            return self.made == len(self.due)
        return not any(view.is_wrong for view in self.steps)

    @property
    def sign(self) -> Sign:
        """The sign of how the turn went."""
        if not self.steps:
            return signs.WAITING
        incorrect = any(view.judged is not None and view.judged.bad_action for view in self.steps)
        error = self.steps[-1].is_error
        return signs.ended(
            success=self.is_complete and not incorrect and not error, incorrect=incorrect, error=error
        )

    @property
    def outline(self) -> list[tuple[StepView, str]]:
        """The steps as a tree, each with the branches before it; empty if none has several followers."""
        rows = branches([view.parent for view in self.steps])
        return [(self.steps[number], drawn) for number, drawn in rows]

    @property
    def heading_and_words(self) -> list[Piece]:
        """What there is to read before the first step."""
        return [self.heading, *(Said(clip(text)) for text in self.said)]


def branches(parents: Sequence[int]) -> list[tuple[int, str]]:
    """Return steps as an outline, given the step that each follows: their numbers, and the branches drawn
    before each.

    It is empty if no step has several followers. Steps are indented only below one that has.
    """
    below: dict[int, list[int]] = {}
    for number, parent in enumerate(parents):
        below.setdefault(parent, []).append(number)
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


@dataclass(frozen=True, slots=True)
class Story:
    """A conversation as one arm played it: its turns, what was said after them, and how it ended."""

    turns: tuple[StoryTurn, ...]
    closing: tuple[str, ...]
    ended: Ended | None

    @classmethod
    def of(cls, transcript: Transcript, lengths: Lengths) -> "Story":
        """Return a stored conversation as a story, with its texts cut."""
        turns = (StoryTurn.of(transcript, turn, lengths) for turn in transcript.turn_numbers)
        return cls(tuple(turns), tuple(transcript.conversation.closing), end_of(transcript))


def end_of(transcript: Transcript) -> Ended | None:
    """Return how a stored conversation ended, None if it has not."""
    if transcript.counts is None:
        return None
    return ended(transcript.declaration, transcript.counts, errors_by_kind(transcript.turns.values()))


def errors_by_kind(turns: Iterable[PlayedTurn]) -> Counter[str]:
    """Count the turns that ended in an error, by its kind."""
    return Counter(str(turn.error) for turn in turns if turn.error)


def matched(transcript: Transcript) -> dict[CallPlace, StepPlace]:
    """Return the step that matched each ground-truth call, without those that were not matched."""
    return {
        step.verdict.ground_truth: StepPlace(turn, number)
        for turn, played in transcript.turns.items()
        for number, step in enumerate(played.steps)
        if step.verdict and step.verdict.ground_truth
    }
