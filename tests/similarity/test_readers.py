"""Readers: measured on labelled pairs before they decide anything, and refused with their figures."""

import math
import random
import time
from collections.abc import Callable

import pytest

from rig.core.errors import RigError
from rig.plugins.similarity import readers
from rig.plugins.similarity.readers import Pair, labelled_pairs, likelihood, measured
from rig.plugins.tooltalk_tools.world import BODY
from rig.scoring import Adjudicated, Answer, Answers, Exact
from rig.scoring.similarity import Meaning, TextJudgement

TRUTH = {frozenset((pair.first, pair.second)): pair.same for pair in labelled_pairs()}


class Scripted:
    """A reader that answers what a function of both texts says."""

    name, sha256 = "scripted", "0" * 64

    def __init__(self, follows: Callable[[str, str], object]) -> None:
        self._follows = follows
        self.asked = 0

    def follows(self, first: str, second: str) -> float | None:
        self.asked += 1
        return self._follows(first, second)  # type: ignore[return-value]


def truth(first: str, second: str) -> float:
    return 0.9 if TRUTH[frozenset((first, second))] else 0.1


def test_there_are_enough_pairs_of_both_sorts() -> None:
    same = [pair.same for pair in labelled_pairs()]
    assert len(same) == len(TRUTH) >= 200
    assert sum(same) * 2 == len(same)


def test_a_reader_that_is_right_is_used() -> None:
    result = measured(Scripted(truth))
    assert (result.accepts, result.rejects, result.settled) == (0, 0, len(TRUTH))
    assert result.thresholds.different <= result.thresholds.same
    assert result.thresholds.of(0.9) is True
    assert result.thresholds.of(0.1) is False
    assert result.fingerprint["reader_sha256"] == "0" * 64
    assert "false accepts 0/" in str(result.fingerprint["reader_figures"])
    assert "scripted 00000000" in str(result)


def test_a_bias_is_no_error() -> None:
    result = measured(Scripted(lambda a, b: 0.98 + 0.01 * truth(a, b)))
    assert (result.accepts, result.rejects) == (0, 0)


def test_each_direction_is_asked() -> None:
    reader = Scripted(lambda a, b: 0.2 if a < b else 0.8)
    assert likelihood(reader, "a", "b") == likelihood(reader, "b", "a") == 0.2


CHANCE = random.Random(0)
REFUSED = "no threshold keeps its false accepts at 5%, its false rejects at 10%"


@pytest.mark.parametrize(
    ("follows", "words"),
    [
        (lambda a, b: CHANCE.random(), REFUSED),
        (lambda a, b: 1.0, REFUSED),
        (lambda a, b: 0.0, REFUSED),
        (lambda a, b: "yes" * 1000, "gives no answer that is a probability"),
        (lambda a, b: math.nan, "gives no answer that is a probability"),
        (lambda a, b: 17.0, "gives no answer that is a probability"),
        (lambda a, b: None, "gives no answer that is a probability"),
        (lambda a, b: bytearray(10**9), "gives no answer that is a probability"),
        (lambda a, b: 1 / 0, "cannot read: 'division by zero'"),
    ],
    ids=["random", "always yes", "always no", "words", "nan", "17", "nothing", "1 GB", "broken"],
)
@pytest.mark.slow
def test_others_are_refused_in_a_line(follows: Callable[[str, str], object], words: str) -> None:
    pairs = labelled_pairs()[:2] if "probability" in words else labelled_pairs()
    with pytest.raises(RigError, match=words) as refused:
        measured(Scripted(follows), pairs)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_one_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "PATIENCE", 0.05)
    with pytest.raises(RigError, match="no answer within"):
        measured(Scripted(lambda a, b: time.sleep(1)), [Pair("a", "b", True)])


def test_long_texts_are_not_read() -> None:
    reader = Scripted(lambda a, b: 1.0)
    assert likelihood(reader, "a" * 100_000, "b") is None
    assert reader.asked == 0


class Unclear(Exact):
    def judge(self, kind: object, first: str, second: str, elsewhere: object) -> TextJudgement:
        return TextJudgement(Meaning.UNCLEAR, 0.5, "not clear")


def test_a_reader_decides_what_is_unclear_and_nobody_has_answered() -> None:
    pair = labelled_pairs()[0]
    result = measured(Scripted(truth))
    judge = Adjudicated(Unclear(), reader=result).judge
    meaning = judge(BODY, pair.first, pair.second).meaning
    assert meaning is (Meaning.SAME if pair.same else Meaning.DIFFERENT)
    answers = Answers([Answer(pair.first, pair.second, not pair.same)])
    overruled = Adjudicated(Unclear(), answers, result)
    assert overruled.judge(BODY, pair.first, pair.second).meaning is not meaning
    assert {"answers_sha256", "reader_sha256"} <= overruled.fingerprint.keys()
