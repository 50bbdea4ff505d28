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


@dataclass(frozen=True)
class Cell:
    """An assistant evaluated in one way: the counts of each dialogue, trial by trial.

    `label` names it in tables: the assistant, and the arm where another has the same assistant and method.
    """

    arm: str
    file: str
    label: str
    assistant: str
    method: str
    grader: str
    graded_by: JsonObject
    by_task: Mapping[str, Sequence[Counts]]

    @property
    def trials(self) -> int:
        """As many as every dialogue has."""
        return min(map(len, self.by_task.values()), default=0)

    def means(self, name: str) -> list[float]:
        """The mean over dialogues of a count, trial by trial."""
        return [
            fmean(counts[trial].get(name, 0) for counts in self.by_task.values())
            for trial in range(self.trials)
        ]

    def mean(self, name: str) -> float:
        """The mean over trials of the means over dialogues."""
        return fmean(self.means(name))

    @property
    def spread(self) -> float | None:
        """The sample deviation of the trials' F1; None with one trial."""
        return stdev(self.means("f1")) if self.trials > 1 else None

    def f1_of(self, names: Sequence[str]) -> Vector:
        """The F1 of each of these dialogues, a mean over trials."""
        return np.array([fmean(counts.get("f1", 0) for counts in self.by_task[name]) for name in names])

    @cached_property
    def interval(self) -> Interval:
        """Its F1, with the interval over dialogues."""
        return agreement.mean(self.f1_of(list(self.by_task)))

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
    assistant = of_arm.get("model.recorded") or of_arm.get("model.file") or of_arm.get("model.engine")
    assistant = str(assistant or score.arm)
    return Cell(
        score.arm,
        str(of_arm.get("model.file", "")),
        _named(ASSISTANTS, assistant),
        assistant,
        STATIC if of_arm.get("protocol.mode") == STATIC else _user(of_arm),
        score.grader,
        score.graded_by,
        score.by_task,
    )


