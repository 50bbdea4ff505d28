"""`--exact`: the same bits whatever was computed before, in whatever order, and from whatever cache."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import small_talks
import tiny_gguf

from rig.core.models import Notify
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.store import Runs

Answers = dict[tuple[str, int, int, int], tuple[str, tuple[int, ...], tuple[float, ...]]]

AGAIN = [((0, 1, 2), True), ((2, 1, 0), True), ((1, 2, 0), False)]
"""Orders of the three conversations, and whether the state that the first run left on disk is used."""


def _open(path: Path, notify: Notify, **choices: Any) -> LlamaCppModel:
    settings = {"n_threads": 1, "max_tokens": 24, "exact": True, **choices}
    return load(path, EngineSettings(**settings), path.stem, notify)


def _answers(store: Path, path: Path, order: tuple[int, ...] = (0, 1, 2), **choices: Any) -> Answers:
    """Text, token ids and log-probabilities of every step of a run that plays conversations in an order."""
    talks = small_talks.conversations()
    small_talks.play(
        small_talks.plan(
            store,
            partial(_open, path, **choices),
            settings=ToolTalkSettings(max_calls=2, tools="exact"),
            conversations=tuple(talks[place] for place in order),
        )
    )
    found: Answers = {}
    with Runs.open(store) as runs:
        [run] = runs.all()
        assert run.state == "finished"
        for cell in runs.cells(run):
            transcript = runs.transcript(run, cell.conversation, cell.arm, cell.repeat)
            for turn, played in transcript.turns.items():
                for number, step in enumerate(played.steps):
                    made = step.prediction
                    place = (cell.conversation, cell.repeat, turn, number)
                    found[place] = (made.raw, made.token_ids, made.logprobs)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_order_of_conversations_and_the_caches_change_no_bit(
    tmp_path: Path,
    tiny_path: Callable[..., Path],
    kind: dict[str, Any],
    temperature: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RIG_CACHE", str(tmp_path / "cache"))
    path = tiny_path(**kind)
    expected = _answers(tmp_path / "cold.sqlite", path, temperature=temperature)
    assert len(expected) >= sum(len(talk.known_turns) for talk in small_talks.conversations())
    assert list((tmp_path / "cache").rglob("*.kv")), "the prompts have something on disk to begin with"
    for number, (order, prefix_cache) in enumerate(AGAIN):
        store = tmp_path / f"{number}.sqlite"
        again = _answers(store, path, order, temperature=temperature, prefix_cache=prefix_cache)
        assert again == expected, (order, prefix_cache)


def test_what_is_exact_says_so(tmp_path: Path) -> None:
    """Otherwise the test above would pass for an engine that ignores the setting."""
    path = tiny_gguf.write(tmp_path / "tiny.gguf")
    prints = []
    for exact in (True, False):
        model = _open(path, lambda text: None, exact=exact)
        prints.append((model.fingerprint["exact"], model.fingerprint["fast_forward"]))
        model.close()
    assert prints == [(True, False), (False, True)]
