"""Upstream's files of results: pass rates and preferences, as JSON and as tables, read and written.

The tables are separated by tabs and end their lines as `csv` does, byte for byte as upstream writes them.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.files import inert
from rig.parsing import Foreign, parsed
from rig.solutions.decisions import SCORES, AnswerStatus, Judged, Preference, RecordedPasses
from rig.solutions.solution import Solution

Dialect: TypeAlias = Literal["toolbench", "stabletoolbench"]

PASS_HEADER = (
    *("query", "solvable", "available_tools", "model_intermediate_steps", "model_final_step", "model"),
    *("query_id", "is_solved", "pass_rate_label", "reason", "not_hallucinate"),
)
STABLE_HEADER = (
    *("query", "available_tools", "model_intermediate_steps", "model_final_step", "model", "query_id"),
    "is_solved",
)
PREFERENCE_HEADER = (
    *("query", "available_tools", "ref_model_intermediate_steps", "ref_model_final_step"),
    *("output_model_intermediate_steps", "output_model_final_step", "preference_label", "query_id"),
    *("ref_model", "output_model"),
)


def pass_json(judged: Mapping[str, Judged]) -> str:
    """A file of pass rates."""
    return _dump({name: _pass_row(row) for name, row in judged.items()})


def _pass_row(judged: Judged) -> JsonObject:
    last = judged.votes[-1]
    answer_reason, task_reason = judged.reasons
    reason = f"Is solved: {answer_reason}\nTask solvable: {task_reason}"
    return {
        "passed": _number(judged.tally.passed),
        "failed": _number(judged.tally.failed),
        "query": judged.solution.query,
        "task_solvable": f"TaskStatus.{last.task}",
        "tool_names": list(judged.solution.tool_names),
        "answer_steps": judged.solution.step_text,
        "final_step": judged.solution.final_step,
        "is_solved": f"AnswerStatus.{last.answer}",
        "reason": answer_reason if last.is_certain else reason,
        "not_hallucinate": not judged.solution.invented,
    }


def pass_table(
    rows: Mapping[str, JsonObject],
    model: str,
    dialect: Dialect = "toolbench",
    passes: Mapping[str, bool] | None = None,
    *,
    raw: bool = False,
) -> str:
    """The table that goes with a file of pass rates, from its rows.

    The votes decide who `passes` (a tie passes), unless it is given.
    """
    if dialect == "stabletoolbench":
        return _table(STABLE_HEADER, (_stable_line(name, row, model) for name, row in rows.items()), raw)
    passed = passes or {name: row["failed"] <= row["passed"] for name, row in rows.items()}
    lines = (_pass_line(name, row, model, passed[name]) for name, row in rows.items())
    return _table(PASS_HEADER, lines, raw)


def _pass_line(name: str, row: JsonObject, model: str, is_passed: bool) -> list[Any]:
    label = "passed" if is_passed else "failed"
    return [
        *(row["query"], row["task_solvable"], row["tool_names"], row["answer_steps"], row["final_step"]),
        *(model, name, row["is_solved"], label, row["reason"], row["not_hallucinate"]),
    ]


def _stable_line(name: str, row: JsonObject, model: str) -> list[Any]:
    return [
        *(row["query"], row["tool_names"], row["answer_steps"], row["final_step"]),
        *(model, name, {int(number): status for number, status in row["is_solved"].items()}),
    ]


def dialect_of(rows: Mapping[str, Json]) -> Dialect | None:
    """Whose file of pass rates these rows are of; None if they are none."""
    first = next(iter(rows.values()), None)
    if not isinstance(first, dict) or "answer_steps" not in first or "is_solved" not in first:
        return None
    return "stabletoolbench" if isinstance(first["is_solved"], dict) else "toolbench"


_Votes = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]
"""How many votes: whole or, where some were unsure, halves."""


def _status(value: Json) -> Json:
    return value.removeprefix("AnswerStatus.") if isinstance(value, str) else value


class _Passes(Foreign):
    passed: _Votes
    failed: _Votes


class _Statuses(Foreign):
    is_solved: Annotated[dict[str, Annotated[AnswerStatus, BeforeValidator(_status)]], Field(min_length=1)]


def read_passes(rows: Mapping[str, Json], where: str) -> RecordedPasses:
    """What a file of pass rates says. Raises RigError if it is not one."""
    what = "a file of pass rates"
    if dialect_of(rows) == "toolbench":
        counts = parsed(dict[str, _Passes], dict(rows), where, what)
        return RecordedPasses({name: row.failed <= row.passed for name, row in counts.items()}, {})
    statuses = parsed(dict[str, _Statuses], dict(rows), where, what) if dialect_of(rows) else {}
    if not statuses:
        raise RigError(f"{where}: not {what}")
    rounds: dict[str, dict[str, AnswerStatus]] = {}
    for name, row in statuses.items():
        for number, status in row.is_solved.items():
            rounds.setdefault(number, {})[name] = status
    passes = {
        name: fmean(SCORES[status] for status in row.is_solved.values()) >= 0.5
        for name, row in statuses.items()
    }
    return RecordedPasses(passes, dict(sorted(rounds.items())))


def preference_json(votes: Mapping[str, Preference], reference: str, candidate: str) -> str:
    """A file of preferences."""
    return _dump(
        {
            name: {
                reference: _number(vote.reference),
                candidate: _number(vote.candidate),
                **{f"round_{number}": "complete" for number in range(vote.rounds)},
            }
            for name, vote in votes.items()
        }
    )


def read_preferences(
    rows: Mapping[str, Json], reference: str, candidate: str, where: str
) -> dict[str, Preference]:
    """The votes of a file of preferences. Raises RigError if it is not one of these two."""
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
    """The table that belongs to a file of preferences; `solutions` are reference and candidate by query."""
    rows = []
    for name, vote in votes.items():
        ours, theirs = solutions[name]
        rows.append(
            [
                *(ours.query, list(ours.tool_names), ours.step_text, ours.final_step),
                *(theirs.step_text, theirs.final_step, vote.label, name, reference, candidate),
            ]
        )
    return _table(PREFERENCE_HEADER, rows, raw)


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]], raw: bool) -> str:
    """The table; unless it is wanted `raw`, without cells that a spreadsheet would execute."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter="\t")
    writer.writerow(header)
    writer.writerows(rows if raw else (map(inert, row) for row in rows))
    return file.getvalue()


def _dump(value: JsonObject) -> str:
    return json.dumps(value, indent=4, ensure_ascii=False)


def _number(value: float) -> int | float:
    """A whole number without a decimal point, as upstream counts."""
    return int(value) if float(value).is_integer() else value
