"""ToolTalk's prediction files: what is read, what is refused, and what is written."""

import json
from pathlib import Path
from typing import Any

import pytest
import small_talks
from hypothesis import given
from hypothesis import strategies as st

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.errors import ErrorKind, RigError
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.methods.scripted import Scripted
from rig.plugins.papers.tooltalk import load_predictions, with_predictions
from rig.plugins.tooltalk.conversations import parse_conversation
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.store import Runs

CALL = {
    "request": {"api_name": "AddAlarm", "parameters": {"time": "07:00:00", "session_token": "t"}},
    "response": {"alarm_id": "5bff-dd80"},
    "exception": None,
    "metadata": {"openai_request": {}, "openai_response": {}},
    "role": "api",
}
REPLY = {"role": "assistant", "text": "Done.", "metadata": None}


def file(directory: Path, predictions: Any = None, **others: Any) -> Path:
    """The conversation about alarms with predictions at its first assistant turn."""
    source = small_talks.sources()[0]
    if predictions is not None:
        source["conversation"][1]["predictions"] = predictions
    path = directory / "alarms.json"
    path.write_text(json.dumps({**source, **others}), encoding="utf-8")
    return path


def test_calls_and_replies_are_read(tmp_path: Path) -> None:
    [(conversation, turns)] = load_predictions(file(tmp_path, [CALL, REPLY]), TOOLTALK)
    assert conversation.name == "alarms"
    assert list(turns) == [1]
    call, reply = turns[1].steps
    assert call.executed is not None
    assert call.executed.call == Call("AddAlarm", CALL["request"]["parameters"])
    assert (call.executed.response, call.executed.exception) == ({"alarm_id": "5bff-dd80"}, None)
    assert call.executed.username == "mara"
    assert reply.prediction.reply == "Done."


def test_what_an_evaluation_has_left_in_a_file_does_not_matter(tmp_path: Path) -> None:
    scored = [{**CALL, "match": True, "bad_action": False}, REPLY]
    [before] = load_predictions(file(tmp_path, [CALL, REPLY]), TOOLTALK)
    [after] = load_predictions(file(tmp_path, scored, metrics={"success": True}), TOOLTALK)
    assert after[1] == before[1]


@pytest.mark.parametrize(
    ("entry", "name", "arguments"),
    [
        ({"api_name": "AddAlarm", "parameters": None}, "AddAlarm", None),
        ({"api_name": "AddAlarm", "parameters": [1]}, "AddAlarm", [1]),
        ({"api_name": None, "parameters": {}}, "null", {}),
        ({"api_name": ["x"], "parameters": {}}, '["x"]', {}),
        ({"api_name": "\ud800", "parameters": {"\ud800": "\udfff"}}, "\ud800", {"\ud800": "\udfff"}),
    ],
)
def test_whatever_a_model_asked_for_is_read(tmp_path: Path, entry: Any, name: str, arguments: Any) -> None:
    call = {"request": entry, "response": None, "exception": "no", "role": "api"}
    [(_, turns)] = load_predictions(file(tmp_path, [call]), TOOLTALK)
    [executed] = turns[1].executed
    assert (executed.name, executed.arguments, executed.exception) == (name, arguments, "no")


@pytest.mark.parametrize(
    "irregular",
    [
        [],
        [{"role": "assistant", "text": None}],
        [{"role": "assistant"}],
        [REPLY, CALL],
        [{"role": "api", "request": CALL["request"]}],
        [{"role": "assistant", "text": "x", "metadata": {"rig": {"error": "no such kind"}}}],
        [{"role": "assistant", "text": "x", "metadata": {"rig": 5}}],
    ],
)
def test_irregular_entries_are_tolerated(tmp_path: Path, irregular: Any) -> None:
    [(_, turns)] = load_predictions(file(tmp_path, irregular), TOOLTALK)
    assert len(turns[1].steps) == len(irregular)
    assert turns[1].error is None


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ("text", "not a list"),
        ([5], "neither a call"),
        ([{"role": "user", "text": "x"}], "neither a call"),
        ([{"role": "api"}], "without request"),
        ([{"role": "api", "request": {"api_name": "AddAlarm"}}], "without request"),
    ],
)
def test_other_shapes_are_refused_by_place(tmp_path: Path, bad: Any, fault: str) -> None:
    with pytest.raises(RigError, match=fault) as caught:
        load_predictions(file(tmp_path, bad), TOOLTALK)
    assert "alarms: conversation.1.predictions" in str(caught.value)


