"""Which prediction is which ground-truth call, and what may never depend on chance."""

import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from counted import measured
from hypothesis import given
from hypothesis import strategies as st

from rig.core.calls import Call, CallPlace, ExecutedCall, Outcome, Verdict
from rig.core.errors import RigError
from rig.plugins.matching import comparisons
from rig.plugins.matching.matching import ANY_WAY, Grader, Matching, Mode, Terms
from rig.plugins.tooltalk.faults import Acted
from rig.plugins.tooltalk.scoring import ErrorType, count, error_types
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.scoring import Exact
from rig.scoring.similarity import Meaning, TextJudgement

TURNS = st.integers(0, 3)
ERROR = "nothing found"


def alarms(*ids: int, error: bool = False) -> ExecutedCall:
    """A search that found these alarms. It is right wherever fewer of them were to be found."""
    response = None if error else {"alarms": [{"alarm_id": str(each)} for each in ids]}
    return ExecutedCall(Call("FindAlarms", {}), Outcome(response, ERROR if error else None), "ann")


def delete(number: int) -> ExecutedCall:
    return ExecutedCall(Call("DeleteAlarm", {"alarm_id": str(number)}), Outcome({"status": "success"}), "ann")


def searches(least: int) -> st.SearchStrategy[ExecutedCall]:
    return st.frozensets(st.integers(0, 4), min_size=least, max_size=4).map(lambda ids: alarms(*sorted(ids)))


def measures(
    mode: Mode,
    truths: Sequence[tuple[int, ExecutedCall]],
    predictions: Sequence[tuple[int, ExecutedCall]],
) -> SimpleNamespace:
    return measured(count(matched(mode, truths, predictions).judged(), len(truths), TOOLTALK.is_action))


TRUTHS = st.lists(st.tuples(TURNS, searches(1) | st.integers(0, 2).map(delete)), max_size=6)
PREDICTED = searches(0) | st.integers(0, 3).map(delete) | st.just(alarms(error=True))
PREDICTIONS = st.lists(st.tuples(TURNS, PREDICTED), max_size=8)
MODES: st.SearchStrategy[Mode] = st.sampled_from(["default", "upstream", "per-turn"])

Calls = Sequence[tuple[int, ExecutedCall]]


def matched(mode: Mode, truths: Calls, predictions: Calls) -> Matching:
    positions = [(CallPlace(turn, number), truth) for number, (turn, truth) in enumerate(truths)]
    matching = Grader(mode, Exact(), TOOLTALK).start(positions)
    for turn, executed in predictions:
        matching.add(turn, executed)
    return matching


@given(TRUTHS, PREDICTIONS)
def test_no_fewer_matches_than_greedily(truths: Calls, predictions: Calls) -> None:
    greedy = measures("upstream", truths, predictions)
    best = measures("default", truths, predictions)
    assert best.matches >= greedy.matches
    assert best.bad_actions <= greedy.bad_actions


def test_greedy_can_be_beaten() -> None:
    truths, predictions = [(0, alarms(1)), (0, alarms(1, 2))], [(0, alarms(1, 2)), (0, alarms(1))]
    assert measures("upstream", truths, predictions).matches == 1
    default = matched("default", truths, predictions)
    assert [verdict.ground_truth for verdict in default.verdicts()] == [(0, 1), (0, 0)]


@given(TRUTHS, PREDICTIONS, st.sampled_from(["default", "per-turn"]))
def test_as_many_matches_as_an_optimal_assignment(truths: Calls, predictions: Calls, mode: Mode) -> None:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    grader = Grader(mode, Exact(), TOOLTALK)
    alike = np.array(
        [
            [grader.start([(CallPlace(turn, 0), truth)]).add(*predicted).match for turn, truth in truths]
            for predicted in predictions
        ],
        dtype=float,
    ).reshape(len(predictions), len(truths))
    rows, columns = linear_sum_assignment(alike, maximize=True)
    assert measures(mode, truths, predictions).matches == alike[rows, columns].sum()


