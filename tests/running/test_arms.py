"""Settings as arms: which there are, what they are called, and what they share."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import small_talks
import tiny_gguf
from counted import measured

from rig.config.options import RunConfig
from rig.core.errors import RigError
from rig.core.events import ArmFinished, ArmReady
from rig.core.models import Model, Notify, OnPiece, Prediction, Request
from rig.methods.scripted import Scripted
from rig.plugins.llama import EngineSettings
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.running.plan import Arm, Plan
from rig.running.planning import config_of, plan, plan_resume, recipe_of
from rig.store import Runs

WriteGguf = Callable[..., Path]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    small_talks.write(tmp_path)
    return tmp_path


def _options(place: Path, *models: object, **choices: Any) -> RunConfig:
    return RunConfig.of(
        models=tuple(map(str, models)),
        conversations=place / "conversations",
        world=place / "databases",
        similarity="exact",
        **choices,
    )


def _arms(place: Path, *models: object, **choices: Any) -> tuple[Arm, ...]:
    return plan(_options(place, *models, **choices), place / "runs.sqlite").arms


def _names(arms: tuple[Arm, ...]) -> list[str]:
    return [arm.name for arm in arms]


def test_one_value_of_everything_is_one_arm_with_the_models_name(place: Path, write_gguf: WriteGguf) -> None:
    [arm] = _arms(
        place, write_gguf("tiny.gguf"), docs=("names",), tools=("suite", "suite"), temperature=(0.5,)
    )
    assert arm.name == "tiny"
    assert arm.settings == ToolTalkSettings(docs="names", tools="suite")


def test_arms_are_models_by_settings_and_named_by_what_differs(place: Path, write_gguf: WriteGguf) -> None:
    models = write_gguf("big.gguf"), write_gguf("small.gguf")
    arms = _arms(place, *models, docs=("full", "names"), tools=("all", "exact", "all"))
    assert _names(arms) == [
        f"{model} docs={docs} tools={tools}"
        for model in ("big", "small")
        for docs in ("full", "names")
        for tools in ("all", "exact")
    ]
    assert [(arm.settings.docs, arm.settings.tools) for arm in arms[:4]] == [
        ("full", "all"),
        ("full", "exact"),
        ("names", "all"),
        ("names", "exact"),
    ]
    assert len({id(arm.load) for arm in arms[:4]}) == len({id(arm.load) for arm in arms[4:]}) == 1
    assert arms[0].load is not arms[4].load


def test_types_of_the_kv_cache_are_arms(place: Path, write_gguf: WriteGguf) -> None:
    arms = _arms(place, write_gguf("tiny.gguf"), kv=("f16", "q8_0"))
    assert _names(arms) == ["tiny kv=f16", "tiny kv=q8_0"]
    assert arms[0].load is not arms[1].load
    with pytest.raises(RigError, match="--kv q8_0 needs flash attention"):
        _arms(place, "oracle", kv=("f16", "q8_0"), flash_attention="off")


def test_grammars_are_arms(place: Path, write_gguf: WriteGguf) -> None:
    arms = _arms(
        place,
        write_gguf("tiny.gguf"),
        grammar=("json", "strict", "none"),
    )
    assert _names(arms) == [
        "tiny grammar=json",
        "tiny grammar=strict",
        "tiny grammar=none",
    ]
    assert arms[1].load.args[1] == EngineSettings(grammar="strict")


def test_arms_that_share_weights_follow_one_another(place: Path, write_gguf: WriteGguf) -> None:
    arms = _arms(place, write_gguf("tiny.gguf"), docs=("full", "names"), temperature=(0.0, 0.75))
    assert _names(arms) == [
        "tiny temperature=0 docs=full",
        "tiny temperature=0 docs=names",
        "tiny temperature=0.75 docs=full",
        "tiny temperature=0.75 docs=names",
    ]
    assert arms[0].load is arms[1].load is not arms[2].load is arms[3].load
    settings = [load.args[1] for load in (arms[0].load, arms[2].load)]
    assert settings == [EngineSettings(temperature=0.0), EngineSettings(temperature=0.75)]


def _lora(place: Path, name: str, base: Path, seed: int = 0) -> Path:
    (place / name).parent.mkdir(exist_ok=True)
    return tiny_gguf.write_adapter(place / name, base, seed=seed)


def test_adapters_are_arms_that_share_the_weights(place: Path) -> None:
    tiny = tiny_gguf.write(place / "tiny.gguf")
    loras = ("none", str(_lora(place, "a.lora", tiny)), f"{place / 'a.lora'}:0.5")
    arms = _arms(place, tiny, lora=loras, temperature=(0.0, 1.0), docs=("full", "names"))
    assert _names(arms[:6]) == [
        f"{name} temperature=0 docs={docs}"
        for name in ("tiny", "tiny+a", "tiny+a:0.5")
        for docs in ("full", "names")
    ]
    assert len({id(arm.load) for arm in arms[:6]}) == 1
    assert len({id(arm.load) for arm in arms}) == 2
    (one,) = _arms(place, tiny, lora=loras[1:2])
    assert one.name == "tiny+a"
    assert _names(_arms(place, "oracle", lora=loras)) == ["oracle"]


def test_adapters_that_cannot_be_meant_are_one_line_before_the_run(place: Path) -> None:
    tiny = tiny_gguf.write(place / "tiny.gguf")
    other = tiny_gguf.write(place / "other.gguf", architecture="gemma3", tokenizer="spm")
    a = _lora(place, "a.lora", tiny)
    for models, loras, message in (
        ((tiny, other), (a,), "an adapter for 'llama' models"),
        ((tiny,), (tiny,), "holds no adapter"),
        ((tiny,), (a, _lora(place, "more/a.lora", tiny, 1)), "several adapters would be called tiny"),
        ((a,), (), "an adapter, not a model"),
    ):
        with pytest.raises(RigError, match=message) as caught:
            _arms(place, *models, lora=tuple(map(str, loras)))
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_run_with_adapters_is_stored_as_such_and_planned_again(place: Path) -> None:
    tiny = tiny_gguf.write(place / "tiny.gguf", n_ctx=8192)
    a = _lora(place, "a.lora", tiny)
    choices = {"lora": ("none", str(a), f"{a}:0"), "exact": True, "max_tokens": 12, "max_calls": 1}
    few = {"docs": ("names",), "tools": ("exact",), "threads": 1, "limit": 1}
    todo = plan(_options(place, tiny, **choices, **few), place / "runs.sqlite")
    small_talks.play(todo)
    with Runs.open(place / "runs.sqlite") as runs:
        stored = runs.get(todo.run)
        steps = {arm.name: [] for arm in stored.arms}
        for step in runs.view("steps", stored):
            steps[step["arm"]].append((step["turn"], step["step"], step["raw"]))
    told = [(arm.fingerprint or {}).get("model.adapter_scale") for arm in stored.arms]
    assert told == [None, 1.0, 0.0]
    assert (stored.arms[1].fingerprint or {})["model.adapter"] == "a.lora"
    assert steps["tiny"] == steps["tiny+a:0"] != steps["tiny+a"]
    again = plan_resume(todo.run, {}, place / "runs.sqlite")
    assert _names(again.arms) == ["tiny", "tiny+a", "tiny+a:0"]


def test_the_oracle_has_no_temperature(place: Path) -> None:
    arms = _arms(place, "oracle", temperature=(0.0, 1.0), history=("recorded", "replayed"))
    assert _names(arms) == ["oracle history=recorded", "oracle history=replayed"]


def test_every_arm_has_a_name_of_its_own(place: Path, write_gguf: WriteGguf) -> None:
    tiny = write_gguf("tiny.gguf")
    arms = _arms(place, tiny, "oracle", tiny, write_gguf("oracle docs=full.gguf"), docs=("full", "names"))
    assert len(set(_names(arms))) == 8
    assert _names(arms)[4:6] == ["tiny-2 docs=full", "tiny-2 docs=names"]


def test_settings_of_every_arm_are_checked_against_the_conversations(place: Path) -> None:
    path = place / "conversations" / "alarms.json"
    source = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**source, "apis_used": []}), encoding="utf-8")
    assert len(_arms(place, "oracle", tools=("all", "suite"))) == 2
    with pytest.raises(RigError, match="alarms: apis_used is missing"):
        _arms(place, "oracle", tools=("all", "exact"))


def test_a_recipe_is_what_it_was_where_there_is_one_value() -> None:
    one = recipe_of(RunConfig.of(models=("oracle",), docs=("names", "names")), {"oracle"})
    assert (one["docs"], one["tools"], one["history"], one["temperature"]) == (
        "names",
        "all",
        "recorded",
        0.0,
    )
    config = RunConfig.of(models=("oracle",), docs=("names", "full"), temperature=(0.0, 0.5))
    several = recipe_of(config, {"oracle"})
    assert (several["docs"], several["temperature"]) == (["names", "full"], [0.0, 0.5])


@pytest.mark.parametrize("docs", [("full",), ("names", "full")])
def test_a_recipe_that_was_stored_can_be_read_again(docs: tuple[str, ...]) -> None:
    config = RunConfig.of(models=("oracle",), docs=docs, threads=3)
    assert config_of(json.loads(json.dumps(recipe_of(config, {"oracle"})))) == config


def test_a_stored_run_is_planned_again_with_the_same_arms(place: Path) -> None:
    store = place / "runs.sqlite"
    todo = plan(_options(place, "oracle", docs=("full", "names"), tools=("all", "exact")), store)
    small_talks.play(todo)
    again = plan_resume(todo.run, {"docs": ("full", "names")}, store)
    assert [(arm.name, arm.settings) for arm in again.arms] == [(arm.name, arm.settings) for arm in todo.arms]
    with pytest.raises(RigError, match=r"docs was \['full', 'names'\], not 'full'"):
        plan_resume(todo.run, {"docs": ("full",)}, store)


class Weights:
    """Loads models and knows how many were loaded, and how many are open."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.loaded = 0
        self.open = 0
        self._fault = fault

    def __call__(self, _notify: Notify) -> Model:
        assert self.open == 0, "loaded beside another"
        self.loaded += 1
        self.open += 1
        return _Loaded(self, self._fault)


