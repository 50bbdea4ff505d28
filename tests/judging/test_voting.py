"""Which questions a vote asks, and what it makes of the verdicts."""

from collections.abc import Callable, Generator
from typing import Any

import pytest
from tool_answers import given_up, solution

from rig.core.calls import JsonObject
from rig.core.models import StepKey, UserMessage
from rig.plugins.judging.evaluators import find
from rig.plugins.judging.questions import (
    WHOLE,
    Cut,
    Question,
    answer_json,
    fit,
    read,
    request,
    shortened,
    variations,
)
from rig.plugins.judging.voting import PreferenceVote, Side, StatusVote, vote_on_answer, vote_on_pair
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.formats.base import ObjectFormat
from rig.plugins.solutions.judgements import decide
from rig.plugins.solutions.rules import VoteRules

WHOLE_CUT = Cut()
BOTH: list[tuple[Side, Side]] = [(0, 1), (1, 0)]
Judge = Callable[[Question], JsonObject | None]


def put(asking: Generator[Question, Any, Any], judge: Judge) -> tuple[Any, list[str]]:
    """A vote by a stub, and the names of the questions that it was asked."""
    names: list[str] = []
    try:
        question = next(asking)
        while True:
            names.append(question.function)
            question = asking.send(judge(question))
    except StopIteration as stop:
        return stop.value, names


def stub(**verdicts: Any) -> Judge:
    """A judge that always says the same to a function."""
    keys = {"check_task_solvable": "task_status", "select_better_answer": "index"}
    return lambda asked: {keys.get(asked.function, "answer_status"): verdicts[asked.function], "reason": "so"}


def status(first: str, second: str = "Unsure", task: str = "Solvable") -> Judge:
    return stub(check_answer_status=first, parse_answer_status=second, check_task_solvable=task)


@pytest.mark.parametrize("answer", ["Solved", "Unsure", "Unsolved"])
@pytest.mark.parametrize("task", ["Solvable", "Unsure", "Unsolvable"])
def test_stub_judges_give_the_truth_table(answer: str, task: str) -> None:
    vote, names = put(vote_on_answer(find("default"), solution()), status(answer, answer, task))
    expected = "Solvable" if answer == "Solved" else task
    assert vote.vote[:2] == (answer, expected)
    wanted = {
        "Solved": ["check_answer_status"],
        "Unsolved": ["check_answer_status", "check_task_solvable"],
        "Unsure": ["check_answer_status", "parse_answer_status", "check_task_solvable"],
    }
    assert names == wanted[answer]
    table = {"Solved": "ppp", "Unsure": "uup", "Unsolved": "fup"}
    place = ["Solvable", "Unsure", "Unsolvable"].index(task)
    assert decide(vote.vote, VoteRules())[0] == table[answer][place]


def test_a_second_look_replaces_the_first() -> None:
    vote, names = put(vote_on_answer(find("default"), solution()), status("Unsure", "Solved"))
    assert (vote.vote.answer, names) == ("Solved", ["check_answer_status", "parse_answer_status"])


def test_what_has_no_end_is_not_put_to_a_judge() -> None:
    vote, names = put(vote_on_answer(find("default"), solution(None)), status("Solved"))
    assert (vote.vote.is_certain, decide(vote.vote, VoteRules()), names) == (True, "fail", [])


def test_who_gives_up_passes_where_the_task_cannot_be_solved() -> None:
    vote, names = put(vote_on_answer(find("default"), given_up()), status("Solved", task="Unsolvable"))
    assert (decide(vote.vote, VoteRules()), names) == ("pass", ["check_task_solvable"])
    assert decide(vote.vote, VoteRules(unsolvable="fail")) == "fail"


def test_verdicts_that_are_none_are_counted_and_decide_nothing() -> None:
    vote, _ = put(vote_on_answer(find("default"), solution()), lambda _: None)
    assert isinstance(vote, StatusVote)
    assert (vote.vote[:2], vote.invalid) == (("Unsure", "Unsure"), 3)


def pair(
    judge: Judge, reference: Any, candidate: Any, evaluator: str = "default", **known: Any
) -> tuple[PreferenceVote, list[str]]:
    passes, statuses = known.get("passes"), known.get("statuses")
    asking = vote_on_pair(find(evaluator), (reference, candidate), passes, statuses, BOTH)
    found: tuple[PreferenceVote, list[str]] = put(asking, judge)
    return found


