"""What setups offer whose episodes are searches, or answers made elsewhere; judges read it."""

from collections.abc import Sequence
from typing import Any

from rig.core.tasks import PlayedTurn
from rig.plugins.solutions.solution import Searched, Solution


class SolutionSetup:
    """A setup (`rig.methods.base`) that knows more of an episode than its steps."""

    def searched(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> Searched | None:
        """Return the result of a finished episode if it is a search in one of ToolBench's ways, else None."""
        return None

    def solution(self, task: Any, turns: Sequence[PlayedTurn], settings: Any) -> Solution | None:
        """Return a whole answer that was made elsewhere, or None if there is none."""
        return None
