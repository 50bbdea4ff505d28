"""ToolBench and StableToolBench: answers raw and converted, files of results, leaderboards."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.methods.paper import Paper, RecordedRun, Results, Standing
from rig.papers.toolbench import answers, exporting, leaderboard, results
from rig.solutions.decisions import Compared, Judged
from rig.solutions.judgements import SEED, Answers, Shape
from rig.solutions.trajectory import Finished


class ToolBenchPaper(Paper):
    """Files that ToolBench's own scripts read and write."""

    name = "toolbench"
    methods = ("toolbench",)
    takes_any = True

    def recorded(self, files: Sequence[Path], place: Path | None, values: Mapping[str, Any]) -> RecordedRun:
        from rig.papers.toolbench.method import recorded_run

        return recorded_run(files, place, values)

    def export(self, rows: Sequence[Finished], directory: Path) -> Sequence[Path]:
        return exporting.export(rows, directory)

    def holds_answers(self, place: Path) -> bool:
        return answers.holds_answers(place)

    def answers(
        self, place: Path, shape: Shape = "seeded", seed: int = SEED, faults: list[str] | None = None
    ) -> list[Answers]:
        return answers.load(place, shape, seed, faults)

    def query_ids(self, place: Path) -> Mapping[str, Collection[str]]:
        return answers.query_ids(place)

    def results(self, path: Path) -> Results:
        return results.read_results(path)

    def write_results(
        self, rows: Sequence[Judged] | Sequence[Compared], directory: Path, *, raw: bool = False
    ) -> list[Path]:
        return results.write_results(rows, directory, raw=raw)

    def leaderboard(self, path: Path) -> list[Standing]:
        return leaderboard.read(path)

    def leaderboard_text(self, rows: Sequence[Standing]) -> str:
        return leaderboard.text(rows)


PAPER: Paper = ToolBenchPaper()
