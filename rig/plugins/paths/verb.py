"""`rig compare --paths`: where the arms part."""

from __future__ import annotations

from shutil import get_terminal_size
from typing import Any

from rig.cli.compare import ComparisonQuestion, DecisionOptions
from rig.cli.output import print_json, say, terminal_width
from rig.core.errors import RigError
from rig.plugins.paths.paths import paths_of
from rig.plugins.paths.text import paths_text
from rig.store import Runs

_WIDTH = 100
"""The cells of a line where no terminal says how many there are."""


def of_arms(*, question: ComparisonQuestion, deciding: DecisionOptions, as_json: bool, **others: Any) -> None:
    """Print where the arms part: the share of turns with the same calls, and each flip."""
    del others
    if deciding.limit(question.loss) is not None:
        raise RigError("--paths decides nothing; leave out --fail-if-…")
    with Runs.open(question.runs, question.graded_by) as stored:
        pairs = list(paths_of(stored, question.addresses, question.options))
    if as_json:
        print_json({"arms": list(question.addresses), "paths": [paths.as_json() for paths in pairs]})
        return
    width = terminal_width() or get_terminal_size((_WIDTH, 0)).columns
    say("\n\n".join(paths_text(paths, width, full=deciding.full) for paths in pairs))
