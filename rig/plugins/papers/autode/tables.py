"""The tables of AutoDE's paper and the counts of its case study, made from the arms of a run.

Each arm is a cell: an assistant and a way to evaluate it, which is a user or the static conversation. So
recorded results and rig's own runs share the tables, beside the figures that the paper prints.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np

from rig.core.calls import JsonObject
from rig.core.intervals import with_interval
from rig.core.metrics import Counts
from rig.plugins.papers.grids import ArmScore, Row, Table
from rig.stats import Vector, agreement
from rig.stats.agreement import Interval

METHODS = {"gpt35": "GPT 3.5", "llama7b": "Llama 2 7B Chat", "static": "static", "human": "human"}
"""The ways of evaluating, by the name of the user agent in upstream's files."""

ASSISTANTS = {
    "gpt35": "GPT 3.5",
    "claude_instant_1_2": "Claude",
    "codellama13b_oasst": "Code Llama",
    "llama70b": "Llama Chat",
    "zephyr_7b_alpha": "Zephyr",
}
"""The assistants, by their names in upstream's files."""


class Published(NamedTuple):
    """A cell of table 1: the file that it was made from, and its scores. `spread` is the number after ±."""

    file: str
    precision: str
    recall: str
    f1: str
    spread: str = ""


_TABLE_1 = """
gpt35 gpt35 u_gpt35_a_gpt35_v2 78.14 73.84 75.43 0.56
gpt35 llama7b u_llama7b_a_gpt35_complementary 78.25 73.91 75.47 0.46
gpt35 static a_gpt35_static_v2 94.05 93.80 93.86 0.97
gpt35 human u_human_a_gpt35_complementary 79.62 75.07 76.77
claude_instant_1_2 gpt35 u_gpt35_a_claude_instant_1_2 91.20 88.49 89.33 1.72
claude_instant_1_2 llama7b u_llama7b_a_claude_instant_1_2_complementary 86.32 83.69 84.38 0.64
claude_instant_1_2 static a_claude_instant_1_2_static 93.28 89.53 90.78 0.96
claude_instant_1_2 human a_claude_instant_1_2_human 92.60 88.74 90.05
codellama13b_oasst gpt35 u_gpt35_a_codellama13b_oasst_5rounds 64.00 64.41 63.21 3.28
codellama13b_oasst llama7b u_llama7b_a_codellama13b_oasst_5rounds 56.70 59.30 57.10 2.25
codellama13b_oasst static a_codellama13b_oasst_static_force_5rounds 91.18 89.74 89.90 0.55
codellama13b_oasst human a_codellama13b_oasst_human_good_complementary 59.46 59.99 58.97
llama70b gpt35 u_gpt35_a_llama70b_5rounds 10.61 11.06 10.71 2.32
llama70b llama7b u_llama7b_a_llama70b_5rounds 11.48 12.92 11.86 1.41
llama70b static a_llama70b_static_force_5rounds 29.30 29.78 29.40 1.61
llama70b human a_llama70b_human 18.80 20.63 19.40
zephyr_7b_alpha gpt35 u_gpt35_a_zephyr_7b_alpha_5rounds 48.08 50.16 48.69 1.68
zephyr_7b_alpha llama7b u_llama7b_a_zephyr_7b_alpha_5rounds 49.76 51.21 50.05 2.39
zephyr_7b_alpha static a_zephyr_7b_alpha_substitute_static_5rounds 80.69 79.77 80.01 1.92
zephyr_7b_alpha human a_zephyr_7b_alpha_human_1round_complementary 48.70 50.26 49.14
"""

TABLE_1 = {
    (assistant, method): Published(*cell)
    for assistant, method, *cell in map(str.split, _TABLE_1.strip().splitlines())
}
"""The cells of table 1 by assistant and way of evaluating."""

TABLE_2 = {"gpt35": ("0.9869", "0.9923"), "llama7b": ("0.9923", "0.9930"), "static": ("0.8813", "0.8813")}
"""The ICC3 and R of each way of evaluating against human evaluation, over all five assistants."""

CITED = (
    "Rows marked (paper) are cited from AutoDE's paper (arXiv 2403.11128); its table 2 is over five"
    " assistants. ± is the sample deviation of the trials' means. The intervals are a bootstrap's over"
    " dialogues, and say how far other dialogues of the kind would vary."
)

