"""Fitting models to devices that are made up: large and small, one and several, and none."""

from bisect import bisect_right
from dataclasses import replace

import pytest
import tiny_gguf
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.files.info import GgufInfo, inspect
from rig.plugins.llama.memory.count import Count, Counting, Needs
from rig.plugins.llama.memory.fit import Fit
from rig.plugins.llama.memory.plan import GPU_MARGIN, MACHINE_MARGIN, DeviceUse, FitPlan, Shape, machine

GIB, MIB = 2**30, 2**20
ROOMY = machine(64 * GIB, 64 * GIB)
LAYERS = 32


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> GgufInfo:
    info = inspect(tiny_gguf.write(tmp_path_factory.mktemp("fit") / "tiny.gguf"))
    return replace(info, context_length=131_072)


def counting(gpus: tuple[DeviceUse, ...], layer: int = 120 * MIB) -> Counting:
    """Counts a model of about 4.6 GiB, like many of 8 billion parameters in 4 bits, as llama.cpp would."""

    def count(shape: Shape) -> Count:
        on_gpus, total = min(shape.n_gpu_layers, LAYERS + 1), sum(gpu.free for gpu in gpus)
        ends = [sum(gpu.free for gpu in gpus[: number + 1]) / (total or 1) for number in range(len(gpus))]
        names = [
            gpus[min(bisect_right(ends, place / on_gpus), len(gpus) - 1)].name for place in range(on_gpus)
        ]
        places = ["CPU"] * (LAYERS + 1 - on_gpus) + names
        scores = 0 if shape.flash_attention else 4 * 32 * shape.n_batch * shape.n_ctx * shape.n_seq
        devices = {"CPU": Needs(weights=300 * MIB, compute=20_000 * 4 * shape.n_batch)}
        for number, place in enumerate(places):
            needs = devices.setdefault(place, Needs())
            needs.layers += 1
            needs.compute = 40_000 * 4 * shape.n_batch + scores
            if number == LAYERS:
                needs.weights += 400 * MIB
                continue
            needs.weights += layer
            needs.repacked += 60 * MIB
            values = shape.n_ctx * shape.n_seq * 2048
            needs.kv += values * 2 if shape.kv_type == "f16" else values * 34 / 32
        return Count(tuple(places), devices)

    return count


def gpu(free: float, name: str = "CUDA0", *, unified: bool = False) -> DeviceUse:
    return DeviceUse(name, "a GPU", int(free * GIB), 80 * GIB, GPU_MARGIN, unified=unified)


def fit(
    model: GgufInfo, gpus: tuple[DeviceUse, ...] = (), memory: DeviceUse = ROOMY, **asked: object
) -> FitPlan:
    return Fit(model, gpus, memory, EngineSettings(**asked), counting(gpus)).best()  # type: ignore[arg-type]


def test_a_large_gpu_gets_everything_but_the_input(model: GgufInfo) -> None:
    plan = fit(model, (gpu(24),))
    (card,) = plan.gpus
    assert (plan.n_gpu_layers, plan.offloadable, card.layers) == (33, 33, 33)
    assert card.weights == LAYERS * 120 * MIB + 400 * MIB
    assert card.kv == 8192 * LAYERS * 2048 * 2  # cells, layers, values, two bytes
    assert (plan.machine.weights, plan.machine.kv, plan.machine.layers) == (300 * MIB, 0, 0)
    assert plan.flash_attention
    assert (plan.fits, plan.remarks, plan.most_sequences) == (True, (), 8)


def test_what_a_model_takes_is_its_weights_cache_and_buffers(model: GgufInfo) -> None:
    plan, on_gpu = fit(model), fit(model, (gpu(24),))
    held = plan.machine
    alone = plan.memory(plan.n_seq)
    assert alone.main == held.weights + held.kv + held.state + held.compute + held.other
    assert alone.device is None
    assert plan.memory(2 * plan.n_seq).main == alone.main + held.kv + held.state
    split = on_gpu.memory(on_gpu.n_seq)
    assert split.device == sum(use.held for use in on_gpu.gpus)
    assert split.main == on_gpu.machine.held


def test_weights_that_another_model_uses_count_for_each(model: GgufInfo) -> None:
    loaded = Fit(model, (), ROOMY, EngineSettings(), counting(()), loaded=True).best()
    assert loaded.machine.weights == 0
    assert loaded.memory(1) == fit(model).memory(1)


