"""What levels of history cost the real model, in tokens that it has to read."""

from collections.abc import Callable
from pathlib import Path

import noted_talks
import pytest

from rig.engine.core.llama import LlamaContext
from rig.running.control import Control
from rig.running.planning import Options, plan
from rig.running.runner import run
from rig.store import Runs

LEVELS = (0, 100, 200, 400, 800)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, smollm2: Path, tmp_path: Path) -> Callable[..., list[int]]:
    """Plays levels, and gives how many tokens of prompts were read in all, and how many they have."""
    decoded = 0
    decode = LlamaContext.decode

    def counting(self: LlamaContext, chunks: list[object]) -> object:
        nonlocal decoded
        decoded += sum(len(chunk.tokens) for chunk in chunks)  # type: ignore[attr-defined]
        return decode(self, chunks)  # type: ignore[arg-type]

    monkeypatch.setattr(LlamaContext, "decode", counting)
    conversations = noted_talks.write(tmp_path / "talks", 5)

    def play(*fill: int, parallel: int = 1) -> list[int]:
        nonlocal decoded
        decoded = 0
        store = tmp_path / "runs.sqlite"
        options = Options(
            models=(str(smollm2),), suite=str(conversations), toolbox=str(noted_talks.NOTES),
            similarity="exact", fill=fill,
            threads=1, parallel=parallel, prefix_cache=False, max_tokens=4, max_calls=1, n_ctx=2048,
        )  # fmt: skip
        planned = plan(options, store)
        run(planned, lambda _event: None, Control())
        with Runs.open(store) as runs:
            speeds = [arm.speed for arm in runs.get(planned.run).arms]
        answers = sum(speed.completion_tokens for speed in speeds)
        return [decoded - answers, sum(speed.prompt_tokens for speed in speeds)]

    return play


@pytest.mark.slow
@pytest.mark.model
def test_five_levels_of_history_cost_at_most_twice_as_many_runs_without(
    read: Callable[..., list[int]],
) -> None:
    base, asked = read(0)
    levels, asked_at_levels = read(*LEVELS)
    print(f"{base=} {asked=} {levels=} {asked_at_levels=}")
    assert asked_at_levels > 2 * len(LEVELS) * asked  # without the cache it would cost this
    assert levels <= 2 * len(LEVELS) * base
    # Each token of history is read once in all, as a level begins as the lower ones do.
    assert levels <= len(LEVELS) * base + 1.3 * max(LEVELS)


@pytest.mark.slow
@pytest.mark.model
def test_several_conversations_at_once_share_their_history(read: Callable[..., list[int]]) -> None:
    base, _ = read(0, parallel=3)
    filled, _ = read(800, parallel=3)
    assert filled - base <= 1.3 * 800