@given(TRUTHS, PREDICTIONS, st.randoms(use_true_random=False), st.sampled_from(["default", "per-turn"]))
def test_the_order_of_predictions_changes_no_metric(
    truths: Calls, predictions: Calls, random: Any, mode: Mode
) -> None:
    shuffled = random.sample(predictions, len(predictions))
    assert measures(mode, truths, shuffled) == measures(mode, truths, predictions)


@given(TRUTHS.filter(bool), PREDICTIONS, st.data(), st.sampled_from(["default", "per-turn"]))
def test_a_right_call_more_never_lowers_recall(
    truths: Calls, predictions: Calls, data: st.DataObject, mode: Mode
) -> None:
    more = [*predictions]
    more.insert(data.draw(st.integers(0, len(more))), data.draw(st.sampled_from(truths)))
    before, after = measures(mode, truths, predictions), measures(mode, truths, more)
    assert before.matches <= after.matches <= before.matches + 1


@given(TRUTHS, PREDICTIONS, MODES)
def test_metrics_are_fractions(truths: Calls, predictions: Calls, mode: Mode) -> None:
    metrics = measures(mode, truths, predictions)
    rates = [value for name, value in vars(metrics).items() if name.endswith(("rate", "precision", "recall"))]
    for rate in [*rates, metrics.soft_success]:
        assert rate is None or 0 <= rate <= 1
    assert metrics.successes == (metrics.matches == len(truths) and not metrics.bad_actions)
    assert (metrics.predictions, metrics.ground_truths) == (len(predictions), len(truths))


@given(TRUTHS, PREDICTIONS, MODES)
def test_a_status_is_final_and_no_call_matches_twice(truths: Calls, predictions: Calls, mode: Mode) -> None:
    matching = matched(mode, truths, [])
    live = [matching.add(*prediction) for prediction in predictions]
    final = matching.verdicts()
    assert [(each.match, each.bad_action) for each in live] == [
        (each.match, each.bad_action) for each in final
    ]
    held = [each.ground_truth for each in final if each.match]
    assert len(held) == len(set(held))
    if mode == "per-turn":
        turns = [turn for (turn, _), each in zip(predictions, final, strict=True) if each.match]
        assert turns == [position[0] for position in held if position]