def test_files_without_predictions_are_refused_unless_others_have_some(tmp_path: Path) -> None:
    path = file(tmp_path)
    with pytest.raises(RigError, match="without predictions"):
        load_predictions(path, TOOLTALK)
    with pytest.raises(RigError, match="without predictions"):
        load_predictions(tmp_path, TOOLTALK)
    other = {**small_talks.sources()[1]}
    other["conversation"][1]["predictions"] = [REPLY]
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    assert next(turns for _, turns in load_predictions(tmp_path, TOOLTALK)) == {}


def test_ground_truth_that_calls_no_tool_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, [REPLY])
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"api_name": "AddAlarm"', '"api_name": "Frobnicate"'), encoding="utf-8")
    with pytest.raises(RigError, match="alarms: no tool is named Frobnicate"):
        load_predictions(path, TOOLTALK)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(store, Scripted(small_talks.erratic)))
    with Runs.open(store) as runs:
        transcripts = [runs.transcript(runs.get("abcde"), each) for each in ("alarms", "reminders", "login")]
    for transcript in transcripts:
        path = tmp_path / "exported.json"
        source = with_predictions(transcript.conversation, transcript.turns)
        path.write_text(json.dumps(source), encoding="utf-8")
        [(conversation, turns)] = load_predictions(path, TOOLTALK)
        assert conversation == transcript.conversation
        assert {turn: played.error for turn, played in turns.items()} == {
            turn: played.error for turn, played in transcript.turns.items()
        }
        assert {turn: played.executed for turn, played in turns.items()} == {
            turn: played.executed for turn, played in transcript.turns.items()
        }


def test_what_an_earlier_scoring_left_is_not_written() -> None:
    source = small_talks.sources()[0]
    source["metrics"] = {"success": False}
    source["conversation"][1]["predictions"] = [CALL]
    source["conversation"][1]["apis"][0]["match"] = True
    source["conversation"][3]["predictions"] = [CALL]
    conversation = parse_conversation(source, "")
    failed = Step(Prediction(raw="half", error=ErrorKind.TRUNCATED, finish_reason="length"))
    written = with_predictions(conversation, {1: PlayedTurn(1, (failed,))})
    assert "metrics" not in written
    assert "match" not in written["conversation"][1]["apis"][0]
    [entry] = written["conversation"][1]["predictions"]
    assert (entry["role"], entry["text"]) == ("assistant", "")
    assert "predictions" not in written["conversation"][3]
    assert conversation.source["metrics"] == {"success": False}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(name=st.text(), arguments=JSON, response=JSON)
def test_any_call_survives_being_written_and_read(
    tmp_path_factory: Any, name: str, arguments: Any, response: Any
) -> None:
    conversation = parse_conversation(small_talks.sources()[0], "")
    recorded = ExecutedCall(Call(name, arguments), Outcome(response))
    step = Step(Prediction(call=recorded.call), recorded)
    text = json.dumps(with_predictions(conversation, {1: PlayedTurn(1, (step,))}))
    path = tmp_path_factory.mktemp("written") / "one.json"
    path.write_text(text, encoding="utf-8")
    [(_, turns)] = load_predictions(path, TOOLTALK)
    assert json.dumps(turns[1].executed[0].as_json()) == json.dumps(recorded.as_json())
