"""Make a smaller file of a model with llama.cpp's own quantizer, and say what really came out."""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gguf.constants import LlamaFileType

from rig.engine.files.atomic import put_in_place, temporary_folder
from rig.engine.files.local_models import record
from rig.engine.files.made import Made, entry_for, origin_of, place_for, there_already
from rig.engine.files.registry import ResolvedModel
from rig.engine.gguf.info import inspect
from rig.engine.gguf.origin import Origin
from rig.errors import RigError

TYPES = (
    *("f32", "f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0", "q4_k_m", "q4_k_s"),
    *("q4_1", "q4_0", "iq4_nl", "iq4_xs", "q3_k_l", "q3_k_m", "q3_k_s", "q2_k"),
)
"""What llama.cpp can make without an importance matrix, from large to small."""
LADDER = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k")

_PROGRESS = re.compile(r"\[ *(\d+)/ *(\d+)\]")
_FALLBACK = re.compile(r"required for type +(\w+)\) -> falling back to +(\w+)")
_FALLBACKS = re.compile(r"(\d+) of \d+ tensor\(s\) required fallback")
_FAILURE = re.compile(r"failed to quantize: (.+)|error loading model: (.+)")


def quantize(parent: ResolvedModel, kind: str, *, threads: int, progress: Callable[[int, int], None]) -> Made:
    """Make `PARENT-KIND.gguf` in the models directory. `progress` gets the number of tensors done and of all.

    The file appears under its name only when it is complete and was read back. A file that was made from the
    same parent earlier is kept. Raises RigError if llama.cpp refuses, and if another file has the name.
    """
    if parent.adapter is not None:
        raise RigError(
            f"{parent.name} is a model with an adapter; merge both into one file first: "
            f"`rig models merge {parent.name}`"
        )
    origin = origin_of(parent, inspect(parent.path))
    name = f"{parent.name}-{kind}"
    target = place_for(name, parent.path)
    if existing := there_already(target, origin):
        return existing
    started = time.perf_counter()
    try:
        with temporary_folder(target.parent, "quantize") as folder:
            written, fell_back = _written(parent.path, folder / target.name, kind, origin, threads, progress)
            info = inspect(written)
            if info.origin != origin:
                raise RigError(f"{name}: llama.cpp wrote a file that does not say what it was made from")
            entry = entry_for(written, info, origin, fell_back)
            record(entry)
            put_in_place(written, target)
    except OSError as error:
        raise RigError(f"{target.parent}: cannot be written: {error.strerror}") from error
    return Made(entry, inspect(target), time.perf_counter() - started)


def _written(
    source: Path, target: Path, kind: str, origin: Origin, threads: int, progress: Callable[[int, int], None]
) -> tuple[Path, Counter[str]]:
    """The written file, and the tensors that fell back to another type, counted by which."""
    ftype = LlamaFileType["ALL_F32" if kind == "f32" else f"MOSTLY_{kind.upper()}"]
    task = {
        "source": str(source),
        "target": str(target),
        "ftype": int(ftype),
        "threads": threads,
        "metadata": origin.metadata(),
    }
    fell_back: Counter[str] = Counter()
    count, reason = None, "it gives no reason"
    with _child(task) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if match := _PROGRESS.search(line):
                progress(int(match[1]), int(match[2]))
            for match in _FALLBACK.finditer(line):
                fell_back[f"{match[1].upper()} to {match[2].upper()}"] += 1
            if match := _FALLBACKS.search(line):
                count = int(match[1])
            if match := _FAILURE.search(line):
                reason = match[1] or match[2]
    if child.returncode != 0 or not target.is_file():
        raise RigError(f"{source}: llama.cpp cannot make {kind} of it: {reason}")
    if fell_back.total() != (count or 0):
        # The file still says which types they got; only the types they should have had are unknown.
        fell_back = Counter({"types not told": count or 0})
    return target, fell_back


@contextmanager
def _child(task: dict[str, object]) -> Iterator[subprocess.Popen[str]]:
    """llama.cpp at work; it ends when the process that waits for it ends."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "rig.engine.files.quantize_child", json.dumps(task)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        with child:
            yield child
    except BaseException:
        child.kill()
        child.wait()
        raise
