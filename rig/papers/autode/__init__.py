"""AutoDE's paper (arXiv 2403.11128): its result files, taken in and written, and its tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rig.methods.autode.talk import Talk
from rig.methods.paper import ArmScore, Paper, Table
from rig.papers.autode.importing import recorded_run
from rig.papers.autode.records import record_of
from rig.tasks import PlayedTurn


class AutoDEPaper(Paper):
    """A result file has a dialogue in each line."""

    name = "autode"
    methods = ("autode",)
    writes = "lines"

    recorded = staticmethod(recorded_run)

    def tables(self, scores: Iterable[ArmScore]) -> Sequence[Table]:
        from rig.papers.autode.tables import published_tables  # needs numpy

        return published_tables(scores)

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any) -> str:
        talk = Talk(task, settings.mode, settings.max_rounds, compat=settings.compat).extend(turns.values())
        return record_of(task, talk, compat=settings.compat).line()


PAPER: Paper = AutoDEPaper()
