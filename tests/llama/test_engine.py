import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tiny_gguf
from rig_form import rig_format

from rig.core.calls import Call, Outcome
from rig.core.errors import ErrorKind, RigError
from rig.core.models import CallMessage, Piece, Prediction, ReplyMessage, Request, UserMessage
from rig.plugins.llama import EngineSettings, load
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.files import registry
from rig.plugins.llama.files.registry import Entry, Source, template_of
from rig.plugins.llama.grammar.language import ConstraintError
from rig.plugins.llama.grammar.llguidance import LLGuidanceConstraint
from rig.plugins.llama.memory import fit as fitting
from rig.plugins.llama.memory.plan import GPU_MARGIN, DeviceUse

Open = Callable[..., LlamaCppModel]
Ask = Callable[..., Request]
Write = Callable[..., Path]


def ignore(_piece: Piece) -> None:
    pass


def essence(prediction: Prediction) -> tuple[object, ...]:
    return prediction.raw, prediction.error, prediction.token_ids, prediction.logprobs


@pytest.mark.slow
def test_every_finished_answer_is_valid(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask
) -> None:
    model = open_model(tiny_path(**kind), temperature=1.0, max_tokens=100)
    schema = rig_format(ask("x").tools).language().schema
    kinds = set()
    for step in range(25):
        prediction = model.predict(ask("hello", step=step), ignore)
        kinds.add(prediction.kind)
        if prediction.error is None:
            jsonschema.validate(json.loads(prediction.raw), schema)
            assert prediction.finish_reason == "stop"
        else:
            assert prediction.error is ErrorKind.TRUNCATED
            assert prediction.usage.completion_tokens == 100
        assert len(prediction.token_ids) == len(prediction.logprobs) == prediction.usage.completion_tokens
    assert len(kinds) > 1


