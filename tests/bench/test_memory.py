"""The peak memory of a process is its own, whoever started it."""

import subprocess
import sys

_CHILD = """
from benchmarks.memory import peak_memory
held = bytearray(int({held}) << 20)
del held
print(peak_memory() >> 20)
"""
_PARENT = """
import subprocess, sys
held = bytearray(700 << 20)
print(subprocess.run([sys.executable, "-c", {child!r}], capture_output=True, text=True, check=True).stdout)
"""


def _peak(program: str) -> int:
    return int(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    )


def test_a_child_of_a_large_process_has_its_own_peak() -> None:
    assert _peak(_PARENT.format(child=_CHILD.format(held=1))) < 200


def test_what_was_freed_counts() -> None:
    assert 300 <= _peak(_CHILD.format(held=300)) < 500
