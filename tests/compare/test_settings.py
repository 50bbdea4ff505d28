"""In what two arms differ: one thing with what follows from it, or several."""

import pytest

from rig.compare.settings import ArmSettings, factors, grader_differences
from rig.core.calls import JsonObject

BASE: JsonObject = {
    "model.engine": "llama.cpp",
    "model.file": "a-f16.gguf",
    "model.file_sha256": "11",
    "model.file_bytes": 100,
    "model.quantization": "F16",
    "model.n_ctx": 8192,
    "model.n_gpu_layers": 0,
    "model.temperature": 0.0,
    "model.llama_cpp": "b1",
    "protocol.docs": "full",
    "protocol.prompt_sha256": "aa",
    "protocol.max_calls": 10,
    "grader.version": "2",
    "world_sha256": "77",
}


def differing(options: tuple[JsonObject, JsonObject] = ({}, {}), **changes: object) -> list[str]:
    now = {**BASE, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [str(each) for each in factors(ArmSettings(BASE, options[0]), ArmSettings(now, options[1]))]


def test_equal_arms_differ_in_nothing() -> None:
    assert differing() == []


def test_another_file_is_one_thing_with_all_that_follows_from_it() -> None:
    changes = {
        "model__file": "a-q4.gguf",
        "model__file_sha256": "22",
        "model__file_bytes": 30,
        "model__quantization": "Q4_K_M",
        "model__n_ctx": 4096,
        "model__n_gpu_layers": 3,
    }
    assert differing(**changes) == ["model (a-f16.gguf -> a-q4.gguf)"]


def test_an_adapter_makes_another_model() -> None:
    worn = {"model.adapter": "a.lora", "model.adapter_sha256": "1", "model.adapter_scale": 1.0}
    assert differing(**worn) == ["model (no adapter -> a.lora 1.0)"]
    halved = ArmSettings({**BASE, **worn, "model.adapter_scale": 0.5}, {})
    assert [factor.name for factor in factors(ArmSettings({**BASE, **worn}, {}), halved)] == ["model"]


def test_beside_an_oracle_every_setting_of_a_model_is_named() -> None:
    oracle: JsonObject = {"model.engine": "oracle", "protocol.docs": "full", "protocol.max_calls": 10}
    model = {
        **oracle,
        "model.engine": "llama.cpp",
        "model.file": "a.gguf",
        "model.adapter": "a.lora",
        "model.temperature": 0.9,
        "model.kv_type": "f16",
        "model.grammar": "strict",
        "protocol.docs": "names",
    }
    found = factors(ArmSettings(oracle, {}), ArmSettings(model, {}))
    assert [str(factor) for factor in found] == [
        "model (oracle -> a.gguf + a.lora), KV cache (none -> f16), temperature (none -> 0.9),"
        " grammar (none -> strict)",
        "docs (full -> names)",
    ]
    back = factors(ArmSettings(model, {}), ArmSettings(oracle, {}))
    assert str(back[0]).startswith("model (a.gguf + a.lora -> oracle), KV cache (f16 -> none)")


def test_what_follows_from_another_chat_template_is_named_with_it() -> None:
    was: JsonObject = {"model.chat_template_sha256": "11", "model.prompt_format": "native-1"}
    now: JsonObject = {"model.chat_template_sha256": "22", "model.prompt_format": "rig-1"}
    options: JsonObject = {"chat_template": ["own", "/a.jinja"], "format": "auto"}
    [one] = factors(ArmSettings(was, options), ArmSettings(now, options))
    assert one.name == "chat template"
    both: JsonObject = {**options, "format": ["rig", "native"]}
    found = factors(ArmSettings(was, both), ArmSettings(now, both))
    assert [factor.name for factor in found] == ["chat template", "format"]


def test_what_was_asked_for_does_not_follow() -> None:
    options: tuple[JsonObject, JsonObject] = ({}, {"n_ctx": 4096})
    found = differing(options, model__file_sha256="22", model__n_ctx=4096)
    assert found == ["model", "n_ctx (8192 -> 4096)"]


def test_what_is_decided_by_what_fits_follows_from_the_model_or_its_cache() -> None:
    fits = {"model__n_seq": 4, "model__prefill_piece": 256, "model__flash_attention": True}
    assert differing(model__file_sha256="22", **fits) == ["model"]
    assert differing(model__kv_type="q8_0", **fits) == ["KV cache (none -> q8_0)"]
    assert differing(model__n_seq=4, model__prefill_piece=256) == ["sequences (none -> 4)"]
    assert differing(model__exact=True, model__fast_forward=False) == ["exact (none -> True)"]


def test_the_same_file_under_another_name_is_the_same_model() -> None:
    assert differing(model__file="renamed.gguf") == []


def test_the_prompt_follows_from_the_docs_and_from_nothing_else() -> None:
    assert differing(protocol__docs="names", protocol__prompt_sha256="bb") == ["docs (full -> names)"]
    assert differing(protocol__prompt_sha256="bb") == ["prompt_sha256 (aa -> bb)"]


def test_each_further_setting_is_a_thing_of_its_own() -> None:
    found = differing(protocol__max_calls=3, model__temperature=0.7, world_sha256="78")
    assert found == ["temperature (0.0 -> 0.7)", "world (77 -> 78)", "max_calls (10 -> 3)"]


def test_a_setting_that_one_has_not_is_none_there() -> None:
    (found,) = factors(ArmSettings(BASE, {}), ArmSettings({**BASE, "model.flash": True}, {}))
    assert found.as_json() == {
        "factor": "flash",
        "settings": {"model.flash": {"baseline": None, "arm": True}},
    }
    assert str(found) == "flash (none -> True)"


def test_another_engine_is_one_thing_whatever_it_calls_its_settings() -> None:
    now: JsonObject = {"model.engine": "oracle"} | {
        name: value for name, value in BASE.items() if not name.startswith("model.")
    }
    (found,) = factors(ArmSettings(BASE, {}), ArmSettings(now, {}))
    assert found.name == "model"
    assert set(found.settings) == {name for name in BASE if name.startswith("model.")}


@pytest.mark.parametrize("value", ["3", None])
def test_the_grader_is_told_apart(value: object) -> None:
    now = {**BASE, "grader.version": value}
    assert factors(ArmSettings(BASE, {}), ArmSettings(now, {})) == ()  # type: ignore[arg-type]
    assert grader_differences(ArmSettings(BASE, {}), ArmSettings(now, {})) == ("version",)  # type: ignore[arg-type]
