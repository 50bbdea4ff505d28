"""Loading by a plan: what fails because memory is short is tried smaller, and nothing else is."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tiny_architectures
import tiny_gguf
from gguf.constants import GGMLQuantizationType

from rig.core.errors import RigError
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.core.llama import LlamaContext, LlamaModel, NoMemory, listening
from rig.plugins.llama.files.header import Tensor
from rig.plugins.llama.files.info import GgufInfo, inspect
from rig.plugins.llama.memory import fit as fitting
from rig.plugins.llama.memory.count import Count, LlamaCount, Needs, read_log
from rig.plugins.llama.memory.fit import Fit, fit_here, load_planned, plan_for
from rig.plugins.llama.memory.plan import GPU_MARGIN, DeviceUse, FitPlan, Shape, machine

GIB, MIB = 2**30, 2**20
ROOMY = machine(64 * GIB, 64 * GIB)
GPU = DeviceUse("CUDA0", "a GPU", 24 * GIB, 24 * GIB, GPU_MARGIN)


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> GgufInfo:
    return inspect(tiny_gguf.write(tmp_path_factory.mktemp("trial") / "tiny.gguf", n_ctx=8192))


def counting(shape: Shape, *, kv: int = 0) -> Count:
    """Three layers, all of which fit wherever they are wanted."""
    layers = min(shape.n_gpu_layers, 3)
    places = ["CPU"] * (3 - layers) + ["CUDA0"] * layers
    return Count(tuple(places), {name: Needs(layers=places.count(name), kv=kv) for name in ("CPU", "CUDA0")})


class Scripted:
    """Opens weights and contexts that fit as long as `allows` says so, and counts what is left open."""

    def __init__(self, allows: Callable[[Shape], bool], *, weights: bool = False) -> None:
        self.allows = allows
        self.is_of_weights = weights
        self.opened = 0
        self.told: list[str] = []

    def model(self, shape: Shape) -> Any:
        return self._open(shape, fails=self.is_of_weights)

    def context(self, _model: Any, shape: Shape) -> Any:
        return self._open(shape, fails=not self.is_of_weights)

    def _open(self, shape: Shape, *, fails: bool) -> "Scripted":
        if fails and not self.allows(shape):
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


@pytest.mark.parametrize(
    ("kv", "remark"),
    [
        ("f16", None),
        ("q8_0", None),
        ("q8_0/q4_0", "a KV cache of q8_0/q4_0 is converted at every step on CUDA"),
        ("iq4_nl", "llama.cpp has no CUDA code for a KV cache of iq4_nl: attention runs on the CPU"),
    ],
)
def test_what_a_gpu_has_no_code_for_is_said_before_the_load(
    info: GgufInfo, kv: str, remark: str | None
) -> None:
    script = Scripted(lambda _: True)
    opened_then: list[int] = []
    remarks: list[str] = []

    def announce(plan: FitPlan) -> None:
        opened_then.append(script.opened)
        remarks.extend(plan.remarks)

    fit = Fit(info, (GPU,), ROOMY, EngineSettings(kv_type=kv), counting)
    load_planned(fit, script.model, script.context, script.told.append, announce)
    assert opened_then == [0]
    assert [text.startswith(remark or "") for text in remarks] == [True] * (remark is not None)
    on_cpu = Fit(info, (), ROOMY, EngineSettings(kv_type=kv), counting).best()
    assert on_cpu.remarks == ()


@pytest.mark.parametrize("weights", [True, False])
def test_layers_go_down_until_it_works(info: GgufInfo, weights: bool) -> None:
    script = Scripted(lambda shape: shape.n_gpu_layers <= 1, weights=weights)
    plan = script.load(Fit(info, (GPU,), ROOMY, EngineSettings(), counting))
    assert (plan.n_gpu_layers, plan.n_batch, plan.n_ctx) == (1, 512, 8192)
    assert len(script.told) == 2
    assert script.told[0].startswith("no memory for 3 of 3 layers on the GPU, a context of 8192")
    assert "trying 2 of 3 layers" in script.told[0]
    assert "(tiny: cudaMalloc failed: out of memory)" in script.told[0]


def test_the_context_goes_down_last(info: GgufInfo) -> None:
    script = Scripted(lambda shape: shape.n_ctx < 8192)
    plan = script.load(Fit(info, (GPU,), ROOMY, EngineSettings(), counting))
    assert (plan.n_gpu_layers, plan.n_batch, plan.n_ctx) == (0, 128, 4096)


def test_when_nothing_works_it_says_what_was_tried(info: GgufInfo) -> None:
    script = Scripted(lambda _: False)
    with pytest.raises(NoMemory, match="tried: 3 of 3 layers") as error:
        script.load(Fit(info, (GPU,), ROOMY, EngineSettings(n_ctx=4096), counting))
    assert "a context of 4096, batches of 128" in str(error.value)
    assert "2048" not in str(error.value)
    assert "\n" not in str(error.value)
    assert script.opened == 0


def test_another_failure_is_not_tried_again(info: GgufInfo) -> None:
    def broken(_: Shape) -> Any:
        raise RigError("the file is damaged")

    script = Scripted(lambda _: True)
    fit = Fit(info, (), ROOMY, EngineSettings(), counting)
    with pytest.raises(RigError, match="damaged"):
        load_planned(fit, broken, script.context, script.told.append)
    assert script.told == []


def test_what_exceeds_the_machine_is_not_tried_at_all(info: GgufInfo) -> None:
    script = Scripted(lambda _: True)
    count = partial(counting, kv=2 * GIB)
    with pytest.raises(NoMemory, match="more than there is"):
        script.load(Fit(info, (), machine(GIB, 2 * GIB), EngineSettings(n_ctx=8192), count))
    assert script.opened == 0


def test_a_gpu_that_was_asked_for_must_be_there(info: GgufInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.plugins.llama.core.llama.supports_gpu_offload", lambda: False)
    with pytest.raises(RigError, match="built without GPU support"):
        fit_here(info, EngineSettings(n_gpu_layers=1), counting)
    monkeypatch.setattr("rig.plugins.llama.core.llama.supports_gpu_offload", lambda: True)
    monkeypatch.setattr(fitting, "gpus", lambda: ())
    with pytest.raises(RigError, match="finds no GPU"):
        fit_here(info, EngineSettings(n_gpu_layers=-1), counting)
    assert fit_here(info, EngineSettings(n_gpu_layers=0), counting).best().gpus == ()


def test_the_real_thing_loads_as_planned(info: GgufInfo) -> None:
    told: list[str] = []
    plan = plan_for(info, EngineSettings(n_ctx=512, n_threads=1), told.append, load=True)
    assert (plan.n_ctx, plan.fits, told) == (512, True, [])


IN_A_PROCESS_OF_ITS_OWN = """
import re, resource, sys
from pathlib import Path
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.memory.fit import plan_for

