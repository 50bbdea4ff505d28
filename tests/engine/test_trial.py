"""Loading by a plan: what fails because memory is short is tried smaller, and nothing else is."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf

from rig.engine.core.llama import NoMemory
from rig.engine.gguf.info import GgufInfo, inspect
from rig.engine.memory import trial
from rig.engine.memory.devices import Device, Memory
from rig.engine.memory.dry_run import read_log, rehearse
from rig.engine.memory.fit import Fit
from rig.engine.memory.needs import Shape, compute_bytes, kv_bytes, state_bytes
from rig.engine.memory.plan import FitPlan, Wishes
from rig.engine.memory.trial import fit_here, load_planned, try_loading
from rig.errors import RigError

GIB = 2**30
ROOMY = Memory(64 * GIB, 64 * GIB)
GPU = Device("CUDA0", "a GPU", "gpu", 24 * GIB, 24 * GIB)


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> GgufInfo:
    return inspect(tiny_gguf.write(tmp_path_factory.mktemp("trial") / "tiny.gguf", n_ctx=8192))


class Scripted:
    """Opens weights and contexts that fit as long as `allows` says so, and counts what is left open."""

    def __init__(self, allows: Callable[[FitPlan], bool], *, weights: bool = False) -> None:
        self.allows = allows
        self.is_of_weights = weights
        self.opened = 0
        self.told: list[str] = []

    def model(self, plan: FitPlan) -> Any:
        return self._open(plan, fails=self.is_of_weights)

    def context(self, _model: Any, plan: FitPlan) -> Any:
        return self._open(plan, fails=not self.is_of_weights)

    def _open(self, plan: FitPlan, *, fails: bool) -> "Scripted":
        if fails and not self.allows(plan):
            raise NoMemory("tiny: cudaMalloc failed: out of memory")
        self.opened += 1
        return self

    def close(self) -> None:
        self.opened -= 1

    def load(self, fit: Fit) -> FitPlan:
        loaded = load_planned(fit, self.model, self.context, self.told.append)
        assert self.opened == 2
        loaded.close()
        assert self.opened == 0
        return loaded.plan


@pytest.mark.parametrize("weights", [True, False])
def test_layers_go_down_until_it_works(info: GgufInfo, weights: bool) -> None:
    script = Scripted(lambda plan: plan.n_gpu_layers <= 1, weights=weights)
    plan = script.load(Fit(info, (GPU,), ROOMY, Wishes()))
    assert (plan.n_gpu_layers, plan.n_batch, plan.n_ctx) == (1, 512, 8192)
    assert len(script.told) == 2
    assert script.told[0].startswith("no memory for 3 of 3 layers on the GPU, a context of 8192")
    assert "trying 2 of 3 layers" in script.told[0]
    assert "(tiny: cudaMalloc failed: out of memory)" in script.told[0]


def test_the_context_goes_down_last(info: GgufInfo) -> None:
    script = Scripted(lambda plan: plan.n_ctx < 8192)
    plan = script.load(Fit(info, (GPU,), ROOMY, Wishes()))
    assert (plan.n_gpu_layers, plan.n_batch, plan.n_ctx) == (0, 128, 4096)


def test_when_nothing_works_it_says_what_was_tried(info: GgufInfo) -> None:
    script = Scripted(lambda _: False)
    with pytest.raises(NoMemory, match="tried: 3 of 3 layers") as error:
        script.load(Fit(info, (GPU,), ROOMY, Wishes(n_ctx=4096)))
    assert "a context of 4096, batches of 128" in str(error.value)
    assert "2048" not in str(error.value)
    assert "\n" not in str(error.value)
    assert script.opened == 0


def test_another_failure_is_not_tried_again(info: GgufInfo) -> None:
    def broken(_: FitPlan) -> Any:
        raise RigError("the file is damaged")

    script = Scripted(lambda _: True)
    with pytest.raises(RigError, match="damaged"):
        load_planned(Fit(info, (), ROOMY, Wishes()), broken, script.context, script.told.append)
    assert script.told == []


def test_what_exceeds_the_machine_is_not_tried_at_all(info: GgufInfo) -> None:
    layout = replace(info.layout, kv_values=(2**24, 2**24))
    script = Scripted(lambda _: True)
    with pytest.raises(NoMemory, match="more than there is"):
        script.load(Fit(replace(info, layout=layout), (), Memory(GIB, 2 * GIB), Wishes(n_ctx=8192)))
    assert script.opened == 0


def test_a_gpu_that_was_asked_for_must_be_there(info: GgufInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.engine.core.llama.supports_gpu_offload", lambda: False)
    with pytest.raises(RigError, match="built without GPU support"):
        fit_here(info, Wishes(n_gpu_layers=1))
    monkeypatch.setattr("rig.engine.core.llama.supports_gpu_offload", lambda: True)
    monkeypatch.setattr(trial, "gpus", lambda: ())
    with pytest.raises(RigError, match="finds no GPU"):
        fit_here(info, Wishes(n_gpu_layers=-1))
    assert fit_here(info, Wishes(n_gpu_layers=0)).best().gpus == ()


def test_the_real_thing_loads_as_planned(info: GgufInfo) -> None:
    told: list[str] = []
    plan = try_loading(info, fit_here(info, Wishes(n_ctx=512)), told.append)
    assert (plan.n_ctx, plan.fits, told) == (512, True, [])


SHORT = """
import resource, sys
from pathlib import Path
from rig.engine.gguf.info import inspect
from rig.engine.memory.trial import fit_here, try_loading
from rig.engine.memory.plan import Wishes
info = inspect(Path(sys.argv[1]))
fit = fit_here(info, Wishes())
try_loading(info, fit_here(info, Wishes(n_ctx=256)), print)  # so that everything lazy is there
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[2]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
plan = try_loading(info, fit, print)
print(plan.n_ctx, plan.n_batch)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="bounds its address space")
def test_a_process_that_really_is_short_of_memory_goes_down(info: GgufInfo) -> None:
    """Its working buffers take 49 MiB for batches of 512 and half of that for 256, beside what is lazy."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT, info.path, "46"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *told, chosen = done.stdout.splitlines()
    assert chosen in ("8192 256", "8192 128"), done.stdout
    assert len(told) in (1, 2)
    assert told[0].startswith("no memory for a context of 8192, batches of 512")


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba"])
@pytest.mark.parametrize("flash_attention", [True, False])
def test_the_arithmetic_agrees_with_llama_cpps_own_count(
    tmp_path: Path, architecture: str, flash_attention: bool
) -> None:
    tokenizer = "spm" if architecture == "gemma3" else "bpe"
    path = tiny_gguf.write(tmp_path / "tiny.gguf", architecture=architecture, tokenizer=tokenizer)
    info = inspect(path)
    shape = Shape(n_ctx=2000, n_batch=128, n_seq=2, kv_type="f16", flash_attention=flash_attention)
    count = rehearse(path, shape, 0)
    assert count is not None
    layers = range(len(info.layout.layers))
    # llama.cpp prints hundredths of a MiB.
    assert sum(kv_bytes(info, layer, shape) for layer in layers) == pytest.approx(count.kv, abs=5300)
    assert sum(state_bytes(info, layer, shape) for layer in layers) == pytest.approx(count.state, abs=5300)
    ours = compute_bytes(info, shape, has_output=True)
    # Two layers of Gemma are too few to have one with full attention, whose mask is counted all the same.
    assert 0.9 < ours / sum(count.compute.values()) < (2 if architecture == "gemma3" else 1.35)


@pytest.mark.model
@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
@pytest.mark.parametrize(("kv_type", "flash_attention"), [("f16", False), ("f16", True), ("q8_0", True)])
def test_on_real_models_it_is_within_a_tenth_and_a_half(
    request: pytest.FixtureRequest, name: str, kv_type: str, flash_attention: bool
) -> None:
    path: Path = request.getfixturevalue(name)
    info = inspect(path)
    shape = Shape(n_ctx=4096, n_batch=512, n_seq=2, kv_type=kv_type, flash_attention=flash_attention)
    count = rehearse(path, shape, 0)
    assert count is not None
    layers = range(len(info.layout.layers))
    assert sum(kv_bytes(info, layer, shape) for layer in layers) == pytest.approx(count.kv, abs=5300)
    ours = compute_bytes(info, shape, has_output=True)
    assert 0.93 < ours / sum(count.compute.values()) < 1.15


def test_what_cannot_be_rehearsed_is_left_out(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    shape = Shape(n_ctx=512, n_batch=128, n_seq=1, kv_type="f16", flash_attention=False)
    assert rehearse(broken, shape, 0) is None
    assert read_log("llama_kv_cache: size =  180.00 MiB (  8192 cells") is None


def test_a_log_of_several_devices() -> None:
    log = (
        "llama_kv_cache: size =   24.00 MiB (  8192 cells,   3 layers,  1/1 seqs)\n"
        "llama_kv_cache: size =  120.00 MiB (  8192 cells,  15 layers,  1/1 seqs)\n"
        "sched_reserve:      CUDA0 compute buffer size =   166.38 MiB\n"
        "sched_reserve:  CUDA_Host compute buffer size =    16.50 MiB\n"
    )
    count = read_log(log)
    assert count is not None
    assert count.kv == 144 * 2**20
    assert count.compute == {"CUDA0": round(166.38 * 2**20), "CUDA_Host": round(16.5 * 2**20)}
