"""The floor runs the batches that the engine ran: the same tokens, positions, sequences and logits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llama_cpp
import pytest

from benchmarks.engine import prompts as files
from benchmarks.engine.child import perform
from benchmarks.engine.contestants import PARALLEL, PARALLEL_FLOOR, RIG
from benchmarks.engine.contestants.floor import Floor
from benchmarks.engine.job import Job
from benchmarks.engine.recorded import Player, Recorded, recording
from benchmarks.engine.render import render
from rig.core.errors import RigError
from rig.plugins.llama.core.llama import LlamaContext, LlamaModel

MakeJob = Callable[..., Job]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "parallel"), [("llama-bpe", 1), ("llama-bpe", 2), ("gemma3-spm", 1), ("mamba-bpe", 1)]
)
def test_the_floor_plays_what_the_engine_did(make_job: MakeJob, kind: str, parallel: int) -> None:
    render(make_job("render", kind))
    outcome = perform(make_job(PARALLEL, kind, parallel=parallel))
    assert outcome.details["slots"] == parallel
    tape = Recorded.read(Path(make_job(PARALLEL).tape or ""))
    assert tape.batches == outcome.details["batches"] > 4
    assert tape.tokens == outcome.details["batch_tokens"]
    # What all prompts share, what else was not cached, and all but the last of the generated was decoded.
    shared = len(files.read(Path(make_job(RIG).prompts))[0].segments[0])
    read = sum(answer.prompt_tokens or 0 for answer in outcome.answers)
    generated = sum(answer.tokens or 0 for answer in outcome.answers)
    assert tape.tokens <= shared + read - int(str(outcome.details["cached_tokens"])) + generated

    floor = Floor(make_job(PARALLEL_FLOOR, kind), parallel)
    again = Recorded()
    try:
        with recording(again):
            assert floor.run() == ()
    finally:
        floor.close()
    assert again.operations == tape.operations
    assert again.seconds > 0


def test_the_floor_ends_with_the_same_logits(tiny: Callable[..., Path]) -> None:
    model = LlamaModel(tiny())
    choices: dict[str, Any] = {
        "n_ctx": 256,
        "n_batch": 64,
        "n_threads": 1,
        "flash_attention": False,
        "kv_type": "f16",
    }
    first, second = LlamaContext(model, **choices), LlamaContext(model, **choices)
    tape = Recorded()
    count = 3
    batch = llama_cpp.llama_batch_init(count, 0, 2)
    batch.n_tokens = count
    for index in range(count):
        batch.token[index], batch.pos[index] = 40 + index, index
        batch.n_seq_id[index], batch.seq_id[index][0] = 1, 0
        batch.logits[index] = index == count - 1

    def logits(context: Any) -> list[float]:
        return llama_cpp.llama_get_logits_ith(context, -1)[: model.n_vocab]  # type: ignore[no-any-return]

    pointer, other = first._pointer, second._pointer
    with recording(tape):
        assert llama_cpp.llama_decode(pointer, batch) == 0
        llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(pointer), 0, 2, -1)
        batch.n_tokens, batch.token[0], batch.pos[0], batch.logits[0] = 1, 99, 2, True
        assert llama_cpp.llama_decode(pointer, batch) == 0
    expected = logits(pointer)
    assert [operation[0] for operation in tape.operations] == [
        "decode",
        "llama_memory_seq_rm",
        "decode",
    ]
    player = Player(tape)
    player.play(other)
    assert logits(other) == expected
    player.close()
    llama_cpp.llama_batch_free(batch)
    for closed in (first, second, model):
        closed.close()


def test_recording_ends_when_it_ends() -> None:
    original = llama_cpp.llama_decode
    with recording(Recorded()):
        assert llama_cpp.llama_decode is not original
    assert llama_cpp.llama_decode is original


def test_a_tape_survives_its_file(tmp_path: Path) -> None:
    tape = Recorded([["decode", [1, 2], [0, 1], [[0], [0, 3]], [0, 1]], ["llama_memory_seq_cp", 0, 1, 0, 2]])
    tape.write(tmp_path / "tape")
    assert Recorded.read(tmp_path / "tape").operations == tape.operations
    assert (tape.batches, tape.tokens) == (1, 2)


def test_only_known_operations_are_played() -> None:
    with pytest.raises(RigError, match="llama_free"):
        Player(Recorded([["llama_free", 1]]))
