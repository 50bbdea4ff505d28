"""A short training on a tiny model: it learns, it is the same again, and it goes on where it was stopped."""

import json
from argparse import Namespace
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.teach import render, train
from benchmarks.teach.lessons import Lesson, batches
from benchmarks.teach.render import Renderer
from benchmarks.teach.train import Training, main, pack, rate
from rig.core.errors import RigError
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.plugins.tune.merging import Floats, read_pairs

STEPS = 20


@pytest.fixture(autouse=True)
def short_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools by name alone: the tiny model's tokens are bytes, and described tools are thousands of them."""
    settings = ToolTalkSettings(docs="names")
    monkeypatch.setattr(render, "Renderer", lambda base, form: Renderer(base, settings, form))


def _train(tiny: Path, out: Path, *more: str) -> list[dict[str, Any]]:
    options = ["--conversations", "24", "--held-out", "2", "--dtype", "f32", "--rank", "4", "--alpha", "8"]
    main([str(tiny), str(out), *options, "--warmup", "2", "--rate", "0.01", "--test-every", "10", *more])
    return [json.loads(line) for line in (out / "curve.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_training(tiny: Path, tmp_path: Path, llama_cpp_logits: Callable[..., Floats]) -> None:
    curve = _train(tiny, tmp_path / "out", "--steps", str(STEPS))
    assert [line["step"] for line in curve] == list(range(1, STEPS + 1))
    held_out = [line["held_out"] for line in curve if "held_out" in line]
    assert len(held_out) == 2
    assert held_out[1] < held_out[0]
    assert curve[-1]["loss"] < curve[0]["loss"] * 0.8
    assert json.loads((tmp_path / "out" / "options.json").read_text())["steps"] == STEPS
    adapter = tmp_path / "out" / "adapter.gguf"
    assert any(b.any() for _, b in read_pairs(adapter)[0].values())
    tokens = list(range(60))
    assert not np.array_equal(llama_cpp_logits(tiny, tokens), llama_cpp_logits(tiny, tokens, adapter))


@pytest.mark.slow
def test_going_on_is_the_same_as_never_stopping(tiny: Path, tmp_path: Path) -> None:
    whole = _train(tiny, tmp_path / "whole", "--steps", "6", "--refresh", "1")
    _train(tiny, tmp_path / "parts", "--steps", "6", "--refresh", "1", "--stop-after", "4")
    assert len((tmp_path / "parts" / "curve.jsonl").read_text().splitlines()) == 4
    parts = _train(tiny, tmp_path / "parts", "--steps", "6", "--refresh", "1", "--resume")
    timeless = [[{**line, "seconds": 0} for line in curve] for curve in (whole, parts)]
    assert timeless[0] == timeless[1]
    ours, theirs = (read_pairs(tmp_path / name / "adapter.gguf")[0] for name in ("whole", "parts"))
    assert all(np.array_equal(ours[name][1], theirs[name][1]) for name in ours)


@pytest.mark.slow
def test_a_training_by_the_clock_ends_with_its_rate_at_nothing(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count(0, 5)
    monkeypatch.setattr(train, "perf_counter", lambda: next(ticks))
    curve = _train(tiny, tmp_path / "out", "--minutes", "1", "--batch-tokens", "1")
    assert 3 < len(curve) < 24
    assert curve[-1]["seconds"] >= 60 > curve[-2]["seconds"]
    assert "held_out" in curve[-1]
    rates = [line["rate"] for line in curve]
    assert rates[1] == max(rates) > rates[-1] * 3
    assert (tmp_path / "out" / "adapter.gguf").exists()


@pytest.mark.slow
def test_a_training_goes_on_from_an_adapter(tiny: Path, tmp_path: Path) -> None:
    first = _train(tiny, tmp_path / "first", "--steps", "10", "--decay", "0.1")
    adapter = tmp_path / "first" / "adapter.gguf"
    then = _train(tiny, tmp_path / "then", "--steps", "1", "--init", str(adapter))
    assert then[0]["loss"] < (first[0]["loss"] + first[-1]["loss"]) / 2
    with pytest.raises(ValueError, match="another rank"):
        _train(tiny, tmp_path / "other", "--steps", "1", "--init", str(adapter), "--rank", "2")


def test_the_rate_rises_stays_and_falls() -> None:
    options = Namespace(rate=1.0, warmup=10, decay=0.25)
    rates = [rate(step, step / 100, options) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9:75] == pytest.approx([1.0] * 66)
    assert rates[75:] == sorted(rates[75:], reverse=True)
    assert 0 < rates[-1] < 0.01
    assert rates[:50] == [rate(step, step / 200, options) for step in range(50)]


def test_conversations_are_packed_in_order() -> None:
    lessons = [Lesson(str(size), (1,) * size, (0.0,) * size) for size in (30, 50, 40, 200, 10)]
    assert [[each.name for each in batch] for batch in batches(lessons, 100)] == [
        ["30", "50"],
        ["40"],
        ["200"],
        ["10"],
    ]


@pytest.mark.slow
def test_lessons_are_rendered_once_and_trained_without_llama_cpp(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lessons"
    rendered = _train(tiny, tmp_path / "rendered", "--steps", "2", "--lessons", str(file))
    monkeypatch.setattr(render, "Renderer", None)
    read = _train(tiny, tmp_path / "read", "--steps", "2", "--lessons", str(file))
    timeless = [[{**line, "seconds": 0} for line in curve] for curve in (rendered, read)]
    assert timeless[0] == timeless[1]
    with pytest.raises(RigError, match=r"'seed': 1.* not of .*'seed': 2"):
        _train(tiny, tmp_path / "other", "--steps", "2", "--lessons", str(file), "--seed", "2")


def test_a_batch_sees_the_tools_it_calls_and_some_others(tiny: Path, tmp_path: Path) -> None:
    options = train._options([str(tiny), str(tmp_path), "--conversations", "3", "--held-out", "1"])
    training = Training(options)
    (part, (lesson, *_)), *_ = training.batches
    for others in (0, 6, 100):
        options.others = others
        seen = set(training.seen(part, [lesson]).tolist())
        shown = {name for name, places in part.declarations.items() if seen.issuperset(places)}
        assert lesson.tools <= shown
        assert len(shown - lesson.tools) <= others
        assert seen.issuperset(set(range(len(part.prefix))).difference(*part.declarations.values()))


def test_two_forms_take_turns(tiny: Path, tmp_path: Path) -> None:
    forms = [argument for form in ("rig", "rig", "smollm2") for argument in ("--form", form)]
    options = ["--conversations", "18", "--held-out", "3", "--batch-tokens", "1"]
    training = Training(train._options([str(tiny), str(tmp_path), *forms, *options]))
    ours, native = training.parts
    assert ours.prefix != native.prefix
    assert [len(part.taught) for part in training.parts] == [12, 6]
    assert [len(part.held_out) for part in training.parts] == [2, 1]
    order = "".join("r" if part is ours else "n" for part, _ in training.batches)
    assert order in {"rnr" * 6, "rrn" * 6}
    numbers = {int(lesson.name.rsplit("-", 1)[1]) for lessons in native.taught for lesson in lessons}
    assert numbers == {2, 5, 8, 11, 14, 17}


def test_a_token_is_asked_for_where_the_one_before_stands() -> None:
    first = Lesson("a", (5, 6, 7, 8), (0.0, 0.0, 1.0, 0.5))
    second = Lesson("b", (9, 3), (0.0, 1.0))
    batch = pack([first, second], 10)
    assert batch.spoken.tolist() == [1, 2, 4]
    assert batch.targets.tolist() == [7, 8, 3]
    assert batch.weights.tolist() == [1.0, 0.5, 1.0]
    assert batch.positions.tolist() == [10, 11, 12, 13, 10, 11]
    assert not batch.sees[4, :4].any()
    assert batch.sees[3, :4].all()
