"""The tables of ToolTalk's paper, made from stored scores, with the paper's own rows beside them.

Source: Farn and Shin, "ToolTalk: Evaluating Tool Usage in a Conversational Setting" (2023). In tables 1 and
2, models read what the tools do; in tables 3 and 4, only their names.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Literal

from rig.calls import JsonObject
from rig.methods.paper import ArmScore
from rig.methods.tooltalk.scoring.error_types import ErrorType
from rig.methods.tooltalk.scoring.metrics import DECLARATION
from rig.metrics import TASKS, Counts

Source = Literal["run", "paper"]


@dataclass(frozen=True, slots=True)
class RatesRow:
    """A model's rates on a suite (tables 1 and 3), as fractions; None if there is nothing to divide by."""

    model: str
    source: Source
    suite: str
    success_rate: float | None
    precision: float | None
    recall: float | None
    incorrect_action_rate: float | None
    conversations: int

    @property
    def cells(self) -> tuple[str | int | float | None, ...]:
        """What stands in its row."""
        rates = (self.success_rate, self.precision, self.recall, self.incorrect_action_rate)
        return (_model(self), self.suite or "-", *rates, self.conversations)

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class ErrorsRow:
    """How often a model made each type of error (tables 2 and 4), over all suites."""

    model: str
    source: Source
    errors: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.errors.values())

    def share(self, error_type: ErrorType) -> float | None:
        """The part of all errors that are of this type; None if there are no errors."""
        return self.errors.get(error_type, 0) / self.total if self.total else None

    @property
    def cells(self) -> tuple[str | int | float | None, ...]:
        """What stands in its row."""
        return (_model(self), *map(self.share, ErrorType), self.total)

    def as_json(self) -> JsonObject:
        """Counts and shares by type, and the total."""
        return {
            "model": self.model,
            "source": self.source,
            "errors": {str(kind): self.errors.get(kind, 0) for kind in ErrorType},
            "shares": {str(kind): self.share(kind) for kind in ErrorType},
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class Table:
    """One of the tables. Its measured rows are all by one grader."""

    number: Literal[1, 2, 3, 4]
    grader: str
    graded_by: JsonObject
    rows: tuple[RatesRow, ...] | tuple[ErrorsRow, ...]

    @property
    def title(self) -> str:
        return f"Table {self.number}. {self._subject}"

    @property
    def _subject(self) -> str:
        return f"{_SUBJECTS[self.number % 2]}, tools {_DOCS[self.number > 2]}"

    @property
    def header(self) -> tuple[str, ...]:
        return _RATES if self.number % 2 else _ERRORS

    @property
    def cells(self) -> list[tuple[str | int | float | None, ...]]:
        return [row.cells for row in self.rows]

    @property
    def cited(self) -> str:
        return CITED if any(row.source == "paper" for row in self.rows) else ""

    def as_json(self) -> JsonObject:
        """Number, title, grader and rows."""
        return {
            "table": self.number,
            "title": self._subject,
            "grader": self.graded_by,
            "rows": [row.as_json() for row in self.rows],
        }


_SUBJECTS = ("Types of error", "Results")
_DOCS = ("documented", "only named")
_RATES = ("model", "suite", "success", "precision", "recall", "incorrect actions", "conversations")
_ERRORS = ("model", *(str(kind) for kind in ErrorType), "total")

CITED = (
    "Rows marked (paper) are cited from the tables of these numbers in Farn and Shin, ToolTalk (2023). They"
    " were measured on ToolTalk's own conversations, with another similarity of texts, and without a grammar."
)


def published_tables(scores: Iterable[ArmScore]) -> list[Table]:
    """The tables that these scores, each of one suite, have anything to say in, grader by grader.

    The paper's rows stand below those measured on a suite of the same name.
    """
    by_grader: dict[str, dict[bool, list[ArmScore]]] = {}
    for score in scores:
        is_named = score.fingerprint.get("protocol.docs") == "names"
        by_grader.setdefault(score.grader, {False: [], True: []})[is_named].append(score)
    tables = []
    for grader, groups in by_grader.items():
        if full := groups[False]:
            told = grader, full[0].graded_by
            tables += [
                Table(1, *told, _rates(full, PAPER_RATES)),
                Table(2, *told, _errors(full, PAPER_ERRORS)),
            ]
        if named := groups[True]:
            told = grader, named[0].graded_by
            tables += [
                Table(3, *told, _rates(named, PAPER_RATES_NAMES)),
                Table(4, *told, _errors(named, PAPER_ERRORS_NAMES)),
            ]
    return tables


def _model(row: RatesRow | ErrorsRow) -> str:
    return f"{row.model} (paper)" if row.source == "paper" else row.model


def _rates(scores: list[ArmScore], cited: tuple[RatesRow, ...]) -> tuple[RatesRow, ...]:
    rows: dict[str, list[RatesRow]] = {}
    for score in scores:
        rows.setdefault(score.suite, []).append(_measured(score.arm, score.suite, score.counts))
    for suite, measured in rows.items():
        measured += [row for row in cited if row.suite == suite]
    return tuple(row for suite in rows.values() for row in suite)


def _measured(name: str, suite: str, counts: Counts) -> RatesRow:
    rates = {metric.name: metric.rate(counts) for metric in DECLARATION.shown("meters")}
    return RatesRow(name, "run", suite, **rates, conversations=round(counts[TASKS]))


def _errors(scores: list[ArmScore], cited: tuple[ErrorsRow, ...]) -> tuple[ErrorsRow, ...]:
    counts: dict[str, Counter[str]] = {}
    for score in scores:
        counts.setdefault(score.arm, Counter()).update(score.error_types)
    measured = [ErrorsRow(name, "run", errors) for name, errors in counts.items()]
    is_comparable = any(score.suite in ("easy", "hard") for score in scores)
    return (*measured, *(cited if is_comparable else ()))


def _cited_errors(model: str, premature: int, planning: int, invocation: int) -> ErrorsRow:
    return ErrorsRow(model, "paper", dict(zip(ErrorType, (premature, planning, invocation), strict=True)))


PAPER_RATES = (
    RatesRow("GPT-3.5", "paper", "easy", 0.857, 0.424, 0.893, 0.050, 28),
    RatesRow("GPT-4", "paper", "easy", 0.928, 0.692, 0.964, 0.038, 28),
    RatesRow("GPT-3.5", "paper", "hard", 0.260, 0.546, 0.697, 0.239, 50),
    RatesRow("GPT-4", "paper", "hard", 0.500, 0.749, 0.790, 0.251, 50),
)
"""Table 1 of the paper."""

PAPER_ERRORS = (_cited_errors("GPT-3.5", 18, 36, 13), _cited_errors("GPT-4", 16, 21, 13))
"""Table 2 of the paper. It prints percentages and totals, which these counts are the only ones to give."""

PAPER_RATES_NAMES = (
    RatesRow("GPT-3.5", "paper", "easy", 0.821, 0.358, 0.857, 0.022, 28),
    RatesRow("GPT-4", "paper", "easy", 0.857, 0.520, 0.929, 0.057, 28),
    RatesRow("GPT-3.5", "paper", "hard", 0.160, 0.401, 0.626, 0.118, 50),
    RatesRow("GPT-4", "paper", "hard", 0.340, 0.406, 0.643, 0.130, 50),
)
"""Table 3 of the paper."""

PAPER_ERRORS_NAMES = (_cited_errors("GPT-3.5", 9, 52, 12), _cited_errors("GPT-4", 11, 41, 16))
"""Table 4 of the paper, as counts."""
