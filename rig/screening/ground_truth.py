"""The true course of a conversation as the requests that a run would make and the answers that are right."""

from collections.abc import Iterator
from typing import NamedTuple

from rig.calls import Call
from rig.events import Where
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.dialogue import Dialogue
from rig.methods.tooltalk.oracle import Oracle
from rig.methods.tooltalk.prompt import Settings
from rig.models import Request
from rig.scoring import Grader, load
from rig.toolbox.simulator import Simulator


class TrueStep(NamedTuple):
    """A request, and what should be answered: a call, or the words of a reply."""

    request: Request
    answer: Call | str


def true_steps(conversation: Conversation, simulator: Simulator, settings: Settings) -> Iterator[TrueStep]:
    """Every step of every assistant turn, as a model that is always right would be asked for it.

    A turn with more calls than the settings' cap ends there, as in a run. Raises RigError as a run does.
    """
    oracle = Oracle([conversation])
    dialogue = Dialogue(
        conversation,
        simulator,
        Grader("default", load("exact"), settings.toolbox),
        settings,
        where=Where(0, conversation.name),
        emit=lambda _event: None,
    )
    while dialogue.next_turn is not None:
        play = dialogue.play()
        request = next(play).request
        while True:
            prediction = oracle.predict(request, lambda _piece: None)
            answer = prediction.reply if prediction.call is None else prediction.call
            assert answer is not None
            yield TrueStep(request, answer)
            try:
                request = play.send(prediction).request
            except StopIteration:
                break
