"""Fitting models to devices that are made up: large and small, one and several, and none."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.engine.gguf.info import GgufInfo, inspect
from rig.engine.gguf.layout import Layout
from rig.engine.memory.devices import Device, Memory
from rig.engine.memory.fit import GPU_MARGIN, MACHINE_MARGIN, Fit
from rig.engine.memory.plan import FitPlan, Wishes
from rig.errors import RigError

GIB, MIB = 2**30, 2**20
ROOMY = Memory(free=64 * GIB, total=64 * GIB)
LAYERS = 32


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> GgufInfo:
    """A model of about 4.6 GiB like many of 8 billion parameters in 4 bits."""
    import tiny_gguf

    info = inspect(tiny_gguf.write(tmp_path_factory.mktemp("fit") / "tiny.gguf"))
    return replace(
        info,
        context_length=131_072,
        layers=LAYERS,
        embedding_length=4096,
        heads=32,
        kv_heads=8,
        vocabulary_size=128_256,
        layout=Layout(
            layers=(120 * MIB,) * LAYERS,
            input=300 * MIB,
            output=400 * MIB,
            kv_values=(2 * 8 * 128,) * LAYERS,
            state_values=(0,) * LAYERS,
            repacked=(60 * MIB,) * LAYERS,
            tokenizer=40 * MIB,
            widest=3 * 14_336 + 5 * 4096,
            inputs=5 * 4096 + 32 * 128 + 2 * 8 * 128,
        ),
    )


def gpu(free: float, name: str = "CUDA0", *, unified: bool = False) -> Device:
    kind = "integrated gpu" if unified else "gpu"
    return Device(name, "a GPU", kind, int(free * GIB), 80 * GIB, unified)  # type: ignore[arg-type]


def fit(model: GgufInfo, gpus: tuple[Device, ...] = (), memory: Memory = ROOMY, **wishes: object) -> FitPlan:
    return Fit(model, gpus, memory, Wishes(**wishes)).best()  # type: ignore[arg-type]


def test_a_large_gpu_gets_everything_but_the_input(model: GgufInfo) -> None:
    plan = fit(model, (gpu(24),))
    (card,) = plan.gpus
    assert (plan.n_gpu_layers, plan.offloadable, card.layers) == (33, 33, 33)
    assert card.weights == LAYERS * 120 * MIB + 400 * MIB
    assert card.kv == 8192 * LAYERS * 2048 * 2  # cells, layers, values, two bytes
    assert (plan.machine.weights, plan.machine.kv, plan.machine.layers) == (300 * MIB, 0, 0)
    assert plan.flash_attention
    assert (plan.fits, plan.remarks, plan.most_sequences) == (True, (), 8)


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


def test_an_output_that_is_the_input_is_there_twice_on_a_gpu(model: GgufInfo) -> None:
    tied = replace(model, layout=replace(model.layout, output=0, shared=300 * MIB))
    plan = fit(tied, (gpu(24),))
    assert plan.gpus[0].weights == LAYERS * 120 * MIB + 300 * MIB
    assert plan.machine.weights == 300 * MIB
    assert fit(tied).machine.weights == LAYERS * 120 * MIB + 300 * MIB


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
    memory = Memory(free=12 * GIB, total=16 * GIB)
    plan = fit(model, (gpu(60, unified=True),), memory)
    assert plan.gpus[0].free == 12 * GIB
    assert plan.machine.free == 12 * GIB - plan.gpus[0].needed
    assert fit(model, (gpu(60, unified=True),), Memory(4 * GIB, 16 * GIB)).n_gpu_layers < 33


def test_speed_is_given_up_before_context(model: GgufInfo) -> None:
    plans = [
        fit(model, (gpu(free),), Memory(int(ram * GIB), 64 * GIB))
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
    asked = {"n_gpu_layers": 20, "n_ctx": 65_536, "n_batch": 1024, "n_seq": 4}
    for free in (0, 3, 24):
        for ram in (1, 24):
            plan = fit(model, (gpu(free),), Memory(ram * GIB, 64 * GIB), **asked)
            assert {name: getattr(plan, name) for name in asked} == asked
            assert plan.most_sequences == 4
            assert plan.fits == (free == 24 and ram == 24)
            assert bool(plan.missing) != plan.fits


def test_all_layers_can_be_asked_for(model: GgufInfo) -> None:
    assert fit(model, (gpu(2),), n_gpu_layers=-1).n_gpu_layers == 33
    assert fit(model, (gpu(2),), n_gpu_layers=99).n_gpu_layers == 33
    assert fit(model, (gpu(24),), n_gpu_layers=0).gpus == ()


def test_several_sequences_take_several_contexts(model: GgufInfo) -> None:
    one, four = fit(model, n_seq=1), fit(model, n_seq=4)
    assert four.machine.kv == 4 * one.machine.kv
    assert fit(model, memory=Memory(14 * GIB, 16 * GIB)).most_sequences < 8


def test_a_quantized_cache_is_smaller_and_takes_flash_attention(model: GgufInfo) -> None:
    plan = fit(model, kv_type="q8_0")
    assert plan.flash_attention
    assert plan.machine.kv * 64 == fit(model).machine.kv * 34


def test_without_flash_attention_scores_take_memory(model: GgufInfo) -> None:
    off, on = fit(model, flash_attention=False), fit(model, flash_attention=True)
    scores = 512 * 8192 * 32 * 4
    assert off.machine.compute - on.machine.compute > scores // 2
    assert off.machine.other - on.machine.other == scores // 2


def test_a_recurrent_state_counts_once_for_each_sequence(model: GgufInfo) -> None:
    states = replace(model.layout, kv_values=(0,) * LAYERS, state_values=(1000,) * LAYERS)
    recurrent = replace(model, memory="recurrent", layout=states)
    assert fit(recurrent, n_seq=3).machine.state == 3 * LAYERS * 1000 * 4
    assert fit(recurrent).machine.kv == 0


@pytest.mark.parametrize(
    ("wishes", "gpus", "says"),
    [
        ({"n_ctx": 131_073}, (), "--n-ctx 131073 is more than the 131072"),
        ({"n_gpu_layers": 3}, (), "finds no GPU"),
        ({"n_gpu_layers": -1}, (), "finds no GPU"),
        ({"kv_type": "q8_0", "flash_attention": False}, (gpu(24),), "--kv q8_0 needs flash attention"),
    ],
)
def test_what_cannot_be_had_is_one_line(
    model: GgufInfo, wishes: dict[str, object], gpus: tuple[Device, ...], says: str
) -> None:
    with pytest.raises(RigError, match=says) as error:
        fit(model, gpus, **wishes)
    assert "\n" not in str(error.value)


def test_a_file_that_says_too_little_is_loaded_as_ever(model: GgufInfo) -> None:
    silent = replace(model, layout=Layout())
    plan = fit(silent, (gpu(24),))
    assert plan.n_gpu_layers == plan.offloadable
    assert plan.fits
    assert "does not say enough" in plan.remarks[0]
    assert fit(silent).n_gpu_layers == 0


def test_weights_beyond_the_memory_are_said_to_be_slow(model: GgufInfo) -> None:
    huge = replace(model, layout=replace(model.layout, layers=(4 * GIB,) * LAYERS, repacked=(0,) * LAYERS))
    plan = fit(huge)
    assert plan.fits
    assert "read from the disk again and again" in plan.remarks[0]


def test_going_down_ends_and_keeps_what_was_asked_for(model: GgufInfo) -> None:
    fitter = Fit(model, (gpu(24),), ROOMY, Wishes())
    seen = [fitter.best()]
    while lower := fitter.lower(seen[-1]):
        seen.append(lower)
    choices = [(plan.n_gpu_layers, plan.n_batch, plan.n_ctx) for plan in seen]
    assert choices == sorted(choices, reverse=True)
    assert choices[-1] == (0, 128, 2048)
    assert len(seen) < 20
    asked = Fit(model, (gpu(24),), ROOMY, Wishes(n_gpu_layers=-1, n_ctx=4096, n_batch=256))
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
    n_seq=st.none() | st.integers(1, 16),
    kv_type=st.sampled_from(["f16", "q8_0"]),
)
def test_nothing_is_lost_or_counted_twice(
    model: GgufInfo, free: list[float], ram: float, batch: int | None, n_seq: int | None, kv_type: str
) -> None:
    gpus = tuple(gpu(part, f"CUDA{number}") for number, part in enumerate(free))
    memory = Memory(int(ram * GIB), 64 * GIB)
    plan = fit(model, gpus, memory, n_batch=batch, n_seq=n_seq, kv_type=kv_type)
    assert sum(use.layers for use in plan.uses) == plan.offloadable == 33
    assert sum(use.layers for use in plan.gpus) == plan.n_gpu_layers
    assert sum(use.weights for use in plan.uses) == LAYERS * 120 * MIB + 700 * MIB
    everywhere = sum(use.kv for use in plan.uses)
    assert everywhere == fit(model, n_ctx=plan.n_ctx, n_seq=plan.n_seq, kv_type=kv_type).machine.kv
    if plan.fits:
        for use in plan.uses:
            assert not use.needed or use.needed + use.margin <= use.free
    else:
        assert plan.missing > 0
    assert plan.machine.margin == MACHINE_MARGIN


def test_the_layout_of_real_files_adds_up(smollm2: Path) -> None:
    info = inspect(smollm2)
    layout = info.layout
    assert sum(layout.layers) + layout.input + layout.output == info.weight_bytes
    assert len(layout.layers) == info.layers == 30
    assert layout.shared == layout.input  # its output is its input
    assert sum(layout.kv_values) == info.kv_values_per_token
