"""Steps survive the store unchanged, whatever a model wrote in them."""

from pathlib import Path

import pytest
import small_talks
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.calls import Call, Difference, ExecutedCall, Outcome, Verdict
from rig.core.errors import ErrorKind
from rig.core.events import Where
from rig.core.models import Prediction, Usage
from rig.core.tasks import PlayedTurn, Step
from rig.store import Runs, RunWriter

texts = st.text()
numbers = st.integers(0, 2**40)
seconds = st.floats(0, 1e6)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | texts
    | st.text("\ud800\x00\x1b"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
usages = st.builds(Usage, *[numbers] * 4, *[seconds] * 4, numbers, seconds)
tokens = st.lists(numbers, max_size=4).map(tuple)
logprobs = st.lists(st.floats(-100, 0), max_size=4).map(tuple)
common = {
    "raw": texts,
    "usage": usages,
    "token_ids": tokens,
    "logprobs": logprobs,
    "token_chars": tokens,
    "salvage": texts,
    "reasoning": texts,
    "content": texts,
    "part": numbers,
    "token_forced": st.lists(st.booleans(), max_size=4).map(tuple),
}
calls = st.builds(Call, texts | st.just("\ud800"), values)


@st.composite
def executed_steps(draw: st.DrawFn) -> Step:
    call = draw(calls)
    outcome = draw(st.builds(Outcome, values) | st.builds(Outcome, st.none(), texts | st.just("\udfff")))
    differences = st.builds(Difference, texts, values, values, st.none() | seconds, st.none() | seconds)
    verdict = st.builds(
        Verdict,
        st.booleans(),
        st.none() | st.tuples(numbers, numbers),
        st.booleans(),
        texts,
        st.lists(differences, max_size=2).map(tuple),
    )
    prediction = draw(st.builds(Prediction, call=st.just(call), **common))
    executed = ExecutedCall(Call(call.name, draw(values)), outcome, draw(st.none() | texts))
    return Step(prediction, executed, draw(verdict))


replies = st.builds(Step, st.builds(Prediction, reply=texts, **common))
failures = st.builds(
    Step,
    st.builds(
        Prediction,
        error=st.sampled_from(ErrorKind),
        error_detail=texts,
        finish_reason=st.sampled_from(["length", "error"]),
        **common,
    ),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(executed_steps(), max_size=4), replies | failures)
def test_a_turn_is_read_as_it_was_written(tmp_path_factory, steps: list[Step], last: Step) -> None:
    store: Path = tmp_path_factory.mktemp("rows") / "runs.sqlite"
    played = PlayedTurn(1, (*steps, last), 3.0, 0.5, 0.25)
    with RunWriter.create(store, small_talks.plan(store, small_talks.oracle()).as_new_run()) as writer:
        writer.commit_turn(Where(0, "alarms"), played)
    with Runs.open(store) as runs:
        assert runs.transcript(runs.get("abcde"), "alarms").turns == {1: played}


def test_what_utf_8_cannot_hold_is_escaped_where_sqlite_needs_text(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    played = PlayedTurn(1, (Step(Prediction(raw="a\ud800b", reply="\udfff")),))
    with RunWriter.create(store, small_talks.plan(store, small_talks.oracle()).as_new_run()) as writer:
        writer.commit_turn(Where(0, "alarms"), played)
    with Runs.open(store) as runs:
        prediction = runs.transcript(runs.get("abcde"), "alarms").turns[1].steps[0].prediction
    assert (prediction.raw, prediction.reply) == ("a\\ud800b", "\\udfff")


def test_a_call_that_nobody_carried_out_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    played = PlayedTurn(1, (Step(Prediction(raw="look", call=Call("look", {"at": 1}))),))
    with RunWriter.create(store, small_talks.plan(store, small_talks.oracle()).as_new_run()) as writer:
        writer.commit_turn(Where(0, "alarms"), played)
    with Runs.open(store) as runs:
        assert runs.transcript(runs.get("abcde"), "alarms").turns == {1: played}