@given(TRUTHS, PREDICTIONS, MODES)
def test_what_is_said_live_adds_up_to_the_final_verdicts(
    truths: Calls, predictions: Calls, mode: Mode
) -> None:
    matching = matched(mode, truths, [])
    live = []
    for prediction in predictions:
        before = matching.verdicts()
        live.append(matching.add(*prediction))
        for number, verdict in matching.moved:
            assert verdict.ground_truth != before[number].ground_truth
            live[number] = verdict
    assert live == matching.verdicts()


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", ["\x1f", "\x1b[2J\n", "x" * 100_000])
def test_reasons_name_any_argument_in_one_harmless_line(name: str) -> None:
    call = ExecutedCall(Call("GetReminders", {name: None}), Outcome(None))
    verdict = matched(
        "upstream", [(1, replace(call, call=Call("GetReminders", {})))], [(1, call)]
    ).verdicts()[0]
    assert not verdict.match
    assert verdict.reason.isprintable()
    assert len(verdict.reason) < 1000


@pytest.mark.parametrize("key", ["\U00018cd6", "\x1b[2J\n", "x" * 100_000])
def test_reasons_name_any_key_within_a_value_in_one_harmless_line(key: str) -> None:
    truth, predicted = (
        ExecutedCall(Call("GetReminders", {"x": value}), Outcome(None)) for value in ({}, {key: 1})
    )
    verdict = matched("upstream", [(1, truth)], [(1, predicted)]).verdicts()[0]
    assert not verdict.match
    assert verdict.reason.isprintable()
    assert len(verdict.reason) < 1000


@given(st.data(), MODES)
def test_nothing_a_model_writes_breaks_the_grader(data: st.DataObject, mode: Mode) -> None:
    name = data.draw(st.sampled_from([*TOOLTALK.tools, "Foo"]))
    arguments = (
        dict.fromkeys(TOOLTALK.tools[name].parameters["properties"], "2024-05-04 09:00:00")
        if name in TOOLTALK.tools
        else {}
    )
    truth = ExecutedCall(Call(name, arguments), Outcome(data.draw(JSON)))
    changed = {**arguments, **data.draw(st.dictionaries(st.sampled_from([*arguments, "x"]), JSON))}
    predicted = ExecutedCall(
        Call(name, data.draw(st.just(changed) | JSON)), Outcome(data.draw(st.just(truth.response) | JSON))
    )
    verdict = matched(mode, [(1, truth)], [(1, predicted)]).verdicts()[0]
    assert len(verdict.reason) < 1000
    assert verdict.reason.isprintable()


def test_the_turn_at_fault_is_the_one_that_missed() -> None:
    """Two equal calls are due, and the first is left out."""
    truths, predictions = [(1, delete(1)), (3, delete(1))], [(3, delete(1))]
    assert matched("default", truths, predictions).verdicts()[0].ground_truth == (3, 1)
    assert matched("upstream", truths, predictions).verdicts()[0].ground_truth == (1, 0)


def test_a_premature_call_matches_in_the_pool_but_not_per_turn() -> None:
    truths, predictions = [(3, delete(1))], [(1, delete(1))]
    verdict = matched("default", truths, predictions).verdicts()[0]
    assert verdict.match
    assert verdict.reason.endswith("a later turn, early")
    verdict = matched("per-turn", truths, predictions).verdicts()[0]
    assert verdict.bad_action
    assert verdict.reason == "this turn's ground truth has no call of DeleteAlarm"


def test_reasons_are_one_line() -> None:
    truths = [(1, delete(1))]
    unknown = ExecutedCall(Call("Foo\n\x1b[31m" * 100, {}), Outcome(None, "not found"))
    wrong = replace(delete(1), call=Call("DeleteAlarm", {"alarm_id": "2\n" * 10_000}))
    repeated = [(1, delete(1)), (1, delete(1))]
    said = [
        verdict.reason
        for verdict in matched("default", truths, [(1, unknown), (1, wrong), *repeated]).verdicts()
    ]
    assert said[0].startswith("there is no tool named 'Foo")
    assert said[1].startswith("alarm_id: expected '1', got '2\\n")
    assert said[2:] == ["matches the ground truth", "repeats a call that was matched already"]
    assert max(map(len, said)) < 200
    assert all(reason.isprintable() for reason in said)


def test_the_nearest_true_call_is_the_one_with_fewest_differences() -> None:
    event = {"event_id": "1", "new_name": "Picnic", "new_start_time": "a", "new_end_time": "b"}
    near, far = ({**event, "new_end_time": "c"}, {**event, "event_id": "2", "new_start_time": "d"})
    calls = [ExecutedCall(Call("ModifyEvent", each), Outcome(), "ann") for each in (far, near, event)]
    verdict = matched("default", [(0, calls[0]), (0, calls[1])], [(0, calls[2])]).verdicts()[0]
    assert [difference.what for difference in verdict.differences] == ["new_end_time"]


def test_a_conversation_that_calls_for_nothing() -> None:
    assert measures("default", [], []).successes == 1
    assert measures("default", [], [(1, alarms(1))]).successes == 1
    acted = measures("default", [], [(1, delete(1))])
    assert (acted.successes, acted.soft_success, acted.recall) == (0, 0, None)


def test_errors_are_counted_by_turn() -> None:
    truths = [(CallPlace(1, 0), delete(1)), (CallPlace(5, 0), delete(2)), (CallPlace(5, 1), alarms(1))]
    predictions = [(1, delete(3)), (3, delete(4)), (3, delete(5)), (5, delete(2))]
    matching = matched("default", [(turn, call) for (turn, _), call in truths], predictions)
    done: dict[int, list[tuple[ExecutedCall, Verdict]]] = {}
    for (turn, call), verdict in zip(predictions, matching.verdicts(), strict=True):
        done.setdefault(turn, []).append((call, verdict))
    acted = {turn: Acted(tuple(pairs)) for turn, pairs in done.items()}
    positions = [(CallPlace(turn, number), call) for number, ((turn, _), call) in enumerate(truths)]
    assert error_types(acted, positions) == {
        1: {ErrorType.INCORRECT_INVOCATION: 1},
        3: {ErrorType.PREMATURE_CALL: 2},
        5: {ErrorType.FAULTY_PLANNING: 1},
    }


def test_the_fingerprint_tells_graders_apart() -> None:
    fingerprints = [
        Grader(mode, Exact(), TOOLTALK).fingerprint for mode in ("default", "upstream", "per-turn")
    ]
    assert len({str(each) for each in fingerprints}) == 3
    assert all(isinstance(value, str | float) for each in fingerprints for value in each.values())


def test_judging_a_call_without_text_takes_less_than_a_millisecond() -> None:
    truths = [(CallPlace(turn, 0), delete(turn)) for turn in range(20)]
    grader = Grader("default", Exact(), TOOLTALK)
    took = []
    for _ in range(20):
        matching = grader.start(truths)
        began = time.perf_counter()
        for turn in range(20):
            matching.add(turn, delete(turn))
        took.append((time.perf_counter() - began) / 20)
    assert min(took) < 0.001


@pytest.mark.parametrize("module", ["torch", "sentence_transformers", "transformers"])
def test_importing_scoring_imports_no_model(module: str) -> None:
    program = f"""
import sys
from rig.scoring import load
assert load("minilm")("a fern", "a fern") == 1
assert {module!r} not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class Undecided(Exact):
    """Cannot tell whether two different texts mean the same."""

    def judge(self, *arguments: Any) -> TextJudgement:
        return TextJudgement(Meaning.UNCLEAR, 0.5)


def test_what_an_unclear_text_comes_before_is_as_unclear() -> None:
    """In a turn with an order, a call is due only once those before it were made."""
    texts = [Call("SendMessage", {"receiver": "ann", "message": text}) for text in ("a", "b", "A", "B")]
    first, second, *said = [ExecutedCall(call, Outcome({}), "ann") for call in texts]
    grader = Grader("default", Undecided(), TOOLTALK)
    truths = [(CallPlace(1, number), call) for number, call in enumerate((first, second, delete(1)))]
    matching = grader.start(truths, Terms(ordered=frozenset({1})))
    for call in (*said, delete(1)):
        matching.add(1, call)
    assert [verdict.match for verdict in matching.verdicts()] == [False] * 3
    assert [verdict.match for verdict in matching.if_same().verdicts()] == [True] * 3


def test_calls_of_their_own_turns_are_not_compared_with_every_true_call() -> None:
    """An assistant that is right takes time in proportion to the turns, not to their square."""
    calls = [ExecutedCall(Call("AddAlarm", {"time": f"07:{turn:02}:00"}), Outcome({})) for turn in range(60)]
    grader = Grader("default", Exact(), TOOLTALK)
    compared = 0
    compare = grader.rules.compare

    def counting(*arguments: Any) -> Any:
        nonlocal compared
        compared += 1
        return compare(*arguments)

    grader.rules.compare = counting  # type: ignore[method-assign]
    matching = grader.start([(CallPlace(turn, 0), call) for turn, call in enumerate(calls)])
    assert all(matching.add(turn, call).match for turn, call in enumerate(calls))
    assert list(matching.unclear()) == []
    assert compared == len(calls)


def test_a_prediction_is_compared_once_with_each_true_call(monkeypatch: pytest.MonkeyPatch) -> None:
    grader = Grader("default", Exact(), TOOLTALK)
    compare, compared = grader.rules.compare, []
    monkeypatch.setattr(grader.rules, "compare", lambda *calls: compared.append(calls) or compare(*calls))
    matching = grader.start([(CallPlace(1, number), delete(number)) for number in range(9)])
    for number in range(9):
        matching.add(1, delete(number + 20))
    assert not any(verdict.match for verdict in matching.verdicts())
    assert len(compared) == 81


MANY = 1_000
CROWDS: dict[str, tuple[Sequence[ExecutedCall], Calls, int]] = {
    "right, in another order": (
        list(map(delete, range(MANY))),
        [(1, delete(MANY - 1 - n)) for n in range(MANY)],
        MANY,
    ),
    "the same, again and again": ([delete(0)] * MANY, [(1, delete(0))] * (4 * MANY), MANY),
    "one mistake, again and again": (list(map(delete, range(MANY))), [(1, delete(-1))] * (4 * MANY), 0),
    "right, a turn late": ([delete(0)] * MANY, [(3, delete(0))] * (2 * MANY), MANY),
}


def crowd(mode: Mode, truths: Sequence[ExecutedCall], terms: Terms = ANY_WAY) -> Matching:
    """A recorded conversation of one turn with many calls."""
    places = [(CallPlace(1, number), truth) for number, truth in enumerate(truths)]
    return Grader(mode, Exact(), TOOLTALK).start(places, terms, "crowd")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["default", "upstream"])
@pytest.mark.parametrize("name", CROWDS)
def test_a_thousand_calls_of_a_turn_take_seconds(name: str, mode: Mode) -> None:
    truths, predictions, matches = CROWDS[name]
    if mode == "upstream" and name == "right, in another order":
        predictions = predictions[::-1]  # its greedy step compares all that are free before the first match
    began = time.process_time()
    matching = crowd(mode, truths)
    for turn, predicted in predictions:
        matching.add(turn, predicted)
    assert sum(verdict.match for verdict in matching.verdicts()) == matches
    assert not list(matching.unclear())
    assert time.process_time() - began < 10


@pytest.mark.slow
def test_an_order_of_many_calls_takes_seconds() -> None:
    truths = list(map(delete, range(MANY // 4)))
    began = time.process_time()
    matching = crowd("default", truths, Terms(ordered=frozenset({1})))
    assert all(matching.add(1, truth).match for truth in truths)
    assert time.process_time() - began < 10


def compare_all(matching: Matching, predictions: Iterable[ExecutedCall]) -> str:
    """The line that says that there is too much to compare."""
    with pytest.raises(RigError) as error:
        deque((matching.add(1, predicted) for predicted in predictions), maxlen=0)
    return str(error.value)


@pytest.mark.parametrize("mode", ["default", "upstream", "per-turn"])
def test_too_many_comparisons_are_refused_where_calls_are_not_capped(
    monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    monkeypatch.setattr(comparisons, "MOST", 2_000)
    truths, wrong = list(map(delete, range(50))), [delete(-1 - number) for number in range(50)]
    message = compare_all(crowd(mode, truths), wrong)
    assert message.startswith("crowd: too many calls of DeleteAlarm differ from too many true ones")
    played = Grader(mode, Exact(), TOOLTALK).start([(CallPlace(1, n), call) for n, call in enumerate(truths)])
    assert not any(played.add(1, call).match for call in wrong)


@pytest.mark.slow
def test_as_many_comparisons_as_there_may_be_take_seconds() -> None:
    began = time.process_time()
    compare_all(crowd("default", list(map(delete, range(MANY)))), map(delete, range(-MANY, 0)))
    assert time.process_time() - began < 15


def test_texts_that_a_model_has_to_read_count_more() -> None:
    truths = [sent(f"{number}") for number in range(40)]
    message = compare_all(crowd("default", truths), (sent(f"other {number}") for number in range(40)))
    assert message.endswith("at most 300,000 comparisons of calls, or 750 of texts")


def sent(text: str) -> ExecutedCall:
    response = Outcome({"message_id": "1"})
    return ExecutedCall(Call("SendMessage", {"receiver": "bo", "message": text}), response, "ann")
