"""The base model's logits where it had a choice, kept on disk until every other model is done."""

import tempfile
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from rig.errors import RigError
from rig.models import StepKey

Values: TypeAlias = npt.NDArray[np.float32]


Place: TypeAlias = tuple[StepKey, int]
"""A choice: its conversation, turn and step, and its number in the step."""


class Rows:
    """Rows of logits in a temporary file, which is gone when this is closed; only their places are in memory.

    They are kept as they were computed, so a model compared with itself differs by exactly nothing.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="rig-screen-")  # noqa: SIM115 - closed by `__exit__`
        self._places: dict[Place, tuple[int, int]] = {}
        self.bytes = 0

    def __enter__(self) -> "Rows":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keep(self, place: Place, values: Values) -> None:
        """Keep a row. Raises RigError if the disk is full."""
        data = values.tobytes()
        try:
            self._file.seek(self.bytes)
            self._file.write(data)
        except OSError as error:
            raise RigError(
                f"{tempfile.gettempdir()}: no room for the base model's logits: {error.strerror};"
                " let TMPDIR name a larger place, or screen fewer conversations (--limit)"
            ) from error
        self._places[place] = (self.bytes, len(values))
        self.bytes += len(data)

    def get(self, place: Place) -> Values | None:
        """A row that was kept, None if there is none."""
        if place not in self._places:
            return None
        start, length = self._places[place]
        self._file.seek(start)
        return np.frombuffer(self._file.read(4 * length), dtype=np.float32)


def divergence(base: Values, other: Values) -> float:
    """The Kullback-Leibler divergence of the other's distribution from the base's, in nats, from logits.

    Over the same tokens. Kullback and Leibler 1951; scipy's `rel_entr` summed gives the same number.
    """
    p = scipy.special.log_softmax(base.astype(np.float64))
    q = scipy.special.log_softmax(other.astype(np.float64))
    # What rounding takes below zero is zero.
    return max(float(np.exp(p) @ (p - q)), 0.0)
