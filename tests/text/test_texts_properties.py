"""What must hold of any two strings, hostile ones included."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from patience import in_a_moment

from rig.plugins.text.judge import Band, judge
from rig.plugins.text.reading.clauses import read_text
from rig.plugins.text.reading.words import MAX_WORDS, words_of
from rig.plugins.tooltalk_tools.world import BODY, EVENT, KINDS
from rig.scoring.similarity import TextJudgement
from rig.world.spec import Text

PIECES = """
I you can not don't never without call Anna buy milk butter two 2 $20 5% at 3 pm 15:00 on Tuesday next
week the 15th of May 9/15 half past four an hour room B Mr. Dr. St. N. turn up off confirm cancel my your
from to Rome Re: Hi Best, Thanks, Tom . , ! ? - : / # one first second twenty hundred and
"""
WORDS = st.sampled_from([*PIECES.split(), "\n"])
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=30).map(" ".join))
KIND = st.sampled_from(list(KINDS.values()))


def judged(kind: Text, first: str, second: str) -> TextJudgement:
    """The judgement with the wording taken for alike."""
    return judge(kind, first, second, lambda *_: 1.0, Band(0.5, 0.4))


@given(KIND, TEXTS, TEXTS)
@example(BODY, "፩ 9/² ½ ① 3/4/9999999 99:99 24:60 0/0", "at ٣ q٣")
@example(BODY, "9" * 5000, "1" * 5000 + "/2")
@pytest.mark.slow
def test_no_check_raises_or_depends_on_the_order(kind: Text, first: str, second: str) -> None:
    reason = judged(kind, first, second).note
    assert reason == judged(kind, second, first).note
    assert reason is None or (reason.isprintable() and len(reason) <= 111)


@given(KIND, TEXTS)
@example(EVENT, 'NO"AND"B')
def test_a_text_means_what_it_means(kind: Text, text: str) -> None:
    assert judged(kind, text, text).note is None


@given(TEXTS)
def test_case_and_space_around_change_no_fact(text: str) -> None:
    assert {fact.sort for fact in read_text(text).facts} == {
        fact.sort for fact in read_text(f"  {text}  ").facts
    }


HOSTILE = [
    "a'" * 50_000,
    "St. " * 25_000,
    "not " * 25_000,
    "Zed Xed Yed " * 8_000,
    "9" * 100_000,
    "9,999," * 16_000,
    "1/2/" * 25_000,
    "at 3 to 4 pm " * 8_000,
    "half past " * 10_000,
    "turn up on off out " * 5_000,
    "milk butter dentist cancel confirm " * 3_000,
    "Hi " + "a " * 50_000,
    "Best, " * 20_000,
    "\n" * 100_000,
    "ß" * 100_000,
    "ﷺ" * 100_000,
    " ".join(f"word{n} Name{n} {n}" for n in range(8_000)),
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_long_and_hostile_texts_are_read_in_a_moment(text: str) -> None:
    other = " ".join(f"other{n} Else{n} {n + 9}" for n in range(8_000))
    judged(BODY, "warm up", other)
    with in_a_moment():
        judged(BODY, text, other)
    assert len(words_of(text)) <= MAX_WORDS + 4
