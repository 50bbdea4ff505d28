"""Answers to unclear texts: kept for good, one for a pair, and what a crash leaves of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.plugins.similarity.minilm import MiniLM
from rig.plugins.tooltalk_tools.world import TASK
from rig.scoring import Adjudicated, Answer, Answers, Exact, add_answers, answers_file, read_answers
from rig.scoring.similarity import Meaning

PAIR = ("water the ferns", "finally water the ferns")
TEXTS = st.text(max_size=12)


def test_they_are_beside_the_store() -> None:
    assert answers_file(Path("/x/runs.sqlite")) == Path("/x/runs.answers.jsonl")


@given(st.lists(st.tuples(TEXTS, TEXTS, st.booleans())))
def test_the_last_one_counts_whichever_text_came_first(given_: list[tuple[str, str, bool]]) -> None:
    answers = Answers(Answer(*each) for each in given_)
    last = {tuple(sorted(each[:2])): each[2] for each in given_}
    assert len(answers) == len(last)
    for (first, second), same in last.items():
        assert answers.of(first, second) is same
        assert answers.of(second, first) is same
    turned = Answers(Answer(second, first, same) for (first, second), same in reversed(last.items()))
    assert turned.sha256 == answers.sha256


@pytest.mark.slow
@given(text=st.text())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("answers") / "a.jsonl"
    add_answers(file, [Answer.now(text, "b", same=True)])
    add_answers(file, [Answer.now("b", text + "c", same=False)])
    answers = read_answers(file)
    assert (answers.of("b", text), answers.of(text + "c", "b")) == (True, False)


def test_a_line_that_was_cut_short_is_left_out_and_not_written_into(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    add_answers(file, [Answer.now("a", "b", same=True)])
    with file.open("a") as cut:
        cut.write('{"first": "c", "sec')
    assert len(read_answers(file)) == 1
    add_answers(file, [Answer.now("d", "e", same=True)])
    answers = read_answers(file)
    assert [answers.of(*pair) for pair in (("a", "b"), ("c", "sec"), ("d", "e"))] == [True, None, True]


def test_only_what_is_unclear_is_as_somebody_said() -> None:
    minilm = MiniLM()
    both = Answers([Answer(*PAIR, same=True), Answer("buy milk", "buy bread", same=True)])
    judge = Adjudicated(minilm, both).judge
    assert minilm.judge(TASK, *PAIR).meaning is Meaning.UNCLEAR
    assert judge(TASK, *PAIR[::-1]).meaning is Meaning.SAME
    assert judge(TASK, "buy milk", "buy bread").meaning is Meaning.DIFFERENT
    assert "answers_sha256" in Adjudicated(minilm, both).fingerprint
    assert Adjudicated(Exact(), both).judge(TASK, *PAIR).meaning is Meaning.DIFFERENT
