import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_architectures
import tiny_gguf

from rig.plugins.llama.core.llama import Chunk, LlamaContext, LlamaModel
from rig.plugins.llama.decoding import cache
from rig.plugins.llama.decoding.cache import PrefixStore, PrefixTree

GENERATED = (90, 91, 92)
SYSTEM = tuple(range(10, 170))  # longer than a batch
A, B, C, OPEN = (200, 201, 202), tuple(range(30, 60)), (61, 62), (7, 8)


class Bench:
    def __init__(
        self,
        path: Path,
        *,
        n_batch: int = 64,
        n_ctx: int = 1024,
        n_seq: int = 1,
        store: PrefixStore | None = None,
    ) -> None:
        self.model = LlamaModel(path)
        self.context = LlamaContext(
            self.model,
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_threads=1,
            flash_attention=False,
            kv_type="f16",
            n_seq=n_seq,
        )
        self.tree = PrefixTree(self.context, store)
        self.decoded = 0

    def run(self, *segments: tuple[int, ...], sequence: int = 0) -> tuple[int, bytes]:
        """Prefill; how many tokens were cached, and the bits of the logits. Then generate a little."""
        self.tree.begin(sequence)
        return self.go_on(*segments, sequence=sequence)

    def go_on(self, *segments: tuple[int, ...], sequence: int = 0) -> tuple[int, bytes]:
        """The same within a turn that has begun."""
        work = self.tree.prefill(sequence, segments)
        logits = None
        while True:
            try:
                feed = work.send(logits)
            except StopIteration as end:
                cached, logits = end.value
                break
            for start in range(0, len(feed.tokens), self.context.n_batch):
                self.context.decode(
                    [Chunk(sequence, feed.tokens[start : start + self.context.n_batch], True)]
                )
            self.decoded += len(feed.tokens)
            logits = self.context.logits() if feed.logits else None
        held = self.context.sequences[sequence]
        assert held == [token for segment in segments for token in segment]
        bits = logits.tobytes()
        for token in GENERATED:
            self.context.decode([Chunk(sequence, (token,), True)])
        return cached, bits

    def close(self) -> None:
        self.context.close()
        self.model.close()


@pytest.fixture
def benches(tiny_path: Callable[..., Path], kind: dict[str, Any]) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(**choices: Any) -> Bench:
        made.append(Bench(tiny_path(**kind), **choices))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


PROMPTS = [
    (SYSTEM, A, OPEN),
    (SYSTEM, A, B, C, OPEN),
    (SYSTEM, A, B, OPEN),
    (SYSTEM, B, OPEN),
    (SYSTEM, OPEN),
    (SYSTEM, A, OPEN),
    (A, OPEN),
    (OPEN,),
    (SYSTEM, A, C, OPEN),
]


def test_a_hit_and_a_miss_give_the_same_bits(benches: Callable[..., Bench]) -> None:
    warm = benches()
    for prompt in PROMPTS:
        assert warm.run(*prompt)[1] == benches().run(*prompt)[1]


def test_what_is_shared_is_not_computed_again(benches: Callable[..., Bench]) -> None:
    """Also where a memory cannot be cut."""
    bench = benches()
    cached = [bench.run(*prompt)[0] for prompt in PROMPTS]
    s, a, b = len(SYSTEM), len(A), len(B)
    assert cached == [0, s + a, s + a + b, s, s, s, 0, 0, 0]


def test_within_a_turn_what_was_generated_is_kept(
    benches: Callable[..., Bench], kind: dict[str, Any]
) -> None:
    first, said = (SYSTEM, A, OPEN), (*OPEN, *GENERATED, 93)
    bench = benches()
    bench.run(*first)
    cached, bits = bench.go_on(SYSTEM, A, said, C, OPEN)
    assert cached == len(SYSTEM) + len(A) + len(OPEN) + len(GENERATED)
    # The same turn again meets the same bits, whatever was in the cache before.
    bench.run(SYSTEM, B, said, OPEN)
    bench.run(*first)
    assert bench.go_on(SYSTEM, A, said, C, OPEN)[1] == bits
    other = benches()
    other.run(*first)
    assert other.go_on(SYSTEM, A, said, C, OPEN)[1] == bits
    # And in the next turn nothing of it is left.
    assert bench.run(SYSTEM, A, said, B, OPEN)[1] == benches().run(SYSTEM, A, said, B, OPEN)[1]