STATIC, HUMAN = "static", "human"

LEAST = 3
"""The least number of dialogues for which a correlation is shown."""

RATES = ("precision", "recall", "f1")
OUTCOMES = ("reluctant", "illusory", "malformed", "gave_up", "user_failed")
AGAINST_STATIC = ("reluctant", "illusory", "messages")


@dataclass(frozen=True)
class Trials:
    """An assistant evaluated in one way: the counts of each dialogue, trial by trial.

    `label` and `user` name it in tables, with the arm if another has the same assistant and method. `trials`
    is the number of trials that every dialogue has.
    """

    arm: str
    assistant: str
    method: str
    label: str
    user: str
    is_published: bool
    by_task: Mapping[str, Sequence[Counts]]
    trials: int

    @property
    def place(self) -> tuple[str, str]:
        """The assistant and the way of evaluating it."""
        return self.assistant, self.method

    @property
    def title(self) -> str:
        """The name of the way of evaluating in tables."""
        return METHODS.get(self.method, self.method)

    @property
    def size(self) -> str:
        """The numbers of dialogues and trials, as in "70 x 3"."""
        return f"{len(self.by_task)} x {self.trials}"

    def means(self, name: str) -> list[float]:
        """Return the mean of a count over dialogues, for each trial."""
        return [
            fmean(counts[trial].get(name, 0) for counts in self.by_task.values())
            for trial in range(self.trials)
        ]

    def mean(self, name: str) -> float:
        """Return the mean of a count over trials and dialogues."""
        return fmean(self.means(name))

    def over_trials(self, name: str, tasks: Iterable[str]) -> Vector:
        """Return the mean of a count over trials, for each of these dialogues."""
        return np.array([fmean(counts.get(name, 0) for counts in self.by_task[task]) for task in tasks])


def published_tables(scores: Iterable[ArmScore]) -> list[Table]:
    """Make tables 1 and 2, the case study, and the agreement between ways of evaluating, for each grader."""
    by_grader: dict[str, list[ArmScore]] = {}
    for score in scores:
        if score.by_task:
            by_grader.setdefault(score.grader, []).append(score)
    tables = []
    for grader, several in by_grader.items():
        cells = _told_apart([_cell(score) for score in several])
        for subject, header, rows, note in (
            ("Table 1. Slot scores", _SCORES, _scores(cells), ""),
            (_AGREEMENT, ("user", "assistants", "ICC3", "R"), _agreements(cells), _files_note(cells)),
            ("Case study. How dialogues ended", _ENDS, _case_study(cells), ""),
            ("Agreement dialogue by dialogue", _DIALOGUES, _by_dialogue(cells), ""),
        ):
            listed = list(rows)
            cited = CITED if any("(paper)" in str(texts[0]) for texts, _ in listed) else ""
            if listed:
                tables.append(Table(subject, grader, several[0].graded_by, header, listed, note or cited))
    return tables


_AGREEMENT = "Table 2. Agreement with human evaluation, over assistants"
_DIALOGUES = ("assistant", "users", "dialogues", "ICC3", "R")
_SCORES = ("assistant", "user", "P", "R", "F1", "±", "F1 over dialogues", "dialogues")
_ENDS = (
    *("assistant", "user", "dialogues", *(name.replace("_", " ") for name in OUTCOMES), "length"),
    *(f"{name} against static" for name in ("reluctance", "illusory", "length")),
)


def _cell(score: ArmScore) -> Trials:
    of_arm = score.fingerprint
    players = (
        [of_arm.get(f"{role}.{name}") for name in ("recorded", "file", "engine")]
        for role in ("model", "role.user")
    )
    assistant, user = (next((str(name) for name in names if name), "") for names in players)
    method = STATIC if of_arm.get("protocol.mode") == STATIC else user or "unknown"
    label, assistant = ASSISTANTS.get(assistant, assistant or score.arm), assistant or score.arm
    paper = TABLE_1.get((assistant, method))
    # Only the file that the paper used can stand for a cell of the paper.
    is_published = paper is None or of_arm.get("model.file") == f"{paper.file}.jsonl"
    trials = min(map(len, score.by_task.values()), default=0)
    names = assistant, method, label, METHODS.get(method, method)
    return Trials(score.arm, *names, is_published, score.by_task, trials)


