"""Whether the files of a ladder could be tested one after the other, each at the full level, until one fails.

    .venv/bin/python benchmarks/comparing/ladder.py [--ladders 1000] [--today 100] [--seed 0]
        [--conversations 400] [--write]

Six files beside a first, with known true losses, and a loss of 5 points that is asked about. Of each rule:
how often anything false is found of a file (a loss of 5 points shown that is less, or excluded that is not),
how many conversations are played in all, of how many files anything is found, and how often rig would
recommend the smallest file that does not lose 5 points, or to keep the first if there is none. Prints the
tables; with --write puts them into docs/lab/statistics.md. About ten
minutes; today's rules take longest and
judge only so many ladders (--today).

The rules, each with rig's own tests:

- holm: every file plays the whole suite, then `rig compare`, with Holm's correction. Its test is whether
  anything is lost, so that a loss is false only where nothing is.
- verdict: `--until verdict`; every file has to reach an e-value of 6 / 5%.
- sequence: from the largest file to the smallest, each has to reach 1 / 5%, until the first that is not
  cleared; the rest are not tested.
- split: a sequence that shares the 5%: 4% for clearing, at full level, and 1% among all files for losses.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.comparing.looking import SIZE, Array, Flags, _known  # noqa: E402
from benchmarks.comparing.unclear import DECLARATION, SUCCESS  # noqa: E402
from benchmarks.published import publish  # noqa: E402
from rig.compare.arms import ComparisonOptions  # noqa: E402
from rig.compare.compare import _difference, verdicts_of  # noqa: E402
from rig.compare.verdict import Decision  # noqa: E402
from rig.core.metrics import TASKS  # noqa: E402
from rig.plugins.strategies.looks import recommend_early  # noqa: E402
from rig.plugins.strategies.sequential import Finding, LossTest  # noqa: E402
from rig.plugins.strategies.until import ROUNDS  # noqa: E402
from rig.stats import Tallied  # noqa: E402
from rig.stats.paired import PairedBootstrap, holm  # noqa: E402

FILES = 6
TODAY = ("holm", "verdict")
BASE = 0.7
"""How often the first arm succeeds."""

BOTH_WAYS = 0.05
"""The share of conversations that flip either way beside the loss: half won, half lost."""

LADDERS: dict[str, Sequence[Sequence[float]]] = {
    "monotone": [(0, 0, 0, 0, 1, 10), (0, 1, 2, 3, 4, 5)],
    "flat": [[loss] * FILES for loss in (0, 4, 4.75, 5)],
    "broken": [(0, 0, 10, 0, 0, 0), (10, 5, 4, 2, 1, 0)],
}
"""The true losses in points, from the largest file to the smallest."""

SIZES = {str(file): 100 - file for file in range(FILES)} | {"first": 200}

OPEN: Decision = Decision.CANNOT_TELL
DECISIONS: dict[Finding, Decision] = {"shown": Decision.WORSE, "excluded": Decision.PASSES}


class Rule(NamedTuple):
    """The tests with which a loss is shown and excluded, and whether files are tested one after the other."""

    shown: LossTest
    excluded: LossTest
    is_sequence: bool


def rules(of: int | None) -> dict[str, Rule]:
    """The rules by name, about a suite of so many conversations or about conversations like these."""
    step = 1.0 if of else 0.0
    shared, full = (LossTest(SIZE, of, arms=arms, step=step) for arms in (FILES, 1))
    # At most the five files before the first that loses, or six if none does, can wrongly be shown to lose.
    split = LossTest(SIZE, of, 0.01, FILES - 1, step), LossTest(SIZE, of, 0.04, step=step)
    return {
        "verdict": Rule(shared, shared, False),
        "sequence": Rule(full, full, True),
        "split": Rule(*split, True),
    }


class Played(NamedTuple):
    """Of each ladder: the conversations played in all, and the decision on each file (ladders × files)."""

    conversations: Array
    decisions: NDArray[np.int64]


def ladders(
    losses: Sequence[float], conversations: int, number: int, draw: np.random.Generator, *, in_suite: bool
) -> tuple[Flags, Array]:
    """What the first gets right (ladders × conversations), and each file's differences (files × those).

    With `in_suite` every suite has exactly these losses, in a random order; otherwise they are expected.
    """
    first = draw.random((number, conversations)) < BASE
    differences = []
    for loss in losses:
        lost, won = loss / 100 + BOTH_WAYS / 2, BOTH_WAYS / 2
        chances = draw.random(first.shape)
        if in_suite:
            # The ranks among what the first gets right, and among what it gets wrong.
            ranks = (chances + np.where(first, 0, 2)).argsort(axis=1).argsort(axis=1)
            ranks = np.where(first, ranks, ranks - first.sum(axis=1, keepdims=True))
            flips = ranks < np.where(first, round(lost * conversations), round(won * conversations))
        else:
            flips = chances < np.where(first, lost / BASE, won / (1 - BASE))
        differences.append((first ^ flips).astype(float) - first)
    return first, np.array(differences)


def play(rule: Rule, first: Flags, differences: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Play one file until it is decided, in blocks as `--until verdict` does. Return how many conversations
    the first and the file played, and the decision, for each of the suites.
    """
    number, conversations = differences.shape
    reached = np.full(number, float(conversations))
    is_played = first.copy()
    is_played[:, 0] = True
    after, decisions = _decided(rule, differences, is_played, np.arange(number))
    undecided = np.arange(number)
    soonest, block = rule.shown.soonest(conversations), ceil(conversations / ROUNDS)
    for end in [*range(soonest, conversations, block), conversations]:
        known = _known(differences, is_played, undecided, end)
        waiting = undecided[(after[undecided] > end) & rule.shown.wins_matter(known)]
        is_played[waiting, :end] = True
        found, decisions[waiting] = _decided(rule, differences, is_played, waiting)
        after[waiting] = np.maximum(found, end)
        ended = after[undecided] <= end
        reached[undecided[ended]] = end
        undecided = undecided[~ended]
    is_played[undecided] = True
    _, decisions[undecided] = _decided(rule, differences, is_played, undecided)
    after[undecided] = conversations
    return reached, (is_played & (np.arange(conversations) < after[:, None])).sum(axis=1), decisions


