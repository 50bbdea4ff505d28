"""How far something is that takes long: whoever does it tells, and the command line shows it to who waits."""

from collections.abc import Callable
from typing import TypeAlias

Watch: TypeAlias = Callable[[str, str, int, int], None]
"""Gets the name of a thing, what is counted, how many are done, and how many there are."""


def _unseen(_name: str, _what: str, _done: int, _of: int) -> None:
    pass


_watch: list[Watch] = [_unseen]


def show_with(watch: Watch) -> None:
    """Have this function called from now on."""
    _watch[:] = [watch]


def tell(name: str, what: str, done: int, of: int) -> None:
    """Tell how far something is."""
    _watch[0](name, what, done, of)
