from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rig.engine.llama import LlamaContext, LlamaModel
from rig.engine.prefix import PrefixCache

GENERATED = (90, 91, 92)
SYSTEM = tuple(range(10, 170))  # longer than a batch
A, B, C, OPEN = (200, 201, 202), tuple(range(30, 60)), (61, 62), (7, 8)


class Bench:
    def __init__(self, path: Path, *, n_batch: int = 64, n_ctx: int = 1024) -> None:
        self.model = LlamaModel(path)
        self.context = LlamaContext(
            self.model, n_ctx=n_ctx, n_batch=n_batch, n_threads=1, flash_attention=False, kv_type="f16"
        )
        self.cache = PrefixCache(self.context)

    def run(self, *segments: tuple[int, ...]) -> tuple[int, bytes]:
        """Prefill; how many tokens were cached, and the bits of the logits. Then generate a little."""
        self.cache.begin()
        return self.go_on(*segments)

    def go_on(self, *segments: tuple[int, ...]) -> tuple[int, bytes]:
        """The same within a turn that has begun."""
        prefill = self.cache.prefill(segments, lambda: None)
        assert self.context.tokens == [token for segment in segments for token in segment]
        assert prefill.prompt_tokens == len(self.context.tokens)
        bits = self.context.logits().tobytes()
        for token in GENERATED:
            self.context.decode([token], logits=True)
        return prefill.cached_tokens, bits

    def close(self) -> None:
        self.context.close()
        self.model.close()


@pytest.fixture
def benches(tiny_path: Callable[..., Path], kind: dict[str, Any]) -> Iterator[Callable[[], Bench]]:
    made: list[Bench] = []

    def make() -> Bench:
        made.append(Bench(tiny_path(**kind)))
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


def test_a_hit_and_a_miss_give_the_same_bits(benches: Callable[[], Bench]) -> None:
    warm = benches()
    for prompt in PROMPTS:
        assert warm.run(*prompt)[1] == benches().run(*prompt)[1]


def test_what_is_shared_is_not_computed_again(benches: Callable[[], Bench], kind: dict[str, Any]) -> None:
    bench = benches()
    cached = [bench.run(*prompt)[0] for prompt in PROMPTS]
    if kind.get("architecture") == "mamba":
        assert cached == [0] * len(PROMPTS)  # its memory cannot drop a tail: right, but from the start
    else:
        s, a, b = len(SYSTEM), len(A), len(B)
        assert cached == [0, s + a, s + a + b, s, s, s, 0, 0, 0]


def test_within_a_turn_what_was_generated_is_kept(benches: Callable[[], Bench], kind: dict[str, Any]) -> None:
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
    benches: Callable[[], Bench],
) -> None:
    bench = benches()
    bench.run(SYSTEM, A, OPEN)
    bench.go_on(SYSTEM, A, (*OPEN, 90, 95, 96), OPEN)
    bench.go_on(SYSTEM, A, (*OPEN, 90, 95, 96), (*OPEN, 94), OPEN)
    assert bench.run(SYSTEM, A, B, OPEN)[1] == benches().run(SYSTEM, A, B, OPEN)[1]


def test_giving_up_in_the_middle_leaves_a_usable_cache(benches: Callable[[], Bench]) -> None:
    bench = benches()
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.cache.prefill((SYSTEM, A, OPEN), stop)
    assert bench.run(SYSTEM, A, OPEN)[1] == benches().run(SYSTEM, A, OPEN)[1]


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
