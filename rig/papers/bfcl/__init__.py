"""BFCL's files of results: a line for each entry, of one turn or of several."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.methods.paper import Paper
from rig.papers.bfcl import results
from rig.tasks import PlayedTurn


class BFCLPaper(Paper):
    """Both methods have files of the same name, and one of each category."""

    name = "bfcl"
    methods = ("bfcl", "bfcl-turns")
    writes = "lines"

    def holds(self, place: Path, method: str) -> bool:
        return bool(results.files_of(place, of_turns=method == "bfcl-turns"))

    def predictions(
        self, setup: Any, place: Path, method: str
    ) -> Sequence[tuple[Any, dict[int, PlayedTurn]]]:
        """Answers to the entries of the data, which are where `--set data=DIR` or $RIG_BFCL say.

        Those of one turn are taken as they are written. Where a name in them has a dot, names were given with
        dots.
        """
        entries = setup.data()
        if method == "bfcl-turns":
            return results.read_turns(place, entries)
        answered = results.read_results(place, entries)
        calls = (executed for _, played in answered for turn in played.values() for executed in turn.executed)
        setup.take_as_written(has_dots=any("." in executed.name for executed in calls))
        return answered

    def file_of(self, task: Any) -> str:
        return f"BFCL_v4_{task.suite}_result.json"

    def record(self, task: Any, turns: Mapping[int, PlayedTurn], settings: Any) -> str:
        if task.suite.startswith("multi_turn"):
            return results.line_of_turns(task, turns)
        return results.line_of(task, turns, settings)


PAPER: Paper = BFCLPaper()
