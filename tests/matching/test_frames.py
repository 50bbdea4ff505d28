"""The frame of grading: rules one by one, terms of conversations, names of measures, words of verdicts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.calls import Call, CallPlace, Difference, ExecutedCall, Json, Outcome
from rig.core.errors import RigError
from rig.plugins.matching import reasons
from rig.plugins.matching.matching import Grader, Matching, Mode, Terms
from rig.plugins.matching.rules import Rules, UpstreamRules
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.scoring import Answer, Answers, Exact, add_answers, read_answers
from rig.scoring.similarity import Meaning, NamedMeasure, TextJudgement, load
from rig.world.rules import Rule, TrueCall
from rig.world.spec import Equality, Text

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=80), inner, max_size=4),
    max_leaves=8,
)


class Doubtful:
    """Equal texts are the same; those that differ in case alone nobody knows; the others differ."""

    name = "doubtful"
    fingerprint: Mapping[str, Json] = {"similarity": "doubtful"}
    cosine_threshold: float | None = None

    def threshold(self, kind: Text) -> float:
        return 1.0

    def __call__(self, first: Json, second: Json) -> float:
        return float(first == second)

    def wording(self, kind: Text, first: str, second: str) -> float:
        return self(first, second)

    def judge(self, kind: Text, first: str, second: str, others: Iterable[str] = ()) -> TextJudgement:
        if first != second and first.casefold() == second.casefold():
            return TextJudgement(Meaning.UNCLEAR, 0.5, "only the case differs")
        return Exact().judge(kind, first, second, others)


def alarm(time: str = "07:00:00", **more: Any) -> ExecutedCall:
    return ExecutedCall(Call("AddAlarm", {"time": time, **more}), Outcome({"alarm_id": "1"}), "ann")


def message(text: str) -> ExecutedCall:
    return ExecutedCall(Call("SendMessage", {"receiver": "bob", "message": text}), Outcome({}), "ann")


def begun(truths: Sequence[ExecutedCall], mode: Mode = "default", terms: Terms = Terms()) -> Matching:  # noqa: B008
    """A conversation whose true calls are all of turn 1."""
    places = [(CallPlace(1, number), truth) for number, truth in enumerate(truths)]
    return Grader(mode, Doubtful(), TOOLTALK).start(places, terms)


# Rules, one by one

FIXED = Rules(Exact(), TOOLTALK)
UPSTREAM = UpstreamRules(Exact(), TOOLTALK)

EQUAL: list[tuple[Equality, Any, Any, bool, bool]] = [
    (Equality.EXACT, "a", "a", True, True),
    (Equality.EXACT, "a", "A", False, False),
    (Equality.EXACT, 1, True, True, True),
    (Equality.TIME, "07:00:00", "7:00:00", True, False),
    (Equality.TIME, "07:00:00", "07:00:01", False, False),
    (Equality.INSTANT, "2024-05-04 07:00:00", "2024-5-4 7:0:0", True, False),
    (Equality.INSTANT, "2024-05-04 07:00:00", "2024-05-05 07:00:00", False, False),
    (Equality.DATE, "2024-05-04 00:00:00", "2024-05-04 15:00:00", True, True),
    (Equality.DATE, "2024-05-04 23:59:59", "2024-05-04 15:00:00", True, True),
    (Equality.DATE, "2024-05-04 09:00:00", "2024-05-04 15:00:00", False, True),
    (Equality.PLACE, "New  York", " new york ", True, False),
    (Equality.PLACE, "York", "New York", False, False),
    (Equality.USERS, ["a", "b"], ["b", "a"], True, False),
    (Equality.USERS, ["a"], ["a", "me"], True, False),
    (Equality.USERS, ["a", "me"], ["a"], True, False),
    (Equality.USERS, ["a"], ["b"], False, False),
    (Equality.ADDRESSES, ["a", "b"], ["b", "a", "a"], True, True),
    (Equality.ADDRESSES, ["a"], ["a", "me"], False, False),
    (Equality.RECEIVER, "a", "b", False, True),
]


@pytest.mark.parametrize(("how", "expected", "got", "fixed", "upstream"), EQUAL)
def test_values_agree_by_ours_and_by_upstreams_rules(
    how: Equality, expected: Any, got: Any, fixed: bool, upstream: bool
) -> None:
    assert FIXED.equal(how, expected, got, "me") is fixed
    assert UPSTREAM.equal(how, expected, got, "me") is upstream
    if how is not Equality.DATE:
        assert FIXED.equal(how, got, expected, "me") is fixed


@given(st.sampled_from(list(Equality)), JSON)
def test_a_value_agrees_with_itself_by_every_rule_of_ours(how: Equality, value: Any) -> None:
    assert FIXED.equal(how, value, value, "me")


@given(st.sampled_from(sorted(TOOLTALK.tools)), JSON, JSON, st.sampled_from(["default", "upstream"]))
def test_no_arguments_of_a_model_make_a_comparison_fail(
    name: str, value: Any, response: Any, mode: Mode
) -> None:
    tool = TOOLTALK.tools[name]
    true = dict.fromkeys(tool.parameters["properties"], "2024-05-04 07:00:00")
    truth = ExecutedCall(Call(name, true), Outcome({"status": "success"}), "ann")
    grader = Grader(mode, Exact(), TOOLTALK)
    for arguments in (value, dict.fromkeys(true, value), {**true, **dict.fromkeys(list(true)[:1], value)}):
        predicted = ExecutedCall(Call(name, arguments), Outcome(response), "ann")
        try:
            found = grader.rules.compare(tool, predicted, truth)
        except TypeError:
            # Upstream compares what a model wrote as it is, and a set cannot hold lists.
            assert mode == "upstream"
            continue
        verdict = grader.start([(CallPlace(1, 0), truth)]).add(1, predicted)
        assert verdict.match is (not found)
        assert verdict.reason.isprintable()
        assert len(verdict.reason) < 1500


def test_a_kind_of_text_that_no_tool_has_is_compared_as_strictly_as_can_be() -> None:
    rules = Rules(Doubtful(), TOOLTALK)
    own = Text("own")
    assert rules.text("x", own, "a", "a") is None
    unclear = rules.text("x", own, "a", "A")
    assert unclear is not None
    assert (unclear.unclear, unclear.note) == (True, "only the case differs")
    for expected, got in (("a", 1), (None, "a"), (["a"], ["a"])):
        wrong = rules.text("x", own, expected, got)
        assert wrong is not None
        assert (wrong.similarity, wrong.unclear) == (0.0, False)


# Terms of a conversation


def test_a_forbidden_call_matches_nothing_and_is_counted() -> None:
    matching = begun([alarm()], terms=Terms(forbidden={1: frozenset({"AddAlarm"})}))
    verdict = matching.add(1, alarm())
    assert (verdict.match, verdict.reason) == (False, "'AddAlarm' must not be called here")
    assert matching.forbidden() == 1
    assert matching.add(2, alarm()).match
    assert matching.forbidden() == 1


def test_where_order_counts_a_call_waits_for_those_before_it() -> None:
    truths = [alarm("07:00:00"), alarm("08:00:00")]
    early = begun(truths, terms=Terms(ordered=frozenset({1})))
    verdict = early.add(1, truths[1])
    assert (verdict.match, verdict.reason) == (False, reasons.TOO_EARLY)
    assert early.add(1, truths[0]).match
    assert early.add(1, truths[1]).match
    assert early.add(1, truths[1]).reason == reasons.REPEATS
    free = begun(truths)
    assert [free.add(1, each).match for each in truths[::-1]] == [True, True]


def test_what_may_be_left_out_is_no_hindrance_and_counts_for_nothing() -> None:
    optional = TrueCall(
        Call("AddAlarm", {"time": "06:00:00"}), Outcome({"alarm_id": "1"}), "ann", optional=True
    )
    matching = begun([optional, alarm()], terms=Terms(ordered=frozenset({1})))
    assert matching.add(1, alarm()).match
    assert [place for place, _ in matching.due()] == [CallPlace(1, 1)]
    assert matching.optional() == frozenset()
    assert matching.add(1, alarm("06:00:00")).match
    assert matching.optional() == frozenset({1})


def test_what_has_to_be_called_is_matched_before_what_may_be() -> None:
    rule = Rule("any", True, {"example": "07:00:00"})
    optional = TrueCall(
        Call("AddAlarm", {"time": None}),
        Outcome({"alarm_id": "1"}),
        "ann",
        rules={"time": rule},
        optional=True,
    )
    matching = begun([optional, alarm()])
    assert matching.add(1, alarm()).ground_truth == CallPlace(1, 1)
    assert matching.add(1, alarm("09:00:00")).ground_truth == CallPlace(1, 0)


def test_texts_that_nobody_knows_are_named_where_a_match_hangs_on_them() -> None:
    matching = begun([message("Water the ferns"), message("Feed the cat")])
    assert not matching.add(1, message("water the ferns")).match
    assert not matching.add(1, message("sell the cat")).match
    [(number, place, difference)] = matching.unclear()
    assert (number, place, difference.expected) == (0, CallPlace(1, 0), "Water the ferns")
    assert [verdict.match for verdict in matching.if_same().verdicts()] == [True, False]
    assert [verdict.match for verdict in matching.verdicts()] == [False, False]


def test_what_people_said_settles_what_is_unclear_alone() -> None:
    grader = Grader("default", Doubtful(), TOOLTALK)
    said = Answers([Answer("Water the ferns", "water the ferns", same=True)])
    truth, got = message("Water the ferns"), message("water the ferns")
    assert not grader.start([(CallPlace(1, 0), truth)]).add(1, got).match
    assert grader.adjudicated(said).start([(CallPlace(1, 0), truth)]).add(1, got).match
    assert grader.adjudicated(Answers()) is grader
    assert "answers_sha256" in grader.adjudicated(said).fingerprint
    for mode in ("upstream", "default"):
        exact = Grader(mode, Exact(), TOOLTALK)
        assert exact.adjudicated(said) is exact


# Answers of people, on the disk


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object with first, second and same"),
        ('{"first": "a", "second": "b"}', "needs the texts first and second"),
        ('{"first": "a", "second": 1, "same": true}', "needs the texts first and second"),
        ('{"first": "a", "second": "b", "same": 1}', "same as true, false or null"),
        ("[" * 100_000, "not JSON"),
        ('"' + "x" * 4_000_001 + '"', "longer than 4000000 characters"),
    ],
    ids=["cut", "list", "short", "number", "one", "deep", "long"],
)
def test_a_line_that_is_no_answer_is_named_with_its_number(tmp_path: Path, line: str, fault: str) -> None:
    file = tmp_path / "a.jsonl"
    add_answers(file, [Answer.now("a", "b", same=True)])
    with file.open("a") as more:
        more.write(f"{line}\n")
    with pytest.raises(RigError, match=rf"a\.jsonl: line 2: .*{fault}"):
        read_answers(file)


def test_answers_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    assert len(read_answers(tmp_path / "missing.jsonl")) == 0
    with pytest.raises(RigError, match="cannot be read"):
        read_answers(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(RigError, match="not UTF-8"):
        read_answers(tmp_path / "a.jsonl")
    with pytest.raises(RigError, match="cannot be written"):
        add_answers(tmp_path / "no" / "a.jsonl", [Answer.now("a", "b", same=True)])


def test_a_last_line_without_an_end_is_kept_where_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(Answer("a", "b", same=True)._asdict()))
    add_answers(file, [Answer("c", "d", same=False)])
    found = read_answers(file)
    assert (len(found), found.of("b", "a"), found.of("c", "d")) == (2, True, False)


def test_who_is_overruled_is_remembered() -> None:
    first, second, third = (Answer("a", "b", same=same) for same in (True, True, False))
    found = Answers([first, second, third])
    assert (found.overruled, found.of("a", "b"), list(found)) == ([second], False, [third])


# Names of measures


@given(
    st.sampled_from(["minilm", "/models/x", "distilbert:/models/x", "a@b"]), st.none() | st.floats(0.01, 1)
)
def test_a_measure_is_named_as_it_is_read(name: str, threshold: float | None) -> None:
    named = NamedMeasure(name, None if threshold is None else round(threshold, 3))
    assert NamedMeasure.parse(str(named)) == named
    assert named.absolute.absolute == named.absolute


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.01, float("nan"), float("inf")])
def test_thresholds_that_make_no_sense(threshold: float) -> None:
    with pytest.raises(RigError, match="above 0 and at most 1"):
        NamedMeasure.parse(f"minilm@{threshold}")
    with pytest.raises(RigError, match="exact has no degrees"):
        load("exact@0.5")


def test_a_place_without_a_model_says_what_there_could_be(tmp_path: Path) -> None:
    for text in (f"{tmp_path}", f"distilbert:{tmp_path}", "nowhere"):
        with pytest.raises(RigError, match=r"minilm|distilbert: takes"):
            load(text)


@pytest.mark.parametrize(
    ("modules", "fault"),
    [
        ("[]", "names no modules"),
        ("{", "not a list"),
        ('[{"type": "my.Code"}]', "never run"),
        ("[1]", "not a list"),
    ],
)
def test_a_model_that_brings_code_is_never_loaded(tmp_path: Path, modules: str, fault: str) -> None:
    (tmp_path / "modules.json").write_text(modules)
    with pytest.raises(RigError, match=fault):
        load(str(tmp_path))


# Words of verdicts


@given(st.text(max_size=300), JSON, JSON, st.none() | st.floats(0, 1), st.booleans())
def test_a_difference_is_one_short_harmless_line(
    what: str, expected: Any, got: Any, similarity: float | None, noted: bool
) -> None:
    found = Difference(what, expected, got, similarity, 0.5, "differs" if noted else None)
    line = reasons.difference(found)
    assert line.isprintable()
    assert len(line) < 700
    many = reasons.differs([found] * 7)
    assert many.endswith("; 4 more")
    assert many.isprintable()


@pytest.mark.parametrize(("turn", "truth", "words"), [(1, 1, "truth"), (1, 3, "early"), (3, 1, "late")])
def test_a_match_says_when_it_came(turn: int, truth: int, words: str) -> None:
    assert reasons.matched(turn, truth).endswith(words)


@pytest.mark.parametrize("name", ["", "NoSuch", "add_alarm", "AddAlarm\n", "A" * 500])
def test_a_tool_that_there_is_not_is_named_safely(name: str) -> None:
    verdict = begun([alarm()]).add(1, ExecutedCall(Call(name, {}), Outcome({}), "ann"))
    assert (verdict.match, verdict.bad_action) == (False, False)
    assert verdict.reason.startswith("there is no tool named")
    assert verdict.reason.isprintable()
    assert len(verdict.reason) < 120


def test_a_grader_for_each_turn_says_so() -> None:
    verdict = begun([alarm()], "per-turn").add(2, alarm())
    assert verdict.reason == "this turn's ground truth has no call of AddAlarm"
    assert verdict.bad_action