def test_text_that_is_tokenised_otherwise_than_it_was_generated_is_computed_anew(
    benches: Callable[..., Bench],
) -> None:
    bench = benches()
    bench.run(SYSTEM, A, OPEN)
    bench.go_on(SYSTEM, A, (*OPEN, 90, 95, 96), OPEN)
    bench.go_on(SYSTEM, A, (*OPEN, 90, 95, 96), (*OPEN, 94), OPEN)
    assert bench.run(SYSTEM, A, B, OPEN)[1] == benches().run(SYSTEM, A, B, OPEN)[1]


def test_giving_up_in_the_middle_leaves_a_usable_cache(benches: Callable[..., Bench]) -> None:
    bench = benches()
    work = bench.tree.prefill(0, (SYSTEM, A, OPEN))
    feed = next(work)
    bench.context.decode([Chunk(0, feed.tokens[:64], False)])
    work.close()
    assert bench.run(SYSTEM, A, OPEN)[1] == benches().run(SYSTEM, A, OPEN)[1]


def test_sequences_share_what_they_have_in_common(benches: Callable[..., Bench]) -> None:
    bench = benches(n_seq=3)
    s, a, b = len(SYSTEM), len(A), len(B)
    for sequence, prompt, found in (
        (0, (SYSTEM, A, B, OPEN), 0),
        (1, (SYSTEM, A, C, OPEN), s + a),
        (2, (SYSTEM, B, OPEN), s),
        (1, (SYSTEM, B, C, OPEN), s + b),
        (0, (SYSTEM, A, B, C, OPEN), s + a + b),
        (2, (B, OPEN), 0),
    ):
        assert bench.run(*prompt, sequence=sequence)[0] == found
    # What one sequence does to its own tail leaves the others' alone.
    lone = benches()
    np.testing.assert_allclose(
        np.frombuffer(bench.run(SYSTEM, A, B, C, OPEN, sequence=1)[1], np.float32),
        np.frombuffer(lone.run(SYSTEM, A, B, C, OPEN)[1], np.float32),
        atol=1e-3,
    )


