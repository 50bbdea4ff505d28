"""Public data that a variable names. A test that needs it is skipped where the variable is not set."""

import os
from pathlib import Path

import pytest


def public(variable: str, *parts: str) -> tuple[Path, pytest.MarkDecorator]:
    """Return a place in the folder that a variable names, and the mark of tests that need it.

    A variable that is set and names something else fails these tests: nothing is skipped by a mistake.
    """
    place = os.environ.get(variable, "")
    reason = f"{variable} is not set"
    return Path(place, *parts), pytest.mark.skipif(not place, reason=reason)
