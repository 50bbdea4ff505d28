"""Reading and writing upstream's files of results: pass rates and preferences, as JSON and as tables.

The tables are separated by tabs and end their lines as `csv` does, byte for byte as upstream writes them.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import read_text, write
from rig.plugins.documents.documents import Foreign, parsed
from rig.plugins.documents.folders import csv_line, filling, inert
from rig.plugins.papers.grids import Standing
from rig.plugins.papers.paper import Paper
from rig.plugins.papers.toolbench import method
from rig.plugins.papers.toolbench.method import file_name, read_json
from rig.plugins.solutions import judgements
from rig.plugins.solutions.judgements import (
    Compared,
    Judged,
    ModelAnswers,
    Preference,
    RecordedPasses,
    Results,
)
from rig.plugins.solutions.solution import Solution

Dialect: TypeAlias = Literal["toolbench", "stabletoolbench"]

TEST_SETS = ("G1_instruction", "G1_category", "G1_tool", "G2_instruction", "G2_category", "G3_instruction")
"""Upstream's test sets. Files of results are called TEST_SET_MODEL or TEST_SET_REFERENCE_CANDIDATE."""

_PASS_COLUMNS = {
    "query": "query",
    "solvable": "task_solvable",
    "available_tools": "tool_names",
    "model_intermediate_steps": "answer_steps",
    "model_final_step": "final_step",
    **{name: name for name in ("model", "query_id", "is_solved")},
    **{name: name for name in ("pass_rate_label", "reason", "not_hallucinate")},
}
"""The columns of a table of pass rates, with the member of a row that each shows."""

_NOT_STABLE = {"solvable", "pass_rate_label", "reason", "not_hallucinate"}
PASS_HEADER = tuple(_PASS_COLUMNS)
PREFERENCE_HEADER = (
    *("query", "available_tools", "ref_model_intermediate_steps", "ref_model_final_step"),
    *("output_model_intermediate_steps", "output_model_final_step", "preference_label", "query_id"),
    *("ref_model", "output_model"),
)


def read_results(path: Path) -> Results:
    """Read a file of pass rates or of preferences. Raises RigError if it is neither."""
    data = read_json(path)
    rows = data if isinstance(data, dict) else {}
    test_set = next((name for name in TEST_SETS if path.stem.startswith(f"{name}_")), "")
    if dialect_of(rows) is not None:
        model = path.stem.removeprefix(f"{test_set}_") if test_set else path.absolute().parent.name
        return _pass_results(path, rows, model)
    first = next(iter(rows.values()), None)
    names = [name for name in first if not name.startswith("round_")] if isinstance(first, dict) else []
    if len(names) != 2:
        raise RigError(f"{path}: no file of results: it has neither pass rates nor votes on two models")
    return _preference_results(path, rows, test_set, (names[0], names[1]))


def _pass_results(path: Path, rows: JsonObject, model: str) -> Results:
    def table(answers: Sequence[ModelAnswers], raw: bool) -> str:
        try:
            return pass_table(rows, model, raw=raw)
        except KeyError as error:
            raise RigError(f"{path}: a table also shows {error}, and a query lacks it") from error
        except ValueError as error:
            raise RigError(f"{path}: the votes of a query have no numbers: {error}") from error
        except (TypeError, AttributeError) as error:
            raise RigError(f"{path}: a query is no row of results: {error}") from error

    return Results(path, (model,), read_passes(rows, str(path)), table)


def _preference_results(path: Path, rows: JsonObject, test_set: str, models: tuple[str, str]) -> Results:
    votes = read_preferences(rows, *models, where=str(path))

    def table(answers: Sequence[ModelAnswers], raw: bool) -> str:
        of_set = (answer for answer in answers if answer.test_set == test_set or not test_set)
        of = {answer.model: answer.solutions for answer in of_set}
        for name in votes:
            for model in models:
                if name not in of.get(model, {}):
                    text = f"the table needs the answer of {model} to query {name}; name them with --answers"
                    raise RigError(text)
        pairs = {name: (of[models[0]][name], of[models[1]][name]) for name in votes}
        return preference_table(votes, pairs, *models, raw=raw)

    return Results(path, models, votes, table)


def write_results(
    rows: Sequence[Judged] | Sequence[Compared], directory: Path, *, raw: bool = False
) -> list[Path]:
    """Write a file and a table for each test set and model: all of them or none.

    Cells that a spreadsheet would execute are made inert unless `raw` is set. Raises RigError unless the
    directory is new or empty.
    """
    groups: dict[str, list[Any]] = {}
    for row in rows:
        others = (row.reference,) if isinstance(row, Compared) else ()
        stem = file_name("_".join((row.test_set or "answers", *others, row.model)))
        groups.setdefault(stem, []).append(row)
    written = []
    with filling(directory) as folder:
        for stem, several in groups.items():
            texts = _win_texts if isinstance(several[0], Compared) else _pass_texts
            for name, text in zip((f"{stem}.json", f"{stem}.csv"), texts(several, raw), strict=True):
                write(text, folder / name, folders=True)
                written.append(directory / name)
    return written


