"""Fit the judgement of free text and measure it: prints the tables, and with --write puts the fit where the
grader reads it and the tables into docs/free-text.md.

    .venv/bin/python benchmarks/free_text/calibrate.py [--write] [--errors]
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from fitting import GRID, Score, auc, fit, thresholds
from pairs import Labelled, Measured, fresh, measure, own

from rig.scoring.similarity import MiniLM
from rig.scoring.texts import Wording
from rig.scoring.texts.checks import CHECKS
from rig.toolbox.spec import Text
from rig.tooltalk.texts import BODY, EVENT, KINDS, LOCATION, SUBJECT, TASK

ROOT = Path(__file__).resolve().parent.parent.parent
CALIBRATION = ROOT / "rig" / "scoring" / "similarity" / "calibration.json"
ERROR_COUNTS = CALIBRATION.with_name("error_counts.json")
DOCS = ROOT / "docs" / "free-text.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
LABELS = {
    EVENT: "event name, description",
    LOCATION: "location",
    TASK: "reminder task",
    SUBJECT: "email subject",
    BODY: "email body, message",
}
Rows = Iterator[Sequence[str]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write calibration.json and docs/free-text.md")
    parser.add_argument(
        "--errors", action="store_true", help="list the pairs of the fitted half judged wrong"
    )
    options = parser.parse_args()
    minilm = MiniLM()
    measured = measure(own(), minilm)
    fitted = [each for each in measured if each.labelled.for_calibration]
    unseen = [each for each in measured if not each.labelled.for_calibration]
    wording = fit(fitted)
    limits = thresholds(fitted, _score(wording))
    sets = {name: measure(pairs, minilm) for name, pairs in fresh().items()}
    text = "\n\n".join(_tables(fitted, unseen, sets, wording, limits))
    print(text)
    if options.errors:
        _list_errors(fitted, wording, limits)
    if options.write:
        _write(wording, limits, text)
        counts = _error_counts(unseen, _score(wording))
        ERROR_COUNTS.write_text(json.dumps(counts) + "\n", encoding="utf-8")


def _score(wording: Wording, without: Sequence[str] = ()) -> Score:
    """0 for what a check refuses, the checks `without` left out; else how alike the wording is."""
    return lambda each: 0.0 if each.refused_by.difference(without) else wording(each.features)


def _tables(
    fitted: Sequence[Measured],
    unseen: Sequence[Measured],
    sets: Mapping[str, Sequence[Measured]],
    wording: Wording,
    limits: Mapping[Text, float],
) -> Iterator[str]:
    score = _score(wording)
    yield f"Fitted on {_count(fitted)}; measured on {_count(unseen)} of the other half."
    yield _table(
        ("unseen half", "pairs", "AUC, cosine", "AUC", "threshold", "false accepts", "false rejects"),
        _by_kind(unseen, score, limits),
    )
    yield _table(("near miss", "pairs", "accepted"), _by_case(unseen, score, limits))
    yield _table(
        ("on the unseen half", "AUC", "false accepts", "false rejects"), _ablations(fitted, unseen, wording)
    )
    for name, pairs in sets.items():
        yield _table(
            (
                f"fresh set {name}",
                "pairs",
                "AUC, cosine",
                "AUC",
                "threshold",
                "false accepts",
                "false rejects",
            ),
            _by_kind(pairs, score, limits),
        )


def _by_kind(pairs: Sequence[Measured], score: Score, limits: Mapping[Text, float]) -> Rows:
    for kind, label in LABELS.items():
        of_kind = [each for each in pairs if each.labelled.kind is kind]
        yield label, *_row(of_kind, score, limits, f"{limits[kind]:.2f}")
    yield "all", *_row(pairs, score, limits, "")


def _row(pairs: Sequence[Measured], score: Score, limits: Mapping[Text, float], shown: str) -> Sequence[str]:
    areas = (f"{auc(pairs, by):.3f}" for by in (lambda each: each.cosine, score))
    return str(len(pairs)), *areas, shown, *_errors(pairs, score, limits)


def _errors(pairs: Sequence[Measured], score: Score, limits: Mapping[Text, float]) -> Sequence[str]:
    shown = []
    for same in (False, True):
        verdicts = [_accepted(each, score, limits) != same for each in pairs if each.labelled.same is same]
        shown.append(f"{sum(verdicts)}/{len(verdicts)} ({sum(verdicts) / len(verdicts):.1%})")
    return shown


def _error_counts(pairs: Sequence[Measured], score: Score) -> dict[str, object]:
    """By kind, how many pairs there are and how many are judged wrongly at every threshold, for reports."""
    counts: dict[str, object] = {"thresholds": GRID}
    for kind in KINDS.values():
        same, other = (
            [score(each) for each in pairs if each.labelled.kind is kind and each.labelled.same is label]
            for label in (True, False)
        )
        counts[kind.name] = {
            "same": len(same),
            "different": len(other),
            "false_accepts": [sum(value >= limit for value in other) for limit in GRID],
            "false_rejects": [sum(value < limit for value in same) for limit in GRID],
        }
    return counts


def _accepted(each: Measured, score: Score, limits: Mapping[Text, float]) -> bool:
    return score(each) >= limits[each.labelled.kind]


def _by_case(pairs: Sequence[Measured], score: Score, limits: Mapping[Text, float]) -> Rows:
    cases = sorted({each.labelled.case for each in pairs if not each.labelled.same})
    for case in cases:
        of_case = [each for each in pairs if each.labelled.case == case]
        yield case, str(len(of_case)), str(sum(_accepted(each, score, limits) for each in of_case))


def _ablations(fitted: Sequence[Measured], unseen: Sequence[Measured], wording: Wording) -> Rows:
    def row(label: str, score: Callable[[Measured], float]) -> Sequence[str]:
        return label, f"{auc(unseen, score):.3f}", *_errors(unseen, score, thresholds(fitted, score))

    yield row("everything", _score(wording))
    for name in CHECKS:
        yield row(f"without: {name}", _score(wording, [name]))
    yield row("without any check", _score(wording, list(CHECKS)))
    yield row("the cosine and the checks", lambda each: 0.0 if each.refused_by else each.cosine)
    yield row("the cosine alone", lambda each: each.cosine)


def _count(pairs: Sequence[Measured]) -> str:
    same = sum(each.labelled.same for each in pairs)
    return f"{len(pairs)} pairs ({same} that mean the same, {len(pairs) - same} near misses)"


def _table(head: Sequence[str], rows: Rows) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _list_errors(pairs: Sequence[Measured], wording: Wording, limits: Mapping[Text, float]) -> None:
    for each in pairs:
        if _accepted(each, _score(wording), limits) != each.labelled.same:
            pair: Labelled = each.labelled
            said = f"{pair.first!r} | {pair.second!r}"
            refused = ", ".join(sorted(each.refused_by))
            print(f"{_score(wording)(each):.2f} {pair.kind} {pair.case}: {said} {refused}")


def _write(wording: Wording, limits: Mapping[Text, float], text: str) -> None:
    fit_values = {
        "intercept": wording.intercept,
        "coefficients": dict(wording.coefficients),
        "thresholds": {kind.name: limit for kind, limit in limits.items()},
    }
    CALIBRATION.write_text(json.dumps(fit_values, indent=2) + "\n", encoding="utf-8")
    head, begin, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{DOCS} has no place for the tables")
    DOCS.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
