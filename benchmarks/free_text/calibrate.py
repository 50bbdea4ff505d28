"""Measure the judgement of free text.

    python -m benchmarks.free_text.calibrate [--write] [--errors] [--reasons] [--ablate] [--file PAIRS ...]

Prints a table of the labelled pairs, and of the families that the model of wording did not learn from.
"""

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.free_text.pairs import Labelled, labelled, outside, unseen
from rig.plugins.similarity.minilm import ADAPTER, MiniLM
from rig.plugins.text.judge import judgement
from rig.plugins.text.judge.guard import Passages
from rig.plugins.tooltalk_tools.world import KINDS
from rig.scoring.similarity import Meaning

ERROR_COUNTS = ADAPTER.with_name("error_counts.json")
GUARDS = (
    (judgement, "around"),
    (judgement, "least_differences"),
    *((Passages, name) for name in ("_facts", "_names", "_more", "_reach", "_order")),
)
"""What speaks against two texts being the same, each of which can be left out."""
GRID = [round(0.02 * step, 2) for step in range(1, 50)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write error_counts.json")
    parser.add_argument("--errors", action="store_true", help="list the pairs that are judged wrong")
    parser.add_argument("--reasons", action="store_true", help="how often each reason to refuse is wrong")
    parser.add_argument("--ablate", action="store_true", help="leave out each part of the guard in turn")
    parser.add_argument(
        "--file", type=Path, nargs="+", default=[], help="measure the pairs of these files, too"
    )
    options = parser.parse_args()
    if options.write:
        ERROR_COUNTS.write_text(json.dumps(error_counts()) + "\n", encoding="utf-8")
        return
    minilm = MiniLM()
    groups: dict[str, list[Labelled]] = {}
    for pair in (*labelled(), *(pair for pair in unseen() if pair.group.startswith("families"))):
        groups.setdefault(pair.group, []).append(pair)
    groups |= {path.stem: list(outside(path)) for path in options.file}
    print("| pairs | false accepts | false rejects | unclear |\n| --- | ---: | ---: | ---: |")
    for group, pairs in groups.items():
        print(row(group, pairs, minilm, options.errors))
    everything = [pair for pairs in groups.values() for pair in pairs]
    if options.reasons:
        print_reasons(list(unseen()), minilm)
    if options.ablate:
        print(row("all", everything, minilm))
        for owner, name in GUARDS:
            kept = getattr(owner, name)
            setattr(owner, name, lambda *_: iter(()))
            print(row(f"without {name.strip('_')}", everything, minilm))
            setattr(owner, name, kept)


def row(name: str, pairs: Sequence[Labelled], minilm: MiniLM, errors: bool = False) -> str:
    """A line of the table."""
    counts = {(label, meaning): 0 for label in (False, True) for meaning in Meaning}
    for pair in pairs:
        judged = minilm.judge(pair.kind, pair.first, pair.second)
        counts[pair.same, judged.meaning] += 1
        wrong = judged.meaning is (Meaning.DIFFERENT if pair.same else Meaning.SAME)
        if errors and wrong:
            print(f"{pair.first!r} | {pair.second!r} | {judged.reason}", file=sys.stderr)
    other, same = (sum(counts[label, meaning] for meaning in Meaning) for label in (False, True))
    unclear = counts[False, Meaning.UNCLEAR] + counts[True, Meaning.UNCLEAR]
    accepts, rejects = counts[False, Meaning.SAME], counts[True, Meaning.DIFFERENT]
    return (
        f"| {name} | {accepts}/{other} ({accepts / max(1, other):.1%}) | {rejects}/{same} "
        f"({rejects / max(1, same):.1%}) | {unclear}/{len(pairs)} ({unclear / len(pairs):.1%}) |"
    )


def print_reasons(pairs: Sequence[Labelled], minilm: MiniLM) -> None:
    """Print of each reason to refuse a pair how often it was wrong."""
    refused: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for pair in pairs:
        judged = minilm.judge(pair.kind, pair.first, pair.second)
        if judged.meaning is Meaning.DIFFERENT:
            refused[_sort_of(judged.reason)][pair.same] += 1
    for sort, counts in sorted(refused.items(), key=lambda item: -item[1].total()):
        print(f"refused for {sort}: {counts.total()}, wrongly {counts[True]}")


def _sort_of(reason: str) -> str:
    """A reason without the words of the texts."""
    if reason.endswith("have changed places"):
        return "order"
    if " is not " in reason and ":" not in reason:
        return "a small word"
    return reason.partition(":")[0] if ":" in reason else re.sub(r" by [\d.]+$", "", reason)


def error_counts() -> dict[str, object]:
    """False accepts and rejects of each kind at each threshold, on the pairs that were kept out."""
    lenient = MiniLM(GRID[0])
    values: dict[tuple[str, bool], list[float]] = {
        (kind, same): [] for kind in KINDS for same in (True, False)
    }
    for pair in unseen():
        judged = lenient.judge(pair.kind, pair.first, pair.second)
        values[pair.kind.name, pair.same].append(judged.likeness if judged.meaning is Meaning.SAME else 0.0)
    counts: dict[str, object] = {"thresholds": GRID}
    for kind in KINDS:
        same, other = values[kind, True], values[kind, False]
        counts[kind] = {
            "same": len(same),
            "different": len(other),
            "false_accepts": [sum(value >= bound for value in other) for bound in GRID],
            "false_rejects": [sum(value < bound for value in same) for bound in GRID],
        }
    return counts


if __name__ == "__main__":
    main()