def _pass_texts(rows: Sequence[Judged], raw: bool) -> tuple[str, str]:
    text = pass_json({row.query_id: row for row in rows})
    passes = {row.query_id: row.tally.passes for row in rows}
    return text, pass_table(parse_json(text), rows[0].model, passes=passes, raw=raw)


def _win_texts(rows: Sequence[Compared], raw: bool) -> tuple[str, str]:
    models = rows[0].reference, rows[0].model
    votes = {row.query_id: row.votes for row in rows}
    pairs = {row.query_id: (row.pair[0], row.pair[1]) for row in rows if row.pair[0] and row.pair[1]}
    table = {name: votes[name] for name in pairs}
    return preference_json(votes, *models), preference_table(table, pairs, *models, raw=raw)


def pass_json(judged: Mapping[str, Judged]) -> str:
    """Return the text of a file of pass rates."""
    rows = {}
    for name, row in judged.items():
        last = row.votes[-1]
        answer_reason, task_reason = row.reasons
        reason = f"Is solved: {answer_reason}\nTask solvable: {task_reason}"
        rows[name] = {
            "passed": _number(row.tally.passed),
            "failed": _number(row.tally.failed),
            "query": row.solution.query,
            "task_solvable": f"TaskStatus.{last.task}",
            "tool_names": list(row.solution.tool_names),
            "answer_steps": row.solution.step_text,
            "final_step": row.solution.final_step,
            "is_solved": f"AnswerStatus.{last.answer}",
            "reason": answer_reason if last.is_certain else reason,
            "not_hallucinate": not row.solution.invented,
        }
    return json.dumps(rows, indent=4, ensure_ascii=False)


def pass_table(
    rows: Mapping[str, JsonObject], model: str, passes: Mapping[str, bool] | None = None, *, raw: bool = False
) -> str:
    """Make the table of a file of pass rates from its rows.

    `passes` says which queries pass; without it the votes decide, and a tie passes.
    """
    is_stable = dialect_of(rows) == "stabletoolbench"
    header = [name for name in PASS_HEADER if not (is_stable and name in _NOT_STABLE)]
    lines = []
    for name, row in rows.items():
        line = {**row, "model": model, "query_id": name}
        if is_stable:
            line["is_solved"] = {int(number): status for number, status in row["is_solved"].items()}
        else:
            is_passed = passes[name] if passes else row["failed"] <= row["passed"]
            line["pass_rate_label"] = "passed" if is_passed else "failed"
        lines.append([line[_PASS_COLUMNS[column]] for column in header])
    return _table(header, lines, raw)


def dialect_of(rows: Mapping[str, Json]) -> Dialect | None:
    """Return which project's pass rates these rows are; None if they are not pass rates."""
    first = next(iter(rows.values()), None)
    if not isinstance(first, dict) or "answer_steps" not in first or "is_solved" not in first:
        return None
    return "stabletoolbench" if isinstance(first["is_solved"], dict) else "toolbench"


_Votes = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]
"""A number of votes: whole or, with unsure votes, in halves."""


class _Passes(Foreign):
    passed: _Votes
    failed: _Votes


_Status = Annotated[
    judgements.AnswerStatus,
    BeforeValidator(lambda value: value.removeprefix("AnswerStatus.") if isinstance(value, str) else value),
]


class _Statuses(Foreign):
    is_solved: Annotated[dict[str, _Status], Field(min_length=1)]


def read_passes(rows: Mapping[str, Json], where: str) -> RecordedPasses:
    """Read the rows of a file of pass rates. Raises RigError if they are not pass rates."""
    what = "a file of pass rates"
    dialect = dialect_of(rows)
    if dialect is None:
        raise RigError(f"{where}: not {what}")
    if dialect == "toolbench":
        counts = parsed(dict[str, _Passes], dict(rows), where, what)
        return RecordedPasses({name: row.failed <= row.passed for name, row in counts.items()}, {})
    passes: dict[str, bool] = {}
    rounds: dict[str, dict[str, judgements.AnswerStatus]] = {}
    for name, row in parsed(dict[str, _Statuses], dict(rows), where, what).items():
        passes[name] = fmean(judgements.SCORES[status] for status in row.is_solved.values()) >= 0.5
        for number, status in row.is_solved.items():
            rounds.setdefault(number, {})[name] = status
    return RecordedPasses(passes, dict(sorted(rounds.items())))


def preference_json(votes: Mapping[str, Preference], reference: str, candidate: str) -> str:
    """Return the text of a file of preferences."""
    rows = {
        name: {
            reference: _number(vote.reference),
            candidate: _number(vote.candidate),
            **{f"round_{number}": "complete" for number in range(vote.rounds)},
        }
        for name, vote in votes.items()
    }
    return json.dumps(rows, indent=4, ensure_ascii=False)


