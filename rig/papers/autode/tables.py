"""The tables of AutoDE's paper, made from the arms of a run, and the counts of its case study.

An arm is a cell: an assistant and a way to evaluate it, which is the user or the static conversation. So
recorded results and runs of rig's own go into the same tables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import isnan
from statistics import fmean, stdev
from typing import TypeAlias

import numpy as np

from rig.calls import JsonObject
from rig.methods.paper import ArmScore
from rig.metrics import Counts
from rig.papers.autode.published import ASSISTANTS, CITED, FILES, METHODS, TABLE_1, TABLE_2
from rig.rates import Vector, agreement
from rig.rates.agreement import Interval

STATIC, HUMAN = "static", "human"

LEAST = 3
"""Assistants from which on a correlation says anything."""

RATES = ("precision", "recall", "f1")
OUTCOMES = ("reluctant", "illusory", "malformed", "gave_up", "user_failed")
AGAINST_STATIC = ("reluctant", "illusory", "messages")

Row: TypeAlias = tuple[tuple[str, ...], JsonObject]
"""A row of a table: its cells as texts, and all of it by name."""


@dataclass(frozen=True)
class Cell:
    """An assistant evaluated in one way: the counts of each dialogue, trial by trial.

    `label` and `user` name it in tables, with the arm where another has the same assistant and method.
    """

    arm: str
    file: str
    label: str
    user: str
    assistant: str
    method: str
    grader: str
    graded_by: JsonObject
    by_task: Mapping[str, Sequence[Counts]]

    @property
    def trials(self) -> int:
        """As many as every dialogue has."""
        return min(map(len, self.by_task.values()), default=0)

    @property
    def size(self) -> str:
        """The dialogues and trials that its counts are of."""
        return f"{len(self.by_task)} x {self.trials}"

    def means(self, name: str) -> list[float]:
        """The mean over dialogues of a count, trial by trial."""
        return [
            fmean(counts[trial].get(name, 0) for counts in self.by_task.values())
            for trial in range(self.trials)
        ]

    def mean(self, name: str) -> float:
        """The mean over trials of the means over dialogues."""
        return fmean(self.means(name))

    def over_trials(self, name: str, tasks: Sequence[str]) -> Vector:
        """The count in each of these dialogues, a mean over trials."""
        return np.array([fmean(counts.get(name, 0) for counts in self.by_task[task]) for task in tasks])

    @cached_property
    def interval(self) -> Interval:
        """Its F1, with the interval over dialogues."""
        return agreement.mean(self.over_trials("f1", list(self.by_task)))

    @property
    def place(self) -> tuple[str, str]:
        """The assistant and the way of evaluating it."""
        return self.assistant, self.method

    @property
    def is_published(self) -> bool:
        """Whether it may stand for what the paper has of this assistant and method."""
        return self.file == f"{FILES[place]}.jsonl" if (place := self.place) in FILES else True


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table whose cells are texts already, as its numbers have as many digits as the paper's need."""

    title: str
    grader: str
    graded_by: JsonObject
    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    rows: tuple[JsonObject, ...]
    cited: str = ""

    def as_json(self) -> JsonObject:
        """Title, grader and rows, with numbers at their full length."""
        return {"title": self.title, "grader": self.graded_by, "rows": list(self.rows)}


def published_tables(scores: Iterable[ArmScore]) -> list[TextTable]:
    """Tables 1 and 2, the case study, and how far ways of evaluating agree, grader by grader."""
    by_grader: dict[str, list[Cell]] = {}
    for score in scores:
        if score.by_task:
            by_grader.setdefault(score.grader, []).append(_cell(score))
    tables = []
    for cells in map(_told_apart, by_grader.values()):
        tables += [_scores(cells), *_agreements(cells), _case_study(cells), *_by_dialogue(cells)]
    return tables


def _cell(score: ArmScore) -> Cell:
    of_arm = score.fingerprint
    players = (
        [of_arm.get(f"{role}.{name}") for name in ("recorded", "file", "engine")]
        for role in ("model", "role.user")
    )
    assistant, user = (next((str(name) for name in names if name), "") for names in players)
    method = STATIC if of_arm.get("protocol.mode") == STATIC else user or "unknown"
    return Cell(
        score.arm,
        str(of_arm.get("model.file", "")),
        ASSISTANTS.get(assistant, assistant or score.arm),
        METHODS.get(method, method),
        assistant or score.arm,
        method,
        score.grader,
        score.graded_by,
        score.by_task,
    )


