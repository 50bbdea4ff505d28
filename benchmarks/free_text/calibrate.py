"""Fit the judgement of free text and measure it: prints the tables, and with --write puts the fit where the
grader reads it and the tables into docs/explanation/free-text.md.

    .venv/bin/python benchmarks/free_text/calibrate.py [--write] [--errors]
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fitting import GRID, Score, auc, bands, fit
from pairs import Labelled, Measured, Piece, attacks, fresh, measure, own

from rig.scoring.similarity import MiniLM
from rig.scoring.texts import Band, Meaning, Wording
from rig.scoring.texts.refusals import CHECKS, DOUBTS
from rig.toolbox.spec import Text
from rig.tooltalk.texts import BODY, EVENT, KINDS, LOCATION, SUBJECT, TASK

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT))

from benchmarks.published import publish  # noqa: E402

CALIBRATION = ROOT / "rig" / "scoring" / "similarity" / "calibration.json"
ERROR_COUNTS = CALIBRATION.with_name("error_counts.json")
LABELS = {
    EVENT: "event name, description",
    LOCATION: "location",
    TASK: "reminder task",
    SUBJECT: "email subject",
    BODY: "email body, message",
}
SEEN, PUT_ASIDE = ("second", "third"), ("second", "third", "fourth", "fifth")
"""Rounds of attacks after the first, and those of which some were put aside."""
ERRORS = ("false accepts", "false rejects", "unclear")
BY_KIND = ("pairs", "AUC, cosine", "AUC", "same from", "unclear from", *ERRORS)
Rows = Iterable[Sequence[str]]
Bands = Mapping[Text, Band]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--write", action="store_true", help="write calibration.json and the page on free text"
    )
    parser.add_argument(
        "--errors", action="store_true", help="list the pairs that are judged wrong or not clear"
    )
    parser.add_argument(
        "--held-out", action="store_true", help="measure on the attacks that were put aside, too"
    )
    options = parser.parse_args()
    minilm = MiniLM()
    measured = measure(own(), minilm)
    tuned = measure(attacks("tuned"), minilm)
    fitted = [*(each for each in measured if each.labelled.for_calibration), *tuned]
    unseen = [each for each in measured if not each.labelled.for_calibration]
    wording = fit(fitted)
    chosen = bands(fitted, _score(wording))
    sets = {f"fresh set {name}": measure(pairs, minilm) for name, pairs in fresh().items()}
    hostile = {"attacks, seen": tuned}
    for name in SEEN:
        hostile[f"{name} attacks, seen"] = measure(attacks(f"{name}_tuned"), minilm)
    if options.held_out:
        hostile["attacks, not seen"] = measure(attacks("held_out"), minilm)
        for name in PUT_ASIDE:
            hostile[f"{name} attacks, not seen"] = measure(attacks(f"{name}_held_out"), minilm)
    text = "\n\n".join(_tables(fitted, unseen, sets, hostile, wording, chosen))
    print(text)
    if options.errors:
        _list_errors([*fitted, *unseen], wording, chosen)
    if options.write:
        _write(wording, chosen, text)
        counts = _error_counts(unseen, _score(wording))
        ERROR_COUNTS.write_text(json.dumps(counts) + "\n", encoding="utf-8")


def _score(wording: Wording, without: Sequence[str] = ()) -> Score:
    """How alike the worst piece is, 0 if a check refuses it, and whether a check doubts it. The checks
    `without` are left out.
    """

    def of_piece(piece: Piece) -> tuple[float, bool]:
        if piece.refused_by.difference(without):
            return 0.0, False
        value = wording(piece.features) if piece.fixed is None else piece.fixed
        return value, bool(piece.doubted_by.difference(without))

    def score(each: Measured) -> tuple[float, bool]:
        scores = [of_piece(piece) for piece in each.pieces]
        worst = min((value for value, _ in scores), default=0.0 if each.hopeless else 1.0)
        return worst, any(doubt for _, doubt in scores)

    return score


def _tables(
    fitted: Sequence[Measured],
    unseen: Sequence[Measured],
    sets: Mapping[str, Sequence[Measured]],
    hostile: Mapping[str, Sequence[Measured]],
    wording: Wording,
    chosen: Bands,
) -> Iterator[str]:
    score = _score(wording)
    yield f"Fitted on {_count(fitted)}; measured on {_count(unseen)} of the other half."
    for name, pairs in {"unseen half": unseen, **sets}.items():
        yield _table((name, *BY_KIND), _by_kind(pairs, score, chosen))
    yield _table(("near miss", "pairs", "accepted", "unclear"), _by_case(unseen, score, chosen, same=False))
    for name, pairs in hostile.items():
        yield _table((name, *ERRORS), [("all", *_errors(pairs, score, chosen))])
        yield _table(
            (f"{name}: other meaning", "pairs", "accepted", "unclear"),
            _by_case(pairs, score, chosen, same=False),
        )
        yield _table(
            (f"{name}: same meaning", "pairs", "rejected", "unclear"),
            _by_case(pairs, score, chosen, same=True),
        )
    everything = [*unseen, *(each for pairs in hostile.values() for each in pairs)]
    yield _table(
        ("without a check, unseen half and attacks", "AUC", *ERRORS), _ablations(fitted, everything, wording)
    )


def _by_kind(pairs: Sequence[Measured], score: Score, chosen: Bands) -> Rows:
    for kind, label in LABELS.items():
        of_kind = [each for each in pairs if each.labelled.kind is kind]
        yield label, *_row(of_kind, score, chosen, f"{chosen[kind].same:.2f}", f"{chosen[kind].unclear:.2f}")
    yield "all", *_row(pairs, score, chosen, "", "")


def _row(pairs: Sequence[Measured], score: Score, chosen: Bands, *shown: str) -> Sequence[str]:
    areas = (f"{auc(pairs, by):.3f}" for by in (lambda each: (each.cosine, False), score))
    return str(len(pairs)), *areas, *shown, *_errors(pairs, score, chosen)


def _errors(pairs: Sequence[Measured], score: Score, chosen: Bands) -> Sequence[str]:
    """False accepts, false rejects and unclear pairs."""
    shown = []
    for same, wrong in ((False, Meaning.SAME), (True, Meaning.DIFFERENT)):
        verdicts = [_meaning(each, score, chosen) is wrong for each in pairs if each.labelled.same is same]
        shown.append(_share(verdicts))
    return *shown, _share([_meaning(each, score, chosen) is Meaning.UNCLEAR for each in pairs])


def _share(verdicts: Sequence[bool]) -> str:
    return f"{sum(verdicts)}/{len(verdicts)} ({sum(verdicts) / max(1, len(verdicts)):.1%})"


def _error_counts(pairs: Sequence[Measured], score: Score) -> dict[str, object]:
    """By kind, how many pairs there are and how many are judged wrongly at every threshold, for reports.
    Doubt counts as a refusal.
    """
    counts: dict[str, object] = {"thresholds": GRID}
    for kind in KINDS.values():
        same, other = (
            [
                0.0 if doubted else value
                for value, doubted in (
                    score(each)
                    for each in pairs
                    if each.labelled.kind is kind and each.labelled.same is label
                )
            ]
            for label in (True, False)
        )
        counts[kind.name] = {
            "same": len(same),
            "different": len(other),
            "false_accepts": [sum(value >= limit for value in other) for limit in GRID],
            "false_rejects": [sum(value < limit for value in same) for limit in GRID],
        }
    return counts


def _meaning(each: Measured, score: Score, chosen: Bands) -> Meaning:
    value, doubted = score(each)
    band = chosen[each.labelled.kind]
    if value < band.unclear:
        return Meaning.DIFFERENT
    return Meaning.SAME if value >= band.same and not doubted else Meaning.UNCLEAR


def _by_case(pairs: Sequence[Measured], score: Score, chosen: Bands, *, same: bool) -> Rows:
    wrong = Meaning.DIFFERENT if same else Meaning.SAME
    cases = dict.fromkeys(each.labelled.case for each in pairs if each.labelled.same is same)
    for case in sorted(cases):
        found = [
            _meaning(each, score, chosen)
            for each in pairs
            if each.labelled.case == case and each.labelled.same is same
        ]
        yield case, str(len(found)), str(found.count(wrong)), str(found.count(Meaning.UNCLEAR))


def _ablations(fitted: Sequence[Measured], unseen: Sequence[Measured], wording: Wording) -> Rows:
    def row(label: str, score: Score) -> Sequence[str]:
        return label, f"{auc(unseen, score):.3f}", *_errors(unseen, score, bands(fitted, score))

    yield row("everything", _score(wording))
    for name in CHECKS:
        yield row(f"without: {name}", _score(wording, [name]))
    yield row("without any doubt", _score(wording, list(DOUBTS)))
    yield row("without any check", _score(wording, [*CHECKS, *DOUBTS]))
    yield row("the cosine alone", lambda each: (each.cosine, False))


def _count(pairs: Sequence[Measured]) -> str:
    same = sum(each.labelled.same for each in pairs)
    return f"{len(pairs)} pairs ({same} that mean the same, {len(pairs) - same} near misses)"


def _table(head: Sequence[str], rows: Rows) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _list_errors(pairs: Sequence[Measured], wording: Wording, chosen: Bands) -> None:
    score = _score(wording)
    for each in pairs:
        meaning = _meaning(each, score, chosen)
        if meaning is not (Meaning.SAME if each.labelled.same else Meaning.DIFFERENT):
            pair: Labelled = each.labelled
            by = sorted({name for piece in each.pieces for name in piece.refused_by | piece.doubted_by})
            said = f"{pair.first!r} | {pair.second!r}"
            print(f"{meaning} {score(each)[0]:.2f} {pair.kind} {pair.case}: {said} {', '.join(by)}")


def _write(wording: Wording, chosen: Bands, text: str) -> None:
    fit_values = {
        "intercept": wording.intercept,
        "coefficients": dict(wording.coefficients),
        "thresholds": {kind.name: band.same for kind, band in chosen.items()},
        "unclear": {kind.name: band.unclear for kind, band in chosen.items()},
    }
    CALIBRATION.write_text(json.dumps(fit_values, indent=2) + "\n", encoding="utf-8")
    publish("free-text.md", "tables", text)


if __name__ == "__main__":
    main()
