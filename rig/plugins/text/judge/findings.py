"""What a comparison of two texts finds."""

from enum import StrEnum
from functools import partial
from typing import NamedTuple


class Meaning(StrEnum):
    """The verdict on two texts."""

    SAME = "same"
    DIFFERENT = "different"
    UNCLEAR = "unclear"


class Finding(NamedTuple):
    """A difference between two texts. It is proven (`DIFFERENT`), or it keeps them from being the same."""

    meaning: Meaning
    reason: str


different = partial(Finding, Meaning.DIFFERENT)
"""A finding that proves a difference, with the reason."""
unclear = partial(Finding, Meaning.UNCLEAR)
"""A finding that there may be a difference, with the reason."""
