"""Several steps at once in one model: each is a valid answer of its own, and failures stay where they are."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rig_form import rig_format

from rig.core.calls import Call, Outcome
from rig.core.errors import ErrorKind, RigError
from rig.core.models import CallMessage, Piece, Prediction, ReplyMessage, Request, UserMessage
from rig.plugins.llama.core.llama import Chunk, DecodeError, LlamaContext
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.engine import PREFILL_PIECE, LlamaCppModel

Open = Callable[..., LlamaCppModel]
Ask = Callable[..., Request]
Write = Callable[..., Path]


def ignore(_piece: Piece) -> None:
    pass


def finish(model: LlamaCppModel, requests: dict[int, Request]) -> dict[int, Prediction]:
    for slot, request in requests.items():
        model.begin(slot, request, ignore)
    done: dict[int, Prediction] = {}
    while len(done) < len(requests):
        done.update(model.advance())
    return done


def conversations(ask: Ask) -> list[list[Request]]:
    """Turns of conversations that have their beginning in common, and of one that grows."""
    said = [
        UserMessage("one"),
        CallMessage(Call("AddAlarm", {"time": "07:00:00"}), Outcome({"alarm_id": "1"})),
        ReplyMessage("Done."),
        UserMessage("two " * 50),
    ]
    return [
        [ask(said[:1], conversation="a"), ask(said, conversation="a", turn=3)],
        [ask("hello", conversation="b"), ask("hello", conversation="b", step=1)],
        [ask("three " * 40, conversation="c"), ask(said, conversation="d")],
    ]


def test_steps_side_by_side_are_valid_answers(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask
) -> None:
    model = open_model(tiny_path(**kind), parallel=3, max_tokens=60, temperature=0.8)
    assert model.fingerprint["n_seq"] == model.slots == 3
    schema = rig_format(ask("x").tools).language().schema
    rounds = zip(*conversations(ask), strict=True)
    for requests in rounds:
        for prediction in finish(model, dict(enumerate(requests))).values():
            usage = prediction.usage
            assert len(prediction.token_ids) == len(prediction.logprobs) == usage.completion_tokens > 0
            assert usage.prefill_s > 0
            if prediction.error is None:
                jsonschema.validate(json.loads(prediction.raw), schema)
            else:
                assert prediction.error is ErrorKind.TRUNCATED


def test_the_same_schedule_gives_the_same_answers(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask
) -> None:
    def answers() -> list[object]:
        model = open_model(tiny_path(**kind), parallel=3, max_tokens=30, prefix_cache=False)
        rounds = zip(*conversations(ask), strict=True)
        finished = [finish(model, dict(enumerate(requests))) for requests in rounds]
        return [
            (slot, done[slot].token_ids, done[slot].logprobs) for done in finished for slot in sorted(done)
        ]

    assert answers() == answers()


def decoded(model: LlamaCppModel, monkeypatch: pytest.MonkeyPatch) -> list[list[Chunk]]:
    """The batches that are decoded from now on."""
    batches: list[list[Chunk]] = []
    decode = model.context.decode

    def record(chunks: Sequence[Chunk]) -> None:
        batches.append(list(chunks))
        decode(chunks)

    monkeypatch.setattr(model.context, "decode", record)
    return batches


def test_all_share_one_prefix_that_is_computed_once(
    open_model: Open, tiny_path: Write, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(tiny_path(), parallel=3, max_tokens=5, prefix_cache=False)
    batches = decoded(model, monkeypatch)
    requests = {slot: ask("hello", conversation=str(slot)) for slot in range(3)}
    done = finish(model, requests)
    total = sum(len(chunk.tokens) for chunks in batches for chunk in chunks)
    length = done[0].usage.prompt_tokens
    generated = sum(prediction.usage.completion_tokens for prediction in done.values())
    own = total - generated - length
    assert 0 <= own < 0.2 * length
    assert {slot: prediction.usage.cached_tokens > 0.8 * length for slot, prediction in done.items()} == {
        0: False,
        1: True,
        2: True,
    }


def test_prompts_are_taken_in_pieces_so_that_nobody_waits_long(
    open_model: Open, tiny_path: Write, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(tiny_path(), parallel=2, max_tokens=50)
    heard: list[str] = []
    model.begin(0, ask("hello"), lambda piece: heard.append("piece" if piece.text else "batch"))
    while not any(kind == "piece" for kind in heard):
        model.advance()
    batches = decoded(model, monkeypatch)
    model.begin(1, ask("long " * 150, conversation="b"), ignore)
    for _ in range(3):
        model.advance()
    assert len(batches) == 3
    for chunks in batches:
        assert any(slot == 0 for slot, *_ in chunks)  # its token comes with every batch
        assert 0 < sum(len(tokens) for slot, tokens, *_ in chunks if slot == 1) <= PREFILL_PIECE


def test_a_batch_that_fails_fails_the_steps_in_it_alone(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(tiny_path(**kind), parallel=2, max_tokens=20)
    decode = LlamaContext.decode

    def fail(context: LlamaContext, chunks: Any) -> None:
        raise DecodeError(ErrorKind.MEMORY, "no memory")

    with monkeypatch.context() as patch:
        model.begin(0, ask("hello"), ignore)
        model.advance()
        patch.setattr(LlamaContext, "decode", fail)
        [(slot, prediction)] = model.advance()
        assert (slot, prediction.error, prediction.error_detail) == (0, ErrorKind.MEMORY, "no memory")
    assert LlamaContext.decode is decode
    for prediction in finish(model, {0: ask("hello"), 1: ask("you", conversation="b")}).values():
        assert prediction.error in (None, ErrorKind.TRUNCATED)


def test_a_listener_that_raises_gives_all_steps_up(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    model = open_model(tiny_path(), parallel=2, max_tokens=20)

    def stop(piece: Piece) -> None:
        if piece.tokens:
            raise KeyboardInterrupt

    model.begin(0, ask("hello"), ignore)
    model.begin(1, ask("you", conversation="b"), stop)
    with pytest.raises(KeyboardInterrupt):
        list(iter(model.advance, None))
    assert len(finish(model, {0: ask("hello"), 1: ask("you", conversation="b")})) == 2


def test_a_slot_has_one_step_at_a_time(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    model = open_model(tiny_path())
    model.begin(0, ask("hello"), ignore)
    with pytest.raises(RuntimeError, match="slot 0"):
        model.begin(0, ask("hello"), ignore)


@pytest.mark.parametrize("n_batch", [16, 512])
def test_preparing_reads_what_prompts_share_and_computes_nothing_else(
    open_model: Open, tiny_path: Write, ask: Ask, monkeypatch: pytest.MonkeyPatch, n_batch: int
) -> None:
    model = open_model(tiny_path(), n_batch=n_batch, prefix_cache=False)
    batches, opened = decoded(model, monkeypatch), []
    monkeypatch.setattr(model, "_open_context", lambda *shape: opened.append(shape))
    progress: list[tuple[int, int]] = []
    model.prepare(ask([]), None, None, lambda *read: progress.append(read))
    tokens = sum(len(chunk.tokens) for chunks in batches for chunk in chunks)
    assert (model.slots, opened) == (1, [])
    assert progress == [(read, tokens) for read in range(0, tokens, n_batch)]
    assert finish(model, {0: ask("hello")})[0].usage.cached_tokens == tokens


def test_who_hears_how_far_a_prompt_is_read_can_give_up(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    def stop(read: int, _prompt: int) -> None:
        if read:
            raise KeyboardInterrupt

    model = open_model(tiny_path(), n_batch=16, prefix_cache=False)
    with pytest.raises(KeyboardInterrupt):
        model.prepare(ask([]), None, None, stop)
    assert len(model.context.sequences[0]) == 16


def test_slots_that_were_settled_before_are_taken_over(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    model = open_model(tiny_path())
    model.prepare(ask([]), 3)
    assert model.slots == 3
    cached = [p.usage.cached_tokens for p in finish(model, {n: ask(str(n)) for n in range(3)}).values()]
    assert min(cached) > 0
    given = open_model(tiny_path(), parallel=2)
    given.prepare(ask([]), 3)
    assert given.slots == 2


def test_exact_is_one_sequence_and_one_token_at_a_time(
    open_model: Open, tiny_path: Write, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(tiny_path(), exact=True, max_tokens=20)
    model.prepare(ask([]), 8)
    assert (model.slots, model.fingerprint["fast_forward"], model.fingerprint["exact"]) == (1, False, True)
    batches = decoded(model, monkeypatch)
    model.predict(ask("hello"), ignore)
    sizes = [len(chunk.tokens) for chunks in batches for chunk in chunks]
    assert sizes[-19:] == [1] * 19


def test_a_context_that_no_memory_could_hold_is_one_line(tiny_path: Write, open_model: Open) -> None:
    from rig.plugins.llama.loading import load

    with pytest.raises(RigError, match="--parallel") as caught:
        load(
            tiny_path(n_ctx=4_000_000),
            EngineSettings(n_ctx=4_000_000, parallel=64, n_threads=1),
            "huge",
            print,
        )
    assert "\n" not in str(caught.value)