class _Loaded(Scripted):
    def __init__(self, weights: Weights, fault: Exception | None) -> None:
        super().__init__(small_talks.erratic)
        self._weights: Weights | None = weights
        self._fault = fault

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        assert self._weights is not None, "predicts though it is closed"
        if self._fault is not None and request.key.conversation == "reminders":
            raise self._fault
        return super().predict(request, on_piece)

    def close(self) -> None:
        assert self._weights is not None
        self._weights.open -= 1
        self._weights = None


def _plan(path: Path, arms: Iterator[Arm], *, resume: bool = False) -> Plan:
    return small_talks.plan(path, arms=tuple(arms), resume=resume)


VARIED = (
    ToolTalkSettings(max_calls=3),
    ToolTalkSettings(max_calls=3, docs="names"),
    ToolTalkSettings(max_calls=2),
)


def test_arms_of_one_loader_share_the_model_and_have_fingerprints_of_their_own(tmp_path: Path) -> None:
    shared, other = Weights(), Weights()
    arms = [Arm(f"shared{number}", shared, settings) for number, settings in enumerate(VARIED)]
    events = small_talks.play(
        _plan(tmp_path / "runs.sqlite", iter([*arms, Arm("other", other, ToolTalkSettings())]))
    )
    assert (shared.loaded, shared.open, other.loaded, other.open) == (1, 0, 1, 0)
    assert len([event for event in events if isinstance(event, ArmReady)]) == 4
    stored = small_talks.stored(tmp_path / "runs.sqlite")
    fingerprints = [arm.fingerprint or {} for arm in stored.arms]
    assert [each["protocol.docs"] for each in fingerprints] == ["full", "names", "full", "full"]
    assert [each["protocol.max_calls"] for each in fingerprints] == [3, 3, 2, 10]
    assert stored.state == "finished"


