"""The oracle, a model that knows the ground truth."""

from collections.abc import Iterable, Mapping

from rig.calls import Json, without_token
from rig.methods.scripted import called, replied
from rig.methods.tooltalk.conversations import Conversation
from rig.models import OneByOne, OnPiece, Piece, Prediction, Request


class Oracle(OneByOne):
    """Replays the ground truth: each turn's calls without their session token, then the recorded reply."""

    name = "oracle"

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        super().__init__()
        self._turns = {conversation.name: conversation.turns for conversation in conversations}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "oracle"}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        turn = self._turns[request.key.conversation][request.key.turn]
        if request.key.step < len(turn.calls):
            call = turn.calls[request.key.step]
            prediction = called(call.name, without_token(call.arguments))
        else:
            prediction = replied(turn.text)
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction
