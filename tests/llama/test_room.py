"""Whether a model is loaded beside others: half of every device has to be free, and three times the file."""

from pathlib import Path

import pytest

from rig.plugins.llama import has_room
from rig.plugins.llama.core import llama
from rig.plugins.llama.memory import plan as asked
from rig.plugins.llama.memory.plan import GPU_MARGIN, DeviceUse, machine

SIZE = 1000


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(bytes(SIZE))
    return path


def gpu(free: int, total: int) -> DeviceUse:
    return DeviceUse("CUDA0", "a GPU", free, total, GPU_MARGIN)


@pytest.mark.parametrize(
    ("memory", "devices", "found"),
    [
        ((3 * SIZE, 6 * SIZE), [], True),
        ((3 * SIZE - 1, 4 * SIZE), [], False),
        ((8 * SIZE, 16 * SIZE + 1), [], False),
        ((8 * SIZE, 8 * SIZE), [(3 * SIZE, 4 * SIZE)], True),
        ((8 * SIZE, 8 * SIZE), [(3 * SIZE, 4 * SIZE), (SIZE, SIZE)], False),
    ],
)
def test_all_devices_count(
    model: Path,
    memory: tuple[int, int],
    devices: list[tuple[int, int]],
    found: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asked, "machine_memory", lambda: machine(*memory))
    monkeypatch.setattr(asked, "gpus", lambda: [gpu(*each) for each in devices])
    monkeypatch.setattr(llama, "supports_gpu_offload", lambda: bool(devices))
    assert has_room(model) is found


def test_what_is_no_file_takes_no_room(tmp_path: Path) -> None:
    assert has_room(None)
    assert has_room(tmp_path / "missing.gguf")
