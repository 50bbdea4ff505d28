"""Fit the likeness of wording and measure the judgement of free text.

.venv/bin/python benchmarks/free_text/calibrate.py [--write] [--errors] [--ablate] [--file PAIRS.jsonl]
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from pairs import Labelled, Measured, labelled, measure, outside

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT))

from rig.scoring.similarity import MiniLM  # noqa: E402
from rig.scoring.texts import Elsewhere, Meaning, Wording  # noqa: E402
from rig.scoring.texts.checks import CHECKS  # noqa: E402
from rig.tooltalk.world import KINDS  # noqa: E402

CALIBRATION = ROOT / "rig" / "scoring" / "similarity" / "calibration.json"
ERROR_COUNTS = CALIBRATION.with_name("error_counts.json")
GRID = [round(0.02 * step, 2) for step in range(1, 50)]
PENALTY = 1.0
"""L2, on standardized features."""
SAME, SAME_BODY, UNCLEAR = 0.75, 0.8, 0.3
"""Thresholds: with these, of the fresh pairs none of 110 that differ is accepted, and 13 of 110 that are the
same are rejected (15 with 0.4).
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write calibration.json and error_counts.json")
    parser.add_argument("--errors", action="store_true", help="list the pairs that are judged wrong")
    parser.add_argument("--ablate", action="store_true", help="leave out each check in turn")
    parser.add_argument("--file", type=Path, help="measure the pairs of this file, too")
    options = parser.parse_args()
    minilm = MiniLM()
    if options.write:
        write(minilm)
        return
    groups: dict[str, list[Labelled]] = {}
    for pair in labelled():
        groups.setdefault(pair.group, []).append(pair)
    if options.file:
        groups["outside"] = list(outside(options.file))
    print("| pairs | false accepts | false rejects | unclear |\n| --- | ---: | ---: | ---: |")
    for group, pairs in groups.items():
        print(row(group, pairs, minilm, options.errors))
    if options.ablate:
        everything = [pair for pairs in groups.values() for pair in pairs]
        print(row("all", everything, minilm))
        for name, check in list(CHECKS.items()):
            del CHECKS[name]
            print(row(f"without {name}", everything, minilm))
            CHECKS[name] = check


def row(name: str, pairs: Sequence[Labelled], minilm: MiniLM, errors: bool = False) -> str:
    """A line of the table."""
    counts = {(label, meaning): 0 for label in (False, True) for meaning in Meaning}
    for pair in pairs:
        judged = minilm.judge(pair.kind, pair.first, pair.second, Elsewhere())
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


def write(minilm: MiniLM) -> None:
    """Fit on the pairs for calibration, and count errors at each threshold on the others."""
    measured = [measure(pair, minilm) for pair in labelled()]
    wording = fit([found for found in measured if found.labelled.for_calibration])
    thresholds = {kind: SAME_BODY if kind == "body" else SAME for kind in KINDS}
    fitted = {
        "intercept": wording.intercept,
        "coefficients": wording.coefficients,
        "thresholds": thresholds,
        "unclear": dict.fromkeys(KINDS, UNCLEAR),
    }
    CALIBRATION.write_text(json.dumps(fitted, indent=2) + "\n", encoding="utf-8")
    unseen = [found for found in measured if not found.labelled.for_calibration]
    ERROR_COUNTS.write_text(json.dumps(error_counts(unseen, wording)) + "\n", encoding="utf-8")


def fit(measured: Iterable[Measured]) -> Wording:
    """Logistic regression on the pairs that likeness alone decides, both classes weighing the same."""
    rows = [
        (found.features[0], found.labelled.same)
        for found in measured
        if len(found.features) == 1 and found.at_best.meaning is not Meaning.DIFFERENT
    ]
    names = list(rows[0][0])
    x = np.array([[features[name] for name in names] for features, _ in rows])
    y = np.array([same for _, same in rows], float)
    mean, scale = x.mean(0), x.std(0) + 1e-9
    x = np.hstack([np.ones((len(x), 1)), (x - mean) / scale])
    weight = np.where(y == 1, len(y) / (2 * y.sum()), len(y) / (2 * (len(y) - y.sum())))
    penalty = PENALTY * np.diag([0.0, *np.ones(len(names))])
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        hessian = (x.T * (weight * p * (1 - p))) @ x + penalty
        beta -= np.linalg.solve(hessian, x.T @ (weight * (p - y)) + penalty @ beta)
    slopes = beta[1:] / scale
    values = {name: round(float(slope), 3) for name, slope in zip(names, slopes, strict=True)}
    return Wording(round(float(beta[0] - slopes @ mean), 3), values)


def error_counts(measured: Sequence[Measured], wording: Wording) -> dict[str, object]:
    """False accepts and rejects of each kind at each threshold: 1 is the same whatever the wording."""
    counts: dict[str, object] = {"thresholds": GRID}
    for kind in KINDS.values():
        values: dict[bool, list[float]] = {True: [], False: []}
        for found in measured:
            if found.labelled.kind is kind:
                value = min(map(wording, found.features), default=1.0)
                values[found.labelled.same].append(value if found.at_best.meaning is Meaning.SAME else 0.0)
        counts[kind.name] = {
            "same": len(values[True]),
            "different": len(values[False]),
            "false_accepts": [sum(value >= bound for value in values[False]) for bound in GRID],
            "false_rejects": [sum(value < bound for value in values[True]) for bound in GRID],
        }
    return counts


if __name__ == "__main__":
    main()
