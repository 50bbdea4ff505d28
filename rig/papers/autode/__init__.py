"""AutoDE's paper (arXiv 2403.11128): its result files, taken in and written, and its tables."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.episodes import PlayedTurn
from rig.methods.paper import ArmScore, Paper, RecordedRun, Table


class AutoDEPaper(Paper):
    """A result file has a dialogue in each line."""

    name = "autode"
    methods = ("autode",)
    writes = "lines"

    def recorded(self, files: Sequence[Path], place: Path | None, values: Mapping[str, Any]) -> RecordedRun:
        from rig.papers.autode.importing import recorded_run

        return recorded_run(files, place)

    def tables(self, scores: Iterable[ArmScore]) -> Sequence[Table]:
        from rig.papers.autode.tables import published_tables

        return published_tables(scores)

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any) -> str:
        from rig.methods.autode.talk import Talk
        from rig.papers.autode.records import record_of

        talk = Talk(task, settings.mode, settings.max_rounds, compat=settings.compat).extend(turns.values())
        return record_of(task, talk, compat=settings.compat).line()


PAPER: Paper = AutoDEPaper()
