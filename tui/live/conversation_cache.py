"""Conversations that are not in memory, read from the store when somebody wants to see them."""

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from rig.displays.steps import errors_of
from rig.events import ConversationFinished, ConversationStarted, Event, PieceGenerated, Speed, Where
from rig.replay.moments import turn_moments
from rig.store import Runs, Transcript
from tui.live.state import ConversationState, RunState

MOST = 8
"""Conversations that are kept once they were read."""


def read(store: Path, run: str, where: Where) -> ConversationState:
    """A stored conversation as if its events had been seen. Raises RigError when it cannot be read."""
    with Runs.open(store) as runs:
        record = runs.get(run)
        transcript = runs.transcript(record, where.conversation, where.arm, where.repeat)
    events: list[Event] = [ConversationStarted(where)]
    for turn in transcript.turns:
        events += turn_events(where, transcript, turn)
    if transcript.counts is not None:
        errors = errors_of(transcript.turns.values())
        events.append(ConversationFinished(where, transcript.counts, {}, Speed(), dict(errors)))
    scratch = RunState(declaration=record.declaration)
    scratch.apply_all(events)
    conversation = scratch.conversation(where)
    conversation.turns = len(transcript.conversation.known_turns)
    conversation.turns_done = len(transcript.turns)
    return conversation


class ConversationCache:
    """The conversations read lately, and those that could not be read, with the reason."""

    def __init__(self) -> None:
        self._read: OrderedDict[Where, ConversationState] = OrderedDict()
        self._failed: dict[Where, str] = {}
        self._wanted: set[Where] = set()

    def get(self, where: Where) -> ConversationState | str | None:
        """The conversation if it has been read, or why it could not be."""
        if where in self._read:
            self._read.move_to_end(where)
        return self._failed.get(where) or self._read.get(where)

    def want(self, where: Where) -> bool:
        """Note that it is wanted; whether somebody should begin to read it now."""
        is_new = where not in self._wanted and where not in self._read and where not in self._failed
        self._wanted.add(where)
        return is_new

    def put(self, where: Where, state: ConversationState | str) -> None:
        """Keep what was read, or why nothing was."""
        self._wanted.discard(where)
        if isinstance(state, str):
            self._failed[where] = state
            return
        self._read[where] = state
        while len(self._read) > MOST:
            self._read.popitem(last=False)


def turn_events(where: Where, transcript: Transcript, turn: int) -> Iterator[Event]:
    """The events within the assistant turn at position `turn`, which has been played.

    There are no pieces of text among them: a prediction has it whole.
    """
    moments = turn_moments(where, transcript.conversation, transcript.turns[turn])
    return (moment.event for moment in moments if not isinstance(moment.event, PieceGenerated))
