"""Limits that cut answers off are said wherever a rate stands that they can have lowered."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import graded_talks
import pytest
import small_talks
import tiny_gguf
from native_known import known, marks_of
from native_templates import OWN
from stored_runs import seeing

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.config.limits import cut_off, limits_of
from rig.core.errors import ErrorKind
from rig.core.models import Model, Notify, Prediction, Request, StepKey, Usage
from rig.methods.scripted import Scripted, failed, replied
from rig.plugins.llama import engine
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.decoding.sampler import ChosenToken
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load
from rig.plugins.report.render import gather, render
from rig.plugins.strategies.looks import compare_sequentially
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.show.card import Card
from rig.store import Runs
from tui.live.live_run import EventQueue, LiveRun
from tui.live.state import RunState
from tui.screens.run import RunScreen

Rig = Callable[..., Any]

TEMPLATE = "opened thinking"
ANSWERS = {
    (1, 0): '<tool_call>AddAlarm{"time": "07:00:00"}</tool_call>',
    (3, 0): '<tool_call>AddAlarm{"time": "08:00:00"}</tool_call>',
    (5, 0): '<tool_call>FindAlarms{"start_range": "00:00:00", "end_range": "23:59:59"}</tool_call>',
}


def think(patch: pytest.MonkeyPatch, model: LlamaCppModel, needed: int) -> None:
    """Make a real engine's model think this many tokens before its first answer, and a few before others.

    It answers rightly if its thoughts were not closed for it, else with words.
    """
    tokenizer = model.tokenizer
    [thought] = tokenizer.template("a")

    class Sampler:
        def __init__(self, _sampling: object, _seed: int, key: StepKey, _vocab: object) -> None:
            self._left = needed if (key.turn, key.step) == (1, 0) else 3
            self._answer = ANSWERS.get((key.turn, key.step), "Done.")
            self._text: str | None = None

        def accept(self, tokens: list[int]) -> None:
            words = b"".join(tokenizer.shown(token, frozenset(tokens)) for token in tokens).decode()
            self._text = "" if self._text is None else self._text + words

        def close(self) -> None:
            pass

        def choose(self, _logits: object, allowed: Any) -> ChosenToken:
            assert self._text is not None
            _, closed, said = self._text.partition("</think>")
            if closed:
                answer = self._answer if not self._left else "No idea."
                rest = ("\n\n" + answer).removeprefix(said)
                token = tokenizer.template(rest)[0] if rest else tokenizer.eos
            elif self._left:
                self._left -= 1
                token = thought
            else:
                written = self._text[self._text.rfind("a") + 1 :]
                token = tokenizer.template("\n</think>".removeprefix(written))[0]
            assert allowed[token], self._text[-40:]
            return ChosenToken(token, -1.0)

    patch.setattr(engine, "Sampler", Sampler)


@pytest.fixture
def thinking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], Callable[..., Model]]:
    """What loads a tiny model that thinks so much, with room for so much."""
    marks = marks_of(known(TEMPLATE).native)
    weights = tiny_gguf.write(tmp_path / "tiny.gguf", marks=marks, template=OWN[TEMPLATE], n_ctx=16384)

    def make(needed: int, limit: int) -> Callable[[Notify], Model]:
        settings = EngineSettings(
            n_threads=1, n_ctx=12288, parallel=1, thinking_tokens=limit, format="native", prefix_cache=False
        )

        def loaded(notify: Notify) -> Model:
            model = load(weights, settings, "tiny", notify)
            think(monkeypatch, model, needed)
            return model

        return loaded

    return make


@pytest.mark.slow
def test_thoughts_that_need_more_than_they_may_take_are_said_everywhere(
    rig: Rig, tmp_path: Path, thinking: Callable[[int, int], Any]
) -> None:
    needed, limit = 3_000, 1_024
    path = tmp_path / "runs.sqlite"
    settings = ToolTalkSettings(docs="names", tools="exact")
    arms = thinking(needed, limit), thinking(needed, 2 * needed)
    events = small_talks.play(
        small_talks.plan(path, *arms, conversations=small_talks.conversations()[:1], settings=settings)
    )
    run = rig("show", "abcde", "--runs", path, "--json").json
    cut, roomy = (arm["limits"] for arm in run["arms"])
    thoughts = {"option": "thinking_tokens", "limit": limit, "cut": 1, "answers": 5, "failed": 1}
    assert {**thoughts, "share": pytest.approx(1 / 5)} in cut
    assert [one["cut"] for one in roomy] == [0] * 4
    assert [arm["success_rate"] for arm in run["arms"]] == [0, 1]

    said = (
        f"arm0: --thinking-tokens {limit} cut off 1 of 5 answers (20.0%), in 1 conversation that failed:"
        " raise it"
    )
    with Runs.open(path) as runs:
        card = " ".join(Card.of(runs, "abcde").text(100).split())
        page, text = (render(gather(runs, ["abcde"]), kind) for kind in ("html", "md"))
        as_json = compare(runs, ["abcde"], ComparisonOptions(across_settings=True)).as_json()
    assert f"limits {said}" in card
    for verb in ("show", "compare"):
        assert said in rig(verb, "abcde", "--runs", path).out
    for where in (page, text.replace("\\", "")):
        assert said in where
        assert "cut off by --thinking-tokens" in where
    assert as_json["arms"][0]["limits"] == cut
    assert as_json["arms"][0]["conversations"][0]["cuts"] == {"thinking_tokens": 1}

    state = RunState()
    state.apply_all(events)
    assert [(arm.answers, dict(arm.cuts)) for arm in state.arms] == [(5, {"thinking_tokens": 1}), (6, {})]


FINGERPRINT = {
    "model.max_tokens": 256,
    "model.n_ctx": 8192,
    "model.thinking_tokens": 100,
    "protocol.max_calls": 3,
    "role.user.thinking_tokens": 50,
}


def test_a_limit_is_known_if_the_fingerprint_has_it() -> None:
    assert limits_of({}) == {}
    assert limits_of(FINGERPRINT) == {
        "max_tokens": 256,
        "thinking_tokens": 100,
        "max_calls": 3,
        "n_ctx": 8192,
    }
    assert "thinking_tokens" not in limits_of({"model.thinking_tokens": 100, "model.thinking": "off"})
    assert limits_of({"model.engine": "oracle", "role.user.max_tokens": 64}) == {"max_tokens": 64}


@pytest.mark.parametrize(
    ("prediction", "role", "options"),
    [
        (replied("Fine."), "assistant", []),
        (failed(ErrorKind.INVALID), "assistant", []),
        (failed(ErrorKind.TRUNCATED), "assistant", ["max_tokens"]),
        (failed(ErrorKind.CALL_CAP), "assistant", ["max_calls"]),
        (failed(ErrorKind.CONTEXT), "user", ["n_ctx"]),
        (replace(replied("Hm."), usage=Usage(reasoning_tokens=100)), "assistant", []),
        (replace(replied("Hm."), usage=Usage(reasoning_tokens=101)), "assistant", ["thinking_tokens"]),
        (replace(replied("Hm."), usage=Usage(reasoning_tokens=51)), "user", ["thinking_tokens"]),
        (
            replace(failed(ErrorKind.TRUNCATED), usage=Usage(reasoning_tokens=103)),
            "assistant",
            ["thinking_tokens", "max_tokens"],
        ),
    ],
)
def test_what_cut_off_an_answer(prediction: Prediction, role: str, options: list[str]) -> None:
    assert cut_off(prediction, role, FINGERPRINT) == options


def verbose(number: int, *, words: int = 0, **fingerprint: Any) -> Scripted:
    """A model that runs into `max_tokens` in the second turn of the first so many conversations."""
    right = graded_talks.model(number)

    def script(request: Request) -> Prediction:
        place = int(request.key.conversation.removeprefix("talk"))
        if request.key.turn == 3 and place < words:
            return failed(ErrorKind.TRUNCATED, raw="Well, ")
        return right.predict(request, lambda _piece: None)

    return Scripted(script, fingerprint={"file_sha256": str(words), **fingerprint})


def test_arms_that_a_limit_cuts_unequally_are_not_ranked_without_saying_so(tmp_path: Path) -> None:
    path, told = tmp_path / "runs.sqlite", {"max_tokens": 256}
    graded_talks.play(
        path, verbose(20, **told), verbose(20, words=1, **told), verbose(20, words=12, **told), number=20
    )
    with Runs.open(path) as runs:
        notes = compare(runs, ["abcde"]).notes
        looked = compare_sequentially(runs, ["abcde"], 0.05).notes
    assert notes == (
        "--max-tokens cut off answers in 60.0% of arm2's conversations and in 0.0% of arm0's: what they"
        " differ in may be the limit's doing",
    )
    assert looked == notes


def test_of_an_arm_whose_limits_nobody_kept_nothing_is_said(tmp_path: Path, rig: Rig) -> None:
    """Stores of earlier versions, and results of other programs."""
    path = tmp_path / "runs.sqlite"
    graded_talks.play(path, verbose(4), verbose(4, words=2), number=4)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE arms SET fingerprint = '{}' WHERE position = 1")
    out = rig("show", "abcde", "--runs", path)
    assert "cut off" not in out.out.partition("truncated")[0]
    assert rig("show", "abcde", "--runs", path, "--json").json["arms"][1]["limits"] == []


def test_a_limit_that_only_good_conversations_ran_into_lowered_no_success(tmp_path: Path) -> None:
    """The third step of a turn that needs two is one too many, but everything due was done by then."""
    path = tmp_path / "runs.sqlite"
    graded_talks.play(path, graded_talks.model(2), number=2)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE predictions SET error = 'call_cap' WHERE id = 2")
    [arm] = small_talks.stored(path).arms
    [limit] = [limit for limit in arm.limits if limit.cut]
    assert limit.text.endswith("cut off 1 of 8 answers (12.5%), in no conversations that failed: raise it")


def test_the_live_view_says_it_beside_the_rates(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    model = verbose(4, words=2, max_tokens=256)
    todo = small_talks.plan(path, model, conversations=graded_talks.conversations(4))
    feed = EventQueue()
    for event in small_talks.play(todo):
        feed.emit(event)

    async def look() -> None:
        async with seeing(RunScreen(LiveRun(feed, small_talks.Control())), size=(160, 40)) as seen:
            await seen.shows("--max-tokens", "14.3% cut")

    asyncio.run(look())