def _told_apart(cells: Sequence[Trials]) -> list[Trials]:
    """Return the cells, adding the arm to the labels of those that share assistant and method."""
    places = [cell.place for cell in cells]
    return [
        replace(cell, label=f"{cell.label}, {cell.arm}", user=f"{cell.user} ({cell.arm})")
        if places.count(cell.place) > 1
        else cell
        for cell in cells
    ]


def _scores(cells: Sequence[Trials]) -> Iterator[Row]:
    for cell in cells:
        rates = {name: 100 * cell.mean(name) for name in RATES}
        trial_f1 = [100 * f1 for f1 in cell.means("f1")]
        spread = stdev(trial_f1) if cell.trials > 1 else None
        interval = agreement.mean(cell.over_trials("f1", cell.by_task))
        low, high = 100 * interval.low, 100 * interval.high
        names = {"assistant": cell.assistant, "method": cell.method}
        sizes = {"trials": cell.trials, "low": low, "high": high, "dialogues": len(cell.by_task)}
        texts = (
            *(cell.label, cell.title, *(f"{rate:.4f}" for rate in rates.values())),
            *("" if spread is None else f"{spread:.4f}", f"{low:.1f} to {high:.1f}", cell.size),
        )
        measured = {**rates, "spread": spread, **sizes, "trial_f1": trial_f1}
        yield texts, {"arm": cell.arm, **names, "source": "run", **measured}
        paper = TABLE_1.get(cell.place)
        if paper and cell.is_published:
            printed = {**dict(zip(RATES, paper[1:4], strict=True)), "spread": paper.spread}
            label = f"{ASSISTANTS[cell.assistant]} (paper)"
            yield (label, cell.title, *printed.values(), "", ""), {**names, "source": "paper", **printed}


def _agreements(cells: Sequence[Trials]) -> Iterator[Row]:
    """Yield table 2: how each way of evaluating agrees with the human one, over assistants with both."""
    by_method = _by_method(cells)
    human = by_method.get(HUMAN, {})
    for method, ours in by_method.items():
        both = [name for name in ours if name in human]
        title = METHODS.get(method, method)
        if method != HUMAN and len(both) > 1:
            sides = [human[name] for name in both], [ours[name] for name in both]
            common = set[str].intersection(*(set(cell.by_task) for side in sides for cell in side))
            tasks = [task for task in sides[0][0].by_task if task in common]
            people, players = ([cell.over_trials("f1", tasks) for cell in side] for side in sides)
            measured = agreement.over_groups(people, players)
            arms = [[cell.arm for cell in side] for side in sides]
            sources = {"method": method, "source": "run", "assistants": both, "arms": arms}
            yield (title, str(len(both)), *_texts(measured)), sources | _as_json(measured)
        if method in TABLE_2 and not ASSISTANTS.keys().isdisjoint(ours):
            yield from _beside_published(method, title, human, ours)


def _files_note(cells: Sequence[Trials]) -> str:
    """Return a note on the files behind table 2, if there are others of the same assistants and users."""
    others = [cell.arm for cell in cells if not cell.is_published]
    if not others:
        return ""
    listed = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
    return (
        "Table 2 is made of the files that the paper used, and of no other of the same assistant and user:"
        f" {len(others)} arms stand in the other tables alone ({listed})."
    )


def _beside_published(
    method: str, title: str, human: Mapping[str, Trials], ours: Mapping[str, Trials]
) -> Iterator[Row]:
    """Yield the paper's row, and one of all its assistants that takes missing cells from the paper."""
    sides = {HUMAN: human, method: ours}
    missing = [[name, way] for way, cells in sides.items() for name in ASSISTANTS if name not in cells]
    count = str(len(ASSISTANTS))
    if missing:
        f1 = [
            np.array(
                [
                    100 * cells[name].mean("f1") if name in cells else float(TABLE_1[name, way].f1)
                    for name in ASSISTANTS
                ],
                dtype=float,
            )
            for way, cells in sides.items()
        ]
        measured = {name: float(measure(*f1)) for name, measure in agreement.MEASURES.items()}
        sources = {"method": method, "source": "run and paper", "from_paper": missing}
        label = f"{title}, {len(missing)} of {2 * len(ASSISTANTS)} cells from the paper"
        yield (label, count, *(f"{value:.4f}" for value in measured.values())), sources | measured
    paper = TABLE_2[method]
    cited = {"method": method, "source": "paper", "icc3": paper[0], "r": paper[1]}
    yield (f"{title} (paper)", count, *paper), cited


