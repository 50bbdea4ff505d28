"""Runs with drafts: the arm before is the draft, and the answers are those of a run without."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import tiny_gguf

from rig.config.options import RunConfig
from rig.core.events import Event
from rig.plugins.llama.core.llama import LlamaModel
from rig.running.control import Control
from rig.running.planning import plan, plan_resume
from rig.running.runner import run
from rig.store import Runs

Rig = Callable[..., Any]
Steps = dict[tuple[str, str, int, int], tuple[str, str]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIG_CACHE", str(tmp_path / "cache"))
    small_talks.write(tmp_path)
    tiny_gguf.write(tmp_path / "tiny.gguf")
    return tmp_path


def options(place: Path, **choices: Any) -> RunConfig:
    given = {
        "max_tokens": 24,
        "max_calls": 2,
        "threads": 1,
        "parallel": 1,
        "similarity": "exact",
        "tools": ("exact",),
        **choices,
    }
    return RunConfig.of(
        models=(str(place / "tiny.gguf"),),
        conversations=place / "conversations",
        world=place / "databases",
        **given,
    )


def play(place: Path, **choices: Any) -> str:
    planned = plan(options(place, **choices), place / "runs.sqlite")
    assert run(planned, lambda _: None, Control())
    return planned.run


def steps(place: Path, run_id: str) -> Steps:
    """Text and tokens of every step, by arm, conversation, turn and step."""
    with sqlite3.connect(place / "runs.sqlite") as store:
        rows = store.execute(
            "SELECT arms.name, conversations.name, turns.turn, step, raw, token_ids FROM predictions"
            " JOIN turns ON turns.id = predictions.turn JOIN arms ON arms.id = turns.arm"
            " JOIN conversations ON conversations.id = conversation WHERE arms.run = ?",
            [run_id],
        )
        return {row[:4]: row[4:] for row in rows}


def of_arm(found: Steps, arm: str) -> dict[tuple[str, int, int], tuple[str, str]]:
    return {key[1:]: value for key, value in found.items() if key[0] == arm}


def drafts(place: Path, run_id: str) -> list[tuple[int, int]]:
    """How many tokens were drafted and accepted, arm by arm."""
    with Runs.open(place / "runs.sqlite") as runs:
        arms = runs.get(run_id).arms
    return [(arm.speed.drafted_tokens, arm.speed.accepted_tokens) for arm in arms]


def test_an_arm_drafts_what_the_one_before_answered(place: Path) -> None:
    played = play(place, draft=("none", "sibling"))
    found = steps(place, played)
    assert of_arm(found, "tiny draft=none") == of_arm(found, "tiny draft=sibling") != {}
    without, (drafted, accepted) = drafts(place, played)
    assert without == (0, 0)
    assert drafted >= accepted > 0


def test_the_share_that_was_kept_is_shown(place: Path, rig: Rig) -> None:
    played = play(place, draft=("none", "sibling"), limit=1)
    shown = rig("show", played, "--runs", str(place / "runs.sqlite"))
    assert shown.code == 0, shown.err
    [line] = [line for line in shown.out.splitlines() if "drafted tokens kept" in line]
    assert line.rstrip().endswith("%")
    played = play(place, limit=1)
    assert "drafted" not in rig("show", played, "--runs", str(place / "runs.sqlite")).out


@pytest.mark.slow
def test_arms_with_drafts_that_were_interrupted_go_on(place: Path) -> None:
    """The sibling comes from the store, so a resumed run has it too."""
    expected = steps(place, play(place, draft=("none", "sibling")))
    planned = plan(options(place, draft=("none", "sibling")), place / "runs.sqlite")
    control = Control()

    def stop_in_the_second_arm(event: Event) -> None:
        if type(event).__name__ == "ConversationFinished" and event.where.arm == 1:  # type: ignore[union-attr]
            control.stop()

    assert not run(planned, stop_in_the_second_arm, control)
    assert run(plan_resume(planned.run, {}, place / "runs.sqlite"), lambda _: None, Control())
    assert steps(place, planned.run) == expected
    assert all(accepted for _, accepted in drafts(place, planned.run)[1:])


@pytest.mark.slow
def test_a_run_until_a_verdict_drafts_what_the_arm_before_answered(place: Path) -> None:
    """Arms take turns there, in blocks: the first one's answers are in the store by then."""
    choices = {"until": "verdict", "loss": 5.0, "kv": ("f16", "q8_0")}
    without = steps(place, play(place, **choices))
    played = play(place, **choices, draft=("sibling",))
    assert steps(place, played) == without
    (alone, _), (drafted, accepted) = drafts(place, played)
    assert alone == 0
    assert drafted >= accepted > 0


def test_an_arm_with_an_adapter_drafts_and_answers_as_without(place: Path) -> None:
    base = place / "tiny.gguf"
    adapters = [str(tiny_gguf.write_adapter(place / f"{seed}.lora", base, seed=seed)) for seed in (1, 2)]
    found = [
        steps(place, play(place, lora=("none", *adapters), limit=1, draft=(d,))) for d in ("none", "sibling")
    ]
    assert found[0] == found[1]
    assert len({key[0] for key in found[0]}) == 3


def test_formats_and_caches_of_one_file_load_its_weights_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    init = LlamaModel.__init__

    def counted(self: LlamaModel, path: Path, *placement: Any, **choices: Any) -> None:
        if not choices.get("weightless"):  # a load to count what it takes has no weights
            opened.append(path)
        init(self, path, *placement, **choices)

    monkeypatch.setattr(LlamaModel, "__init__", counted)
    play(place, kv=("f16", "q8_0"), grammar=("json", "none"), limit=1)
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--draft", "sibling", "--exact"], "--exact never drafts"),
        (["--draft", "lookup", "--temperature", "0.7"], "--draft lookup is for greedy answers"),
        (["--draft", "nobody"], "unknown model 'nobody'"),
    ],
)
def test_drafts_that_cannot_be_are_one_line_before_anything_is_stored(
    place: Path, rig: Rig, given: list[str], said: str
) -> None:
    store = place / "runs.sqlite"
    where = ["--conversations", str(place / "conversations"), "--runs", str(store)]
    done = rig("run", str(place / "tiny.gguf"), *where, "--threads", "1", *given)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not store.exists()


def test_a_store_without_drafts_reads_as_none(place: Path) -> None:
    played = play(place, limit=1)
    with sqlite3.connect(place / "runs.sqlite") as store:
        columns = {row[1] for row in store.execute("PRAGMA table_info(predictions)")}
    assert {"drafted_tokens", "accepted_tokens"} <= columns
    assert drafts(place, played) == [(0, 0)]
