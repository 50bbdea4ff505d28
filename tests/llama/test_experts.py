"""Experts in main memory: the buffer that each tensor gets, what stays equal, and plans for large files.

The GPUs are imaginary, the files tiny or nothing but a header; who lays them out is llama.cpp.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import large_headers
import numpy as np
import pytest
import tiny_architectures
from imaginary_gpu import imaginary_gpus

from rig.cli import main
from rig.core.errors import RigError
from rig.core.models import Request
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.core.llama import Chunk, LlamaContext, LlamaModel, listening
from rig.plugins.llama.core.placement import ON_CPU, Placement, overrides_of, split_of
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.files.header import read_header
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.memory.count import LlamaCount
from rig.plugins.llama.memory.fit import Fit, context_opener, fit_here, plan_for
from rig.plugins.llama.memory.plan import FitPlan, gpus, machine

GIB = 2**30
ROOMY = machine(64 * GIB, 64 * GIB)
MOE = ("qwen3moe", "gpt-oss", "deepseek2")
EXPERT = re.compile(r"blk\.(\d+)\.ffn_\w+_exps\.\w+")


@pytest.fixture(scope="module", params=MOE)
def moe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_architectures.write(tmp_path_factory.mktemp("moe") / "tiny.gguf", request.param)


@pytest.fixture
def two_gpus() -> Iterator[None]:
    with imaginary_gpus([8 * GIB, 8 * GIB]):
        yield


def loaded(path: Path, placement: Placement) -> tuple[dict[str, str], dict[str, float], Any]:
    """What is overridden, by tensor; MiB of weights by buffer; the logits of some tokens."""
    lines: list[str] = []
    with listening(lines.append):
        model = LlamaModel(path, placement)
        context = LlamaContext(
            model, n_ctx=256, n_batch=64, n_threads=1, flash_attention=False, kv_type="f16"
        )
        context.decode([Chunk(0, range(20, 60), 1)])
        logits = context.logits().copy()
        context.close()
        model.close()
    log = "".join(lines)
    overridden = dict(re.findall(r"tensor (\S+) \(.*\) buffer type overridden to (\S+)", log))
    sizes = re.findall(r"(\S+) model buffer size = +([\d.]+) MiB", log)
    return overridden, {name: float(size) for name, size in sizes}, logits


@pytest.mark.parametrize("layers", [2, 3, 99])
def test_the_experts_of_the_first_layers_are_in_main_memory_and_nothing_else(
    moe: Path, layers: int, two_gpus: None
) -> None:
    overridden, sizes, logits = loaded(moe, Placement(-1, n_cpu_moe=layers, main_gpu=0))
    tensors = {tensor.name: tensor.bytes for tensor in read_header(moe).tensors}
    experts = {name for name in tensors if (m := EXPERT.fullmatch(name)) and int(m[1]) < layers}
    assert overridden.keys() == experts
    assert experts
    assert set(overridden.values()) == {"CPU"}
    on_gpu = sum(size for name, size in tensors.items() if name not in {*experts, "token_embd.weight"})
    assert sizes["GPU0"] * 2**20 == pytest.approx(on_gpu, abs=6_000)
    everything_on_gpu = loaded(moe, Placement(-1, main_gpu=0))
    assert everything_on_gpu[0] == {}
    assert np.array_equal(logits, everything_on_gpu[2])
    assert np.array_equal(logits, loaded(moe, ON_CPU)[2])


def test_tensors_go_where_their_names_say(moe: Path, two_gpus: None) -> None:
    placement = Placement(-1, overrides=overrides_of(r"blk\.0\..*exps=CPU,exps=GPU1,attn_output=GPU1"))
    overridden, _, logits = loaded(moe, placement)
    for name, device in overridden.items():
        layer = EXPERT.fullmatch(name)
        assert device == ("CPU" if layer and layer[1] == "0" else "GPU1")
    assert any("attn_output" in name for name in overridden)
    assert np.array_equal(logits, loaded(moe, ON_CPU)[2])


@pytest.mark.parametrize(
    ("placement", "used"),
    [
        (Placement(-1, tensor_split=split_of("0,1")), {"GPU1"}),
        (Placement(-1, tensor_split=split_of("3,1")), {"GPU0", "GPU1"}),
        (Placement(-1, main_gpu=1), {"GPU1"}),
        (ON_CPU, set()),
        (Placement(overrides=(("exps", "GPU0"),)), {"GPU0"}),
    ],
)
def test_gpus_are_used_as_told(moe: Path, placement: Placement, used: set[str], two_gpus: None) -> None:
    _, sizes, logits = loaded(moe, placement)
    assert {name for name in sizes if name.startswith("GPU")} == used
    assert np.array_equal(logits, loaded(moe, ON_CPU)[2])


def test_the_count_has_each_tensor_where_llama_cpp_puts_it(moe: Path, two_gpus: None) -> None:
    settings = EngineSettings(n_threads=1, n_ctx=256, knobs=("main_gpu=0",), n_gpu_layers=-1, n_cpu_moe=2)
    plan = plan_for(inspect(moe), settings, lambda _: None, load=False)
    _, sizes, _ = loaded(moe, Placement(-1, n_cpu_moe=2, main_gpu=0))
    assert plan.gpus[0].weights == pytest.approx(sizes["GPU0"] * 2**20, abs=6_000)
    assert plan.n_cpu_moe == 2
    assert "experts of the first 2 layers on CPU" in plan.line


@pytest.mark.slow
def test_settings_of_a_run_come_to_the_weights_and_into_the_fingerprint(
    moe: Path, two_gpus: None, open_model: Callable[..., LlamaCppModel], ask: Callable[..., Request]
) -> None:
    def run(**settings: Any) -> tuple[LlamaCppModel, object]:
        model = open_model(moe, n_ctx=2048, max_tokens=20, prefix_cache=False, parallel=1, **settings)
        return model, model.predict(ask("hello"), lambda _: None).token_ids

    plain, answer = run()
    assert {"n_cpu_moe", "cpu_moe"}.isdisjoint(plain.fingerprint)
    assert not any(name.startswith("llama.") for name in plain.fingerprint)
    some, of_some = run(n_cpu_moe=1)
    every, of_all = run(cpu_moe=True, knobs=("main_gpu=1",))
    assert (some.fingerprint["n_cpu_moe"], every.fingerprint["n_cpu_moe"]) == (1, inspect(moe).layers)
    assert every.fingerprint["llama.main_gpu"] == 1
    assert every.fingerprint["devices"] == ["GPU1 (imaginary)"]
    placed, of_placed = run(knobs=("tensor_buft_overrides=exps=CPU", "tensor_split=1,1"))
    assert placed.fingerprint["llama.tensor_buft_overrides"] == "exps=CPU"
    assert answer == of_some == of_all == of_placed


def test_weights_are_shared_only_where_they_are_placed_alike(
    moe: Path, two_gpus: None, open_model: Callable[..., LlamaCppModel]
) -> None:
    first = open_model(moe, n_ctx=512, n_cpu_moe=1)
    assert open_model(moe, n_ctx=512).weights is first.weights
    assert open_model(moe, n_ctx=512, n_cpu_moe=1).weights is first.weights
    assert open_model(moe, n_ctx=512, cpu_moe=True).weights is not first.weights


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_cpu_moe": 1, "cpu_moe": True}, "give one"),
        ({"knobs": ("tensor_buft_overrides=exps",)}, "not REGEX=DEVICE"),
        ({"knobs": ("tensor_buft_overrides==CPU",)}, "not REGEX=DEVICE"),
        ({"knobs": ("tensor_buft_overrides=exps=GPU7",)}, "no device 'GPU7'"),
        ({"knobs": ("tensor_buft_overrides=exps=GPU1", "main_gpu=0")}, "no device 'GPU1'"),
        ({"knobs": ("tensor_buft_overrides=(?<x>exps)=CPU",)}, "regular expression"),
        ({"knobs": ("tensor_split=a",)}, "share of each GPU"),
        ({"knobs": ("tensor_split=0,0",)}, "share of each GPU"),
        ({"knobs": ("tensor_split=1,1", "main_gpu=0")}, "give one of them"),
        ({"knobs": ("main_gpu=2",)}, "there are 2"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, settings: dict[str, Any], message: str, two_gpus: None
) -> None:
    info = inspect(tiny_architectures.write(tmp_path / "tiny.gguf", "qwen3moe"))
    with pytest.raises(RigError, match=re.escape(message)) as error:
        plan_for(info, EngineSettings(n_threads=1, **settings), lambda _: None, load=False)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("asked", "option"),
    [
        ({"n_cpu_moe": 1}, "--n-cpu-moe"),
        ({"cpu_moe": True}, "--cpu-moe"),
        ({"knobs": ("tensor_split=1",)}, "--llama tensor_split"),
        ({"knobs": ("main_gpu=0",)}, "--llama main_gpu"),
    ],
)
def test_options_of_a_gpu_need_one(tmp_path: Path, asked: dict[str, Any], option: str) -> None:
    if gpus():
        pytest.skip("there is one here")
    info = inspect(tiny_architectures.write(tmp_path / "tiny.gguf", "qwen3moe"))
    with pytest.raises(RigError, match=f"{option}: "):
        plan_for(info, EngineSettings(n_threads=1, **asked), lambda _: None, load=False)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("large")
    models = {"qwen3-30b-a3b": large_headers.QWEN3_30B_A3B, "gpt-oss-20b": large_headers.GPT_OSS_20B}
    return {name: large_headers.write(folder / f"{name}.gguf", model) for name, model in models.items()}


def planned(path: Path, gigabytes: float, **asked: Any) -> FitPlan:
    """The plan for a card of this size, of which 0.2 GiB are taken."""
    settings = EngineSettings(**{"n_threads": 1, "n_ctx": 8192, "parallel": 1, **asked})
    free = int((gigabytes - 0.2) * GIB)
    with imaginary_gpus([free]), closing(LlamaCount(path, context_opener(settings))) as count:
        return Fit(inspect(path), gpus(), ROOMY, settings, count).best()


OWN_FIT = {
    "qwen3-30b-a3b": {6: 39, 8: 33, 12: 21, 16: 9, 24: 0},
    "gpt-oss-20b": {6: 17, 8: 12, 12: 1, 16: 0},
}
"""In how many layers llama.cpp's own fit puts experts into main memory, by the card's size.

