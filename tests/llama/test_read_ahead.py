"""The next arm's file is read beside the present one, and weights outlive an arm that another follows."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rig.plugins.llama import keeping, reading_ahead
from rig.plugins.llama.core.placement import ON_CPU
from rig.plugins.llama.memory import weights
from rig.plugins.llama.memory.plan import machine
from rig.plugins.llama.memory.weights import find_weights, open_weights


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much was read at once, piece by piece."""
    read: list[int] = []

    class Counting(bytearray):
        def __init__(self, size: int) -> None:
            read.append(size)
            super().__init__(size)

    monkeypatch.setattr(weights, "bytearray", Counting, raising=False)
    return read


def test_a_file_is_read_if_it_leaves_half_of_the_memory(
    tmp_path: Path, pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(bytes(1000))
    for free, is_read in ((1999, False), (2000, True)):
        memory = machine(free, free)
        monkeypatch.setattr(weights, "machine_memory", lambda memory=memory: memory)
        with reading_ahead(path):
            time.sleep(0.01)
        assert bool(pieces) is is_read, free


def test_reading_ends_with_what_it_goes_beside(tmp_path: Path) -> None:
    """A file without end, as a device is, does not hold up the run."""
    clock = time.monotonic()
    with reading_ahead(Path("/dev/zero")):
        pass
    assert time.monotonic() - clock < 60


def test_nothing_to_read_is_no_error(tmp_path: Path) -> None:
    for path in (None, tmp_path / "missing.gguf", tmp_path):
        with reading_ahead(path):
            pass


def test_weights_are_kept_for_whoever_comes_next(tiny_path: Callable[..., Path]) -> None:
    path = tiny_path(seed=5)
    first = open_weights(path, ON_CPU)
    with keeping(path):
        first.close()
        assert find_weights(path) is first
        second = open_weights(path, ON_CPU)
    assert second is first
    assert second.pointer
    second.close()
    assert find_weights(path) is None


def test_what_nobody_has_open_is_not_opened(tiny_path: Callable[..., Path], tmp_path: Path) -> None:
    for path in (tiny_path(seed=6), tmp_path / "missing.gguf", None):
        with keeping(path):
            assert path is None or not path.exists() or find_weights(path) is None
