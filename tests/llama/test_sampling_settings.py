"""`--sampling`: words, settings, files, what a model's author recommends, and what a run makes of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from native_templates import OWN
from rig_form import rig_format

from rig.core.errors import RigError
from rig.core.models import Prediction, Request, StepKey
from rig.plugins.llama.core.settings import GREEDY, EngineSettings, Sampling
from rig.plugins.llama.decoding.sampler import Sampler
from rig.plugins.llama.files.info import GgufInfo, inspect
from rig.plugins.llama.files.sampling import author_of, sampling_of
from rig.plugins.llama.loading import load

Write = Callable[..., Path]
Ask = Callable[..., Request]

QWEN = (("temp", 0.6), ("top_k", 20), ("top_p", 0.95), ("min_p", 0.0), ("mirostat", 0))
OF_QWEN = {"temp": 0.6, "top_k": 20, "top_p": 0.95}


@pytest.fixture
def info(tiny_path: Write, tmp_path: Path) -> Callable[..., GgufInfo]:
    """A model in a folder of its own, with or without settings."""

    def make(**choices: Any) -> GgufInfo:
        path = tmp_path / "model.gguf"
        path.unlink(missing_ok=True)
        path.write_bytes(tiny_path(**choices).read_bytes())
        return inspect(path)

    return make


def test_the_author_speaks_in_the_file(info: Callable[..., GgufInfo]) -> None:
    model = info(sampling=QWEN)
    assert sampling_of("author", model).changed == OF_QWEN
    (model.path.parent / "generation_config.json").write_text('{"temperature": 0.1}')
    assert sampling_of("author", model).changed == OF_QWEN


def test_the_author_speaks_beside_the_file(info: Callable[..., GgufInfo]) -> None:
    model = info()
    assert author_of(model) is None
    with pytest.raises(RigError, match=r"does not say what its author recommends"):
        sampling_of("author", model)
    beside = model.path.parent / "generation_config.json"
    config = {"bos_token_id": 1, "do_sample": True, "temperature": 0.6, "top_p": 0.95, "top_k": 20}
    beside.write_text(json.dumps(config))
    assert sampling_of("author", model).changed == OF_QWEN
    beside.write_text(json.dumps(config | {"do_sample": False}))
    assert sampling_of("author", model) == GREEDY


def test_what_llama_cpp_does_is_its_own_values_below_the_files(info: Callable[..., GgufInfo]) -> None:
    assert sampling_of("llama.cpp", info()).changed == {
        "temp": 0.8,
        "top_k": 40,
        "top_p": 0.95,
        "min_p": 0.05,
    }
    assert sampling_of("llama.cpp", info(sampling=(("temp", 1.0),))).changed == {
        "temp": 1.0, "top_k": 40, "top_p": 0.95, "min_p": 0.05,
    }  # fmt: skip


def test_settings_stand_on_the_command_line_or_in_a_file(
    info: Callable[..., GgufInfo], tmp_path: Path
) -> None:
    assert sampling_of("temp=0.6, top_k=20", info()).changed == {"temp": 0.6, "top_k": 20}
    assert sampling_of("top_k=20", info()).changed == {"temp": 1.0, "top_k": 20}
    file = tmp_path / "mine.json"
    file.write_text('{"temp": 0.3, "dry_multiplier": 0.8}')
    assert sampling_of(str(file), info()).changed == {"temp": 0.3, "dry_multiplier": 0.8}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hot", "no such file"),
        ("temp=hot", "temp"),
        ("temp=0.6,temp=0.7", "there twice"),
        ("temp=0.6,top_k", "no setting"),
        ("warmth=1", "warmth is not known here"),
        ("top_p=1.5", "top_p"),
        ("samplers=top_k;top_k", "there twice"),
        (".", "no such file"),
    ],
)
def test_what_is_no_setting_is_one_line(info: Callable[..., GgufInfo], text: str, reason: str) -> None:
    with pytest.raises(RigError, match=reason) as error:
        sampling_of(text, info())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["[1]", "{", '{"temperature": []}', '{"top_p": NaN}', '{"top_k": -3}'])
def test_a_file_of_rubbish_is_one_line(info: Callable[..., GgufInfo], text: str) -> None:
    model = info()
    beside = model.path.parent / "generation_config.json"
    beside.write_text(text)
    for word in ("author", str(beside)):
        with pytest.raises(RigError, match=r"generation_config\.json") as error:
            sampling_of(word, model)
        assert "\n" not in str(error.value)


def test_a_sampler_that_rig_has_not_is_said(info: Callable[..., GgufInfo]) -> None:
    with pytest.raises(RigError, match="mirostat"):
        sampling_of("author", info(sampling=(("temp", 0.6), ("mirostat", 2))))


def test_a_temperature_beside_other_settings_is_refused() -> None:
    with pytest.raises(RigError, match=r"--sampling takes temp=0\.5"):
        EngineSettings(temperature=0.5, sampling="author").check()


SAMPLING = "temp=0.9,top_k=30,top_p=0.95,min_p=0.01,repeat_penalty=1.1,xtc_probability=0.3,dry_multiplier=0.5"


def test_a_sampled_answer_is_valid_and_does_not_depend_on_what_runs_beside_it(
    open_model: Callable[..., Any], tiny_path: Write, ask: Ask
) -> None:
    requests = [ask(f"message {number}", conversation=str(number)) for number in range(9)]
    schema = rig_format(requests[0].tools).language().schema

    def answers(slots: int) -> list[str]:
        model = open_model(tiny_path(), sampling=SAMPLING, max_tokens=60, parallel=slots)
        texts = []
        for start in range(0, len(requests), slots):
            for slot, request in enumerate(requests[start : start + slots]):
                model.begin(slot, request, lambda piece: None)
            finished: dict[int, Prediction] = {}
            while len(finished) < slots:
                finished.update(model.advance())
            for _, prediction in sorted(finished.items()):
                texts.append(prediction.raw)
                if prediction.error is None:
                    jsonschema.validate(json.loads(prediction.raw), schema)
        return texts

    alone = answers(1)
    assert len(set(alone)) > 1
    assert answers(3) == answers(1) == alone


def test_repetitions_are_penalized_as_by_llama_cpps_dry(
    open_model: Callable[..., Any], tiny_path: Write
) -> None:
    """Of A B C C B C Y A B C: C followed A B C before, and Y followed B C."""
    weights = open_model(tiny_path()).weights
    a, b, c, y = b"ABCY"  # the tiny vocabulary begins with the bytes
    settings = Sampling(temp=0.0, dry_multiplier=1.0, dry_base=2.0)
    for token, penalty in ((c, 2.0), (y, 1.0), (a, 0.0)):
        for over in (0.1, -0.1):
            sampler = Sampler(settings, 0, StepKey("c"), weights.vocab)
            sampler.accept([a, b, c, c, b, c, y, a, b, c])
            logits = np.zeros(weights.n_vocab, np.float32)
            logits[token] = penalty + over
            chosen = sampler.choose(logits, np.ones(weights.n_vocab, bool)).token
            assert (chosen == token) == (over > 0)
            sampler.close()


def test_the_settings_are_in_the_fingerprint_resolved(
    open_model: Callable[..., Any], tiny_path: Write
) -> None:
    fingerprint = open_model(tiny_path(sampling=QWEN), sampling="author", seed=4).fingerprint
    assert fingerprint["temperature"] == pytest.approx(0.6)
    assert fingerprint["sampling"] == "temp=0.6,top_k=20,top_p=0.95"
    assert fingerprint["seed"] == 4
    bare = open_model(tiny_path(), temperature=0.6).fingerprint
    assert "sampling" not in bare
    assert open_model(tiny_path(), sampling="temp=0.6").fingerprint == bare
    assert open_model(tiny_path(), sampling="greedy").fingerprint == open_model(tiny_path()).fingerprint


@pytest.mark.slow
def test_a_model_that_thinks_is_warned_of_when_it_is_run_greedily(tiny_path: Write) -> None:
    def notices(author: tuple[tuple[str, float], ...], **settings: Any) -> str:
        lines: list[str] = []
        path = tiny_path(template=OWN["thinking"], sampling=author)
        load(path, EngineSettings(n_threads=1, parallel=1, **settings), "tiny", lines.append).close()
        return "\n".join(line for line in lines if "greedy" in line)

    assert "its author recommends temp=0.6" in notices(QWEN)
    assert "model card" in notices(())
    assert notices(QWEN, sampling="author") == ""
    assert notices((("temp", 0.0),)) == ""
