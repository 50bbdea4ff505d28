"""Files of results that ToolBench or StableToolBench wrote: their votes, and the tables that go with them."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.files import filling, write
from rig.methods.paper import Results
from rig.papers.toolbench.answers import file_name, read_json
from rig.papers.toolbench.tables import (
    dialect_of,
    pass_json,
    pass_table,
    preference_json,
    preference_table,
    read_passes,
    read_preferences,
)
from rig.solutions.decisions import Compared, Judged, Preference
from rig.solutions.judgements import Answers
from rig.solutions.solution import Solution

TEST_SETS = (
    *("G1_instruction", "G1_category", "G1_tool", "G2_instruction", "G2_category", "G3_instruction"),
)
"""Upstream's. Files of results are called TEST_SET_MODEL, or TEST_SET_REFERENCE_CANDIDATE."""


def read_results(path: Path) -> Results:
    """A file of pass rates or of preferences. Raises RigError for what is neither."""
    data = read_json(path)
    rows = data if isinstance(data, dict) else {}
    if dialect_of(rows) is not None:
        stem, test_set = path.stem, _test_set(path.stem)
        model = stem.removeprefix(f"{test_set}_") if test_set else path.absolute().parent.name
        return Results(path, (model,), read_passes(rows, str(path)), partial(_pass_table, path, rows, model))
    first = next(iter(rows.values()), None)
    names = [name for name in first if not name.startswith("round_")] if isinstance(first, dict) else []
    if len(names) != 2:
        raise RigError(f"{path}: no file of results: it has neither pass rates nor votes on two models")
    votes = read_preferences(rows, names[0], names[1], str(path))
    models = names[0], names[1]
    return Results(path, models, votes, partial(_preference_table, path, votes, models))


def _pass_table(
    path: Path, rows: Mapping[str, Json], model: str, answers: Sequence[Answers], raw: bool
) -> str:
    """The table, byte for byte as upstream writes it if it is wanted `raw`."""
    try:
        return pass_table(dict(rows), model, dialect_of(rows) or "toolbench", raw=raw)
    except KeyError as error:
        raise RigError(f"{path}: a table also shows {error}, and a query lacks it") from error
    except ValueError as error:
        raise RigError(f"{path}: the votes of a query have no numbers: {error}") from error
    except (TypeError, AttributeError) as error:
        raise RigError(f"{path}: a query is no row of results: {error}") from error


def _preference_table(
    path: Path,
    votes: Mapping[str, Preference],
    models: tuple[str, str],
    answers: Sequence[Answers],
    raw: bool,
) -> str:
    """The same of a file of preferences. Raises RigError if it needs an answer that is not there."""
    test_set = _test_set(path.stem)
    by_model = {
        answer.model: answer.solutions for answer in answers if answer.test_set == test_set or not test_set
    }
    pairs = {name: _pair(name, models, by_model) for name in votes}
    return preference_table(votes, pairs, *models, raw=raw)


def write_results(
    rows: Sequence[Judged] | Sequence[Compared], directory: Path, *, raw: bool = False
) -> list[Path]:
    """Write a file and a table for each test set and model, all or none."""
    groups: dict[str, list[Judged | Compared]] = {}
    for row in rows:
        others = (row.reference,) if isinstance(row, Compared) else ()
        stem = file_name("_".join((row.test_set or "answers", *others, row.model)))
        groups.setdefault(stem, []).append(row)
    written = []
    with filling(directory) as folder:
        for stem, several in groups.items():
            texts = (
                _win_texts(cast(list[Compared], several), raw)
                if isinstance(several[0], Compared)
                else _pass_texts(cast(list[Judged], several), raw)
            )
            for name, text in zip((f"{stem}.json", f"{stem}.csv"), texts, strict=True):
                write(text, folder / name, folders=True)
                written.append(directory / name)
    return written


def _pass_texts(rows: Sequence[Judged], raw: bool) -> tuple[str, str]:
    text = pass_json({row.query_id: row for row in rows})
    of_query: dict[str, JsonObject] = json.loads(text)
    passes = {row.query_id: row.tally.passes for row in rows}
    return text, pass_table(of_query, rows[0].model, passes=passes, raw=raw)


def _win_texts(rows: Sequence[Compared], raw: bool) -> tuple[str, str]:
    models = rows[0].reference, rows[0].model
    votes = {row.query_id: row.votes for row in rows}
    pairs = {
        row.query_id: (row.pair[0], row.pair[1])
        for row in rows
        if row.pair[0] is not None and row.pair[1] is not None
    }
    table = {name: vote for name, vote in votes.items() if name in pairs}
    return preference_json(votes, *models), preference_table(table, pairs, *models, raw=raw)


def _test_set(stem: str) -> str:
    return next((name for name in TEST_SETS if stem.startswith(f"{name}_")), "")


def _pair(
    name: str, models: tuple[str, ...], answers: Mapping[str, Mapping[str, Solution]]
) -> tuple[Solution, Solution]:
    missing = next((model for model in models if name not in answers.get(model, {})), None)
    if missing is not None:
        raise RigError(f"the table needs the answer of {missing} to query {name}; name them with --answers")
    return answers[models[0]][name], answers[models[1]][name]
