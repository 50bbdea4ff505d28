"""The guard of episodes that sees loops, names them, and ends them if it is asked to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rig.config.options import RunConfig
from rig.core.errors import ErrorKind, Halted
from rig.core.models import Piece, Prediction, StepKey
from rig.core.tasks import Step
from rig.plugins.loops.options import LoopOptions
from rig.plugins.loops.repeats import RepeatReader
from rig.plugins.loops.turns import CUT_OFF, Loop, call_loop, path_to, text_loop

_FIRST_TOKENS = 24
"""Tokens of an answer before which it is not ended: what comes in one piece is complete already."""


@dataclass(slots=True)
class _Heard:
    """What was heard of one answer."""

    key: StepKey | None = None
    text: str = ""
    tokens: int = 0
    reader: RepeatReader = field(default_factory=RepeatReader)


class LoopGuard:
    """Sees the loops of one episode. With `stops` it ends them; else it says that they are there.

    A turn that runs into a limit while it is in a loop ends in an error of that kind either way, since it is
    the loop that used up its calls or tokens.
    """

    def __init__(self, notify: Callable[[int, str], None], *, stops: bool) -> None:
        self._notify, self._stops = notify, stops
        self._heard = _Heard()
        self._told: tuple[int, str] | None = None

    def hear(self, key: StepKey, piece: Piece) -> None:
        """Raise `Halted` if the answer repeats itself, and loops are to be ended."""
        if not self._stops:
            return
        heard = self._heard
        if key != heard.key:
            heard = self._heard = _Heard(key)
        heard.text += piece.text
        heard.tokens += piece.tokens
        repeat = heard.reader.add(piece.text)
        if repeat and heard.tokens >= _FIRST_TOKENS:
            raise Halted(ErrorKind.TEXT_LOOP, repeat.words, heard.text, heard.tokens)

    def checked(self, prediction: Prediction, turn: int, steps: Sequence[Step], parent: int) -> Prediction:
        """Return the prediction, or the loop that it is."""
        if prediction.error is ErrorKind.TEXT_LOOP:
            return prediction
        loop = text_loop(prediction)
        if loop is None and (prediction.call is not None or prediction.error is not None):
            loop = call_loop(path_to(steps, parent), prediction.call)
        if loop is None:
            return prediction
        if loop.kind == "text":
            is_over = prediction.error in CUT_OFF
        else:
            is_over = prediction.error is ErrorKind.CALL_CAP or (self._stops and prediction.call is not None)
        if is_over:
            return _as_error(prediction, loop)
        self._tell(turn, loop)
        return prediction

    def _tell(self, turn: int, loop: Loop) -> None:
        if self._told != (turn, loop.kind):
            self._told = turn, loop.kind
            self._notify(turn, loop.words)


def _as_error(prediction: Prediction, loop: Loop) -> Prediction:
    """Return the error that a loop is, with what else ended the answer."""
    detail = "; ".join(filter(None, [loop.words, prediction.error_detail]))
    return replace(
        prediction, call=None, further=(), reply=None, error=loop.error, error_detail=detail, content=""
    )


class Loops:
    """Makes the guards that see loops."""

    name = "loops"

    def begin(self, config: RunConfig, notify: Callable[[int, str], None]) -> LoopGuard:
        return LoopGuard(notify, stops=config.part(LoopOptions).stop_loops)


LOOPS = Loops()
