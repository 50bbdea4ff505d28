"""The labelled pairs and the committed fit: what the documentation claims of them."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.free_text.pairs import unseen
from rig.plugins.similarity.minilm import MiniLM, bands
from rig.plugins.tooltalk_tools.world import KINDS
from rig.scoring.similarity import Meaning

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PAIRS = CHECKOUT / "benchmarks" / "free_text"


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
        for folder in ("pairs", "fresh", "attacks", "reworded")
        for each in pairs(folder)
    ]
    assert [set(each) for each, count in Counter(every).items() if count > 1] == []
    assert all(len(each) == 2 for each in every)


def test_there_are_enough_reworded_pairs() -> None:
    own = pairs("reworded")
    assert len(own) >= 300
    assert 0.4 < sum(each["same"] for each in own) / len(own) < 0.6
    assert sum(len(each["first"].split()) > 25 for each in own) >= 100


def test_a_wording_may_be_unclear_below_where_it_is_the_same() -> None:
    found = bands()
    assert set(found) == set(KINDS)
    assert all(
        0 < band.unclear < band.same < 1 and band.unclear < band.doubtful < 1 for band in found.values()
    )


def errors(rows: list[tuple[str, str, str, bool]]) -> tuple[float, float, float]:
    """False accepts, false rejects and unclear ones as shares."""
    minilm = MiniLM()
    said: Counter[tuple[bool, Meaning]] = Counter()
    for kind, first, second, is_same in rows:
        said[is_same, minilm.judge(KINDS[kind], first, second).meaning] += 1
    different, same = (sum(said[label, meaning] for meaning in Meaning) for label in (False, True))
    unclear = said[False, Meaning.UNCLEAR] + said[True, Meaning.UNCLEAR]
    accepts, rejects = said[False, Meaning.SAME], said[True, Meaning.DIFFERENT]
    return accepts / different, rejects / same, unclear / (different + same)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "most"), [("fresh", 0.3), ("attacks", 0.3), ("pairs", 0.3), ("reworded", 0.3)]
)
def test_labelled_pairs_are_judged_within_the_goals(folder: str, most: float) -> None:
    rows = [(row["kind"], row["first"], row["second"], row["same"]) for row in pairs(folder)]
    accepts, rejects, unclear = errors(rows)
    assert accepts <= 0.06
    assert rejects <= 0.12
    assert unclear <= most


@pytest.mark.slow
def test_what_the_model_was_not_taught_is_judged_about_as_well() -> None:
    """The families are harder than what the goals are for."""
    rows = [(pair.kind.name, pair.first, pair.second, pair.same) for pair in unseen()]
    for group, (most_rejected, most_unclear) in ((rows[:299], (0.12, 0.3)), (rows[299::7], (0.22, 0.4))):
        accepts, rejects, unclear = errors(group)
        assert accepts <= 0.06
        assert rejects <= most_rejected
        assert unclear <= most_unclear


@pytest.mark.slow
@pytest.mark.skipif("RIG_TEXT_PAIRS" not in os.environ, reason="RIG_TEXT_PAIRS names no file of pairs")
def test_pairs_from_elsewhere_are_judged_within_the_goals() -> None:
    lines = Path(os.environ["RIG_TEXT_PAIRS"]).read_text(encoding="utf-8").splitlines()
    rows = [(row["kind"], row["a"], row["b"], bool(row["label"])) for row in map(json.loads, lines)]
    accepts, rejects, unclear = errors(rows)
    assert accepts <= 0.06
    assert rejects <= 0.12
    assert unclear <= 0.30
