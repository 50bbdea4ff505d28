"""The labelled pairs and the committed fit: what the documentation claims of them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rig.scoring.similarity import MiniLM
from rig.scoring.similarity.minilm import calibration
from rig.scoring.texts import Elsewhere, Meaning
from rig.toolbox.spec import Text
from rig.tooltalk.texts import KINDS

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PAIRS = CHECKOUT / "benchmarks" / "free_text"
DOCS = CHECKOUT / "docs" / "free-text.md"


def pairs(folder: str) -> list[dict[str, Any]]:
    files = sorted((PAIRS / folder).glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def test_there_are_enough_pairs_of_every_kind_and_both_sorts() -> None:
    own = pairs("pairs")
    assert len(own) >= 300
    for kind in KINDS:
        sorts = Counter(each["same"] for each in own if each["kind"] == kind)
        assert min(sorts.values()) >= 100
        assert max(sorts.values()) < 1.25 * min(sorts.values())


def test_no_pair_is_there_twice() -> None:
    every = [
        frozenset((each["first"], each["second"]))
        for folder in ("pairs", "fresh", "attacks")
        for each in pairs(folder)
    ]
    assert [set(each) for each, count in Counter(every).items() if count > 1] == []
    assert all(len(each) == 2 for each in every)


def test_the_documented_thresholds_are_those_that_decide() -> None:
    rows = [line.split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines()]
    documented = [
        (float(row[4]), float(row[5])) for row in rows if len(row) == 9 and row[4].strip().startswith("0.")
    ]
    _, same, unclear = calibration()
    assert documented[: len(KINDS)] == [(same[kind], unclear[kind]) for kind in KINDS]
    assert all(unclear[kind] <= same[kind] for kind in KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["fresh", "attacks"])
def test_pairs_written_to_mislead_are_judged_within_the_goals(folder: str) -> None:
    minilm = MiniLM()
    said: Counter[tuple[bool, Meaning]] = Counter()
    for each in pairs(folder):
        judged = minilm.judge(KINDS[each["kind"]], each["first"], each["second"], Elsewhere())
        said[each["same"], judged.meaning] += 1
    different, same = (sum(said[label, meaning] for meaning in Meaning) for label in (False, True))
    assert said[False, Meaning.SAME] / different <= 0.05
    assert said[True, Meaning.DIFFERENT] / same <= 0.10
    assert (said[False, Meaning.UNCLEAR] + said[True, Meaning.UNCLEAR]) / (different + same) <= 0.15


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_equal_texts_need_no_model(kind: Text) -> None:
    assert MiniLM().wording(kind, "water the ferns", "water the ferns") == 1
