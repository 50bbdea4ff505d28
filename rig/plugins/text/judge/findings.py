"""What a comparison of two texts finds."""

from functools import partial
from typing import NamedTuple

from rig.scoring.similarity import Meaning


class Finding(NamedTuple):
    """A difference between two texts. It is proven (`DIFFERENT`), or it keeps them from being the same."""

    meaning: Meaning
    reason: str


different = partial(Finding, Meaning.DIFFERENT)
"""A finding that proves a difference, with the reason."""
unclear = partial(Finding, Meaning.UNCLEAR)
"""A finding that there may be a difference, with the reason."""
