"""One conversation read from the store: step by step, or in the state that its events would give."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rig.core.calls import StepPlace
from rig.core.events import Event, PieceGenerated, Where
from rig.core.tasks import Step
from rig.plugins.replay.moments import turn_moments
from rig.plugins.rescore.places import place_of
from rig.show import signs
from rig.show.signs import Sign
from rig.show.steps import Ended, Lengths, StepView, step_view
from rig.show.story import Story, StoryTurn, end_of, errors_by_kind
from rig.store import Runs, StoredRun, Transcript
from tui.live.layout import LENGTHS, LiveTranscript
from tui.live.state import ConversationState, ending

_FEW = 200
"""The most characters of a step's words."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The prediction `step` of the assistant turn at position `turn`, with its outcome."""

    turn: int
    step: int
    made: Step
    drawn: str = ""
    """The branches that an outline draws before it, if the steps of its turn are a tree."""

    @property
    def place(self) -> StepPlace:
        return StepPlace(self.turn, self.step)

    def view(self, longest: int) -> StepView:
        """Return the step for display, with texts cut to `longest` characters."""
        return step_view(self.place, self.made, Lengths.of(longest))

    @property
    def words(self) -> str:
        """The step in a few words."""
        return self.view(_FEW).words


@dataclass(frozen=True, slots=True)
class Record:
    """A conversation of a run, as one arm played it in one repeat."""

    run: StoredRun
    where: Where
    transcript: Transcript

    @property
    def turns(self) -> list[int]:
        """The positions of the assistant turns."""
        return self.transcript.turn_numbers

    @property
    def ended(self) -> Ended | None:
        """How the conversation ended, None if it has not."""
        return end_of(self.transcript)

    @property
    def sign(self) -> Sign:
        """The sign of its end, or whether it is being played or waiting."""
        if self.ended is not None:
            return self.ended.sign
        return signs.RUNNING if self.transcript.turns else signs.WAITING

    def story(self, turn: int, longest: int) -> StoryTurn:
        """Return a turn for display, with texts cut to `longest` characters."""
        return StoryTurn.of(self.transcript, turn, Lengths.of(longest))

    def steps(self, turn: int) -> list[StepRecord]:
        """Return the steps of a turn, none if it has not been played."""
        played, of_turn = self.transcript.turns.get(turn), self.story(turn, _FEW)
        drawn = of_turn.outline or [(view, "") for view in of_turn.steps]
        steps = played.steps if played else ()
        return [StepRecord(turn, view.step, steps[view.step], lines) for view, lines in drawn]

    @property
    def columns(self) -> list[Where]:
        """The same conversation in every arm and repeat."""
        return [
            Where(arm.position, self.where.conversation, repeat)
            for arm in self.run.arms
            for repeat in range(self.run.repeats)
        ]

    def name_of(self, where: Where) -> str:
        """Return the name of an arm, with the repeat if there are several."""
        repeat = f" #{where.repeat + 1}" if self.run.repeats > 1 else ""
        return f"{self.run.arms[where.arm].name}{repeat}"

    def neighbour(self, step: int) -> str | None:
        """Return the name of the conversation `step` places further in the run, None beyond its ends."""
        place = self.run.conversations.index(self.where.conversation) + step
        return self.run.conversations[place] if 0 <= place < len(self.run.conversations) else None


def read_record(store: Path, run: str, where: Where) -> Record:
    """Read a conversation. Raises RigError if it is not, or no longer, in the store."""
    with Runs.open(store) as runs:
        return _record(runs, runs.get(run), where)


def read_columns(store: Path, record: Record) -> list[Record]:
    """Read the conversation of a record in every arm and repeat. Raises RigError as `read_record` does."""
    with Runs.open(store) as runs:
        return [_record(runs, record.run, where) for where in record.columns]


def _record(runs: Runs, run: StoredRun, where: Where) -> Record:
    return Record(run, where, runs.transcript(run, where.conversation, where.arm, where.repeat))


def read_place(store: Path, run: str, where: Where, turn: int | None) -> tuple[Path, int]:
    """Return the file that a conversation came from, and the line of a turn. Raises RigError."""
    record = read_record(store, run, where)
    return place_of(record.run, record.transcript, turn)


def read_state(store: Path, run: str, where: Where) -> ConversationState:
    """Read a conversation in the state that its events would give. Raises RigError if it cannot be read."""
    record = read_record(store, run, where)
    transcript, story = record.transcript, Story.of(record.transcript, LENGTHS)
    played = [turn for turn in story.turns if turn.is_played]
    counts, errors = transcript.counts, errors_by_kind(transcript.turns.values())
    views = [view for turn in played for view in turn.steps if view.judged]
    declaration = record.run.declaration
    return ConversationState(
        where,
        len(transcript.conversation.known_turns),
        signs.RUNNING if counts is None else ending(declaration, counts, errors),
        len(played),
        {view.place: view.judged.ground_truth for view in views if view.judged and view.judged.ground_truth},
        sum(view.judged.bad_action for view in views if view.judged)
        if counts is None
        else declaration.faults(counts),
        [turn.due for turn in played],
        LiveTranscript.of(played, story.ended),
        counts=counts,
    )


def turn_events(where: Where, transcript: Transcript, turn: int) -> Iterator[Event]:
    """Return the events of the assistant turn at position `turn`, which has been played.

    Pieces of text are left out, as a prediction has the whole text.
    """
    moments = turn_moments(where, transcript.conversation, transcript.turns[turn])
    return (moment.event for moment in moments if not isinstance(moment.event, PieceGenerated))