def test_a_model_is_closed_before_another_one_is_loaded_even_where_it_comes_again(tmp_path: Path) -> None:
    one, two = Weights(), Weights()
    arms = [Arm(name, load, ToolTalkSettings()) for name, load in (("a", one), ("b", two), ("c", one))]
    small_talks.play(_plan(tmp_path / "runs.sqlite", iter(arms)))
    assert (one.loaded, one.open, two.loaded, two.open) == (2, 0, 1, 0)


def test_a_model_that_failed_is_loaded_anew_for_the_next_arm(tmp_path: Path) -> None:
    weights = Weights(RigError("lost the device"))
    arms = [Arm(f"arm{number}", weights, settings) for number, settings in enumerate(VARIED)]
    events = small_talks.play(_plan(tmp_path / "runs.sqlite", iter(arms)))
    failures = [event.failure for event in events if isinstance(event, ArmFinished)]
    assert failures == ["lost the device"] * 3
    assert (weights.loaded, weights.open) == (3, 0)


def test_resuming_arms_that_share_a_model_loads_it_once_for_those_that_are_left(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    names = ("first", "second", "third")

    def arms(*loads: Callable[[Notify], Model]) -> Iterator[Arm]:
        return (Arm(name, load, s) for name, load, s in zip(names, loads, VARIED, strict=True))

    broken = Weights(RigError("lost the device"))
    small_talks.play(_plan(path, arms(broken, Weights(), broken)))
    whole = Weights()
    small_talks.play(_plan(path, arms(whole, whole, whole), resume=True))
    assert (whole.loaded, whole.open) == (1, 0)
    run = small_talks.stored(path)
    assert run.state == "finished"
    assert {measured(arm.counts).conversations for arm in run.arms} == {3}


def test_a_bug_closes_a_shared_model(tmp_path: Path) -> None:
    weights = Weights(ZeroDivisionError())
    arms = [Arm(f"arm{number}", weights, settings) for number, settings in enumerate(VARIED)]
    with pytest.raises(ZeroDivisionError):
        small_talks.play(_plan(tmp_path / "runs.sqlite", iter(arms)))
    assert (weights.loaded, weights.open) == (1, 0)
