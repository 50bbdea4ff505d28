"""Loops of calls and of text are seen, counted, told and, on request, ended."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import looping
import pytest
import small_talks
import tiny_gguf

from rig.config.options import RunConfig
from rig.core.calls import Call
from rig.core.errors import ErrorKind
from rig.core.events import ArmFinished, Event, Notice, PredictionMade
from rig.core.models import Model, Prediction, Request
from rig.methods.scripted import Scripted, called, failed, replied
from rig.plugins.llama import engine
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.decoding.sampler import ChosenToken
from rig.plugins.llama.loading import load
from rig.plugins.loops.repeats import RepeatReader, repeat_in
from rig.plugins.loops.turns import loops_in
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.store import Runs

Rig = Callable[..., Any]

LINE = "I will set the alarm for you now, please wait a moment. "
POLL = called("FindAlarms", {"start_range": "00:00:00", "end_range": "23:59:59"})


@pytest.mark.parametrize("seed", range(3))
def test_loops_are_found_and_harmless_repeats_are_not(seed: int) -> None:
    found = [name for name, turn in looping.loopers(seed) if list(loops_in(turn, "assistant"))]
    false = [name for name, turn in looping.harmless(seed) if list(loops_in(turn, "assistant"))]
    assert len(found) >= 29
    assert len(false) <= 3, false


@pytest.mark.parametrize("size", [1, 3, 7, 40])
def test_a_text_is_read_alike_in_pieces_and_at_once(size: int) -> None:
    for _, turn in (*looping.loopers(5, 15), *looping.harmless(5, 32)):
        text = turn[-1].prediction.raw
        reader = RepeatReader()
        for start in range(0, len(text), size):
            reader.add(text[start : start + size])
        at_once = RepeatReader()
        at_once.add(text)
        assert reader.found == at_once.found


def test_a_repeat_is_named_by_what_is_repeated_and_how_often() -> None:
    repeat = repeat_in(f"Well. {LINE * 4}")
    assert repeat is not None
    assert (repeat.times, repeat.text) == (4, LINE)
    assert repeat.words == f"the same text 4 times: {LINE.strip()}"
    assert repeat_in(f"Well. {LINE * 3}") is None
    assert repeat_in("\n" * 300).words == "white space without an end"  # type: ignore[union-attr]


def test_a_block_of_markup_is_a_loop_sooner_than_short_lines_of_it() -> None:
    block = '<response>\n{"name": "GetReminders", "arguments": {}}\n</response>\n'
    assert repeat_in(block * 4) is not None
    assert repeat_in(block * 3) is None
    assert repeat_in('  <td class="cell"></td>\n' * 6) is None


def arm_with(model: Model, path: Path, **options: Any) -> tuple[list[Event], Any]:
    """The events of a run of the first conversation, and what is stored of its arm."""
    settings = ToolTalkSettings(docs="names", tools="exact", max_calls=10)
    todo = small_talks.plan(path, model, conversations=small_talks.conversations()[:1], settings=settings)
    [arm] = todo.arms
    todo = replace(todo, arms=(replace(arm, config=RunConfig.of(**options)),))
    events = small_talks.play(todo)
    with Runs.open(path) as runs:
        return events, runs.get("abcde").arms[0]


def polling(_request: Request) -> Prediction:
    return POLL


def test_a_turn_of_equal_calls_is_an_error_of_its_own(tmp_path: Path) -> None:
    events, arm = arm_with(Scripted(polling), tmp_path / "runs.sqlite")
    [ended] = [event for event in events if isinstance(event, ArmFinished)]
    assert ended.errors == arm.errors == {"call_loop": 3}
    assert [event.text for event in events if isinstance(event, Notice)] == [
        f"arm0, alarms, turn {turn}: the same call 4 times:"
        ' FindAlarms {"end_range": "23:59:59", "start_range": "00:00:00"}'
        for turn in (1, 2, 3)
    ]
    note = arm.notes["loops"]
    assert note["text"] == "3 of 3 turns in a loop: repeated calls 3"
    assert (note["turns"], note["looping"], note["by_kind"]) == (3, 3, {"call": 3, "text": 0})
    assert [loop["times"] for loop in note["loops"]] == [10, 10, 10]


def test_a_turn_of_equal_calls_is_ended_at_the_third_repeat(tmp_path: Path) -> None:
    events, arm = arm_with(Scripted(polling), tmp_path / "runs.sqlite", stop_loops=True)
    made = [event.prediction for event in events if isinstance(event, PredictionMade) and event.turn == 1]
    assert [one.kind for one in made] == ["call"] * 3 + ["error"]
    assert made[-1].error is ErrorKind.CALL_LOOP
    assert made[-1].error_detail.startswith("the same call 4 times: FindAlarms")
    assert arm.errors == {"call_loop": 3}
    assert arm.fingerprint["loops.stop_loops"] is True
    assert arm.notes["loops"]["by_kind"]["call"] == 3


def test_without_the_option_the_fingerprint_is_as_it_was(tmp_path: Path) -> None:
    _, arm = arm_with(Scripted(polling), tmp_path / "runs.sqlite")
    assert not [name for name in arm.fingerprint if "loop" in name]


def test_the_same_call_after_a_changed_result_is_no_loop(tmp_path: Path) -> None:
    def careful(request: Request) -> Prediction:
        step = request.key.step
        if step >= 8:
            return replied("There are four alarms now.")
        return POLL if step % 2 else called("AddAlarm", {"time": f"0{step}:00:00"})

    _, arm = arm_with(Scripted(careful), tmp_path / "runs.sqlite", stop_loops=True)
    assert "loops" not in arm.notes
    assert not arm.errors


@pytest.mark.parametrize("stops", [False, True])
def test_an_answer_that_repeats_a_line_is_ended_or_goes_on(tmp_path: Path, stops: bool) -> None:
    raw = LINE * 30
    model = Scripted(lambda _: failed(ErrorKind.TRUNCATED, "incomplete after 256 tokens", raw), chunk=4)
    events, arm = arm_with(model, tmp_path / "runs.sqlite", stop_loops=stops)
    made = [event.prediction for event in events if isinstance(event, PredictionMade)]
    assert arm.errors == {"text_loop": 3}
    for prediction in made:
        if stops:
            assert len(LINE) * 4 - 8 <= len(prediction.raw) <= len(LINE) * 4 + 8
            assert raw.startswith(prediction.raw)
            assert prediction.error_detail == f"the same text 4 times: {LINE.strip()}"
        else:
            assert prediction.raw == raw
            assert prediction.error_detail.endswith("; incomplete after 256 tokens")


def test_a_reply_that_repeats_itself_counts_as_a_reply_and_is_told(tmp_path: Path) -> None:
    events, arm = arm_with(Scripted(lambda _: replied(LINE * 6)), tmp_path / "runs.sqlite")
    assert not arm.errors
    assert arm.notes["loops"]["by_kind"] == {"call": 0, "text": 3}
    assert sum(isinstance(event, Notice) and "the same text 6 times" in event.text for event in events) == 3


def test_show_report_and_json_have_the_count(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    arm_with(Scripted(polling), path)
    assert rig("show", "abcde", "--runs", path, "--json").json["arms"][0]["errors"] == {"call_loop": 3}
    shown = rig("show", "abcde", "--runs", path).out
    assert "call_loop" in shown
    assert "3 of 3 turns in a loop: repeated calls 3" in " ".join(shown.split())
    rig("report", "abcde", "--runs", path, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 of 3 turns in a loop" in page
    assert "call_loop" in page


def test_the_engine_ends_a_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = tiny_gguf.write(tmp_path / "tiny.gguf", n_ctx=8192)
    settings = EngineSettings(n_threads=1, n_ctx=8192, parallel=1, prefix_cache=False, grammar="none")
    model = load(weights, settings, "tiny", lambda _note: None)
    ids = model.tokenizer.template(LINE)

    class Again:
        def __init__(self, *_: object) -> None:
            self._number = -1

        def accept(self, _tokens: list[int]) -> None: ...

        def close(self) -> None: ...

        def choose(self, *_: object) -> ChosenToken:
            self._number += 1
            return ChosenToken(ids[self._number % len(ids)], -1.0)

    monkeypatch.setattr(engine, "Sampler", Again)
    _, arm = arm_with(model, tmp_path / "runs.sqlite", stop_loops=True)
    assert arm.errors == {"text_loop": 3}
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        turns = runs.transcript(runs.get("abcde"), "alarms", 0, 0).turns
    for turn in turns.values():
        [step] = turn.steps
        prediction = step.prediction
        assert prediction.raw.startswith(LINE * 3)
        assert len(prediction.raw) <= len(LINE) * 4 + 8
        assert len(prediction.token_ids) == len(prediction.logprobs) == prediction.usage.completion_tokens


def test_several_calls_of_one_message_are_compared_with_their_results() -> None:
    steps = [looping.made("Roll", {"sides": 6}, {"value": number}) for number in (1, 2, 3, 4, 5)]
    assert not list(loops_in(steps, "assistant"))
    same = [looping.made("Roll", {"sides": 6}, {"value": 3})] * 5
    assert [loop.kind for loop in loops_in(same, "assistant")] == ["call"]
    assert Call("Roll", {"sides": 6}) == same[0].prediction.call
