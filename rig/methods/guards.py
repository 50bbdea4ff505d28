"""Guards: what hears an episode as it is played, and may end an answer or a turn.

A guard is asked about every prediction of the evaluated role before it becomes a step, and hears its text as
it is generated. What it changes can change answers, so an option that lets it do so is in the fingerprint.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from rig.config.options import RunConfig
from rig.core.models import Piece, Prediction, StepKey
from rig.core.tasks import Step


class EpisodeGuard(Protocol):
    """A guard of one episode."""

    def hear(self, key: StepKey, piece: Piece) -> None:
        """Hear text of the evaluated role as it is generated. Raises `Halted` to end the answer."""
        ...

    def checked(self, prediction: Prediction, turn: int, steps: Sequence[Step], parent: int) -> Prediction:
        """Return a prediction that follows the step `parent` of a turn, -1 for none, or an error instead."""
        ...


class Guard(Protocol):
    """Makes the guards of episodes."""

    name: str

    def begin(self, config: RunConfig, notify: Callable[[int, str], None]) -> EpisodeGuard:
        """Return the guard of an episode, given the options of its arm.

        `notify` shows a line on a turn to people.
        """
        ...