@pytest.fixture(params=tiny_architectures.HYBRIDS, scope="module")
def hybrid(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_architectures.write(tmp_path_factory.mktemp("hybrid") / "tiny.gguf", request.param)


def test_a_hybrid_goes_back_to_what_is_shared_and_gives_the_same_bits(hybrid: Path) -> None:
    """Whatever was computed before, as if each prompt were the first."""
    s, a, b = len(SYSTEM), len(A), len(B)
    with closing(Bench(hybrid)) as warm:
        for prompt, found in zip(PROMPTS, [0, s + a, s + a + b, s, s, s, 0, 0, 0], strict=True):
            cached, bits = warm.run(*prompt)
            assert cached == found
            with closing(Bench(hybrid)) as cold:
                assert cold.run(*prompt) == (0, bits)


def test_a_hybrid_without_a_free_copy_drops_the_one_that_saves_least(hybrid: Path) -> None:
    """A long segment that others share, such as tools, outlasts the short ones of one conversation."""
    tools = tuple(range(2, 102))
    parts = [tuple(range(20 * part + 2, 20 * part + 14)) for part in range(6)]
    with closing(Bench(hybrid)) as bench:
        bench.run(SYSTEM, tools, *parts, OPEN)
        assert len(bench.context.copies) == 4
        whole = len(SYSTEM + tools)
        last = whole + sum(map(len, parts))
        assert {len(SYSTEM), whole, last} < set(map(len, bench.context.copies))
        assert bench.run(SYSTEM, tools, *parts, (3,), OPEN)[0] == last
        assert bench.run(SYSTEM, tools, B, OPEN)[0] == whole


def test_a_hybrids_parallel_sequences_share_what_they_have_in_common(hybrid: Path) -> None:
    with closing(Bench(hybrid, n_seq=3)) as bench, closing(Bench(hybrid)) as lone:
        for sequence in (0, 1, 2):
            cached, bits = bench.run(SYSTEM, A, OPEN, sequence=sequence)
            assert cached == (len(SYSTEM + A) if sequence else 0)
            alone = np.frombuffer(lone.run(SYSTEM, A, OPEN)[1], np.float32)
            np.testing.assert_allclose(np.frombuffer(bits, np.float32), alone, atol=1e-4)
        assert bench.decoded == len(SYSTEM + A) + 3 * len(OPEN)


def test_logits_of_a_hybrid_depend_on_all_of_the_past(hybrid: Path) -> None:
    """What is restored must matter, or equal bits would say nothing."""
    with closing(Bench(hybrid)) as bench:
        whole = np.frombuffer(bench.run(SYSTEM, A, OPEN)[1], np.float32)
        tail = np.frombuffer(bench.run(SYSTEM[-20:], A, OPEN)[1], np.float32)
        assert np.abs(whole - tail).max() > 1e-3


def test_what_another_sequence_is_computing_is_waited_for(tiny_path: Callable[..., Path]) -> None:
    bench = Bench(tiny_path(), n_seq=2)
    first, second = (bench.tree.prefill(n, (SYSTEM, A, OPEN)) for n in (0, 1))
    feed = next(first)
    assert feed.tokens == SYSTEM
    assert next(second).tokens == ()
    for start in range(0, len(SYSTEM), 64):
        bench.context.decode([Chunk(0, SYSTEM[start : start + 64], False)])
    assert first.send(None).tokens == A
    assert second.send(None).tokens == ()  # SYSTEM is shared by now, and A is on its way
    assert bench.context.sequences[1] == list(SYSTEM)
    first.close()  # and when the one that is waited for gives up, the other computes it
    assert second.send(None).tokens == A
    bench.close()


def test_cells_that_left_the_window_are_there_when_one_goes_back(tiny_path: Callable[..., Path]) -> None:
    path = tiny_path(architecture="gemma3", tokenizer="spm", template=tiny_gguf.STRICT, window=32)
    context = Bench(path, n_batch=256, n_ctx=256, n_seq=2).context
    tokens = [5 + 7 * index % 200 for index in range(160)]
    context.decode([Chunk(0, tokens[:100], False)])
    context.decode([Chunk(1, tokens[:100], False)])
    context.drop_tail(0, 0)
    # Cells are looked for from the front now. Before those of the other sequence, most of which have left
    # its window, there is not room for all of these tokens.
    context.decode([Chunk(0, tokens[:150], False)])
    context.drop_tail(1, 40)
    context.decode([Chunk(1, tokens[40:60], True)])
    again = context.logits().copy()

    context.drop_tail(0, 0)
    context.drop_tail(1, 0)
    context.decode([Chunk(1, tokens[:60], True)])
    np.testing.assert_allclose(again, context.logits(), atol=1e-4)


def _stores(folder: Path, notices: list[str], **shape: int) -> PrefixStore:
    return PrefixStore(folder, shape, notices.append)


LONG = tuple(range(10, 250)) * 2  # long enough to be worth a file


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times that reading and computing are measured by: none passes, unless a test puts some here."""
    times: list[float] = []
    monkeypatch.setattr(cache, "perf_counter", lambda: times.pop(0) if times else 0.0)
    return times


def test_a_state_that_took_longer_to_read_than_to_compute_is_not_kept(
    benches: Callable[..., Bench], tmp_path: Path, clock: list[float]
) -> None:
    def run(*times: float) -> tuple[int, bytes]:
        clock[:] = times
        return benches(store=_stores(tmp_path, notices)).run(LONG, A, OPEN)

    notices: list[str] = []
    cold = run(0.0, 10.0, 12.0)
    [file] = tmp_path.iterdir()
    assert run(20.0, 21.9) == (len(LONG), cold[1])
    whole = file.stat().st_size
    assert run(30.0, 32.1) == (len(LONG), cold[1])
    assert file.stat().st_size < min(whole, 100)
    for _ in range(2):
        assert run() == cold
    assert file.stat().st_size < 100
    assert notices == []


def test_the_first_segment_comes_back_from_the_disk_bit_for_bit(
    benches: Callable[..., Bench], tmp_path: Path
) -> None:
    notices: list[str] = []
    cold = benches(store=_stores(tmp_path, notices)).run(LONG, A, OPEN)
    assert len(list(tmp_path.iterdir())) == 1
    warm = benches(store=_stores(tmp_path, notices))
    assert warm.run(LONG, A, OPEN) == (len(LONG), cold[1])
    other = benches(store=_stores(tmp_path, notices, n_batch=9))
    assert other.run(LONG, A, OPEN) == cold
    assert len(list(tmp_path.iterdir())) == 2
    assert notices == []


@pytest.mark.parametrize("damage", [b"", b"rig-kv-1", b"x" * 4000, None])
def test_a_damaged_file_is_computed_anew_and_said(
    tiny_path: Callable[..., Path], tmp_path: Path, damage: bytes | None
) -> None:
    def bench() -> Bench:
        return Bench(tiny_path(), store=_stores(tmp_path, notices))

    notices: list[str] = []
    first = bench()
    cold = first.run(LONG, A, OPEN)
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    second = bench()
    assert second.run(LONG, A, OPEN) == cold
    assert len(notices) == 1
    assert "damaged" in notices[0]
    assert file.read_bytes() == whole
    first.close()
    second.close()


def test_a_file_that_was_copied_over_another_answers_for_nobody(
    benches: Callable[..., Bench], tmp_path: Path
) -> None:
    notices: list[str] = []
    benches(store=_stores(tmp_path, notices)).run(LONG, A, OPEN)
    [first] = tmp_path.iterdir()
    cold = benches(store=_stores(tmp_path, notices)).run(LONG[::-1], A, OPEN)
    [second] = set(tmp_path.iterdir()) - {first}
    second.write_bytes(first.read_bytes())
    assert benches(store=_stores(tmp_path, notices)).run(LONG[::-1], A, OPEN) == cold
    assert [notice.split(": ")[1] for notice in notices] == ["damaged; the prompt is computed again"]


def test_files_that_were_not_used_for_longest_make_room(
    tiny_path: Callable[..., Path], tmp_path: Path
) -> None:
    bench = Bench(tiny_path(), store=PrefixStore(tmp_path, {}, print))
    bench.run(LONG, OPEN)
    [oldest] = tmp_path.iterdir()
    size = oldest.stat().st_size
    os.utime(oldest, (1, 1))
    small = Bench(tiny_path(), store=PrefixStore(tmp_path, {}, print, max_bytes=size * 5 // 2))
    small.run(LONG[1:], OPEN)
    small.run(LONG[2:], OPEN)
    assert len(list(tmp_path.iterdir())) == 2
    assert not oldest.exists()
    none = Bench(tiny_path(), store=PrefixStore(tmp_path / "none", {}, print, max_bytes=size // 2))
    none.run(LONG, OPEN)
    assert not (tmp_path / "none").exists()
    for each in (bench, small, none):
        each.close()


def test_a_folder_that_cannot_be_written_is_said_once(tiny_path: Callable[..., Path], tmp_path: Path) -> None:
    notices: list[str] = []
    (tmp_path / "file").touch()
    bench = Bench(tiny_path(), store=_stores(tmp_path / "file" / "prefixes", notices))
    bench.run(LONG, OPEN)
    bench.run(LONG[1:], OPEN)
    assert len(notices) == 1
    bench.close()


@pytest.mark.slow
@pytest.mark.model
def test_hit_and_miss_on_the_real_model(smollm2: Path) -> None:
    random = np.random.default_rng(3)
    system, a, b, c = (tuple(int(t) for t in random.integers(300, 40_000, n)) for n in (700, 40, 25, 90))
    prompts = [(system, a, OPEN), (system, a, b, c, OPEN), (system, a, b, OPEN), (system, c, OPEN)]
    warm = Bench(smollm2, n_batch=512, n_ctx=2048)
    results = [warm.run(*prompt) for prompt in prompts]
    assert [cached for cached, _ in results] == [0, 740, 765, 700]
    for prompt, (_, bits) in zip(prompts, results, strict=True):
        cold = Bench(smollm2, n_batch=512, n_ctx=2048)
        assert cold.run(*prompt)[1] == bits
        cold.close()
    warm.close()
