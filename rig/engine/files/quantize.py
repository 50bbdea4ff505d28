"""Making a smaller file of a model with llama.cpp's own quantizer, and saying what really came of it."""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gguf.constants import LlamaFileType

from rig.engine.files.atomic import put_in_place, temporary_folder
from rig.engine.files.checksums import sha256_of
from rig.engine.files.local_models import LocalEntry, local_registry, record
from rig.engine.files.registry import ResolvedModel, load_registry
from rig.engine.gguf.info import GgufInfo, inspect
from rig.engine.gguf.origin import Origin
from rig.errors import RigError
from rig.paths import models_directory

TYPES = (
    *("f32", "f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0", "q4_k_m", "q4_k_s"),
    *("q4_1", "q4_0", "iq4_nl", "iq4_xs", "q3_k_l", "q3_k_m", "q3_k_s", "q2_k"),
)
"""What llama.cpp can make without an importance matrix, from large to small."""
LADDER = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k")

_WHOLE = frozenset({"F64", "F32", "F16", "BF16"})
"""Types that are not quantized."""
_PROGRESS = re.compile(r"\[ *(\d+)/ *(\d+)\]")
_FALLBACK = re.compile(r"required for type +(\w+)\) -> falling back to +(\w+)")
_FALLBACKS = re.compile(r"(\d+) of \d+ tensor\(s\) required fallback")
_FAILURE = re.compile(r"failed to quantize: (.+)|error loading model: (.+)")


@dataclass(frozen=True, slots=True)
class Made:
    """A file that is there now. `seconds` is None where it was there before."""

    entry: LocalEntry
    info: GgufInfo
    seconds: float | None


def quantize(parent: ResolvedModel, kind: str, *, threads: int, progress: Callable[[int, int], None]) -> Made:
    """Make `PARENT-KIND.gguf` in the models directory; `progress` is told how many tensors of how many.

    The file appears under its name only when it is complete and was read back. One that was made of the same
    parent before is kept. Raises RigError when llama.cpp refuses, and where another file has the name.
    """
    before = inspect(parent.path)
    origin = _origin(parent, before)
    name = f"{parent.name}-{kind}"
    target = models_directory() / f"{name}.gguf"
    if target.name in {entry.file for entry in load_registry().values()} or name in load_registry():
        raise RigError(
            f"{name}: the registry has another model of this name; copy {parent.path} under a new name"
        )
    known = local_registry()  # before the work, for it may be unreadable
    if target.exists():
        return _there_already(target, known.get(target.name), origin)
    started = time.perf_counter()
    try:
        with temporary_folder(target.parent, "quantize") as folder:
            made, fell_back = _written(parent.path, folder / target.name, kind, origin, threads, progress)
            found = inspect(made)
            if found.origin != origin:
                raise RigError(f"{name}: llama.cpp wrote a file that does not say what it was made of")
            entry = _entry(name, made, found, origin, fell_back)
            record(entry)
            put_in_place(made, target)
    except OSError as error:
        raise RigError(f"{target.parent}: cannot be written: {error.strerror}") from error
    return Made(entry, inspect(target), time.perf_counter() - started)


def _origin(parent: ResolvedModel, before: GgufInfo) -> Origin:
    sha256 = sha256_of(parent.path)
    older = before.origin
    return Origin(
        name=parent.name.encode("utf-8", "backslashreplace").decode()[:100],
        sha256=sha256,
        root_sha256=older.root_sha256 if older else sha256,
        quantizations=(*(older.quantizations if older else ()), before.quantization),
        requantized=not _WHOLE.issuperset(before.tensor_types) or bool(older and older.requantized),
    )


def _there_already(target: Path, entry: LocalEntry | None, origin: Origin) -> Made:
    found = inspect(target)
    if entry is None or found.origin != origin or sha256_of(target) != entry.sha256:
        raise RigError(
            f"{target}: is here already, and was not made of {origin.name} here; delete or rename it"
        )
    return Made(entry, found, None)


def _entry(name: str, made: Path, found: GgufInfo, origin: Origin, fell_back: Counter[str]) -> LocalEntry:
    from rig.engine.llama import versions

    return LocalEntry(
        name=name,
        file=made.name,
        sha256=sha256_of(made),
        size=found.size,
        quantization=found.quantization,
        parent=origin.name,
        parent_sha256=origin.sha256,
        requantized=origin.requantized,
        tensors={kind: types.tensors for kind, types in found.tensor_types.items()},
        fell_back=dict(fell_back),
        llama_cpp=versions()["llama_cpp"],
    )


def _written(
    source: Path, target: Path, kind: str, origin: Origin, threads: int, progress: Callable[[int, int], None]
) -> tuple[Path, Counter[str]]:
    """The written file, and the tensors that fell back to another type, counted by which."""
    ftype = LlamaFileType["ALL_F32" if kind == "f32" else f"MOSTLY_{kind.upper()}"]
    wanted = {
        "source": str(source),
        "target": str(target),
        "ftype": int(ftype),
        "threads": threads,
        "metadata": origin.metadata(),
    }
    fell_back: Counter[str] = Counter()
    said, reason = None, "it gives no reason"
    with _child(wanted) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if match := _PROGRESS.search(line):
                progress(int(match[1]), int(match[2]))
            for match in _FALLBACK.finditer(line):
                fell_back[f"{match[1].upper()} to {match[2].upper()}"] += 1
            if match := _FALLBACKS.search(line):
                said = int(match[1])
            if match := _FAILURE.search(line):
                reason = match[1] or match[2]
    if child.returncode != 0 or not target.is_file():
        raise RigError(f"{source}: llama.cpp cannot make {kind} of it: {reason}")
    if fell_back.total() != (said or 0):
        # Which types they got is in the file all the same; only what they should have had is not known.
        fell_back = Counter({"types not told": said or 0})
    return target, fell_back


@contextmanager
def _child(wanted: dict[str, object]) -> Iterator[subprocess.Popen[str]]:
    """llama.cpp at work; it is ended when whoever waits for it is."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "rig.engine.files.quantize_child", json.dumps(wanted)],
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