def _told_apart(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, with the arm in the label of those that have assistant and method in common."""
    places = [cell.place for cell in cells]
    return [
        replace(cell, label=f"{cell.label}, {cell.arm}") if places.count(place) > 1 else cell
        for cell, place in zip(cells, places, strict=True)
    ]


def _user(of_arm: JsonObject) -> str:
    """Who was the user: as upstream's files say, the file of a model, or who needs none."""
    names = ("role.user.recorded", "role.user.file", "role.user.engine")
    return next((str(of_arm[name]) for name in names if name in of_arm), "?")


def _table(
    cells: Sequence[Cell],
    title: str,
    header: Sequence[str],
    rows: Sequence[tuple[tuple[str, ...], JsonObject]],
) -> TextTable:
    shown, data = tuple(row[0] for row in rows), tuple(row[1] for row in rows)
    cited = CITED if any("(paper)" in row[0] for row in shown) else ""
    return TextTable(title, cells[0].grader, cells[0].graded_by, tuple(header), shown, data, cited)


def _scores(cells: Sequence[Cell]) -> TextTable:
    rows: list[tuple[tuple[str, ...], JsonObject]] = []
    for cell in cells:
        rates = [100 * cell.mean(name) for name in ("precision", "recall", "f1")]
        spread, interval = cell.spread, cell.interval
        shown = (
            cell.label,
            _named(METHODS, cell.method),
            *(f"{rate:.4f}" for rate in rates),
            "" if spread is None else f"{100 * spread:.4f}",
            f"{100 * interval.low:.1f} to {100 * interval.high:.1f}",
            f"{len(cell.by_task)} x {cell.trials}",
        )
        data = dict(zip(("precision", "recall", "f1"), rates, strict=True))
        known = {"arm": cell.arm, "assistant": cell.assistant, "method": cell.method, "source": "run", **data}
        known |= {"spread": None if spread is None else 100 * spread, "trials": cell.trials}
        known |= {"low": 100 * interval.low, "high": 100 * interval.high, "dialogues": len(cell.by_task)}
        rows.append((shown, {**known, "trial_f1": [100 * each for each in cell.means("f1")]}))
        paper = TABLE_1.get(cell.place)
        if paper and cell.is_published:
            names = f"{_named(ASSISTANTS, cell.assistant)} (paper)", _named(METHODS, cell.method)
            cited = {"assistant": cell.assistant, "method": cell.method, "source": "paper"}
            rows.append(((*names, *paper, "", ""), {**cited, **paper._asdict()}))
    header = ("assistant", "user", "P", "R", "F1", "±", "F1 over dialogues", "dialogues")
    return _table(cells, "Table 1. Slot scores", header, rows)


def _agreements(cells: Sequence[Cell]) -> list[TextTable]:
    """Table 2: each way of evaluating against the human one, over the assistants that have both."""
    by_method = _by_method(cells)
    human = by_method.get(HUMAN, {})
    rows: list[tuple[tuple[str, ...], JsonObject]] = []
    for method, ours in by_method.items():
        both = [name for name in ours if name in human]
        title = _named(METHODS, method)
        if method != HUMAN and len(both) > 1:
            sides = [human[name] for name in both], [ours[name] for name in both]
            found = _agreement(*sides)
            arms = [[cell.arm for cell in side] for side in sides]
            known = {"method": method, "source": "run", "assistants": both, "arms": arms}
            shown = title, str(len(both)), *map(_with_interval, found.values())
            rows.append((shown, known | _as_json(found)))
        if method in TABLE_2 and not ASSISTANTS.keys().isdisjoint(ours):
            rows += _beside_published(method, title, human, ours)
    header = ("user", "assistants", "ICC3", "R")
    title = "Table 2. Agreement with human evaluation, over assistants"
    return [_table(cells, title, header, rows)] if rows else []


def _beside_published(
    method: str, title: str, human: Mapping[str, Cell], ours: Mapping[str, Cell]
) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """The paper's row, and one of all its assistants, with the paper's F1 for the cells that are missing."""
    sides = {HUMAN: human, method: ours}
    missing = [(name, way) for way, cells in sides.items() for name in ASSISTANTS if name not in cells]
    if missing:
        f1 = [
            np.array([_f1(cells, name, way) for name in ASSISTANTS], dtype=float)
            for way, cells in sides.items()
        ]
        found = {name: float(measure(*f1)) for name, measure in agreement.MEASURES.items()}
        known = {"method": method, "source": "run and paper", "from_paper": [list(each) for each in missing]}
        shown = f"{title}, {len(missing)} of {2 * len(ASSISTANTS)} cells from the paper", str(len(ASSISTANTS))
        yield (*shown, *(f"{value:.4f}" for value in found.values())), known | found
    paper = TABLE_2[method]
    cited = {"method": method, "source": "paper", "icc3": paper[0], "r": paper[1]}
    yield (f"{title} (paper)", str(len(ASSISTANTS)), *paper), cited


def _f1(cells: Mapping[str, Cell], assistant: str, method: str) -> float:
    """The F1 of an assistant in percent, from the paper where there is no cell."""
    cell = cells.get(assistant)
    return float(TABLE_1[assistant, method].f1) if cell is None else 100 * cell.mean("f1")


def _case_study(cells: Sequence[Cell]) -> TextTable:
    """What the paper's case study counts, and by how much it differs from static evaluation."""
    names = ("reluctant", "illusory", "malformed", "gave_up", "user_failed", "messages")
    static = _by_method(cells).get(STATIC, {})
    rows: list[tuple[tuple[str, ...], JsonObject]] = []
    for cell in cells:
        total = [sum(c.get(name, 0) for each in cell.by_task.values() for c in each) for name in names[:-1]]
        length = cell.mean("messages")
        other = static.get(cell.assistant)
        against = {name: cell.mean(name) - other.mean(name) for name in names} if other else {}
        is_static = cell.method == STATIC
        gaps = [
            "" if not against or is_static else _gap(name, against[name])
            for name in ("reluctant", "illusory", "messages")
        ]
        shown = (
            cell.label,
            _named(METHODS, cell.method),
            *(f"{count:g}" for count in total),
            f"{length:.4f}",
            *gaps,
        )
        data = {"arm": cell.arm, "assistant": cell.assistant, "method": cell.method, "length": length}
        counted = dict(zip(names[:-1], total, strict=True))
        rows.append((shown, {**data, **counted, "against_static": {} if is_static else against}))
    header = (
        "assistant",
        "user",
        "reluctant",
        "illusory",
        "malformed",
        "gave up",
        "user failed",
        "length",
        "reluctance against static",
        "illusory against static",
        "length against static",
    )
    return _table(cells, "Case study. How dialogues ended", header, rows)


def _by_dialogue(cells: Sequence[Cell]) -> list[TextTable]:
    """How far two ways of evaluating an assistant agree, dialogue by dialogue."""
    by_assistant: dict[str, list[Cell]] = {}
    for cell in cells:
        by_assistant.setdefault(cell.assistant, []).append(cell)
    rows: list[tuple[tuple[str, ...], JsonObject]] = []
    for assistant, found in by_assistant.items():
        for one, other in combinations(found, 2):
            names = [name for name in one.by_task if name in other.by_task]
            if len(names) < LEAST:
                continue
            measured = agreement.by_task(one.f1_of(names), other.f1_of(names))
            shown = (
                _named(ASSISTANTS, assistant),
                f"{_way(one, other)}, {_way(other, one)}",
                str(len(names)),
                *map(_with_interval, measured.values()),
            )
            known = {
                "assistant": assistant,
                "methods": [one.method, other.method],
                "arms": [one.arm, other.arm],
                "dialogues": len(names),
            }
            rows.append((shown, known | _as_json(measured)))
    header = ("assistant", "users", "dialogues", "ICC3", "R")
    return [_table(cells, "Agreement dialogue by dialogue", header, rows)] if rows else []


def _way(cell: Cell, other: Cell) -> str:
    """How a cell was evaluated, by its arm where the other was evaluated in the same way."""
    return cell.arm if cell.method == other.method else _named(METHODS, cell.method)


def _agreement(human: Sequence[Cell], ours: Sequence[Cell]) -> dict[str, Interval]:
    """ICC3 and Pearson's R over assistants, with bootstrap intervals over the dialogues that all have."""
    common = [name for name in human[0].by_task if all(name in each.by_task for each in (*human, *ours))]
    first, second = ([cell.f1_of(common) for cell in side] for side in (human, ours))
    return agreement.over_groups(first, second)


def _by_method(cells: Sequence[Cell]) -> dict[str, dict[str, Cell]]:
    """A cell for each method and assistant: of several the one that the paper has, else the first."""
    found: dict[str, dict[str, Cell]] = {}
    for cell in sorted(cells, key=lambda cell: not cell.is_published):
        found.setdefault(cell.method, {}).setdefault(cell.assistant, cell)
    return found


def _named(names: Mapping[str, str], name: str) -> str:
    return names.get(name, name)


def _with_interval(found: Interval) -> str:
    return "-" if isnan(found.value) else f"{found.value:.4f} ({found.low:.2f} to {found.high:.2f})"


def _as_json(found: Mapping[str, Interval]) -> JsonObject:
    return {name: each.as_json() for name, each in found.items()}


def _gap(name: str, difference: float) -> str:
    return f"{difference:+.3f}" if name == "messages" else f"{100 * difference:+.2f}"