`common_fit_params` of llama.cpp 0c1e57098, with 1 GiB left free, 8,192 tokens of f16, batches of 512, flash
attention, one sequence, and `swa_full`; docs/lab/performance.md has how. Of the first of those layers it may
leave a part on the GPU. Which layers is no matter for memory: it takes the last, `--n-cpu-moe` the first.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN_FIT)
def test_large_files_keep_as_many_experts_on_the_gpu_as_llama_cpps_own_fit(
    large: dict[str, Path], name: str
) -> None:
    size = {"qwen3-30b-a3b": 18.55e9, "gpt-oss-20b": 12.10e9}[name]
    assert inspect(large[name]).size == pytest.approx(size, rel=0.001)
    for gigabytes, layers in OWN_FIT[name].items():
        plan = planned(large[name], gigabytes)
        assert (plan.n_cpu_moe, plan.fits) == (layers, True)
        assert plan.n_gpu_layers == plan.offloadable
        (card,) = plan.gpus
        assert card.needed + card.margin <= card.free
        if layers:
            # With the experts of one layer more on the GPU it does not fit.
            more = planned(large[name], gigabytes, n_cpu_moe=layers - 1, n_gpu_layers=-1, n_batch=512)
            assert not more.fits
            assert f"those of the first {layers} layer" in plan.remarks[0]


