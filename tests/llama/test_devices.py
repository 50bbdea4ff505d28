"""What is free: read from made-up machines and containers, and once from this one."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from rig.plugins.llama.memory import plan as devices
from rig.plugins.llama.memory.plan import machine_memory

GIB = 2**30


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.mark.parametrize(
    ("cgroup", "groups", "free", "total"),
    [
        ("", {}, 8 * GIB, 16 * GIB),
        ("0::/", {"memory.max": "max", "memory.current": "5"}, 8 * GIB, 16 * GIB),
        (
            "0::/",
            {"memory.max": str(4 * GIB), "memory.current": str(3 * GIB)},
            1 * GIB,
            4 * GIB,
        ),
        (
            "0::/",
            {
                "memory.max": str(4 * GIB),
                "memory.current": str(3 * GIB),
                "memory.stat": f"anon 5\ninactive_file {2 * GIB}\nodd line\n",
            },
            3 * GIB,
            4 * GIB,
        ),
        # The tightest of the groups around a process counts, wherever it is.
        (
            "0::/user/job/step",
            {
                "user/memory.max": str(2 * GIB),
                "user/memory.current": str(GIB),
                "user/job/step/memory.max": str(6 * GIB),
                "user/job/step/memory.current": "0",
            },
            1 * GIB,
            2 * GIB,
        ),
        # Seen from inside a container the path may not exist; what is mounted is the group.
        ("0::/../../docker/x", {"memory.max": str(GIB), "memory.current": "0"}, GIB, GIB),
        (
            "4:cpu:/\n3:memory:/docker/abc",
            {
                "memory/memory.limit_in_bytes": str(3 * GIB),
                "memory/memory.usage_in_bytes": str(GIB),
                "memory/memory.stat": f"total_inactive_file {GIB // 2}\n",
            },
            2 * GIB + GIB // 2,
            3 * GIB,
        ),
        (
            "3:memory:/",
            {
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "memory/memory.usage_in_bytes": str(GIB),
            },
            8 * GIB,
            16 * GIB,
        ),
        # A group that is over its limit leaves nothing, not less than nothing.
        ("0::/", {"memory.max": str(GIB), "memory.current": str(2 * GIB)}, 0, GIB),
    ],
)
def test_free_is_what_machine_and_groups_leave(
    tmp_path: Path,
    cgroup: str,
    groups: Mapping[str, str],
    free: int,
    total: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = SimpleNamespace(available=8 * GIB, total=16 * GIB)
    monkeypatch.setattr(devices.psutil, "virtual_memory", lambda: machine)
    monkeypatch.setattr(devices.psutil, "swap_memory", lambda: SimpleNamespace(free=2 * GIB))
    write(tmp_path / "proc", {"self/cgroup": cgroup})
    write(tmp_path / "groups", groups)
    memory = machine_memory(tmp_path / "proc", tmp_path / "groups")
    assert (memory.free, memory.total) == (free, total)
    assert memory.swap == (2 * GIB if total == 16 * GIB else 0)  # mostly a group may not swap


def test_this_machine_has_memory_that_is_free() -> None:
    memory = machine_memory()
    assert 0 < memory.free <= memory.total


def test_gpus_are_those_llama_cpp_would_use() -> None:
    from rig.plugins.llama.core.llama import supports_gpu_offload

    found = devices.gpus()
    if not supports_gpu_offload():
        assert found == ()
    for gpu in found:
        assert gpu.name
        assert 0 <= gpu.free <= gpu.total
