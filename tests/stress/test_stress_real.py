"""What levels of history cost the real model, in tokens that it has to read."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rig.engine.core.llama import LlamaContext
from rig.running.control import Control
from rig.running.planning import Options, plan
from rig.running.runner import run
from rig.store import Runs

NOTES = Path(__file__).parent.parent / "toolbox" / "notes"
LEVELS = (0, 100, 200, 400, 800)


def talks(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        text = f"Please note that I have to buy {number + 2} stamps for the letters to my aunt in the north."
        call = {"request": {"api_name": "AddNote", "parameters": {"text": f"Buy {number + 2} stamps"}}}
        find = {"api_name": "FindNotes", "parameters": {}}
        talk = {
            "name": f"stamps {number}",
            "conversation_id": "1",
            "user": {"username": "mara"},
            "metadata": {"location": "Springfield", "timestamp": f"2024-03-0{number + 1} 09:00:00"},
            "conversation": [
                {"role": "user", "text": text},
                {"role": "assistant", "text": "Noted.", "apis": [call]},
                {"role": "user", "text": "Which notes do I have by now, and which of them is the oldest?"},
                {"role": "assistant", "text": "One.", "apis": [{"request": find}]},
            ],
        }
        (folder / f"{number}.json").write_text(json.dumps(talk))
    return folder


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
    conversations = talks(tmp_path / "talks", 5)

    def play(*fill: int, parallel: int = 1) -> list[int]:
        nonlocal decoded
        decoded = 0
        store = tmp_path / "runs.sqlite"
        options = Options(
            models=(str(smollm2),), suite=str(conversations), toolbox=str(NOTES), similarity="exact",
            fill=fill,
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