def read_preferences(
    rows: Mapping[str, Json], reference: str, candidate: str, where: str
) -> dict[str, Preference]:
    """Read the votes in a file of preferences. Raises RigError if they are not on these two models."""
    what = f"votes on {reference} and {candidate}"
    preferences = {}
    for name, row in parsed(dict[str, JsonObject], dict(rows), where, what).items():
        missing = next((model for model in (reference, candidate) if model not in row), None)
        if missing is not None:
            raise RigError(f"{where}, {name}: not {what}: {missing} is missing")
        votes = {model: row[model] for model in (reference, candidate)}
        counts = parsed(dict[str, _Votes], votes, f"{where}, {name}", what)
        rounds = sum(key.startswith("round_") for key in row)
        preferences[name] = Preference(counts[reference], counts[candidate], rounds=rounds)
    return preferences


def preference_table(
    votes: Mapping[str, Preference],
    solutions: Mapping[str, tuple[Solution, Solution]],
    reference: str,
    candidate: str,
    *,
    raw: bool = False,
) -> str:
    """Make the table of a file of preferences; `solutions` are the pairs (reference, candidate) by query."""
    rows = []
    for name, vote in votes.items():
        ours, theirs = solutions[name]
        steps = ours.step_text, ours.final_step, theirs.step_text, theirs.final_step
        names = vote.label, name, reference, candidate
        rows.append([ours.query, list(ours.tool_names), *steps, *names])
    return _table(PREFERENCE_HEADER, rows, raw)


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], raw: bool) -> str:
    """Return rows as tab-separated text. Cells that a spreadsheet would execute are inert unless `raw`."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t")
    writer.writerow(header)
    writer.writerows(rows if raw else (map(inert, row) for row in rows))
    return file.getvalue()


def _number(value: float) -> int | float:
    """Return a whole number as an int, as upstream writes it."""
    return int(value) if float(value).is_integer() else value


def leaderboard_text(rows: Sequence[Standing]) -> str:
    """Return a leaderboard as CSV, with one row for each method, ordered by win rate.

    A name that a spreadsheet would take for a formula is made inert.
    """
    sets = list(dict.fromkeys(name for row in rows for name in row.by_set))
    header = ["Method", "WinRate", "StdError"]
    lines: list[list[str | float]] = [
        [*header, *(f"{name}_WinRate" for name in sets), *(f"{name}_StdError" for name in sets)]
    ]
    for row in sorted(rows, key=lambda standing: -standing.win_rate):
        cells = [row.by_set.get(name) for name in sets]
        numbers = [*(cell[0] if cell else "" for cell in cells), *(cell[1] if cell else "" for cell in cells)]
        lines.append([row.method, row.win_rate, row.std_error, *numbers])
    return "".join(f"{csv_line(line)}\n" for line in lines)


def parse_leaderboard(text: str, where: str) -> list[Standing]:
    """Parse a leaderboard; the last of several rows for a method counts. Raises RigError if it is not one."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    try:
        names = reader.fieldnames or ()
        missing = [name for name in ("Method", "WinRate") if name not in names]
        if missing:
            raise RigError(f"{where}: not a leaderboard: it has no column {' or '.join(missing)}")
        sets = [name.removesuffix("_WinRate") for name in names if name.endswith("_WinRate")]
        by_method = {standing.method: standing for standing in (_standing(row, sets) for row in reader)}
    except (ValueError, csv.Error) as error:
        raise RigError(f"{where}, line {reader.line_num}: not a leaderboard: {error}") from error
    if not by_method:
        raise RigError(f"{where}: not a leaderboard: it has no rows")
    return list(by_method.values())


def _standing(row: Mapping[str, str | None], sets: Sequence[str]) -> Standing:
    if not row["Method"]:
        raise ValueError("a method without a name")
    by_set = {
        name: (_finite(row[f"{name}_WinRate"]), _error(row.get(f"{name}_StdError")))
        for name in sets
        if row[f"{name}_WinRate"]
    }
    return Standing(row["Method"], _finite(row["WinRate"]), _error(row.get("StdError")), by_set)


def _finite(text: str | None) -> float:
    value = float(text or "")
    if not isfinite(value):
        raise ValueError(f"{text} is no rate")
    return value


def _error(text: str | None) -> float:
    """Return a standard error; NaN for an empty cell, as upstream leaves some out."""
    return _finite(text) if text else nan


class ToolBenchPaper(Paper):
    """ToolBench's paper: the files that its own scripts read and write."""

    name = "toolbench"
    methods = ("toolbench",)
    takes_any = True

    recorded = staticmethod(method.recorded_run)
    export = staticmethod(method.export)
    holds_answers = staticmethod(method.holds_answers)
    answers = staticmethod(method.load)
    query_ids = staticmethod(method.query_ids)
    results = staticmethod(read_results)
    write_results = staticmethod(write_results)
    leaderboard_text = staticmethod(leaderboard_text)

    def leaderboard(self, path: Path) -> list[Standing]:
        return parse_leaderboard(read_text(path), str(path))


PAPER: Paper = ToolBenchPaper()
