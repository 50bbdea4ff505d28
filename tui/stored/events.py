"""A stored conversation as the events that were emitted when it was played."""

from collections.abc import Iterator

from rig.events import Event, PieceGenerated, Where
from rig.replay import turn_moments
from rig.store import Transcript


def turn_events(where: Where, transcript: Transcript, turn: int) -> Iterator[Event]:
    """The events within the assistant turn at position `turn`, which has been played.

    There are no pieces of text among them: a prediction has it whole.
    """
    for moment in turn_moments(where, transcript.conversation, transcript.turns[turn]):
        if not isinstance(moment.event, PieceGenerated):
            yield moment.event