OURS, THEIRS = solution("It is noon."), solution("It is two.", calls=2)


def always(index: int) -> Judge:
    return stub(check_answer_status="Solved", select_better_answer=index)


def better_is(words: str) -> Judge:
    """A judge that finds the answer with these words better, wherever it stands."""

    def judge(asked: Question) -> JsonObject:
        if asked.function != "select_better_answer":
            return {"answer_status": "Solved"}
        return {"index": 0 if words in asked.fields(Cut())["answer_0"] else 1}

    return judge


def test_an_answer_wins_that_wins_in_both_orders() -> None:
    vote, names = pair(better_is("two"), OURS, THEIRS)
    assert (vote.winner, vote.orders, vote.is_flip) == (1, (1, 1), False)
    assert names == ["check_answer_status"] * 2 + ["select_better_answer"] * 2
    assert pair(better_is("noon"), OURS, THEIRS)[0].winner == 0


def test_a_judge_of_places_ties_and_flips() -> None:
    for index in (0, 1):
        vote, _ = pair(always(index), OURS, THEIRS)
        assert (vote.winner, vote.is_flip) == (None, True)


def test_equal_answers_tie_and_nobody_is_asked() -> None:
    vote, names = pair(always(0), OURS, solution("It is noon."))
    assert (vote.winner, vote.how, names) == (None, "identical", [])


def test_missing_answers_and_known_passes_decide() -> None:
    assert pair(always(0), None, THEIRS)[0][:2] == (1, "absent")
    assert pair(always(0), None, None)[0].winner is None
    assert pair(always(0), OURS, THEIRS, passes=(True, False))[0][:2] == (0, "gate")
    assert pair(always(0), OURS, THEIRS, passes=(True, True))[0].how == "compared"


@pytest.mark.parametrize(
    ("statuses", "winner", "how"),
    [
        (("Solved", "Unsolved"), 0, "status"),
        (("Unsure", "Solved"), 1, "status"),
        (("Unsolved", "Unsure"), 1, "status"),
        (("Solved", "Solved"), 1, "compared"),
        (("Unsure", "Unsure"), 1, "compared"),
        (("Unsolved", "Unsolved"), 1, "compared"),
    ],
)
def test_known_statuses_stay_with_their_answers(statuses: tuple[str, str], winner: int, how: str) -> None:
    vote, names = pair(better_is("two"), OURS, THEIRS, statuses=statuses)
    assert (vote.winner, vote.how) == (winner, how)
    assert "check_answer_status" not in names


def test_the_normalized_evaluator_prefers_answers_solutions_and_few_steps() -> None:
    def judge(asked: Question) -> JsonObject:
        said = asked.fields(Cut())
        if asked.function == "check_solve_query":
            return {"is_solved": "wrong" not in said["final_answer"]}
        if asked.function == "select_best_final_answer":
            return {"best_answer_index": 0 if said["final_answers"].startswith('["{\\"return') else 1}
        return {"succeed_tool_calling": said["answer_details"].count('"n'), "used_tool_types": 1}

    assert pair(judge, OURS, solution(None), "normalized")[0][:2] == (0, "status")
    assert pair(judge, solution("wrong"), OURS, "normalized")[0][:2] == (1, "status")
    assert pair(judge, OURS, THEIRS, "normalized")[0][:2] == (0, "score")
    two = pair(judge, OURS, solution("Twelve o'clock."), "normalized")[0]
    assert (two.how, two.is_flip) == ("compared", True)
    lost = pair(judge, solution("wrong"), solution("wrong as well", calls=3), "normalized")[0]
    assert lost[:2] == (1, "score")


def test_the_chat_evaluator_asks_one_question_in_each_order() -> None:
    vote, names = pair(lambda _: {"preference": 1}, OURS, THEIRS, "fn")
    assert (vote.winner, names) == (None, ["choose_preference"] * 2)


def test_rules_ask_nobody() -> None:
    for truths, winner in (((True, False), 0), ((False, True), 1), ((True, True), None)):
        asking = vote_on_pair(find("truth"), (OURS, THEIRS), None, None, BOTH, truths)
        vote, names = put(asking, always(1))
        assert (vote.winner, names) == (winner, [])
    sorry = solution("Sorry, I couldn't.")
    assert pair(always(0), sorry, THEIRS, "keyword")[0].winner == 1
    assert pair(always(0), OURS, THEIRS, "details")[0].winner == 1


def asked(vote: int = 0, place: str = "first", cut: Cut = WHOLE_CUT) -> Any:
    function = find("default").function("parse_answer_status")
    question = Question(function.name, lambda each: {"query": "q", "answer": answer_json(THEIRS, each)})
    return request(function, question, StepKey("q", vote, 0), vote, place, cut)  # type: ignore[arg-type]


def test_the_reason_comes_first_unless_it_shall_not() -> None:
    names = {
        place: list(asked(place=place).tools[0].parameters["properties"])
        for place in ("first", "last", "none")
    }
    assert names["first"] == ["reason", "answer_status"]
    assert names["last"] == ["answer_status", "reason"]
    assert names["none"] == ["answer_status"]


def test_votes_never_are_the_same_prompt() -> None:
    function = find("default").function("check_answer_status")
    question = Question(function.name, lambda _: {"query": "q", "answer": "a"})
    count = variations(function, question)
    orders = {
        tuple(asked(vote).tools[0].parameters["properties"]["answer_status"]["enum"]) for vote in range(count)
    }
    assert (count, len(orders)) == (6, 6)


def test_votes_share_the_prompt_up_to_the_choices_and_questions_their_beginning() -> None:
    template = ChatTemplate("{% for each in messages %}{{ each.content }}{% endfor %}")

    def parts(vote: int) -> tuple[str, ...]:
        put = asked(vote)
        [message] = ObjectFormat(put.tools, "json", template).write(put.messages)
        return message.parts

    first, second = parts(0), parts(1)
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]
    assert all('"answer_status": ' in each[-1] for each in (first, second))
    assert first[0] == find("default").function("parse_answer_status").beginning
    assert first[0].endswith("Query:\n")
    assert first[1].startswith("q\n")


def test_responses_are_cut_first_and_finish_never() -> None:
    long = solution("It is two.", calls=2, name="clock" * 50, response="tick " * 100)
    whole, cut, least = (answer_json(long, each) for each in (Cut(), Cut(responses=3), Cut(0, 0, 0)))
    assert " characters left out]" in cut
    assert "It is two." in least
    assert len(least) <= len(cut) < len(whole)
    assert len(answer_json(THEIRS, Cut(0, 0, 0))) <= len(answer_json(THEIRS, Cut()))


@pytest.mark.parametrize("room", [10, 60, 300, 5000])
def test_the_least_cut_that_fits_is_taken(room: int) -> None:
    lengths = {"responses": 4000, "words": 200, "tools": 100}

    def size(cut: Cut) -> int:
        return sum(min(length, getattr(cut, name)) for name, length in lengths.items())

    found = fit(lambda cut: size(cut) <= room)
    if room >= 4300:
        assert found == Cut()
    elif room >= 300:
        assert found.words == WHOLE
        assert room - 40 <= size(found) <= room or found.responses == 0
    else:
        assert found.responses == 0


def test_what_is_said_of_a_cut() -> None:
    assert shortened("a" * 100, 2) == "aa[... 98 characters left out]"
    assert shortened("abcdef", 2) == "abcdef"


@pytest.mark.parametrize("given", [None, [], {}, {"answer_status": "Maybe"}, {"answer_status": 1}])
def test_verdicts_are_checked_whatever_the_grammar_promised(given: Any) -> None:
    function = find("default").function("check_answer_status")
    question = Question(function.name, lambda _: {})
    assert read(given, function, question) is None
    assert read({"answer_status": "Solved"}, function, question) is not None


def test_an_index_that_is_a_truth_value_is_none() -> None:
    function = find("default").function("select_better_answer")
    question = Question(function.name, lambda _: {}, {"index": (0, 1)})
    assert [read({"index": value}, function, question) is None for value in (0, 1, True, 2, "0")] == [
        *(False, False),
        *(True, True, True),
    ]
    message = asked().messages[0]
    assert isinstance(message, UserMessage)
