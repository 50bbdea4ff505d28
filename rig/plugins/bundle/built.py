"""What llama.cpp was built for, asked in a separate process: a build for another processor crashes."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rig.core.budget import parse_json
from rig.core.errors import RigError

_PATIENCE_S = 60.0
_PROBE = """
import json, llama_cpp as C
C.llama_backend_init()
print(json.dumps([C.llama_print_system_info().decode(), bool(C.llama_supports_gpu_offload())]))
"""


@dataclass(frozen=True, slots=True)
class Build:
    """What a build of llama.cpp reports: its backends with their instructions, and GPU support."""

    system: str
    offloads: bool

    @property
    def instructions(self) -> list[str]:
        """The processor features it was compiled for, by llama.cpp's names: AVX2, AVX512_VNNI, REPACK."""
        pairs = (part.rpartition(":")[2].split("=") for part in self.system.split("|") if "=" in part)
        return [name.strip() for name, value in pairs if value.strip() == "1"]


def built_for(site: Path | None = None) -> Build:
    """Return the build that rig uses, or one that was unpacked to a folder.

    Raises RigError, with only the reason, if it does not start.
    """
    paths = [str(site)] if site else []
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)} if paths else None
    command = [sys.executable, "-P", "-c", _PROBE]
    try:
        probe = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, env=environment)
        if probe.returncode:
            lines = [line for line in probe.stderr.splitlines() if line.strip()] or ["no reason given"]
            raise RigError(f"signal {-probe.returncode}" if probe.returncode < 0 else lines[-1])
        return Build(*parse_json(probe.stdout.splitlines()[-1]))
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        raise RigError(str(error)) from error