@pytest.mark.slow
def test_experts_go_before_whole_layers_do(large: dict[str, Path]) -> None:
    path = large["qwen3-30b-a3b"]
    small = planned(path, 2.4)
    assert 0 < small.n_gpu_layers < small.offloadable
    assert small.n_cpu_moe == 48
    assert "the rest is on the CPU" in " ".join(small.remarks)
    # Whoever asks for experts gets them, and layers go instead.
    asked = planned(path, 8, n_cpu_moe=0)
    assert (asked.n_cpu_moe, asked.fits) == (0, True)
    assert 0 < asked.n_gpu_layers < 20
    of_all = planned(path, 8, cpu_moe=True)
    assert (of_all.n_cpu_moe, of_all.n_gpu_layers) == (48, 49)


@pytest.mark.slow
def test_what_fails_at_loading_is_tried_with_fewer_experts_first(large: dict[str, Path]) -> None:
    path, settings = large["gpt-oss-20b"], EngineSettings(n_threads=1, n_ctx=8192)
    with imaginary_gpus([8 * GIB]), closing(LlamaCount(path, context_opener(settings))) as count:
        fit = fit_here(inspect(path), settings, count)
        plans = [fit.best()]
        while lower := fit.lower(plans[-1]):
            plans.append(lower)
    experts = [plan.n_cpu_moe for plan in plans if plan.n_gpu_layers]
    assert experts == sorted(experts)
    assert experts[-1] == 24
    assert all(plan.n_gpu_layers == 25 for plan in plans if 0 < plan.n_cpu_moe < 24)
    assert (plans[-1].n_gpu_layers, plans[-1].n_batch) == (0, 128)


@pytest.mark.slow
def test_the_fit_on_the_command_line_says_what_it_chose(
    moe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["models", "info", str(moe), "--fit", "--parallel", "1"]
    everything = planned(moe, 8, n_ctx=None).gpus[0].needed
    with imaginary_gpus([GIB + everything - 1]):
        main(arguments)
        text = capsys.readouterr().out
        main([*arguments, "--cpu-moe", "--json"])
    match = re.search(r"experts +those of the first (\d) layers? on the CPU", text)
    assert match
    assert f"(--n-cpu-moe {match[1]})" in text
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["n_cpu_moe"] == 4
