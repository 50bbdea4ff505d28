"""Models without weights."""

import time

import small_talks

from rig.core.errors import ErrorKind
from rig.core.models import Piece, Request, StepKey
from rig.methods.scripted import Scripted, called, failed, replied


def _request(conversation: str = "alarms", turn: int = 1, step: int = 0) -> Request:
    return Request(StepKey(conversation, turn, step), "", (), "", ())


def test_the_oracle_calls_then_replies() -> None:
    oracle = small_talks.oracle()
    pieces: list[Piece] = []
    first = oracle.predict(_request(), pieces.append)
    assert first.call is not None
    assert first.call.arguments == {"time": "07:00:00"}
    assert oracle.predict(_request(step=1), pieces.append).reply == "Done."
    assert "".join(piece.text for piece in pieces) == first.raw + "Done."


def test_a_script_can_be_a_table_or_a_function() -> None:
    table = Scripted({StepKey("alarms", 1, 0): called("FindAlarms")})
    assert table.predict(_request(), lambda piece: None).kind == "call"
    assert table.predict(_request(step=1), lambda piece: None).reply == ""
    function = Scripted(lambda request: failed(ErrorKind.DECODE, raw=request.key.conversation))
    assert function.predict(_request(), lambda piece: None).raw == "alarms"


def test_a_script_can_come_slowly_and_in_pieces() -> None:
    pieces: list[str] = []
    model = Scripted(lambda request: replied("abcdefg"), chunk=3, delay_s=0.01)
    began = time.perf_counter()
    model.predict(_request(), lambda piece: pieces.append(piece.text))
    assert pieces == ["abc", "def", "g"]
    assert time.perf_counter() - began >= 0.03


def test_a_script_has_a_fingerprint_that_can_be_set() -> None:
    assert Scripted({}, fingerprint={"temperature": 1}).fingerprint == {
        "engine": "scripted",
        "temperature": 1,
    }
