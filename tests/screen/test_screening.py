"""Screening tiny models: what is asked, what is compared, and what happens to those that cannot be."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_talks
import tiny_gguf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import rel_entr, softmax

from rig.core.calls import Call
from rig.core.errors import RigError
from rig.core.models import Request, StepKey
from rig.methods.scripted import Oracle, Scripted
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.core.assessment import Assessment, Choice
from rig.plugins.llama.files.registry import ResolvedModel
from rig.plugins.llama.teacher import Teacher
from rig.plugins.screen import screening as screening_module
from rig.plugins.screen.results import ArmScreen, Screen, ScreenedStep
from rig.plugins.screen.screening import LogitRows, Screening, divergence, screen
from rig.plugins.tooltalk.conversations import parse_conversation
from rig.plugins.tooltalk.method import ToolTalk
from rig.plugins.tooltalk.prompt import ToolTalkSettings

PROTOCOL = ToolTalkSettings(tools="exact")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ResolvedModel]:
    folder = tmp_path_factory.mktemp("models")
    kinds: dict[str, dict[str, Any]] = {"base": {}, "other": {"seed": 1}, "spm": {"tokenizer": "spm"}}
    return {
        name: ResolvedModel(name, tiny_gguf.write(folder / f"{name}.gguf", n_ctx=16384, **choices))
        for name, choices in kinds.items()
    }


def screened(*chosen: ResolvedModel, sources: list[dict[str, Any]] | None = None, **engine: Any) -> Screen:
    conversations = [
        parse_conversation(source, source["name"]) for source in sources or small_talks.sources()
    ]
    told: list[tuple[str, int, int]] = []
    found = screen(
        Screening(
            chosen,
            ToolTalk(),
            tuple(conversations),
            small_talks.setup(),
            PROTOCOL,
            EngineSettings(**{"n_threads": 1, "n_ctx": 8192, **engine}),
        ),
        lambda _text: None,
        lambda *progress: told.append(progress),
    )
    assert told[0] == (chosen[0].name, 0, len(conversations))
    assert any(done == of for _, done, of in told)
    return found


def test_the_questions_are_those_of_a_run_that_is_always_right(tmp_path: Path) -> None:
    for source in small_talks.sources():
        conversation = parse_conversation(source, "x")
        oracle = Oracle([conversation])
        asked: list[Request] = []

        def answer(request: Request, oracle: Oracle = oracle, asked: list[Request] = asked) -> Any:
            asked.append(request)
            return oracle.predict(request, lambda _piece: None)

        small_talks.play(
            small_talks.plan(
                tmp_path / f"{source['name']}.sqlite",
                Scripted(answer),
                conversations=(conversation,),
                settings=PROTOCOL,
            )
        )
        steps = small_talks.true_course(conversation, PROTOCOL)
        assert [step.request for step in steps] == asked
        truths = [call.name for turn in conversation.turns for call in turn.calls]
        assert [step.answer.name for step in steps if isinstance(step.answer, Call)] == truths
        assert sum(isinstance(step.answer, str) for step in steps) == len(conversation.known_turns)


def test_a_model_differs_from_itself_by_exactly_nothing(models: dict[str, ResolvedModel]) -> None:
    found = screened(models["base"], models["base"])
    base, same = found.arms
    assert (base.name, same.name) == ("base", "base-2")
    assert [step.assessment for step in base.steps] == [step.assessment for step in same.steps]
    values = [value for step in same.steps for value in step.divergences]
    assert values == [0.0] * sum(len(step.assessment.choices) for step in base.steps)
    assert all(all(step.same_top) for step in same.steps)
    difference = same.less_than(base)
    assert difference is not None
    assert (difference.value, difference.low, difference.high) == (0, 0, 0)
    assert not any(step.divergences for step in base.steps)


def test_divergences_are_those_of_the_distributions_that_both_have(models: dict[str, ResolvedModel]) -> None:
    found = screened(models["base"], models["other"])
    kept: dict[str, list[Any]] = {}
    for name in ("base", "other"):
        teacher = Teacher(
            models[name].path, EngineSettings(n_threads=1, n_ctx=8192), name, lambda _text: None
        )
        for source in small_talks.sources():
            conversation = parse_conversation(source, source["name"])
            for _, request, answer in small_talks.true_course(conversation, PROTOCOL):
                teacher.assess(request, answer, lambda _, row: kept.setdefault(name, []).append(row))  # noqa: B023
        teacher.close()
    expected = [
        float(rel_entr(softmax(p.astype(np.float64)), softmax(q.astype(np.float64))).sum())
        for p, q in zip(kept["base"], kept["other"], strict=True)
    ]
    values = [value for step in found.arms[1].steps for value in step.divergences]
    assert values == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert min(values) >= 0
    assert max(values) > 0.1
    tops = [same for step in found.arms[1].steps for same in step.same_top]
    assert tops == [bool(p.argmax() == q.argmax()) for p, q in zip(kept["base"], kept["other"], strict=True)]


def test_another_vocabulary_leaves_only_what_can_be_compared(models: dict[str, ResolvedModel]) -> None:
    found = screened(models["base"], models["spm"])
    arm = found.arms[1]
    assert "its vocabulary differs" in arm.remarks[0]
    assert not any(step.divergences for step in arm.steps)
    assert arm.kind("value").constrained_kl is None
    assert arm.less_than(found.base) is not None
    assert arm.call_logprob is not None


def test_what_cannot_be_asked_is_counted_and_the_rest_is_asked(models: dict[str, ResolvedModel]) -> None:
    bad = small_talks.source("bad", "Wake me.", ("Done.", [Call("AddAlarm", {"hour": 7})]))
    good = small_talks.source("good", "Wake me.", ("Done.", [Call("AddAlarm", {"time": "07:00:00"})]))
    found = screened(models["base"], models["other"], sources=[bad, good])
    for arm in found.arms:
        assert len(arm.steps) == 4
        assert sum(arm.faults.values()) == 1
        assert "the grammar" in next(iter(arm.faults))
        assert (len(arm.calls()), len(arm.replies())) == (1, 2)
    short = screened(models["base"], sources=[good], n_ctx=64)
    assert sum(short.base.faults.values()) == 2
    assert short.base.call_logprob is None
    assert short.base.as_json(short.base)["greedy_calls"] is None


def test_a_model_that_fails_does_not_stop_the_others(
    models: dict[str, ResolvedModel], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    lost = ResolvedModel("broken", broken)
    found = screened(models["base"], lost, models["other"])
    assert [arm.failure is None for arm in found.arms] == [True, False, True]
    assert "broken.gguf" in (found.arms[1].failure or "")
    with pytest.raises(RigError, match=r"broken\.gguf"):
        screened(lost, models["base"])


def test_what_is_through_stays_when_it_is_interrupted(
    models: dict[str, ResolvedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = screening_module._arm
    asked: list[ResolvedModel] = []

    def interrupted(model: ResolvedModel, *rest: Any) -> Any:
        asked.append(model)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return arm(model, *rest)

    monkeypatch.setattr(screening_module, "_arm", interrupted)
    found = screened(models["base"], models["other"], models["other"])
    assert found.is_interrupted
    assert len(found.arms) == 2
    asked[:] = [models["base"]] * 2
    with pytest.raises(KeyboardInterrupt):
        screened(models["base"])


LOGITS = arrays.arrays(np.float32, 7, elements=st.floats(-50, 50, width=32))


@settings(deadline=None)
@given(LOGITS, LOGITS)
def test_a_divergence_is_that_of_scipy(p: Any, q: Any) -> None:
    expected = float(rel_entr(softmax(p.astype(np.float64)), softmax(q.astype(np.float64))).sum())
    assert divergence(p, q) == pytest.approx(max(expected, 0), rel=1e-6, abs=1e-9)
    assert divergence(p, p) == 0


@settings(deadline=None)
@given(st.lists(arrays.arrays(np.float32, st.integers(1, 9), elements=st.floats(width=32)), max_size=9))
def test_rows_come_back_bit_by_bit(values: list[Any]) -> None:
    with LogitRows() as rows:
        for number, row in enumerate(values):
            rows.keep((StepKey("c", 1, 0), number, -1), row)
        for number, row in reversed(list(enumerate(values))):
            kept = rows.get((StepKey("c", 1, 0), number, -1))
            assert kept is not None
            assert kept.tobytes() == row.tobytes()
        assert rows.get((StepKey("c", 2, 0), 0, -1)) is None
        assert rows.bytes == sum(row.nbytes for row in values)


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def seek(self, _place: int) -> None:
            pass

        def write(self, _data: bytes) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    monkeypatch.setattr(screening_module.tempfile, "TemporaryFile", lambda **_: Full())
    with LogitRows() as rows, pytest.raises(RigError, match="TMPDIR"):
        rows.keep((StepKey("c", 1, 0), 0, -1), np.zeros(3, dtype=np.float32))


def _arm(values: dict[tuple[str, int], float]) -> ArmScreen:
    def step(conversation: str, turn: int, logprob: float) -> ScreenedStep:
        choice = Choice(1, 0, "value", logprob, 1, 2, False, 9)
        return ScreenedStep(StepKey(conversation, turn, 0), turn + 1, "T", Assessment(False, (choice,)))

    return ArmScreen("x", {}, tuple(step(*key, value) for key, value in values.items()), 0.0)


def test_an_interval_counts_conversations_not_calls() -> None:
    random = np.random.default_rng(0)
    values = {(str(number), 1): float(value) for number, value in enumerate(random.normal(size=40))}
    zero = _arm(dict.fromkeys(values, 0.0))
    single = _arm(values).less_than(zero)
    twice = {**values, **{(conversation, 2): value for (conversation, _), value in values.items()}}
    double = _arm(twice).less_than(_arm(dict.fromkeys(twice, 0.0)))
    assert single is not None
    assert double is not None
    assert (double.value, double.low, double.high) == pytest.approx((single.value, single.low, single.high))
    # With one call each it is the usual interval of a mean, but for n in the place of n - 1.
    numbers = np.array(list(values.values()))
    assert single.low is not None
    reach = single.value - single.low
    assert reach == pytest.approx(2.0227 * numbers.std() / np.sqrt(40), rel=1e-4)


@pytest.mark.slow
def test_intervals_of_correlated_calls_cover_the_truth() -> None:
    """2,000 simulated suites of 30 conversations with 1 to 5 calls whose differences share a part."""
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        values: dict[tuple[str, int], float] = {}
        for conversation in range(30):
            shared = random.normal(0.3, 1)
            for turn in range(random.integers(1, 6)):
                values[str(conversation), turn] = shared + random.normal()
        difference = _arm(values).less_than(_arm(dict.fromkeys(values, 0.0)))
        assert difference is not None
        assert difference.low is not None
        assert difference.high is not None
        covered += difference.low <= 0.3 <= difference.high
    assert 0.93 <= covered / 2000 <= 0.97


def test_figures_of_a_hand_made_step() -> None:
    first = Choice(5, 0, "answer", -0.5, 0, 5, True, 3)
    second = Choice(6, 9, "value", -1.5, 3, 7, False, 9)
    call = ScreenedStep(
        StepKey("c", 1, 0), 1, "T", Assessment(False, (first, second), 4), (0.2, 0.4), (True, False)
    )
    reply = ScreenedStep(StepKey("c", 1, 1), 1, None, Assessment(True, (replace_rank(first),), 2))
    arm = ArmScreen("x", {}, (call, reply), 1.0)
    assert (arm.call_logprob, arm.greedy_calls, arm.decides_to_call, arm.decides_to_reply) == (-2, 0, 1, 1)
    assert (arm.kind("value").top1, arm.kind("value").mrr, arm.kind("value").constrained_kl) == (0, 0.25, 0.4)
    assert (arm.kind("answer").choices, arm.kind("answer").top1, arm.kind("answer").same_top) == (2, 0.5, 1)
    assert arm.kind("tool").logprob is None
    assert replace(arm, steps=()).greedy_calls is None


def replace_rank(choice: Choice) -> Choice:
    """The same decision by another token: not the likeliest, but the likeliest says the same."""
    return choice._replace(rank=1, top=8)
