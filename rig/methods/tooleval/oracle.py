"""The oracle, a model that knows what a query wants: it makes the query's calls, then gives its answer."""

from collections.abc import Iterable, Mapping

from rig.calls import Json
from rig.methods.scripted import called
from rig.methods.tooleval.queries import Query
from rig.models import CallMessage, OneByOne, OnPiece, Piece, Prediction, Request
from rig.solutions.solution import FINISH, GIVE_ANSWER


class Oracle(OneByOne):
    """Makes the next of the query's own calls, in any kind of search."""

    name = "oracle"

    def __init__(self, queries: Iterable[Query]) -> None:
        super().__init__()
        self._queries = {query.name: query for query in queries}

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "oracle"}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        query = self._queries[request.key.conversation]
        made = sum(isinstance(message, CallMessage) for message in request.messages)
        if made < len(query.calls):
            prediction = called(query.calls[made].name, query.calls[made].arguments)
        else:
            prediction = called(FINISH, {"return_type": GIVE_ANSWER, "final_answer": query.answer})
        on_piece(Piece(prediction.raw, tokens=0))
        return prediction
