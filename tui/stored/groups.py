"""A run's heat map as a text to read: how much was right by tool, by tag and by suite, in every arm."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rig.errors import RigError
from rig.store import Runs


def heat_map(store: Path, run: str) -> str:
    """What is stored of a run by now, in as many ways as there is more than one group. Raises RigError."""
    with Runs.open(store) as runs:
        found = "\n\n".join(_parts(runs, run))
    return found or "No conversation of this run is scored yet."


def _parts(runs: Runs, run: str) -> Iterator[str]:
    # Loads what compares arms, which a live view has no other use for.
    from rig.compare.board.groups import WAYS, groups_of
    from rig.displays.pages.groups import groups_text

    stored = runs.get(run)
    for by in WAYS:
        with suppress(RigError):
            found = groups_of(runs, stored, by)
            if by == "tool" or len(found.rows) > 1:
                yield groups_text(found)
