"""Votes become passes by upstream's table, and by any other rules."""

from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.solutions.judgements import AnswerStatus, Decision, TaskStatus, Vote, decide, sopr, tally
from rig.plugins.solutions.rules import UPSTREAM, VoteRules

TABLE: dict[tuple[AnswerStatus, TaskStatus], Decision] = {
    ("Solved", "Solvable"): "pass",
    ("Solved", "Unsure"): "pass",
    ("Solved", "Unsolvable"): "pass",
    ("Unsure", "Solvable"): "unsure",
    ("Unsure", "Unsure"): "unsure",
    ("Unsure", "Unsolvable"): "pass",
    ("Unsolved", "Solvable"): "fail",
    ("Unsolved", "Unsure"): "unsure",
    ("Unsolved", "Unsolvable"): "pass",
}
VOTES = st.builds(Vote, st.sampled_from(get_args(AnswerStatus)), st.sampled_from(get_args(TaskStatus)))


@pytest.mark.parametrize(("answer", "task"), TABLE)
def test_the_table_of_upstream(answer: AnswerStatus, task: TaskStatus) -> None:
    assert decide(Vote(answer, task), UPSTREAM) == TABLE[answer, task]
    strict = decide(Vote(answer, task), VoteRules(unsolvable="fail"))
    assert strict == ("pass" if answer == "Solved" else strict)
    assert task != "Unsolvable" or answer == "Solved" or strict != "pass"


def test_no_answer_fails_whatever_the_rules() -> None:
    vote = Vote("Unsolved", "Unsolvable", is_certain=True)
    for ties, unsure in product(("pass", "fail", "coin"), ("half", "pass", "fail", "coin")):
        assert not tally([vote], VoteRules(ties=ties, unsure=unsure), "q").passes


def test_ties_and_unsure_votes_are_settings() -> None:
    split = [Vote("Solved"), Vote("Unsolved")]
    assert tally(split, VoteRules(ties="pass"), "q").passes
    assert not tally(split, VoteRules(ties="fail"), "q").passes
    unsure = [Vote("Unsure"), Vote("Unsolved")]
    assert tally(unsure, VoteRules(), "q")[:2] == (0.5, 1.5)
    assert tally(unsure, VoteRules(unsure="pass"), "q")[:2] == (1, 1)
    assert tally(unsure, VoteRules(unsure="fail"), "q")[:2] == (0, 2)


def test_a_coin_falls_the_same_way_again_and_either_way_over_queries() -> None:
    rules = VoteRules(unsure="coin", seed=3)
    falls = [tally([Vote("Unsure")], rules, str(query)).passes for query in range(400)]
    assert falls == [tally([Vote("Unsure")], rules, str(query)).passes for query in range(400)]
    assert 150 < sum(falls) < 250


def test_the_solvable_pass_rate_knows_no_task() -> None:
    assert sopr([Vote("Solved"), Vote("Unsure", "Unsolvable"), Vote("Unsolved", "Unsolvable")]) == 0.5


def test_rules_that_there_are_not_are_refused() -> None:
    with pytest.raises(RigError, match="ties=maybe: choose from: pass, fail, coin"):
        VoteRules(ties="maybe")  # type: ignore[arg-type]


@given(st.lists(VOTES, min_size=1, max_size=9))
def test_every_vote_counts_once(votes: list[Vote]) -> None:
    found = tally(votes, VoteRules(), "q")
    assert found.passed + found.failed == len(votes)
    assert 0 <= found.variance <= 0.25
    more = tally([*votes, Vote("Solved"), Vote("Solved")], VoteRules(), "q")
    assert more.passes >= found.passes