def _case_study(cells: Sequence[Trials]) -> Iterator[Row]:
    """Yield the counts of the paper's case study, and their differences from static evaluation."""
    static = _by_method(cells).get(STATIC, {})
    for cell in cells:
        played = len(cell.by_task) * cell.trials
        every = [counts for trials in cell.by_task.values() for counts in trials]
        totals = {name: sum(counts.get(name, 0) for counts in every) for name in OUTCOMES}
        other = static.get(cell.assistant) if cell.method != STATIC else None
        gaps, intervals = _against(cell, other) if other else ({}, {})
        texts = (
            *(cell.label, cell.title, cell.size),
            *(f"{count:g} ({100 * count / played:.1f}%)" for count in totals.values()),
            f"{cell.mean('messages'):.4f}",
            *(
                _gap(name, intervals[name]._replace(value=gaps[name])) if gaps else ""
                for name in AGAINST_STATIC
            ),
        )
        names = {"arm": cell.arm, "assistant": cell.assistant, "method": cell.method}
        sizes = {"dialogues": len(cell.by_task), "trials": cell.trials}
        against = {"against_static": gaps, "intervals": _as_json(intervals)}
        yield texts, {**names, "length": cell.mean("messages"), **totals, **sizes, **against}


def _against(cell: Trials, other: Trials) -> tuple[dict[str, float], dict[str, Interval]]:
    """Return the differences between two cells, and their intervals over the dialogues that both have."""
    gaps = {name: cell.mean(name) - other.mean(name) for name in (*OUTCOMES, "messages")}
    tasks = [task for task in cell.by_task if task in other.by_task]
    return gaps, {
        name: agreement.mean(cell.over_trials(name, tasks) - other.over_trials(name, tasks))
        for name in AGAINST_STATIC
        if tasks
    }


def _by_dialogue(cells: Sequence[Trials]) -> Iterator[Row]:
    """Yield the agreement between two ways of evaluating an assistant, over dialogues."""
    by_assistant: dict[str, list[Trials]] = {}
    for cell in cells:
        by_assistant.setdefault(cell.assistant, []).append(cell)
    for assistant, several in by_assistant.items():
        for pair in combinations(several, 2):
            one, other = pair
            tasks = [task for task in one.by_task if task in other.by_task]
            if len(tasks) < LEAST:
                continue
            measured = agreement.by_task(one.over_trials("f1", tasks), other.over_trials("f1", tasks))
            label, users = ASSISTANTS.get(assistant, assistant), f"{one.user}, {other.user}"
            sources = {
                "assistant": assistant,
                "methods": [cell.method for cell in pair],
                "arms": [cell.arm for cell in pair],
                "dialogues": len(tasks),
            }
            yield (label, users, str(len(tasks)), *_texts(measured)), sources | _as_json(measured)


def _by_method(cells: Sequence[Trials]) -> dict[str, dict[str, Trials]]:
    """Return the first published cell of each method and assistant."""
    by_method: dict[str, dict[str, Trials]] = {}
    for cell in cells:
        if cell.is_published:
            by_method.setdefault(cell.method, {}).setdefault(cell.assistant, cell)
    return by_method


def _texts(intervals: Mapping[str, Interval]) -> Iterator[str]:
    for interval in intervals.values():
        is_undefined = isnan(interval.value)
        yield "-" if is_undefined else with_interval("{:.4f}".format, interval, write_bound="{:.2f}".format)


def _as_json(intervals: Mapping[str, Interval]) -> JsonObject:
    return {name: interval.as_json() for name, interval in intervals.items()}


def _gap(name: str, gap: Interval) -> str:
    scale, digits = (1, 3) if name == "messages" else (100, 2)

    def signed(number: float, digits: int = digits) -> str:
        return f"{scale * number:+.{digits}f}"

    return with_interval(signed, gap, write_bound=lambda bound: signed(bound, digits - 1))
