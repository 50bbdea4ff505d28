"""The tables of a method's paper, filled with stored arms."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rig.compare.arms import ChosenArm, choose
from rig.core.errors import RigError
from rig.core.metrics import UNPLAYED, Counts
from rig.plugins.papers import paper
from rig.plugins.papers.grids import ArmScore, Table
from rig.show.table import inert, markdown
from rig.show.texts import percent
from rig.store import Runs, StoredArm, StoredScore


def published(runs: Runs, addresses: Sequence[str]) -> Sequence[Table]:
    """Return the tables of these arms, addressed as RUN (all of its arms) or RUN/ARM.

    Raises RigError if several methods played them, or their method has no tables.
    """
    chosen = choose(runs, addresses)
    played = list(dict.fromkeys(arm.run.declaration.method for arm in chosen))
    if len(played) > 1:
        raise RigError(f"--tables: the arms are of several methods: {', '.join(played)}")
    return paper.of_method(played[0]).tables(_scores(runs, chosen))


def _scores(runs: Runs, chosen: Sequence[ChosenArm]) -> Iterator[ArmScore]:
    """Yield every score of these arms: suite by suite, by each grader, with the counts of each task."""
    for run in {arm.run.id: arm.run for arm in chosen}.values():
        labels = {arm.arm.position: arm.label for arm in chosen if arm.run.id == run.id}
        scores = [score for score in runs.suite_scores(run) if score.arm in labels]
        if biased := dict.fromkeys(labels[score.arm] for score in scores if UNPLAYED in score.counts):
            raise RigError(
                f"results chose what {', '.join(biased)} played, so the paper's tables would be biased; leave"
                " it out, or play it without --until"
            )
        by_task: dict[tuple[object, int], dict[str, list[Counts]]] = {}
        for grader in dict.fromkeys(score.grader for score in scores):
            for cell in runs.scored_cells(run, grader):
                tasks = by_task.setdefault((grader, cell.arm), defaultdict(list))
                tasks[cell.conversation].append(cell.counts)
        for score in scores:
            played = by_task.get((score.grader, score.arm), {})
            yield arm_score(score, run.arms[score.arm], played)._replace(arm=labels[score.arm])


def arm_score(score: StoredScore, arm: StoredArm, by_task: Mapping[str, Sequence[Counts]]) -> ArmScore:
    """Return a score with what a method needs: its arm, and each task's counts, repeat by repeat."""
    counts, grader = (score.counts, score.error_types), (str(score.grader), score.grader.as_json())
    return ArmScore(arm.name, arm.fingerprint or {}, score.suite or "", *counts, *grader, by_task)


def tables_markdown(tables: Sequence[Table]) -> str:
    """Return each table in Markdown under its title, and at the end what the paper's own rows are."""
    parts = []
    for table in tables:
        rows = [tuple(inert(cell_text(cell)) for cell in row) for row in table.cells]
        grid = markdown(table.header, rows, sum(isinstance(cell, str) for cell in table.cells[0]))
        parts.append(f"**{table.title}** (graded by {inert(table.grader)})\n\n{grid}")
    cited = dict.fromkeys(table.cited for table in tables)
    return "\n\n".join([*parts, *filter(None, cited)])


def cell_text(value: str | int | float | None) -> str:
    """Return the text of a cell; shares are in percent."""
    return str(value) if isinstance(value, str | int) else percent(value)
