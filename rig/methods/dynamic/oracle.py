"""An assistant that knows the ground truth of conversations that are played live."""

from collections.abc import Iterable, Mapping
from itertools import takewhile

from rig.calls import Json, without_token
from rig.methods.dynamic.tasks import LiveTask
from rig.methods.scripted import called, replied
from rig.models import CallMessage, OneByOne, OnPiece, Piece, Prediction, Request


class Oracle(OneByOne):
    """Makes the calls of the true turn of the same number, and says what was said then."""

    name = "oracle"

    def __init__(self, tasks: Iterable[LiveTask]) -> None:
        super().__init__()
        self._tasks = {task.name: task for task in tasks}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "oracle"}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        true = self._tasks[request.key.conversation].expected(request.key.turn)
        made = len(list(takewhile(lambda each: isinstance(each, CallMessage), reversed(request.messages))))
        if made < len(true.calls):
            prediction = called(true.calls[made].name, without_token(true.calls[made].arguments))
        else:
            prediction = replied(true.reply or "There is nothing else that I can do.")
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction
