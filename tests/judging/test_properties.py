"""What holds of votes, rates and files of results, whatever a judge says."""

import csv
import io
import json
from collections.abc import Callable, Generator
from itertools import product
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from tool_answers import TOOL, given_up, solution

from rig.core.errors import RigError
from rig.core.models import StepKey, UserMessage
from rig.core.tasks import require_unique
from rig.plugins.judging import calibration as agreement
from rig.plugins.judging.calibration import load_labels
from rig.plugins.judging.evaluators import FIELDS, RULES, Evaluator, JudgeFunction, find, load
from rig.plugins.judging.planning import merged
from rig.plugins.judging.questions import (
    Cut,
    Question,
    ReasonPlace,
    answer_json,
    details_json,
    fit,
    read,
    request,
    shortened,
    task_json,
    variations,
)
from rig.plugins.judging.voting import PreferenceVote, Side, StatusVote, vote_on_answer, vote_on_pair
from rig.plugins.papers.toolbench.results import (
    PASS_HEADER,
    PREFERENCE_HEADER,
    pass_json,
    pass_table,
    preference_json,
    preference_table,
    read_passes,
    read_preferences,
)
from rig.plugins.solutions.judgements import (
    MOST_VOTES,
    AnswerStatus,
    Judged,
    Judgement,
    ModelAnswers,
    Preference,
    TaskStatus,
    Vote,
    decide,
    joined,
    judgements_of,
    parse_judgement,
    sopr,
    tally,
)
from rig.plugins.solutions.rules import Ties, Unsolvable, Unsure, VoteRules

ANSWERS: tuple[AnswerStatus, ...] = get_args(AnswerStatus)
TASKS: tuple[TaskStatus, ...] = get_args(TaskStatus)
VOTES = st.lists(st.builds(Vote, st.sampled_from(ANSWERS), st.sampled_from(TASKS)), min_size=1, max_size=7)
RULESETS = [
    VoteRules(ties, unsure, unsolvable)
    for ties, unsure, unsolvable in product(get_args(Ties), get_args(Unsure), get_args(Unsolvable))
]
BOTH: list[tuple[Side, Side]] = [(0, 1), (1, 0)]
KEY = StepKey("q", 0, 0)
TEXTS = st.text(max_size=30)


# From votes to a pass


@pytest.mark.parametrize("rules", RULESETS, ids=str)
def test_one_vote_decides_by_itself(rules: VoteRules) -> None:
    for answer, task in product(ANSWERS, TASKS):
        _check_one_vote(answer, task, rules)


def _check_one_vote(answer: AnswerStatus, task: TaskStatus, rules: VoteRules) -> None:
    found = tally([Vote(answer, task)], rules, "q")
    decision = decide(Vote(answer, task), rules)
    if decision != "unsure":
        assert (found.passes, found.passed) == (decision == "pass", float(decision == "pass"))
    elif rules.unsure == "half":
        assert found.passed == 0.5
        assert rules.ties == "coin" or found.passes is (rules.ties == "pass")
    elif rules.unsure != "coin":
        assert found.passes is (rules.unsure == "pass")
    assert answer != "Solved" or found.passes


@pytest.mark.slow
@settings(max_examples=50)
@given(VOTES, st.sampled_from(RULESETS), st.text(max_size=5))
def test_rates_do_not_depend_on_the_order_of_votes_unless_coins_are_tossed(
    votes: list[Vote], rules: VoteRules, name: str
) -> None:
    found = tally(votes, rules, name)
    assert found.passed + found.failed == pytest.approx(len(votes))
    assert found.sopr == sopr(votes)
    assert tally(votes, rules, name) == found
    if "coin" not in (rules.unsure, rules.ties):
        assert tally(votes[::-1], rules, name)[:3] == pytest.approx(found[:3])
    if rules.unsure != "coin" and found.passed != found.failed:
        assert found.passes is (found.passed > found.failed)


@given(VOTES, st.integers(0, 6))
def test_a_vote_that_turns_to_solved_never_costs_a_pass(votes: list[Vote], place: int) -> None:
    better = [*votes]
    better[place % len(votes)] = Vote("Solved")
    before, after = tally(votes, VoteRules(), "q"), tally(better, VoteRules(), "q")
    assert after.passed >= before.passed
    assert after.passes >= before.passes
    assert after.sopr >= before.sopr


@given(VOTES)
def test_no_answer_can_only_lose(votes: list[Vote]) -> None:
    certain = Vote("Unsolved", "Unsolvable", is_certain=True)
    assert tally([*votes, certain], VoteRules(), "q").passed == tally(votes, VoteRules(), "q").passed
    assert [decide(certain, rules) for rules in RULESETS] == ["fail"] * len(RULESETS)


# The questions of a vote, whatever the verdicts are

Judge = Callable[[Question], Any]
VERDICTS = st.sampled_from(["Solved", "Unsure", "Unsolved", None])


def put(
    asking: Generator[Question, Any, Any], judge: Callable[[Question], Any]
) -> tuple[Any, list[Question]]:
    asked: list[Question] = []
    try:
        question = next(asking)
        while True:
            asked.append(question)
            question = asking.send(judge(question))
    except StopIteration as stop:
        return stop.value, asked


@pytest.mark.parametrize(
    ("first", "second", "task"),
    product(
        ["Solved", "Unsure", "Unsolved", None],
        ["Solved", "Unsure", "Unsolved", None],
        ["Solvable", "Unsure", "Unsolvable", None],
    ),
)
def test_the_three_questions_of_a_status_in_every_case(
    first: str | None, second: str | None, task: str | None
) -> None:
    """Upstream's algorithm told again: a second look where the first is unsure, the task unless solved."""
    said = {
        "check_answer_status": first and {"answer_status": first, "reason": "a"},
        "parse_answer_status": second and {"answer_status": second, "reason": "b"},
        "check_task_solvable": task and {"task_status": task, "reason": "c"},
    }
    vote, asked = put(vote_on_answer(find("default"), solution()), lambda question: said[question.function])
    is_open = first in ("Unsure", None)
    status = (second or "Unsure") if is_open else first
    wanted = ["check_answer_status"] + ["parse_answer_status"] * is_open
    wanted += ["check_task_solvable"] * (status != "Solved")
    assert [question.function for question in asked] == wanted
    assert vote.vote == Vote(
        cast(Any, status), "Solvable" if status == "Solved" else cast(Any, task or "Unsure")
    )
    assert vote.invalid == sum(said[name] is None for name in wanted)
    assert [question.is_of_task for question in asked] == [name == "check_task_solvable" for name in wanted]


@pytest.mark.parametrize("name", ["default", "normalized"])
def test_an_answer_without_an_end_or_that_gives_up_is_never_put_to_a_judge(name: str) -> None:
    def asked(question: Question) -> Any:
        assert question.function == "check_task_solvable"
        return {"task_status": "Unsolvable", "reason": "r"}

    evaluator = find(name)
    without, questions = put(vote_on_answer(evaluator, solution(None)), asked)
    assert (without.vote.is_certain, without.reasons[0], questions) == (True, "No answer", [])
    up, questions = put(vote_on_answer(evaluator, given_up()), asked)
    assert (up.vote.answer, up.reasons[0]) == ("Unsolved", "Empty final answer!")
    assert len(questions) == ("check_task_solvable" in evaluator.functions)
    assert decide(up.vote, VoteRules()) == ("pass" if questions else "fail")


@given(st.lists(st.sampled_from([0, 1, None]), min_size=2, max_size=2), st.tuples(VERDICTS, VERDICTS))
def test_a_pair_is_decided_alike_whichever_side_is_called_first(
    indices: list[Any], statuses: tuple[Any, Any]
) -> None:
    """A judge of what is shown, not of names: with the sides changed, the other side wins."""
    pair = solution("One."), solution("Two.", calls=2)

    def judge(question: Question) -> Any:
        fields = question.fields(Cut())
        if question.function == "select_better_answer":
            shown = int('"One.' not in fields["answer_0"].replace('\\"', '"'))
            index = indices[shown]
            return None if index is None else {"index": index, "reason": "r"}
        status = statuses[int("One." not in fields["answer"])]
        return None if status is None else {"answer_status": status, "reason": "r"}

    evaluator = find("default")
    one, _ = put(vote_on_pair(evaluator, pair, None, None, BOTH), judge)
    other, _ = put(vote_on_pair(evaluator, pair[::-1], None, None, BOTH), judge)
    turned = {None: None, 0: 1, 1: 0}
    assert (one.winner, one.how, one.invalid) == (turned[other.winner], other.how, other.invalid)
    assert one.is_flip is other.is_flip


@pytest.mark.parametrize("how", ["default", "normalized", "fn", *RULES])
def test_equal_answers_tie_by_whatever_evaluator(how: str) -> None:
    def asked(question: Question) -> Any:
        raise AssertionError(question)

    vote, _ = put(vote_on_pair(find(how), (solution(), solution()), None, None, BOTH), asked)
    assert (vote.winner, vote.how, vote.orders) == (None, "identical", ())


def test_a_vote_is_a_flip_only_where_the_orders_disagree() -> None:
    for orders in product([None, 0, 1], repeat=2):
        assert PreferenceVote(None, "compared", orders).is_flip is (orders[0] != orders[1])
    assert not PreferenceVote(0, "gate").is_flip


# What a judge is asked


@pytest.mark.parametrize("name", ["default", "normalized", "fn"])
@pytest.mark.parametrize("place", get_args(ReasonPlace))
def test_every_question_of_ours_is_asked_with_a_schema_that_holds_the_verdict(
    name: str, place: ReasonPlace
) -> None:
    evaluator = find(name)
    for function in evaluator.functions.values():
        values = {"index": (0, 1), "best_answer_index": (0, 1), "preference": (0, 1)}
        question = Question(function.name, lambda _, f=function: dict.fromkeys(FIELDS[f.name], "x"), values)
        seen = []
        for vote in range(variations(function, question)):
            asked = request(function, question, KEY, vote, place, Cut())
            [tool] = asked.tools
            properties = list(tool.parameters["properties"])
            assert tool.parameters["required"] == properties
            assert (
                properties.index("reason") == {"first": 0, "last": len(properties) - 1}[place]
                if (place != "none")
                else "reason" not in properties
            )
            seen.append(json.dumps(tool.parameters))
            [message] = asked.messages
            assert isinstance(message, UserMessage)
            assert message.text.startswith(function.beginning)
            assert "{" not in function.beginning.replace("{{", "")
        assert len(set(seen)) == len(seen)
        again = request(function, question, KEY, len(seen), place, Cut())
        assert json.dumps(again.tools[0].parameters) == seen[0]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(JSON, st.sampled_from(ANSWERS), st.booleans())
def test_only_what_could_be_asked_for_is_a_verdict(data: Any, status: str, more: bool) -> None:
    function = find("default").functions["check_answer_status"]
    question = Question(function.name, lambda _: {})
    assert read(data, function, question) is None
    assert read({"answer_status": data}, function, question) is None or data in ANSWERS
    right = {"answer_status": status, **({"reason": data} if more else {})}
    assert read(right, function, question) == right


@given(st.text(max_size=400), st.integers(0, 500))
def test_a_text_is_shortened_to_its_beginning_and_says_by_how_much(text: str, most: int) -> None:
    found = shortened(text, most)
    if found == text:
        return
    assert found == f"{text[:most]}[... {len(text) - most} characters left out]"
    assert len(found) < len(text)
    assert len(text) > most


@settings(max_examples=60)
@given(st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 4000), st.integers(0, 9000))
def test_the_cut_that_is_taken_fits_if_any_does(responses: int, words: int, tools: int, room: int) -> None:
    """A prompt of three parts, each shown up to its cut."""

    def length(cut: Cut) -> int:
        return min(responses, cut.responses) + min(words, cut.words) + min(tools, cut.tools)

    cut = fit(lambda each: length(each) <= room)
    assert length(cut) <= room
    if responses + words + tools <= room:
        assert cut == Cut()
    if words + tools <= room:
        assert cut.words == cut.tools == Cut().words
    if tools <= room:
        assert cut.tools == Cut().tools
    # No more is left out than has to be, as closely as is looked for.
    assert room - length(cut) <= max(8, room // 8) or length(cut) == responses + words + tools


def test_nothing_fits_is_said_by_the_greatest_cut() -> None:
    assert fit(lambda _: False) == Cut(0, 0, 0)


@given(st.integers(0, 60))
def test_finish_is_never_cut(most: int) -> None:
    words = "It is noon. " * 30
    whole = solution(words, response="long " * 100)
    cut = Cut(most, most, most)
    shown = json.loads(answer_json(whole, cut))
    [system] = shown["answer_details"]
    call = system["next"][0]["next"][0]
    last = call["next"][0]
    assert json.loads(last["message"]["arguments"])["final_answer"] == words
    assert len(call["message"]["response"]) <= max(most + 40, 40)
    assert json.loads(details_json(whole, cut)) == shown["answer_details"]
    [tool, _] = json.loads(task_json(whole, cut))["available_tools"]
    assert set(tool) == {"name", "description", "parameters"}
    assert json.loads(task_json(whole, Cut()))["available_tools"][0] == TOOL
    assert json.loads(answer_json(whole, cut, 5))["final_answer"] == whole.final_answer[:5]


# Evaluators


def folder(place: Path, config: Any, template: str) -> Path:
    place.mkdir(exist_ok=True)
    (place / "config.yaml").write_text(config if isinstance(config, str) else yaml.safe_dump(config))
    (place / "template.txt").write_text(template)
    return place


def config_of(**more: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"answer_status": {"type": "string", "enum": ["Solved"]}}}
    function = {"name": "check_answer_status", "description": "d", "parameters": parameters}
    return {
        "registered_cls_name": "ReinforceToolLearningEvaluator",
        "prompt_template": "template.txt",
        "completions_kwargs": {"functions": [function]},
        **more,
    }


TEMPLATE = "<function><name>check_answer_status</name><description>{query} {answer}</description></function>"


@settings(max_examples=60)
@given(JSON)
def test_any_configuration_is_an_evaluator_or_a_fault_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    place = tmp_path_factory.mktemp("evaluator")
    for config in (
        data,
        config_of(completions_kwargs=data),
        config_of(completions_kwargs={"functions": data}),
    ):
        fault = ""
        try:
            load(folder(place, config, TEMPLATE))
        except RigError as error:
            fault = str(error)
        assert fault.startswith(str(place))
        assert "\n" not in fault


@pytest.mark.parametrize("key", ["registered_cls_name", "prompt_template", "completions_kwargs"])
def test_what_an_evaluator_needs(tmp_path: Path, key: str) -> None:
    config = config_of()
    del config[key]
    with pytest.raises(RigError, match=f"{key}.*missing"):
        load(folder(tmp_path / "e", config, TEMPLATE))
    assert load(folder(tmp_path / "e", config_of(), TEMPLATE)).name == "e"
    assert load(folder(tmp_path / "e", config_of(evaluator_name="mine"), TEMPLATE)).name == "mine"


@pytest.mark.parametrize("name", ["../template.txt", "/etc/passwd", "a/b.txt", ".."])
def test_a_template_is_a_file_beside_its_configuration(tmp_path: Path, name: str) -> None:
    with pytest.raises(RigError, match=r"is not a file beside it|config\.yaml|e/\.\."):
        load(folder(tmp_path / "e", config_of(prompt_template=name), TEMPLATE))


@pytest.mark.parametrize(
    ("prompt", "filled"),
    [
        ("{query} {answer}", "q a"),
        ("{{query}} {answer}", "{query} a"),
        ("{{{query}}}", "{q}"),
        ("} {query} {", "} q {"),
        ("{query.x} {query!r}", "{query.x} {query!r}"),
    ],
)
def test_fields_are_filled_and_what_is_in_them_is_not(prompt: str, filled: str) -> None:
    function = JudgeFunction("f", "", {"properties": {}}, "", prompt)
    assert function.filled({"query": "q", "answer": "a"}) == filled
    assert function.filled({"query": "{answer}", "answer": "a"}) == filled.replace("q", "{answer}", 1) or (
        "{query" in filled
    )


def test_rules_are_evaluators_without_questions() -> None:
    found: list[Evaluator] = [find(name) for name in RULES]
    assert [each.kind for each in found] == ["rule"] * len(RULES)
    assert len({each.sha256 for each in found}) == len(RULES)
    with pytest.raises(RigError, match="has no function select_better_answer"):
        found[0].function("select_better_answer")


# Judgements


def judgement(**more: Any) -> Judgement:
    answers = {"a": solution("One."), "b": None}
    return Judgement("q", "q", answers, 3, {"a": True}, {"a": False}, {"a": "Unsure"}, (0, 1), **more)


def test_a_judgement_is_read_from_its_source() -> None:
    for made in (judgement(), judgement(suite="s"), Judgement("n", "s/n", {"a": None}, 1)):
        assert parse_judgement(json.loads(json.dumps(made.source)), "here", made.suite) == made
    other = Judgement("q", "q", {"a": solution(), "b": solution(query="Another?")}, 1)
    assert parse_judgement(other.source, "here").answers == other.answers
    assert judgement(suite="s").own_id == "q"
    assert Judgement("s/n", "s/n", {}, 1, suite="s").own_id == "n"


@pytest.mark.parametrize("votes", [0, -1, MOST_VOTES + 1, 1.5, True, "3", None])
def test_votes_are_a_number_within_reason(votes: Any) -> None:
    with pytest.raises(RigError, match="here: not a judgement: votes should be"):
        parse_judgement({**judgement().source, "votes": votes}, "here")


@given(JSON, st.sampled_from(["answers", "truths", "statuses", "preferred", "name", "query"]))
def test_any_source_is_a_judgement_or_a_fault_in_one_line(data: Any, name: str) -> None:
    for source in ({**judgement().source, name: data}, {"name": data}):
        fault = "here"
        try:
            parse_judgement(source, "here")
        except RigError as error:
            fault = str(error)
        assert fault.startswith("here")
        assert "\n" not in fault


def test_answers_are_joined_by_query_and_the_missing_ones_are_named() -> None:
    answers = {"a": {"1": solution("One."), "2": solution("Two.")}, "b": {"2": None, "3": solution("Three.")}}
    tasks = joined(answers, 2, "s", {"a": {"1": True}, "b": {"3": False}})
    assert [task.name for task in tasks] == ["1", "2", "3"]
    assert [[each is None for each in task.answers.values()] for task in tasks] == [
        [False, True],
        [False, True],
        [True, False],
    ]
    assert [dict(task.truths) for task in tasks] == [{"a": True}, {}, {"b": False}]
    assert [task.name for task in joined(answers, 2, "s", ids=["9", "1"])] == ["9", "1"]


def test_test_sets_are_told_apart_and_models_too() -> None:
    one = ModelAnswers("a", "G1_tool", {"1": solution("One.")})
    two = ModelAnswers("a", "G2_category", {"1": solution("Two.")})
    tasks = judgements_of([one, two, ModelAnswers("b", "G1_tool", {"1": solution("Three.")})])
    assert [(task.name, task.own_id, task.suite) for task in tasks] == [
        ("G1_tool/1", "1", "G1_tool"),
        ("G2_category/1", "1", "G2_category"),
    ]
    assert tasks[1].answers["b"] is None
    with pytest.raises(RigError, match="two sets of answers by a"):
        judgements_of([one, one])
    [only] = judgements_of([one], ids={"G1_tool": ["7"]})
    assert (only.name, only.answers) == ("7", {"a": None})


def test_places_are_merged_by_query_and_no_model_is_there_twice() -> None:
    ours = joined({"a": {"1": solution("One.")}}, 1, "s", {"a": {"1": True}})
    theirs = joined({"b": {"1": solution("Two."), "2": solution("Three.")}}, 1, "s", {"b": {"1": False}})
    both = merged(ours, theirs)
    assert [(task.name, sorted(task.answers)) for task in both] == [("1", ["a", "b"]), ("2", ["a", "b"])]
    assert dict(both[0].truths) == {"a": True, "b": False}
    assert both[1].answers["a"] is None
    assert merged([], theirs) == theirs
    with pytest.raises(RigError, match="two sets of answers by a"):
        merged(ours, ours)
    with pytest.raises(RigError, match="here: names must be unique; repeated: 1"):
        require_unique([*ours, *ours], "here")


# Files of results


@given(st.dictionaries(st.text("123", min_size=1, max_size=3), VOTES, min_size=1, max_size=4))
def test_pass_rates_are_read_as_they_were_written(votes: dict[str, list[Vote]]) -> None:
    judged = {
        name: Judged(
            "", "m", name, solution(), tuple(each), tally(each, VoteRules(), name), ("why", "because")
        )
        for name, each in votes.items()
    }
    text = pass_json(judged)
    found = read_passes(json.loads(text), "here")
    assert found.passes == {name: each.tally.passes for name, each in judged.items()}
    table = list(csv.reader(io.StringIO(pass_table(json.loads(text), "m"), newline=""), delimiter="\t"))
    assert table[0] == list(PASS_HEADER)
    labels = {row[6]: row[8] for row in table[1:]}
    assert labels == {name: "passed" if each.tally.passes else "failed" for name, each in judged.items()}
    rows: dict[str, Any] = {
        name: {
            "answer_steps": "",
            "is_solved": {str(number): f"AnswerStatus.{vote.answer}" for number, vote in enumerate(each)},
        }
        for name, each in votes.items()
    }
    stable = read_passes(rows, "here")
    assert set(stable.passes) == set(votes)
    rounds = {str(number) for each in votes.values() for number in range(len(each))}
    assert set(stable.runs) == rounds
    assert all(0 <= each <= 1 for each in stable.sopr)


COUNTS = st.builds(Preference, st.integers(0, 5), st.integers(0, 5), st.just(0), st.integers(0, 5))


@given(st.dictionaries(st.text("123", min_size=1, max_size=3), COUNTS, max_size=4))
def test_preferences_are_read_as_they_were_written(votes: dict[str, Preference]) -> None:
    text = preference_json(votes, "ours", "theirs")
    assert read_preferences(json.loads(text), "ours", "theirs", "here") == votes
    pairs = dict.fromkeys(votes, (solution("One."), solution("Two.")))
    table = list(
        csv.reader(io.StringIO(preference_table(votes, pairs, "ours", "theirs"), newline=""), delimiter="\t")
    )
    assert table[0] == list(PREFERENCE_HEADER)
    assert {row[7]: int(row[6]) for row in table[1:]} == {name: each.label for name, each in votes.items()}
    turned = {name: Preference(each.candidate, each.reference) for name, each in votes.items()}
    assert [{1: 2, 2: 1, 3: 3}[each.label] for each in turned.values()] == [
        each.label for each in votes.values()
    ]


@given(JSON)
def test_any_json_is_a_file_of_results_or_a_fault_in_one_line(data: Any) -> None:
    row = {"answer_steps": "", "is_solved": data, "passed": data, "failed": data}
    rows: list[Any] = [{"1": row}, {"1": {**row, "is_solved": {"0": data}}}, {"1": data}]
    for each in rows:
        for reading in (
            lambda each=each: read_passes(each, "here"),
            lambda each=each: read_preferences(each, "a", "b", "here"),
        ):
            fault = ""
            try:
                reading()
            except RigError as error:
                fault = str(error)
            assert "\n" not in fault


# Agreement

LABELS = st.lists(st.tuples(st.sampled_from([0, 1, None]), st.sampled_from([0, 1])), min_size=2, max_size=20)


@pytest.mark.slow
@settings(max_examples=15)
@given(LABELS)
def test_kappa_is_symmetric_and_within_its_interval(pairs: list[tuple[Any, Any]]) -> None:
    found, truth = [each[0] for each in pairs], [each[1] for each in pairs]
    ours, theirs = agreement.kappa(found, truth), agreement.kappa(truth, found)
    assert ours.value == pytest.approx(theirs.value)
    assert ours.value is not None
    assert -1 <= ours.value <= 1
    assert ours.low is not None
    assert ours.high is not None
    assert -1 <= ours.low <= ours.high <= 1
    right = agreement.accuracy(found, truth)
    assert right.value == pytest.approx(np.mean([one == other for one, other in pairs]))
    assert agreement.kappa(found, truth) == ours


def test_kappa_of_cohens_own_kind_of_table() -> None:
    """Of 50 items both say yes to 20 and no to 15: 0.7 observed, 0.5 expected."""
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    found = agreement.kappa([each[0] for each in pairs], [each[1] for each in pairs])
    assert found.value == pytest.approx(0.4)
    assert agreement.kappa([1, 1], [1, 1]).value == 0
    assert agreement.kappa([], []).value is None
    single = agreement.kappa([1], [0])
    assert (single.value, single.low, single.high) == (0, None, None)


SIDES = st.lists(st.sampled_from([0, 1]), min_size=1, max_size=5)


@given(SIDES, SIDES)
def test_agreement_is_a_share_and_symmetric(ours: list[int], theirs: list[int]) -> None:
    found = agreement.agreement(ours, theirs)
    assert found == agreement.agreement(theirs, ours)
    assert found in (0, 0.5, 1)
    assert agreement.agreement(ours, ours) == (0.5 if len(agreement.majority(ours)) == 2 else 1)
    turned = agreement.agreement([1 - side for side in ours], [1 - side for side in theirs])
    assert turned == found


@given(st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=6))
def test_upstreams_measures_are_within_their_bounds(items: list[tuple[list[int], list[int]]]) -> None:
    found = agreement.upstream([each[0] for each in items], [each[1] for each in items])
    assert found is not None
    assert 0 <= found.agreement <= 1
    assert 0 <= found.bias <= 1
    assert 0 <= found.variance <= 0.25
    assert -1 - 1e-9 <= found.correlation <= 1 + 1e-9


def test_upstreams_measures_of_nothing() -> None:
    assert agreement.upstream([], []) is None


# Labels


def item(**more: Any) -> dict[str, Any]:
    answer = solution().as_json()["answer"]
    return {"query": "q", "available_tools": [TOOL], "answers": [answer], "solved": True, **more}


def labels(place: Path, *items: Any) -> Any:
    (place / "mine.json").write_text(json.dumps(items))
    return load_labels(place, 3, 1)


def test_labels_are_answers_or_pairs_by_what_they_say(tmp_path: Path) -> None:
    answer = item()["answers"][0]
    found = labels(
        tmp_path,
        item(),
        item(name="own", solved=[False]),
        item(answers=[answer, answer], preference=1),
        item(answers=[answer, answer], preference=[0, 0, 1], solved=[True, False]),
    )
    assert [(task.name, dict(task.truths)) for task in found.answers] == [
        ("mine-1", {"0": True}),
        ("own", {"0": False}),
    ]
    assert [(task.preferred, dict(task.truths), task.votes) for task in found.pairs] == [
        ((1,), {"0": True}, 1),
        ((0, 0, 1), {"0": True, "1": False}, 1),
    ]


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"preference": 2}, "preference.1 should be less than or equal to 1"),
        ({"preference": True}, "preference.1 should be a valid integer"),
        ({"preference": [0, "1"]}, "preference.2 should be a valid integer"),
        ({"preference": 0}, "a preference is between two answers, `solved` is of one; got 1"),
        ({"answers": []}, "got 0"),
        ({"answers": 5}, "not a labelled item"),
        ({"answers": [{}]}, "is missing"),
        ({"query": None, "answers": None}, "not a labelled item"),
    ],
)
def test_labels_that_say_nothing(tmp_path: Path, more: dict[str, Any], fault: str) -> None:
    with pytest.raises(RigError, match=r"mine\.json, item 2.*") as caught:
        labels(tmp_path, item(), item(**more))
    assert fault in str(caught.value)


def test_labels_of_one_name_or_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="names must be unique; repeated: own"):
        labels(tmp_path, item(name="own"), item(name="own"))
    with pytest.raises(RigError, match="holds no labels"):
        labels(tmp_path)
    (tmp_path / "mine.json").write_text("{}")
    with pytest.raises(RigError, match="holds no list"):
        load_labels(tmp_path, 1, 1)


def test_a_status_vote_says_how_many_verdicts_were_none() -> None:
    vote, asked = put(vote_on_answer(find("default"), solution()), lambda _: None)
    assert isinstance(vote, StatusVote)
    assert (vote.vote, vote.invalid, len(asked)) == (Vote("Unsure", "Unsure"), 3, 3)
