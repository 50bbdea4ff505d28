"""Tiny models answer in the forms of their templates, from the prompt to the prediction."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_gguf
from native_known import NAMES, SOURCES, known, marks_of
from native_templates import OWN, REAL

from rig.core.calls import Call, Outcome
from rig.core.errors import ErrorKind, RigError
from rig.core.models import (
    CallMessage,
    Piece,
    Prediction,
    ReplyMessage,
    Request,
    StepKey,
    ToolDoc,
    UserMessage,
)
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load
from rig.plugins.llama.teacher import Teacher

TOOLS = (
    ToolDoc(
        "AddAlarm",
        "Sets an alarm.",
        {"type": "object", "properties": {"time": {"type": "string", "maxLength": 6}}, "required": ["time"]},
    ),
    ToolDoc("LogoutUser", "Logs out.", {"type": "object", "properties": {}}),
)
HISTORY = (
    UserMessage("Wake me, please."),
    CallMessage(Call("AddAlarm", {"time": "7"}), Outcome({"id": "</tool_call>"}), reasoning="At seven."),
    ReplyMessage("Done."),
    UserMessage("And log me out."),
)


def ask(*messages: Any, step: int = 0) -> Request:
    key = StepKey("c", 1, step)
    return Request(key, "Be useful.", TOOLS, "Place: Oslo", messages, several_calls=True)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., LlamaCppModel]]:
    opened: list[LlamaCppModel] = []

    def open_(
        source: str,
        *,
        tokenizer: str = "bpe",
        marks: tuple[str, ...] = (),
        said: list[str] | None = None,
        **given: Any,
    ) -> LlamaCppModel:
        path = tmp_path / f"{len(opened)}.gguf"
        tiny_gguf.write(path, tokenizer=tokenizer, marks=marks, template=source, n_ctx=16384)
        settings = {
            "n_threads": 1,
            "n_ctx": 12288,
            "parallel": 1,
            "prefix_cache": False,
            "max_tokens": 60,
            **given,
        }
        opened.append(
            load(path, EngineSettings(**settings), "tiny", [].append if said is None else said.append)
        )
        return opened[-1]

    yield open_
    for model in opened:
        model.close()


def answered(model: LlamaCppModel, request: Request) -> tuple[Prediction, list[Piece]]:
    pieces: list[Piece] = []
    return model.predict(request, pieces.append), pieces


FIRST = sorted(OWN) if not REAL else NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_every_template_runs_and_a_finished_call_is_valid(
    run: Callable[..., LlamaCppModel], name: str
) -> None:
    found = known(name)
    kinds = (
        [("bpe", marks_of(found.native)), ("spm", ())] if name in OWN else [("bpe", marks_of(found.native))]
    )
    for tokenizer, marks in kinds:
        model = run(
            SOURCES[name],
            tokenizer=tokenizer,
            marks=marks,
            format="native",
            tool_choice="required",
            thinking_tokens=5,
        )
        model.prepare(ask(), None)
        for messages in (HISTORY[:1], HISTORY):
            prediction, _ = answered(model, ask(*messages))
            assert prediction.error in (None, ErrorKind.TRUNCATED), prediction.error_detail
            for call in prediction.calls:
                assert call.name in ("AddAlarm", "LogoutUser")
                assert len(call.arguments.get("time", "")) <= 6
            assert prediction.calls or prediction.error


def test_thoughts_end_with_their_budget_and_are_counted_apart(run: Callable[..., LlamaCppModel]) -> None:
    model = run(OWN["opened thinking"], thinking_tokens=7, max_tokens=12)
    prediction, pieces = answered(model, ask(*HISTORY[:1]))
    usage = prediction.usage
    thought = [piece for piece in pieces if piece.thought]
    assert sum(piece.tokens for piece in thought) == usage.reasoning_tokens
    assert 7 <= usage.reasoning_tokens < usage.completion_tokens <= usage.reasoning_tokens + 12
    assert 0 < usage.reasoning_s < usage.decode_s
    assert prediction.raw.startswith(prediction.reasoning)
    assert "</think>" in prediction.raw
    assert "</think>" not in prediction.reasoning


def test_thinking_is_switched_by_the_template_or_closed_at_once(run: Callable[..., LlamaCppModel]) -> None:
    said: list[str] = []
    off = run(OWN["opened thinking"], thinking="off", thinking_tokens=50, said=said)
    assert any("no switch for thinking" in line for line in said)
    assert answered(off, ask(*HISTORY[:1]))[0].raw.startswith("</think>")
    switched = run(OWN["thinking"], thinking="off")
    prompt = prompt_of(switched, ask(*HISTORY[:1]))
    assert prompt.endswith("<think>\n\n</think>\n\n")
    assert prompt_of(run(OWN["thinking"]), ask(*HISTORY[:1])).endswith("<|im_start|>assistant\n")


def prompt_of(model: LlamaCppModel, request: Request) -> str:
    tokens = [token for part in segments_of(model, request) for token in part]
    spelled = (model.tokenizer.piece(each) or model.tokenizer.special_text(each).encode() for each in tokens)
    return b"".join(spelled).decode()


def segments_of(model: LlamaCppModel, request: Request) -> list[tuple[int, ...]]:
    return list(model.prompts.build(request, model.form(request).format))


def test_tools_stand_before_what_differs_so_that_prompts_share_them(
    run: Callable[..., LlamaCppModel],
) -> None:
    model = run(OWN["json in tags"])
    here, there = ask(*HISTORY[:1]), ask(*HISTORY)
    first = segments_of(model, here)
    assert segments_of(model, there)[0] == first[0]
    assert segments_of(model, ask())[0] == first[0]
    text = prompt_of(model, here)
    assert text.index("AddAlarm") < text.index("Place: Oslo") < text.index("Wake me")
    assert "AddAlarm" in b"".join(map(model.tokenizer.piece, first[0])).decode()


def test_history_is_shown_by_the_template_with_thoughts_and_calls(run: Callable[..., LlamaCppModel]) -> None:
    text = prompt_of(run(OWN["thinking"], tokenizer="marks"), ask(*HISTORY))
    assert (
        '<think>\nAt seven.\n</think>\n\n<tool_call>\n{"name": "AddAlarm", "arguments": {"time": "7"}}'
        in text
    )
    joined = (*HISTORY[:2], CallMessage(Call("LogoutUser", {}), Outcome(1), joins=True))
    text = prompt_of(run(OWN["thinking"]), ask(*joined))
    assert text.count("<|im_start|>assistant") == 2
    assert text.index('"LogoutUser", "arguments": {}') < text.index('{"id"')


def test_special_tokens_in_results_and_calls_stay_text(run: Callable[..., LlamaCppModel]) -> None:
    model = run(OWN["json in tags"], tokenizer="marks")
    special = model.tokenizer.specials["</tool_call>"]
    tokens = [token for part in segments_of(model, ask(*HISTORY)) for token in part]
    assert tokens.count(special) == 1


@pytest.mark.slow
def test_auto_takes_the_models_own_form_where_there_is_one(run: Callable[..., LlamaCppModel]) -> None:
    own, plain = run(OWN["json in tags"]).fingerprint, run(tiny_gguf.CHATML).fingerprint
    assert (own["prompt_format"], plain["prompt_format"]) == ("native-1", "rig-1")
    assert own["native_format"]["shape"]["trigger"] == "<tool_call>"
    assert run(OWN["json in tags"], format="rig").fingerprint["prompt_format"] == "rig-1"
    assert run(tiny_gguf.CHATML, format="hermes").fingerprint["prompt_format"] == "hermes-1"
    for name in ("as Python", "a tag for each", "quotes of its own"):
        assert run(OWN[name]).fingerprint["prompt_format"] == "native-1"
    with pytest.raises(RigError, match="--format native: the chat template does not show the calls"):
        run(tiny_gguf.CHATML, format="native")


def test_a_model_that_must_not_call_has_words_alone(run: Callable[..., LlamaCppModel]) -> None:
    model = run(OWN["json in tags"], tokenizer="marks", tool_choice="none")
    language = model.form(ask(*HISTORY[:1])).language
    trigger = model.tokenizer.specials["<tool_call>"]
    assert not model.grammar.start(language).allowed()[trigger]
    free = run(OWN["json in tags"], tokenizer="marks")
    assert free.grammar.start(free.form(ask(*HISTORY[:1])).language).allowed()[trigger]


@pytest.mark.parametrize("source", [OWN["json in tags"], tiny_gguf.CHATML], ids=["native", "rig"])
def test_one_tool_can_be_chosen_by_its_name(run: Callable[..., LlamaCppModel], source: str) -> None:
    model = run(source, tool_choice="LogoutUser")
    assert model.fingerprint["tool_choice"] == "LogoutUser"
    prediction, _ = answered(model, ask(*HISTORY[:1]))
    assert "LogoutUser" in prediction.raw, prediction
    assert "AddAlarm" in str(model.form(ask()).format.offer())
    with pytest.raises(RigError, match=r"no such tool \(did you mean 'LogoutUser'\?\)"):
        run(source, tool_choice="LogoutUsr").prepare(ask(), None)


@pytest.mark.parametrize("several", [True, False])
def test_a_model_makes_several_calls_where_it_may(run: Callable[..., LlamaCppModel], several: bool) -> None:
    model = run(OWN["json in tags"], several_calls=several)
    assert bool(model.form(ask("x")).language.separator) == several
    alone = Request(StepKey("c", 1, 0), "", TOOLS, "", ())
    assert not model.form(alone).language.separator
    single = run(OWN["one bare object"])
    assert not single.form(ask("x")).language.separator


@pytest.mark.parametrize("name", ["json in tags", "a tag for each", "opened thinking", "quotes of its own"])
def test_true_answers_are_put_to_a_model_in_its_own_form(
    run: Callable[..., LlamaCppModel], name: str
) -> None:
    path = run(OWN[name]).weights.path
    teacher = Teacher(path, EngineSettings(n_threads=1, n_ctx=12288), "t", lambda _: None)
    try:
        assessed = teacher.assess(ask(*HISTORY[:1]), Call("AddAlarm", {"time": "7"}), lambda *_: None)
        assert assessed.fault is None
        assert {choice.kind for choice in assessed.choices} >= {"answer", "tool", "value"}
        assert assessed.forced > 0
        reply = teacher.assess(ask(*HISTORY[:1]), "Good morning.", lambda *_: None)
        assert reply.fault is None
        assert {choice.kind for choice in reply.choices} == {"answer"}
    finally:
        teacher.close()


def test_whether_a_model_would_reply_does_not_depend_on_the_words(run: Callable[..., LlamaCppModel]) -> None:
    path = run(OWN["json in tags"]).weights.path
    teacher = Teacher(path, EngineSettings(n_threads=1, n_ctx=12288), "t", lambda _: None)
    put = partial(teacher.assess, ask(*HISTORY[:1]), listen=lambda *_: None)
    try:
        one, other = (put(answer=text).choices[0] for text in ("Good morning.", "At seven?"))
        call = put(answer=Call("AddAlarm", {"time": "7"})).choices[0]
    finally:
        teacher.close()
    assert one.token != other.token
    assert one.logprob == pytest.approx(other.logprob, abs=1e-5)
    assert (one.rank, one.agrees) == (other.rank, other.agrees)
    assert one.agrees == (one.rank == 0)
    # A call begins with one of several tokens, so what is left for them is at least this one's share.
    assert np.exp(one.logprob) + np.exp(call.logprob) <= 1 + 1e-6
