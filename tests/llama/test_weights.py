"""One file in two roles: its weights are in memory once, its contexts and prompts are two."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rig.core.models import Request, StepKey, UserMessage
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.core.placement import ON_CPU
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.loading import load
from rig.plugins.llama.memory.count import Count, Needs
from rig.plugins.llama.memory.fit import Fit
from rig.plugins.llama.memory.plan import Shape, machine
from rig.plugins.llama.memory.weights import find_weights, open_weights

SETTINGS = EngineSettings(n_ctx=512, n_batch=128, n_threads=1, max_tokens=8, exact=True, prefix_cache=False)
GIB = 2**30


@pytest.fixture
def two(smollm2: Path) -> Iterator[tuple[LlamaCppModel, LlamaCppModel]]:
    first = load(smollm2, SETTINGS, "assistant", lambda _: None)
    second = load(smollm2, replace(SETTINGS, seed=1), "user", lambda _: None)
    yield first, second
    second.close()
    first.close()


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def mappings(path: Path) -> int:
    return sum(line.endswith(path.name) for line in Path("/proc/self/maps").read_text().splitlines())


def say(model: LlamaCppModel, words: str) -> str:
    request = Request(StepKey("a", 0, 0), "You are kind.", (), "", (UserMessage(words),))
    return model.predict(request, lambda _: None).raw


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux says what is mapped")
def test_the_second_role_takes_a_context_and_no_weights(smollm2: Path) -> None:
    first = load(smollm2, SETTINGS, "assistant", lambda _: None)
    say(first, "Hello")
    mapped, before = mappings(smollm2.resolve()), resident_bytes()
    second = load(smollm2, SETTINGS, "user", lambda _: None)
    say(second, "Hello")
    grown = resident_bytes() - before
    assert mapped == mappings(smollm2.resolve()) > 0
    assert grown < smollm2.stat().st_size / 2
    second.close()
    first.close()


@pytest.mark.slow
def test_each_answers_as_if_it_were_alone(smollm2: Path, two: tuple[LlamaCppModel, LlamaCppModel]) -> None:
    first, second = two
    words = ["What is the capital of France?", "Name a colour.", "What is the capital of France?"]
    together = [(say(first, each), say(second, each)) for each in words]
    assert first.weights is second.weights
    assert first.context is not second.context
    assert together[0] == together[2]
    second.close()
    assert say(first, words[0]) == together[0][0]
    assert together[0][0] == together[0][1]


@pytest.mark.slow
def test_weights_are_freed_with_the_last_who_has_them(smollm2: Path) -> None:
    first = open_weights(smollm2, ON_CPU)
    second = open_weights(smollm2, ON_CPU)
    assert first is second is find_weights(smollm2)
    first.close()
    assert find_weights(smollm2) is second
    second.close()
    assert find_weights(smollm2) is None
    assert open_weights(smollm2, ON_CPU).pointer
    gc.collect()


def test_a_plan_counts_loaded_weights_once(smollm2: Path) -> None:
    info = inspect(smollm2)
    memory = machine(GIB, 2 * GIB)
    settings = EngineSettings(n_ctx=512)

    def count(shape: Shape) -> Count:
        return Count(("CPU",), {"CPU": Needs(layers=1, weights=100, kv=200)})

    alone, shared = (Fit(info, (), memory, settings, count, loaded=loaded).best() for loaded in (False, True))
    assert alone.machine.weights > 0
    assert shared.machine.weights == 0
    assert shared.machine.kv == alone.machine.kv
