"""ToolBench and StableToolBench: answers raw and converted, files of results, leaderboards."""

from pathlib import Path

from rig.files import read_text
from rig.methods.paper import Paper, Standing
from rig.papers.toolbench import method as folders
from rig.papers.toolbench import results as votes


class ToolBenchPaper(Paper):
    """Files that ToolBench's own scripts read and write."""

    name = "toolbench"
    methods = ("toolbench",)
    takes_any = True

    recorded = staticmethod(folders.recorded_run)
    export = staticmethod(folders.export)
    holds_answers = staticmethod(folders.holds_answers)
    answers = staticmethod(folders.load)
    query_ids = staticmethod(folders.query_ids)
    results = staticmethod(votes.read_results)
    write_results = staticmethod(votes.write_results)
    leaderboard_text = staticmethod(votes.leaderboard_text)

    def leaderboard(self, path: Path) -> list[Standing]:
        return votes.parse_leaderboard(read_text(path), str(path))


PAPER: Paper = ToolBenchPaper()