def test_the_layers_that_fit_are_as_many_as_possible(model: GgufInfo) -> None:
    plan = fit(model, (gpu(4),))
    (card,) = plan.gpus
    assert 0 < plan.n_gpu_layers < 33
    more = fit(model, (gpu(4),), n_gpu_layers=plan.n_gpu_layers + 1, n_ctx=8192, n_batch=512)
    assert card.needed <= 4 * GIB - GPU_MARGIN < more.gpus[0].needed
    assert not more.fits
    # What is not there is here, and only there.
    assert card.layers + plan.machine.layers == 33
    assert card.kv + plan.machine.kv == 8192 * LAYERS * 2048 * 2
    # llama.cpp fills the GPU from the last layer on, the output being the very last.
    assert card.weights == 400 * MIB + (plan.n_gpu_layers - 1) * 120 * MIB
    assert (plan.n_ctx, plan.n_batch) == (8192, 512)
    assert "the rest is on the CPU" in plan.remarks[0]


@pytest.mark.parametrize("free", [0, 0.5, 1.2])
def test_a_gpu_without_room_is_said_to_have_none(model: GgufInfo, free: float) -> None:
    plan = fit(model, (gpu(free),))
    assert (plan.n_gpu_layers, plan.gpus) == (0, ())
    assert not plan.flash_attention  # as on a machine without a GPU
    assert "everything is on the CPU" in plan.remarks[0]
    assert plan.fits


def test_several_gpus_share_by_what_is_free(model: GgufInfo) -> None:
    plan = fit(model, (gpu(18, "CUDA0"), gpu(6, "CUDA1")))
    assert [use.layers for use in plan.gpus] == [25, 8]
    first, second = plan.gpus
    assert first.weights == 25 * 120 * MIB
    assert second.weights == 7 * 120 * MIB + 400 * MIB
    assert first.kv + second.kv == 8192 * LAYERS * 2048 * 2
    assert plan.n_gpu_layers == 33


def test_two_small_gpus_do_what_one_cannot(model: GgufInfo) -> None:
    assert fit(model, (gpu(5),)).n_gpu_layers < 33
    assert fit(model, (gpu(5, "CUDA0"), gpu(5, "CUDA1"))).n_gpu_layers == 33


def test_a_gpu_that_shares_the_machines_memory_cannot_have_more_than_that(model: GgufInfo) -> None:
    memory = machine(12 * GIB, 16 * GIB)
    plan = fit(model, (gpu(60, unified=True),), memory)
    assert plan.gpus[0].free == 12 * GIB
    assert plan.machine.free == 12 * GIB - plan.gpus[0].needed
    assert fit(model, (gpu(60, unified=True),), machine(4 * GIB, 16 * GIB)).n_gpu_layers < 33


def test_speed_is_given_up_before_context(model: GgufInfo) -> None:
    plans = [
        fit(model, (gpu(free),), machine(int(ram * GIB), 64 * GIB))
        for free, ram in ((24, 24), (3, 24), (0, 24), (0, 4.1), (0, 3.8), (0, 3.3), (0, 0.1))
    ]
    choices = [(plan.n_gpu_layers > 0, plan.n_batch, plan.n_ctx) for plan in plans]
    assert choices == sorted(choices, reverse=True)
    assert len(set(choices)) >= 4
    assert [plan.fits for plan in plans] == [True] * 6 + [False]
    assert plans[3].n_batch < 512
    assert plans[3].n_ctx == 8192
    assert "instead of 512" in " ".join(plans[3].remarks)
    assert plans[5].n_ctx < 8192
    assert "a context of" in " ".join(plans[5].remarks)
    assert "too little memory is free" in " ".join(plans[6].remarks)


def test_what_is_asked_for_is_never_changed(model: GgufInfo) -> None:
    asked = {"n_gpu_layers": 20, "n_ctx": 65_536, "n_batch": 1024, "parallel": 4}
    for free in (0, 3, 24):
        for ram in (1, 24):
            plan = fit(model, (gpu(free),), machine(ram * GIB, 64 * GIB), **asked)
            assert (plan.n_gpu_layers, plan.n_ctx, plan.n_batch, plan.n_seq) == tuple(asked.values())
            assert plan.most_sequences == 4
            assert plan.fits == (free == 24 and ram == 24)
            assert bool(plan.missing) != plan.fits


def test_all_layers_can_be_asked_for(model: GgufInfo) -> None:
    assert fit(model, (gpu(2),), n_gpu_layers=-1).n_gpu_layers == 33
    assert fit(model, (gpu(2),), n_gpu_layers=99).n_gpu_layers == 33
    assert fit(model, (gpu(24),), n_gpu_layers=0).gpus == ()


