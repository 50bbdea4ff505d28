"""What the store has of a conversation, as the events that told of it when it was played."""

from collections.abc import Iterator

from rig.conversations import Conversation
from rig.events import CallJudged, Event, PredictionMade, TurnStarted, Where
from rig.store import Transcript


def turn_events(where: Where, transcript: Transcript, turn: int) -> Iterator[Event]:
    """The events within the assistant turn at position `turn`, which has been played.

    There are no pieces of text among them: a prediction has it whole. Verdicts are as they are stored, final
    once the conversation is finished.
    """
    truth = transcript.conversation.turns[turn]
    yield TurnStarted(where, turn, said_before(transcript.conversation, turn), truth.calls, truth.text)
    for number, step in enumerate(transcript.turns[turn].steps):
        yield PredictionMade(where, turn, number, step.prediction)
        if step.executed is not None and step.verdict is not None:
            yield CallJudged(where, turn, number, step.executed, step.verdict)


def said_before(conversation: Conversation, turn: int) -> tuple[str, ...]:
    """What was said since the assistant turn before the one at position `turn`."""
    said: list[str] = []
    for each in reversed(conversation.turns[:turn]):
        if each.role != "user":
            break
        said.append(each.text)
    return tuple(reversed(said))
