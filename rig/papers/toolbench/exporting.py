"""A run of any method as ToolBench's files: raw answers, converted answers, and the ids of the queries."""

import json
from collections.abc import Sequence
from pathlib import Path

from rig import files
from rig.files import filling
from rig.papers.toolbench.answers import file_name, write
from rig.papers.toolbench.raw import raw_of
from rig.solutions.judgements import Answers, own_id
from rig.solutions.solution import Solution
from rig.solutions.trajectory import Finished


def export(rows: Sequence[Finished], directory: Path) -> Sequence[Path]:
    """Write finished tasks, all or nothing. Raises RigError unless the directory is new or empty."""
    sets: dict[tuple[str, str], dict[str, Solution]] = {}
    ids: dict[str, dict[str, int]] = {}
    for row in rows:
        suite = row.suite or "tasks"
        ids.setdefault(suite, {})[own_id(row.name, suite)] = 0
        if row.solution is not None:
            sets.setdefault((row.model, suite), {})[own_id(row.name, suite)] = row.solution
    tried = {
        (row.model, row.suite or "tasks", own_id(row.name, row.suite)): (row.tree, row.search) for row in rows
    }
    answers = [Answers(model, suite, solutions) for (model, suite), solutions in sets.items()]
    with filling(directory) as folder:
        written = write(answers, folder / "converted")
        for answer in answers:
            for name, solution in answer.solutions.items():
                place = folder / "answer" / file_name(answer.model) / file_name(answer.test_set)
                method, raw = raw_of(solution, *tried[answer.model, answer.test_set, name])
                path = place / f"{file_name(name).replace('_', '-')}_{method}.json"
                files.write(json.dumps(raw, indent=2), path, folders=True)
                written.append(path)
        for suite, query_ids in ids.items():
            path = folder / "test_ids" / f"{file_name(suite)}.json"
            files.write(json.dumps(query_ids), path, folders=True)
            written.append(path)
    return [directory / path.relative_to(folder) for path in written]
