"""ToolTalk's paper (Farn and Shin, 2023): its prediction files, and its tables."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.methods.paper import Paper
from rig.papers.tooltalk.predictions import load_predictions, with_predictions
from rig.papers.tooltalk.tables import published_tables
from rig.tasks import PlayedTurn


class ToolTalkPaper(Paper):
    """A file of predictions is a conversation's, so that the tasks of a run are files."""

    name = "tooltalk"
    methods = ("tooltalk",)
    writes = "files"

    tables = staticmethod(published_tables)

    def predictions(
        self, setup: Any, place: Path, method: str
    ) -> Sequence[tuple[Any, dict[int, PlayedTurn]]]:
        setup.hold_to_recorded()
        return load_predictions(place, setup.matcher.toolbox)

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any) -> str:
        return json.dumps(with_predictions(task, turns), indent=4)


PAPER: Paper = ToolTalkPaper()