def address_space(name):
    return int(re.search(rf"{name}:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

info = inspect(Path(sys.argv[1]))
plan_for(info, EngineSettings(n_ctx=256, n_threads=1), print, load=True)  # so that everything lazy is there
before = address_space("VmSize")
batch, limit = map(int, sys.argv[2:])
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (before + limit, before + limit))
plan = plan_for(info, EngineSettings(n_batch=batch or None, n_threads=1), print, load=True)
print(plan.n_ctx, plan.n_batch)
print(address_space("VmPeak") - before)
"""


def load_in_a_process(path: Path, *, batch: int = 0, limit: int = 0) -> tuple[list[str], int]:
    """What a process that loads a model says, and by how many bytes its address space has grown for it.

    It may grow by `limit` at most, if that is given.
    """
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN, path, str(batch), str(limit)],
        capture_output=True,
        text=True,
        check=False,
        # What is reserved for threads, and what is kept of memory that was freed, is more or less by chance:
        # it would be counted.
        env={**os.environ, "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072"},
    )
    assert done.returncode == 0, done.stderr
    *lines, grown = done.stdout.splitlines()
    return lines, int(grown)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="bounds its address space")
def test_a_process_that_really_is_short_of_memory_goes_down(info: GgufInfo) -> None:
    """It may take more than batches of 256 need, and less than those of 512: both are measured first.

    What they need depends on the machine, and on what the C library keeps of memory that was freed.
    """
    (_, half), (_, whole) = (load_in_a_process(info.path, batch=batch) for batch in (256, 512))
    assert whole - half > 10 * MIB
    (*told, chosen), grown = load_in_a_process(info.path, limit=(half + whole) // 2)
    assert chosen in ("8192 256", "8192 128"), told
    assert grown < whole
    assert len(told) in (1, 2)
    assert told[0].startswith("no memory for a context of 8192, batches of 512")


def open_context(model: LlamaModel, shape: Shape) -> LlamaContext:
    return LlamaContext(
        model,
        n_ctx=shape.n_ctx,
        n_batch=shape.n_batch,
        n_threads=1,
        flash_attention=shape.flash_attention,
        kv_type=shape.kv_type,
        n_seq=shape.n_seq,
    )


def allocated(path: Path, shape: Shape) -> tuple[float, float, float]:
    """MiB of caches, of recurrent states and of working buffers that llama.cpp really allocates."""
    lines: list[str] = []
    with listening(lines.append):
        model = LlamaModel(path)
        open_context(model, shape).close()
        model.close()
    log = "".join(lines)
    kinds = ("KV buffer", "RS buffer", "(?:compute|output) buffer")
    kv, state, compute = (sum(map(float, re.findall(rf"{kind} size = +([\d.]+) MiB", log))) for kind in kinds)
    return kv, state, compute


@pytest.mark.parametrize("architecture", tiny_architectures.ARCHITECTURES)
@pytest.mark.parametrize("flash_attention", [True, False])
def test_the_count_is_what_llama_cpp_allocates(
    tmp_path: Path, architecture: str, flash_attention: bool
) -> None:
    path = tiny_architectures.write(tmp_path / "tiny.gguf", architecture)
    shape = Shape(0, n_ctx=2000, n_batch=128, n_seq=2, kv_type="f16", flash_attention=flash_attention)
    with closing(LlamaCount(path, open_context)) as count:
        needs = count(shape).on("CPU")
    counted = (needs.kv / MIB, needs.state / MIB, needs.compute / MIB)
    assert counted == pytest.approx(allocated(path, shape), abs=0.011)
    assert needs.weights == inspect(path).weight_bytes
    layers = inspect(path).layers
    assert layers is not None
    assert needs.layers == layers + 1


@pytest.mark.parametrize("architecture", ["gemma3", "qwen35", "deepseek2"])
@pytest.mark.parametrize("flash_attention", [True, False])
def test_a_huge_context_is_counted_without_opening_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str, flash_attention: bool
) -> None:
    path = tiny_architectures.write(tmp_path / "tiny.gguf", architecture)
    shape = Shape(0, n_ctx=2**14, n_batch=128, n_seq=2, kv_type="f16", flash_attention=flash_attention)
    opened: list[int] = []

    def watched(model: LlamaModel, shape: Shape, n_cells: int | None = None) -> LlamaContext:
        opened.append(shape.n_ctx * shape.n_seq)
        return open_context(model, shape)

    with closing(LlamaCount(path, watched)) as count:
        whole = count(shape).on("CPU")
    monkeypatch.setattr("rig.plugins.llama.memory.count.MOST_CELLS", 2**12)
    with closing(LlamaCount(path, watched)) as count:
        inferred = count(shape).on("CPU")
    assert opened == [2**15, 2**12, 2**11]
    for name in ("layers", "weights", "repacked", "kv", "state", "compute"):
        assert getattr(inferred, name) == pytest.approx(getattr(whole, name), rel=0.02), name


@pytest.mark.model
@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
@pytest.mark.parametrize(("kv_type", "flash_attention"), [("f16", False), ("f16", True), ("q8_0", True)])
def test_the_count_of_real_models(
    request: pytest.FixtureRequest, name: str, kv_type: str, flash_attention: bool
) -> None:
    path: Path = request.getfixturevalue(name)
    shape = Shape(0, 4096, 512, 2, kv_type, flash_attention)
    with closing(LlamaCount(path, open_context)) as count:
        needs = count(shape).on("CPU")
    counted = (needs.kv / MIB, needs.state / MIB, needs.compute / MIB)
    assert counted == pytest.approx(allocated(path, shape), abs=0.011)


def test_a_cache_type_that_llama_cpp_refuses_does_not_fit(tmp_path: Path) -> None:
    """The block of q8_0 has 32 values, a compressed key of this model 48."""
    info = inspect(tiny_architectures.write(tmp_path / "tiny.gguf", "deepseek2"))
    for load in (False, True):
        with pytest.raises(RigError, match=r"block size 32 does not divide .*; try --kv f16$") as error:
            plan_for(info, EngineSettings(kv_type="q8_0"), lambda _: None, load=load)
        assert "\n" not in str(error.value)


def test_a_file_that_kills_llama_cpp_is_one_line(tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "tiny.gguf")
    data = path.read_bytes()
    key = b"llama.block_count" + (4).to_bytes(4, "little")
    path.write_bytes(data.replace(key + (2).to_bytes(4, "little"), key + (600).to_bytes(4, "little")))
    with pytest.raises(RigError, match=r"llama\.cpp crashes on this file") as error:
        plan_for(inspect(path), EngineSettings(), lambda _: None, load=False)
    assert "\n" not in str(error.value)


def test_a_log_of_several_devices() -> None:
    log = (
        "load_tensors: layer   0 assigned to device CPU, is_swa = 0\n"
        "load_tensors: layer   1 assigned to device CUDA0, is_swa = 1\n"
        "load_tensors: layer   2 assigned to device CUDA0, is_swa = 0\n"
        "load_tensors: layer   3 assigned to device CUDA0, is_swa = 0\n"
        "llama_kv_cache: layer   0: dev = CPU\n"
        "llama_kv_cache: layer   2: dev = CUDA0\n"
        "llama_kv_cache:      CUDA0 KV buffer size =     0.00 MiB\n"
        "llama_kv_cache: size =   24.00 MiB (  8192 cells,   2 layers,  1/1 seqs), K (f16):   12.00 MiB\n"
        "llama_kv_cache: layer   1: dev = CUDA0\n"
        "llama_kv_cache: size =  120.00 MiB (  8192 cells,   1 layers,  1/1 seqs), K (f16):   60.00 MiB\n"
        "llama_memory_recurrent, layer   2: dev = CUDA0\n"
        "llama_memory_recurrent: size =    2.00 MiB (     1 cells,   1 layers,  1 seqs  0 rs_seq)\n"
        "llama_context:  CUDA_Host  output buffer size =     0.50 MiB\n"
        "sched_reserve:      CUDA0 compute buffer size =   166.38 MiB\n"
        "sched_reserve:  CUDA_Host compute buffer size =    16.50 MiB\n"
    )
    tensors = [
        Tensor("token_embd.weight", (8, 8), GGMLQuantizationType.F32, 100),
        Tensor("output_norm.weight", (8,), GGMLQuantizationType.F32, 1),
        *(Tensor(f"blk.{n}.ffn_up.weight", (8, 8), GGMLQuantizationType.Q4_0, 10) for n in range(3)),
    ]
    count = read_log(log, tensors)
    assert count.layers == ("CPU", "CUDA0", "CUDA0", "CUDA0")
    cuda, cpu = count.on("CUDA0"), count.on("CPU")
    assert (cuda.layers, cuda.kv, cuda.state) == (3, 132 * MIB, 2 * MIB)
    assert cuda.compute == pytest.approx(166.38 * MIB)
    assert cuda.weights == 10 + 10 + 1 + 100  # an embedding that is the output, too, is there twice
    assert (cpu.layers, cpu.kv, cpu.state, cpu.compute) == (1, 12 * MIB, 0, 17 * MIB)
    assert (cpu.weights, cpu.repacked) == (110, 10)