def test_several_sequences_take_several_contexts(model: GgufInfo) -> None:
    one, four = fit(model, parallel=1), fit(model, parallel=4)
    assert four.machine.kv == 4 * one.machine.kv
    assert fit(model, memory=machine(14 * GIB, 16 * GIB)).most_sequences < 8


def test_a_quantized_cache_is_smaller_and_takes_flash_attention(model: GgufInfo) -> None:
    plan = fit(model, kv_type="q8_0")
    assert plan.flash_attention
    assert plan.machine.kv * 64 == fit(model).machine.kv * 34


def test_without_flash_attention_scores_take_memory(model: GgufInfo) -> None:
    off, on = fit(model, flash_attention=False), fit(model, flash_attention=True)
    scores = 512 * 8192 * 32 * 4
    assert off.machine.compute - on.machine.compute > scores // 2
    assert off.machine.other - on.machine.other >= scores // 2


@pytest.mark.parametrize(
    ("asked", "gpus", "says"),
    [
        ({"n_ctx": 131_073}, (), "--n-ctx 131073 is more than the 131072"),
        ({"n_gpu_layers": 3}, (), "finds no GPU"),
        ({"n_gpu_layers": -1}, (), "finds no GPU"),
        ({"kv_type": "q8_0", "flash_attention": False}, (gpu(24),), "--kv q8_0 needs flash attention"),
    ],
)
def test_what_cannot_be_had_is_one_line(
    model: GgufInfo, asked: dict[str, object], gpus: tuple[DeviceUse, ...], says: str
) -> None:
    with pytest.raises(RigError, match=says) as error:
        fit(model, gpus, **asked)
    assert "\n" not in str(error.value)


def test_weights_beyond_the_memory_are_said_to_be_slow(model: GgufInfo) -> None:
    plan = Fit(model, (), ROOMY, EngineSettings(), counting((), layer=4 * GIB)).best()
    assert plan.fits
    assert "read from the disk again and again" in plan.remarks[0]


def test_going_down_ends_and_keeps_what_was_asked_for(model: GgufInfo) -> None:
    fitter = Fit(model, (gpu(24),), ROOMY, EngineSettings(), counting((gpu(24),)))
    seen = [fitter.best()]
    while lower := fitter.lower(seen[-1]):
        seen.append(lower)
    choices = [(plan.n_gpu_layers, plan.n_batch, plan.n_ctx) for plan in seen]
    assert choices == sorted(choices, reverse=True)
    assert choices[-1] == (0, 128, 2048)
    assert len(seen) < 20
    settings = EngineSettings(n_gpu_layers=-1, n_ctx=4096, n_batch=256)
    asked = Fit(model, (gpu(24),), ROOMY, settings, counting((gpu(24),)))
    assert asked.lower(asked.best()) is None


def test_the_plan_in_one_line_and_as_json(model: GgufInfo) -> None:
    plan = fit(model, (gpu(4),))
    assert plan.line.startswith(f"{plan.n_gpu_layers} of 33 layers on CUDA0 (a GPU), ")
    assert f"{33 - plan.n_gpu_layers} of 33 layers on CPU, " in plan.line
    data = plan.as_json()
    uses = data["uses"]
    assert isinstance(uses, list)
    for use, shown in zip(plan.uses, uses, strict=True):
        assert shown["needed"] == use.needed
        assert shown["missing"] == 0


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    free=st.lists(st.floats(0, 40), max_size=4),
    ram=st.floats(0, 64),
    batch=st.none() | st.integers(1, 4096),
    parallel=st.none() | st.integers(1, 16),
    kv_type=st.sampled_from(["f16", "q8_0"]),
)
def test_nothing_is_lost_or_counted_twice(
    model: GgufInfo, free: list[float], ram: float, batch: int | None, parallel: int | None, kv_type: str
) -> None:
    gpus = tuple(gpu(part, f"CUDA{number}") for number, part in enumerate(free))
    memory = machine(int(ram * GIB), 64 * GIB)
    plan = fit(model, gpus, memory, n_batch=batch, parallel=parallel, kv_type=kv_type)
    assert sum(use.layers for use in plan.uses) == plan.offloadable == 33
    assert sum(use.layers for use in plan.gpus) == plan.n_gpu_layers
    assert sum(use.weights for use in plan.uses) == LAYERS * 120 * MIB + 700 * MIB
    everywhere = sum(use.kv for use in plan.uses)
    assert everywhere == fit(model, n_ctx=plan.n_ctx, parallel=plan.n_seq, kv_type=kv_type).machine.kv
    if plan.fits:
        for use in plan.uses:
            assert not use.needed or use.needed + use.margin <= use.free
    else:
        assert plan.missing > 0
    assert plan.machine.margin == MACHINE_MARGIN