def _told_apart(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, with the arm in the labels of those that have assistant and method in common."""
    places = [cell.place for cell in cells]
    return [
        replace(cell, label=f"{cell.label}, {cell.arm}", user=f"{cell.user} ({cell.arm})")
        if places.count(cell.place) > 1
        else cell
        for cell in cells
    ]


def _table(
    cells: Sequence[Cell], title: str, header: Sequence[str], rows: Sequence[Row], note: str = ""
) -> TextTable:
    cited = CITED if any("(paper)" in text[0] for text, _ in rows) else ""
    return TextTable(
        title,
        cells[0].grader,
        cells[0].graded_by,
        tuple(header),
        tuple(text for text, _ in rows),
        tuple(data for _, data in rows),
        note or cited,
    )


def _scores(cells: Sequence[Cell]) -> TextTable:
    rows: list[Row] = []
    for cell in cells:
        rates = {name: 100 * cell.mean(name) for name in RATES}
        trial_f1 = [100 * f1 for f1 in cell.means("f1")]
        spread = stdev(trial_f1) if cell.trials > 1 else None
        low, high = 100 * cell.interval.low, 100 * cell.interval.high
        method = METHODS.get(cell.method, cell.method)
        text = (
            *(cell.label, method, *(f"{rate:.4f}" for rate in rates.values())),
            *("" if spread is None else f"{spread:.4f}", f"{low:.1f} to {high:.1f}", cell.size),
        )
        names_of_row = {"arm": cell.arm, "assistant": cell.assistant, "method": cell.method, "source": "run"}
        sizes = {"trials": cell.trials, "low": low, "high": high, "dialogues": len(cell.by_task)}
        rows.append((text, {**names_of_row, **rates, "spread": spread, **sizes, "trial_f1": trial_f1}))
        paper = TABLE_1.get(cell.place)
        if paper and cell.is_published:
            names = f"{ASSISTANTS[cell.assistant]} (paper)", method
            cited = {"assistant": cell.assistant, "method": cell.method, "source": "paper"}
            rows.append(((*names, *paper, "", ""), {**cited, **paper._asdict()}))
    header = ("assistant", "user", "P", "R", "F1", "±", "F1 over dialogues", "dialogues")
    return _table(cells, "Table 1. Slot scores", header, rows)


def _agreements(cells: Sequence[Cell]) -> list[TextTable]:
    """Table 2: each way of evaluating against the human one, over the assistants that have both."""
    by_method = _by_method(cells)
    human = by_method.get(HUMAN, {})
    rows: list[Row] = []
    for method, ours in by_method.items():
        both = [name for name in ours if name in human]
        title = METHODS.get(method, method)
        if method != HUMAN and len(both) > 1:
            sides = [human[name] for name in both], [ours[name] for name in both]
            measured = _agreement(*sides)
            arms = [[cell.arm for cell in side] for side in sides]
            sources = {"method": method, "source": "run", "assistants": both, "arms": arms}
            rows.append(
                (
                    (title, str(len(both)), *map(_with_interval, measured.values())),
                    sources | _as_json(measured),
                )
            )
        if method in TABLE_2 and not ASSISTANTS.keys().isdisjoint(ours):
            rows += _beside_published(method, title, human, ours)
    header = ("user", "assistants", "ICC3", "R")
    title = "Table 2. Agreement with human evaluation, over assistants"
    return [_table(cells, title, header, rows, _files_note(cells))] if rows else []


def _files_note(cells: Sequence[Cell]) -> str:
    """Which files table 2 is made of, where there are others of the same assistants and users."""
    others = [cell.arm for cell in cells if not cell.is_published]
    if not others:
        return ""
    return (
        "Table 2 is made of the files that the paper used, and of no other of the same assistant and user:"
        f" {len(others)} arms stand in the other tables alone ({', '.join(others[:3])}"
        f"{', …' if len(others) > 3 else ''})."
    )


def _beside_published(
    method: str, title: str, human: Mapping[str, Cell], ours: Mapping[str, Cell]
) -> Iterator[Row]:
    """The paper's row, and one of all its assistants, with the paper's F1 for the cells that are missing."""
    sides = {HUMAN: human, method: ours}
    missing = [(name, way) for way, cells in sides.items() for name in ASSISTANTS if name not in cells]
    if missing:
        f1 = [
            np.array([_f1(cells, name, way) for name in ASSISTANTS], dtype=float)
            for way, cells in sides.items()
        ]
        measured = {name: float(measure(*f1)) for name, measure in agreement.MEASURES.items()}
        pairs = [list(pair) for pair in missing]
        sources = {"method": method, "source": "run and paper", "from_paper": pairs}
        text = f"{title}, {len(missing)} of {2 * len(ASSISTANTS)} cells from the paper", str(len(ASSISTANTS))
        yield (*text, *(f"{value:.4f}" for value in measured.values())), sources | measured
    paper = TABLE_2[method]
    cited = {"method": method, "source": "paper", "icc3": paper[0], "r": paper[1]}
    yield (f"{title} (paper)", str(len(ASSISTANTS)), *paper), cited


def _f1(cells: Mapping[str, Cell], assistant: str, method: str) -> float:
    """The F1 of an assistant in percent, from the paper where there is no cell."""
    cell = cells.get(assistant)
    return float(TABLE_1[assistant, method].f1) if cell is None else 100 * cell.mean("f1")


def _case_study(cells: Sequence[Cell]) -> TextTable:
    """What the paper's case study counts, and by how much it differs from static evaluation."""
    static = _by_method(cells).get(STATIC, {})
    rows: list[Row] = []
    for cell in cells:
        played = len(cell.by_task) * cell.trials
        totals = {
            name: sum(counts.get(name, 0) for trials in cell.by_task.values() for counts in trials)
            for name in OUTCOMES
        }
        other = static.get(cell.assistant) if cell.method != STATIC else None
        against = (
            {name: cell.mean(name) - other.mean(name) for name in (*OUTCOMES, "messages")} if other else {}
        )
        intervals = _differences(cell, other) if other else {}
        text = (
            *(cell.label, METHODS.get(cell.method, cell.method), cell.size),
            *(f"{count:g} ({100 * count / played:.1f}%)" for count in totals.values()),
            f"{cell.mean('messages'):.4f}",
            *(_gap(name, against[name], intervals[name]) if against else "" for name in AGAINST_STATIC),
        )
        data: JsonObject = {"arm": cell.arm, "assistant": cell.assistant, "method": cell.method}
        data |= {
            "length": cell.mean("messages"),
            **totals,
            "dialogues": len(cell.by_task),
            "trials": cell.trials,
        }
        rows.append((text, {**data, **totals, "against_static": against, "intervals": _as_json(intervals)}))
    header = (
        *("assistant", "user", "dialogues", *(name.replace("_", " ") for name in OUTCOMES), "length"),
        *(f"{name} against static" for name in ("reluctance", "illusory", "length")),
    )
    return _table(cells, "Case study. How dialogues ended", header, rows)


def _differences(cell: Cell, other: Cell) -> dict[str, Interval]:
    """How much a cell differs from another in the dialogues of both, with intervals over these."""
    tasks = [task for task in cell.by_task if task in other.by_task]
    return {
        name: agreement.mean(cell.over_trials(name, tasks) - other.over_trials(name, tasks))
        for name in AGAINST_STATIC
        if tasks
    }


def _by_dialogue(cells: Sequence[Cell]) -> list[TextTable]:
    """How far two ways of evaluating an assistant agree, dialogue by dialogue."""
    by_assistant: dict[str, list[Cell]] = {}
    for cell in cells:
        by_assistant.setdefault(cell.assistant, []).append(cell)
    rows: list[Row] = []
    for assistant, several in by_assistant.items():
        for one, other in combinations(several, 2):
            tasks = [task for task in one.by_task if task in other.by_task]
            if len(tasks) < LEAST:
                continue
            measured = agreement.by_task(one.over_trials("f1", tasks), other.over_trials("f1", tasks))
            text = (
                *(ASSISTANTS.get(assistant, assistant), f"{one.user}, {other.user}", str(len(tasks))),
                *map(_with_interval, measured.values()),
            )
            sources = {
                "assistant": assistant,
                "methods": [one.method, other.method],
                "arms": [one.arm, other.arm],
                "dialogues": len(tasks),
            }
            rows.append((text, sources | _as_json(measured)))
    header = ("assistant", "users", "dialogues", "ICC3", "R")
    return [_table(cells, "Agreement dialogue by dialogue", header, rows)] if rows else []


def _agreement(human: Sequence[Cell], ours: Sequence[Cell]) -> dict[str, Interval]:
    """ICC3 and Pearson's R over assistants, with bootstrap intervals over the dialogues that all have."""
    common = [task for task in human[0].by_task if all(task in cell.by_task for cell in (*human, *ours))]
    first, second = ([cell.over_trials("f1", common) for cell in side] for side in (human, ours))
    return agreement.over_groups(first, second)


def _by_method(cells: Sequence[Cell]) -> dict[str, dict[str, Cell]]:
    """A cell for each method and assistant, the first of several.

    Of what the paper has, only the file that it was made of can stand for it.
    """
    by_method: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        if cell.is_published:
            by_method.setdefault(cell.method, {}).setdefault(cell.assistant, cell)
    return by_method


def _with_interval(interval: Interval) -> str:
    return (
        "-" if isnan(interval.value) else f"{interval.value:.4f} ({interval.low:.2f} to {interval.high:.2f})"
    )


def _as_json(intervals: Mapping[str, Interval]) -> JsonObject:
    return {name: interval.as_json() for name, interval in intervals.items()}


def _gap(name: str, difference: float, interval: Interval) -> str:
    scale, digits = (1, 3) if name == "messages" else (100, 2)
    low, high = (f"{scale * bound:+.{digits - 1}f}" for bound in (interval.low, interval.high))
    return f"{scale * difference:+.{digits}f} ({low} to {high})"