def _decided(
    rule: Rule, differences: Array, is_played: Flags, suites: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    """Return after how many conversations each of these suites is decided, and how."""
    known = _known(differences, is_played, suites, differences.shape[1])
    after, kinds = [], [OPEN]
    for finding, process in rule.shown.e_processes(known).items():
        hits = process >= getattr(rule, finding).needed
        after.append(np.where(hits.any(axis=-1), hits.argmax(axis=-1) + 1, np.inf))
        kinds.append(DECISIONS[finding])
    soonest = np.min(after, axis=0)
    return soonest, np.array(kinds)[np.where(np.isfinite(soonest), np.argmin(after, axis=0) + 1, 0)]


def run(rule: Rule, first: Flags, differences: Array) -> Played:
    """Play ladders by a rule that looks after every conversation."""
    number = len(first)
    reached, played = np.zeros((2, number))
    decisions = np.full((number, len(differences)), int(OPEN))
    going = np.arange(number)
    for file, of_file in enumerate(differences):
        first_played, file_played, decisions[going, file] = play(rule, first[going], of_file[going])
        reached[going] = np.maximum(reached[going], first_played)
        played[going] += file_played
        if rule.is_sequence:
            going = going[decisions[going, file] == Decision.PASSES]
            # Every file plays the first conversation, to be known to work.
            played += ~np.isin(np.arange(number), going) if file + 1 < len(differences) else 0
    return Played(reached + played, decisions)


def compared(first: Flags, differences: Array) -> Played:
    """Play everything, and decide as `rig compare` does, with Holm's correction."""
    question = ComparisonOptions(resamples=1_000)
    bootstrap = PairedBootstrap(first.shape[1], question.seed, question.resamples)
    decisions = []
    for suite, right in enumerate(first):
        arms = [right, *(right + each[suite] for each in differences)]
        rows = [[[{SUCCESS.numerator: int(won), TASKS: 1}] for won in arm] for arm in arms]
        tallied = [Tallied.of(row, DECLARATION) for row in rows]
        pairings = [
            ((rows[0], row), (tallied[0], tally), bootstrap)
            for row, tally in zip(rows[1:], tallied[1:], strict=True)
        ]
        found = [
            _difference(bootstrap, SUCCESS, sides, DECLARATION, question.alpha, len(pairings))
            for _, sides, _ in pairings
        ]
        adjusted = holm([each.p for each in found])
        found = [replace(each, p_holm=p) for each, p in zip(found, adjusted, strict=True)]
        verdicts = verdicts_of(pairings, found, question, DECLARATION, SUCCESS)
        decisions.append([int(verdict.decision(SIZE)) for verdict in verdicts])
    return Played(np.full(len(first), float(first[0].size * (1 + len(differences)))), np.array(decisions))


def figures(played: Played, losses: Array, none: float) -> tuple[float, float, float, float]:
    """How often anything false is found, the mean conversations, the mean number of files of which anything
    is found, and how often the right file is recommended. A loss below `none` points is none that is shown.
    """
    lost = losses >= 100 * SIZE
    passes, worse = (played.decisions == each for each in (Decision.PASSES, Decision.WORSE))
    false = (passes & lost) | (worse & (losses < none))
    right = []
    good = [str(file) for file, loses in enumerate(lost) if not loses]
    for decisions in played.decisions:
        by_file = {str(file): Decision(each) for file, each in enumerate(decisions)}
        advice = recommend_early(SIZES, "first", by_file, SIZE, dict.fromkeys(SIZES, ""))
        right.append(advice is not None and advice.arm == ["first", *good][-1])
    found = (played.decisions != OPEN).sum(axis=1)
    return false.any(axis=1).mean(), played.conversations.mean(), found.mean(), float(np.mean(right))


def table(conversations: int, number: int, today: int, seed: int, *, in_suite: bool) -> Iterator[str]:
    """Lines of Markdown, about the suite alone or about conversations like these."""
    of_rule = rules(conversations if in_suite else None)
    names = list(of_rule) if in_suite else ["holm", *of_rule]
    until = "verdict-in-suite" if in_suite else "verdict"
    head = f"{number:,} ladders each ({today:,} by today's rules), suites of {conversations:,}"
    yield f"{head}, `--until {until}`:"
    yield ""
    yield f"| ladder | true losses | {' | '.join(names)} |"
    yield "| --- | --- |" + " --- |" * len(names)
    worst = dict.fromkeys(names, 0.0)
    for kind, of_kind in LADDERS.items():
        for losses in of_kind:
            drawn = np.random.default_rng([seed, conversations, *(round(10 * loss) for loss in losses)])
            first, differences = ladders(losses, conversations, number, drawn, in_suite=in_suite)
            cells = []
            for name in names:
                few = today if name in TODAY else number
                sides = first[:few], differences[:, :few]
                played = run(of_rule[name], *sides) if name in of_rule else compared(*sides)
                false, mean, found, right = figures(
                    played, np.array(losses), 100 * SIZE if name in of_rule else 1e-9
                )
                worst[name] = max(worst[name], false)
                cells.append(f"{false:.1%}, {mean:,.0f}, {found:.1f}, {right:.0%}")
            yield f"| {kind} | {', '.join(map(str, losses))} | {' | '.join(cells)} |"
    yield f"| | most false | {' | '.join(f'{worst[name]:.1%}' for name in names)} |"
    yield ""


def main() -> None:
    """Print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ladders", type=int, default=1_000)
    parser.add_argument("--today", type=int, default=100)
    parser.add_argument("--conversations", type=int, nargs="+", default=[400])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = []
    numbers = asked.ladders, min(asked.today, asked.ladders), asked.seed
    for conversations in asked.conversations:
        for in_suite in (False, True):
            for line in table(conversations, *numbers, in_suite=in_suite):
                print(line, flush=True)
                lines.append(line)
    if asked.write:
        publish("lab/statistics.md", "ladder", "\n".join(lines).strip())


if __name__ == "__main__":
    main()