def test_pieces_add_up_to_the_text(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    model = open_model(tiny_path(), max_tokens=40)
    pieces: list[Piece] = []
    prediction = model.predict(ask("hello"), pieces.append)
    assert "".join(piece.text for piece in pieces) == prediction.raw.removesuffix("\ufffd")
    assert sum(piece.tokens for piece in pieces) == prediction.usage.completion_tokens
    assert sum(piece.tokens for piece in pieces if piece.forced) == prediction.usage.forced_tokens > 0


def test_each_token_says_which_text_it_completed_and_whether_it_was_forced(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask
) -> None:
    model = open_model(tiny_path(**kind), temperature=1.0, max_tokens=60)
    for step in range(8):
        pieces: list[Piece] = []
        prediction = model.predict(ask("hello", step=step), pieces.append)
        chars = iter(prediction.token_chars)
        forced = iter(prediction.token_forced)
        for piece in pieces:
            assert sum(next(chars) for _ in range(piece.tokens)) == len(piece.text)
            assert all(next(forced) is piece.forced for _ in range(piece.tokens))
        assert not [*chars, *forced]
        pairs = zip(prediction.token_forced, prediction.logprobs, strict=True)
        assert all(logprob == 0 for was_forced, logprob in pairs if was_forced)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answers_do_not_depend_on_what_was_asked_before(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask, temperature: float
) -> None:
    history = [
        UserMessage("one"),
        CallMessage(Call("AddAlarm", {"time": "07:00:00"}), Outcome({"alarm_id": "1"})),
        ReplyMessage("Done."),
        UserMessage("two"),
    ]
    requests = [ask("one"), ask(history, turn=3), ask(history[:2], step=1), ask("one")]
    warm = open_model(tiny_path(**kind), temperature=temperature, max_tokens=30)
    answers = [essence(warm.predict(request, ignore)) for request in requests]
    assert answers[0] == answers[3]
    for request, answer in zip(reversed(requests), reversed(answers), strict=True):
        cold = open_model(tiny_path(**kind), temperature=temperature, max_tokens=30)
        assert essence(cold.predict(request, ignore)) == answer


def test_without_fast_forward_every_token_is_chosen(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    model = open_model(tiny_path(), fast_forward=False, max_tokens=30)
    assert model.predict(ask("hello"), ignore).usage.forced_tokens == 0


def test_a_spent_budget_is_counted_as_such(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    prediction = open_model(tiny_path(), max_tokens=3).predict(ask("hello"), ignore)
    assert (prediction.error, prediction.finish_reason) == (ErrorKind.TRUNCATED, "length")
    assert prediction.usage.completion_tokens == len(prediction.token_ids) == 3
    assert prediction.raw


@pytest.mark.slow
def test_a_budget_that_ends_among_forced_tokens_is_spent_too(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    path = tiny_path(architecture="gemma3", tokenizer="spm", template=tiny_gguf.STRICT, window=32)
    whole = open_model(path, max_tokens=200).predict(ask("hello"), ignore)
    assert whole.token_forced[-1], "the answer ends with tokens that the grammar forces"
    for budget in range(1, len(whole.token_ids)):
        cut = open_model(path, max_tokens=budget).predict(ask("hello"), ignore)
        assert (cut.error, cut.finish_reason) == (ErrorKind.TRUNCATED, "length"), budget
        assert cut.token_ids == whole.token_ids[:budget]


def test_a_prompt_that_does_not_fit_is_refused_before_any_work(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    model = open_model(tiny_path(), n_ctx=1024, max_tokens=20)
    prediction = model.predict(ask("hello " * 400), ignore)
    assert prediction.error is ErrorKind.CONTEXT
    assert "1024" in prediction.error_detail
    assert model.predict(ask("hello"), ignore).error is not ErrorKind.CONTEXT


def test_a_context_that_fills_up_is_not_called_a_spent_budget(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    model = open_model(tiny_path(), n_ctx=1024, max_tokens=2000)
    length = model.predict(ask("", step=9), ignore).usage.prompt_tokens
    words = "x" * (1024 - length - 5)
    prediction = model.predict(ask(words), ignore)
    assert (prediction.error, prediction.finish_reason) == (ErrorKind.CONTEXT, "length")
    assert prediction.usage.prompt_tokens + prediction.usage.completion_tokens == 1024


def test_a_failing_grammar_never_becomes_an_answer(
    open_model: Open, tiny_path: Write, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(tiny_path(), max_tokens=30)
    good = essence(model.predict(ask("hello"), ignore))
    count = 0
    accept = LLGuidanceConstraint.accept

    def fail(constraint: LLGuidanceConstraint, token: int) -> None:
        nonlocal count
        count += 1
        if count == 20:
            raise ConstraintError("the parser gave up")
        accept(constraint, token)

    with monkeypatch.context() as patch:
        patch.setattr(LLGuidanceConstraint, "accept", fail)
        prediction = model.predict(ask("hello"), ignore)
    assert prediction.error is ErrorKind.CONSTRAINT
    assert prediction.error_detail == "the parser gave up"
    assert prediction.raw
    assert prediction.call is None
    assert prediction.reply is None
    assert essence(model.predict(ask("hello"), ignore)) == good


def test_a_template_that_refuses_later_is_an_error_of_the_step(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    picky = "{% if messages|length > 6 %}{{ raise_exception('too long') }}{% endif %}" + tiny_gguf.CHATML
    model = open_model(tiny_path(template=picky), max_tokens=10)
    long = [UserMessage(str(n)) for n in range(9)]
    prediction = model.predict(ask(long), ignore)
    assert prediction.error is ErrorKind.TEMPLATE
    assert "too long" in prediction.error_detail


def test_a_listener_may_stop_a_step_and_the_model_goes_on(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask
) -> None:
    model = open_model(tiny_path(**kind), max_tokens=30)
    good = essence(model.predict(ask("hello"), ignore))

    def stop(piece: Piece) -> None:
        if piece.tokens and not piece.forced:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.predict(ask("something else"), stop)
    assert essence(model.predict(ask("hello"), ignore)) == good


def test_the_fingerprint_names_what_can_change_an_answer(
    open_model: Open, tiny_path: Write, tmp_path: Path
) -> None:
    base = open_model(tiny_path()).fingerprint
    json.dumps(base)
    template = tmp_path / "template.jinja"
    template.write_text(
        "{{ messages[0]['content'] }}" * 0 + "x{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    for change in (
        {"n_ctx": 512},
        {"n_batch": 256},
        {"n_threads": 7},
        {"flash_attention": True},
        {"kv_type": "q8_0", "flash_attention": True},
        {"max_tokens": 7},
        {"temperature": 0.5},
        {"temperature": 0.5, "seed": 3},
        {"sampling": "temp=0.5,top_p=0.5"},
        {"sampling": "temp=0.5,dry_multiplier=0.8"},
        {"sampling": "temp=0,presence_penalty=1"},
        {"fast_forward": False},
        {"chat_template": template},
    ):
        assert open_model(tiny_path(), **change).fingerprint != base, change
    assert open_model(tiny_path(seed=1)).fingerprint != base
    assert open_model(tiny_path()).fingerprint == base


def test_what_is_left_open_is_decided_said_and_recorded(tiny_path: Write) -> None:
    said: list[str] = []
    model = load(tiny_path(), EngineSettings(n_threads=1, kv_type="q8_0"), "tiny", said.append)
    model.close()
    decided = {
        "n_ctx": 4096,
        "n_batch": 512,
        "n_gpu_layers": 0,
        "devices": [],
        "flash_attention": True,  # a quantized cache needs it
        "kv_type": "q8_0",
    }
    assert {name: model.fingerprint[name] for name in decided} == decided
    assert said[1:] == [
        "tiny: no tools in its chat template: it answers in rig's form",
        "tiny: its template takes no results of tools: rig gives them as the user's words",
    ]
    assert said[0].startswith("tiny: 3 of 3 layers on CPU, ")
    assert said[0].endswith(" free; context 4096, batch 512, KV cache q8_0, flash attention on, threads 1")


def test_a_template_of_no_use_is_named_with_its_file(
    open_model: Open, tiny_path: Write, tmp_path: Path
) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("{{ messages }")
    with pytest.raises(RigError, match=f"^{template}: the chat template does not compile: "):
        open_model(tiny_path(), chat_template=template)
    own = tiny_path(template="{{ messages.x.y }}")
    with pytest.raises(RigError, match=f"^{own}: the chat template cannot render a plain exchange: "):
        open_model(own)


def test_a_gpu_without_room_is_said_to_be_unused(tiny_path: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    full = DeviceUse("CUDA0", "a GPU", 2**20, 2**33, GPU_MARGIN)
    monkeypatch.setattr(fitting.llama, "supports_gpu_offload", lambda: True)
    monkeypatch.setattr(fitting, "gpus", lambda: (full,))
    said: list[str] = []
    model = load(tiny_path(), EngineSettings(n_threads=1), "tiny", said.append)
    model.close()
    assert model.fingerprint["n_gpu_layers"] == 0
    assert any("everything is on the CPU" in line for line in said)
    monkeypatch.setattr(fitting, "gpus", lambda: ())
    with pytest.raises(RigError, match="finds no GPU"):
        load(tiny_path(), EngineSettings(n_threads=1, n_gpu_layers=-1), "tiny", said.append)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"n_ctx": 100_000}, "--n-ctx"),
        ({"n_gpu_layers": 5}, "--gpu-layers"),
        ({"chat_template": Path("/nowhere/template")}, "--chat-template"),
    ],
)
def test_settings_that_cannot_be_had_are_one_line(
    open_model: Open, tiny_path: Write, settings: dict[str, Any], word: str
) -> None:
    with pytest.raises(RigError, match=word):
        open_model(tiny_path(), **settings)


def test_a_model_without_a_template_says_how_to_give_one(
    open_model: Open, tiny_path: Write, tmp_path: Path, ask: Ask
) -> None:
    path = tiny_path(template=None)
    with pytest.raises(RigError, match="--chat-template"):
        open_model(path)
    given = tmp_path / "chatml.jinja"
    given.write_text(tiny_gguf.CHATML)
    assert open_model(path, chat_template=given, max_tokens=5).predict(ask("hi"), ignore).raw


def test_the_registry_gives_a_template_to_a_model_that_has_none(
    open_model: Open, tiny_path: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, own = tiny_path(template=None, seed=1), tiny_path(template=tiny_gguf.CHATML, seed=1)
    content = bare.read_bytes()
    entry = Entry(
        name="bare",
        file="bare.gguf",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        licence="CC0-1.0",
        source=(Source(package="bare", version="1", member="bare"),),
        chat_template="gemma.jinja",
    )
    monkeypatch.setattr(registry, "load_registry", lambda: {"bare": entry})
    recorded = open_model(bare).fingerprint["chat_template_sha256"]
    assert recorded == hashlib.sha256((template_of(entry) or "").encode()).hexdigest()
    assert open_model(own).fingerprint["chat_template_sha256"] != recorded


def test_files_llama_cpp_cannot_load_are_one_line(open_model: Open, tmp_path: Path, tiny_path: Write) -> None:
    text = tmp_path / "text.gguf"
    text.write_text("not a model")
    whole = tiny_path().read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: len(whole) // 2])
    for path in (text, cut, tmp_path / "missing.gguf"):
        with pytest.raises(RigError) as caught:
            open_model(path)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.model
def test_the_real_model_answers_in_form(open_model: Open, smollm2: Path, ask: Ask) -> None:
    model = open_model(smollm2, max_tokens=60)
    first = model.predict(ask("Set an alarm for 7:30 please."), ignore)
    again = model.predict(ask("Set an alarm for 7:30 please."), ignore)
    assert essence(first) == essence(again)
    assert first.error in (None, ErrorKind.TRUNCATED)
    assert again.usage.cached_tokens / again.usage.prompt_tokens > 0.9


@pytest.mark.model
def test_a_window_that_slides_over_the_prompt_forgets_nothing_that_was_cached(
    open_model: Open, gemma3: Path, ask: Ask
) -> None:
    """The prompts are longer than Gemma's window of 512 tokens, and branch before its beginning."""
    long = "word " * 900
    requests = [ask(f"{long} Set an alarm for {hour} o'clock.") for hour in (7, 8)]
    cold = [
        essence(open_model(gemma3, n_ctx=2048, max_tokens=24).predict(request, ignore))
        for request in requests
    ]
    warm = open_model(gemma3, n_ctx=2048, max_tokens=24)
    again = [warm.predict(request, ignore) for request in (*requests, *requests)]
    assert [essence(prediction) for prediction in again] == cold * 2
    assert cold[0] != cold[1]


@pytest.mark.parametrize("layers", [0, 513, 4_000_000_000])
def test_a_count_of_layers_that_would_end_the_process_is_refused(
    write_gguf: Callable[..., Path], layers: int
) -> None:
    path = write_gguf(numbers={"block_count": layers, "context_length": 512})
    with pytest.raises(RigError, match="layers"):
        load(path, EngineSettings(), "claims", print)


@pytest.mark.parametrize("kv_type", ["bf16", "q8_0/f16", "f16/q8_0", "q5_1/q4_1", "iq4_nl", "q8_0/q4_0"])
def test_keys_and_values_are_kept_as_types_of_their_own(
    open_model: Open, tiny_path: Write, ask: Ask, kv_type: str
) -> None:
    model = open_model(tiny_path(), kv_type=kv_type, max_tokens=20)
    prediction = model.predict(ask("hello"), ignore)
    assert len(prediction.token_ids) > 0
    assert model.fingerprint["kv_type"] == kv_type
    assert model.fingerprint["flash_attention"] is (kv_type != "bf16")


@pytest.mark.parametrize("kv_type", ["q3_k", "", "f16/", "f16/q8_0/q8_0", "f16/no"])
def test_a_type_that_no_kv_cache_has_is_refused(kv_type: str) -> None:
    with pytest.raises(RigError, match="is no type of a KV cache"):
        EngineSettings(kv_type=kv_type).check()


def test_only_quantized_values_need_flash_attention() -> None:
    EngineSettings(kv_type="q8_0/f16", flash_attention=False).check()
    with pytest.raises(RigError, match="--kv f16/q8_0 needs flash attention"):
        EngineSettings(kv_type="f16/q8_0", flash_attention=False).check()
