"""What levels of history cost a model, in tokens that it has to read: a tiny one, and the real one."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import noted_talks
import pytest
import tiny_gguf

from rig.config.options import RunConfig
from rig.plugins.llama.core.llama import LlamaContext
from rig.running.control import Control
from rig.running.planning import plan
from rig.running.runner import run
from rig.store import Runs

LEVELS = (0, 100, 200, 400, 800)


@pytest.fixture(params=["tiny", pytest.param("real", marks=pytest.mark.model)])
def read(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., list[int]]:
    """Plays levels, and gives how many tokens of prompts were read in all, and how many they have."""
    is_real = request.param == "real"
    model = request.getfixturevalue("smollm2") if is_real else tiny_gguf.write(tmp_path / "tiny.gguf")
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
        monkeypatch.setenv("RIG_CACHE", tempfile.mkdtemp(dir=tmp_path))  # nothing is there to begin with
        options = RunConfig.of(
            models=(str(model),), suite=str(conversations), toolbox=str(noted_talks.NOTES),
            similarity="exact", fill=fill,
            threads=1, parallel=parallel, max_tokens=4, max_calls=1, n_ctx=4096,
        )  # fmt: skip
        planned = plan(options, store)
        run(planned, lambda _event: None, Control())
        with Runs.open(store) as runs:
            speeds = [arm.speed for arm in runs.get(planned.run).arms]
        answers = sum(speed.completion_tokens for speed in speeds)
        return [decoded - answers, sum(speed.prompt_tokens for speed in speeds)]

    return play


@pytest.mark.slow
def test_five_levels_of_history_cost_at_most_twice_as_many_runs_without(
    read: Callable[..., list[int]],
) -> None:
    base, _ = read(0)
    levels, asked_at_levels = read(*LEVELS)
    same, _ = read(0, 1)
    assert asked_at_levels > 3 * levels  # what it would cost without the cache
    assert levels <= 2 * len(LEVELS) * base
    # Arms of a run share their instructions as well; still, each token of history is read once in all, as a
    # level begins as the lower ones do.
    assert levels - base <= 4 * (same - base) + (read(max(LEVELS))[0] - base)


@pytest.mark.slow
def test_several_conversations_at_once_share_their_history(read: Callable[..., list[int]]) -> None:
    assert read(800, parallel=3) == read(800)
