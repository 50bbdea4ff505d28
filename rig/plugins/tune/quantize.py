"""Making smaller files of a model with llama.cpp's own quantizer and, optionally, an importance matrix."""

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np

from rig.core.budget import parse_json
from rig.core.errors import RigError, did_you_mean
from rig.plugins.llama.core.llama import C
from rig.plugins.llama.files.derived import DerivedModel, derive
from rig.plugins.llama.files.header import Tensor, read_header
from rig.plugins.llama.files.info import Origin, inspect
from rig.plugins.llama.files.registry import ResolvedModel
from rig.plugins.tune import imatrix
from rig.plugins.tune.merging import OnTensor, file_type
from rig.plugins.tune.types import CALIBRATED, TENSOR_TYPES

_CHILD = (sys.executable, "-P", "-m", "rig.plugins.tune.quantize")
_NEED_IMPORTANCE = ("iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s")
_WHOLE = ("f32", "f16", "bf16")
_UNWEIGHTED = ("token_embd.weight", "output.weight")
"""Tensors that are not in an importance matrix."""


class TensorType(NamedTuple):
    """A regular expression, and the type of the tensors with a match in their names."""

    pattern: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> "TensorType":
        """Parse `REGEX=TYPE`. Raises RigError."""
        pattern, _, kind = text.rpartition("=")
        kind = kind.lower()
        if not pattern or kind not in TENSOR_TYPES:
            near = did_you_mean(kind, TENSOR_TYPES)
            raise RigError(f"--tensor {text}: write REGEX=TYPE{near}; types: {', '.join(TENSOR_TYPES)}")
        try:
            re.compile(pattern)
        except re.error as error:
            raise RigError(f"--tensor {text}: not a regular expression: {error}") from error
        return cls(pattern, kind)


@dataclass(frozen=True, slots=True)
class QuantizeRecipe:
    """How a file is quantized: its type, the importance matrix, and the tensors with another type.

    `embeddings` and `output` are the types of these two tensors; empty leaves them to llama.cpp.
    """

    kind: str
    matrix: Path | None = None
    tensors: tuple[TensorType, ...] = ()
    embeddings: str = ""
    output: str = ""

    @property
    def text(self) -> str:
        """The deviations from the type's own mixture, or their hash if too long for a file's header."""
        named = (*self.tensors, ("embeddings", self.embeddings), ("output", self.output))
        text = ", ".join(f"{name}={kind}" for name, kind in named if kind)
        return text if len(text.encode()) < 100 else hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The ending of the file's name, without the extension."""
        mixture = hashlib.sha256(self.text.encode()).hexdigest()[:6] if self.text else ""
        return "-".join(filter(None, [self.kind, self.matrix.stem if self.matrix else "", mixture]))

    def check(self, path: Path, tensors: Sequence[Tensor], matrix: imatrix.ImportanceMatrix | None) -> None:
        """Raise RigError for anything that llama.cpp would refuse late, ignore, or crash on."""
        if self.text and self.kind in _WHOLE:
            raise RigError(f"types of single tensors have no effect on {self.kind}; choose a quantized type")
        if self.kind in CALIBRATED and matrix is None:
            raise RigError(
                f"{self.kind} needs an importance matrix (--imatrix); `rig models calibrate MODEL` makes one"
            )
        matrices = {t.name: t for t in tensors if len(t.shape) > 1}
        sizes = {name: t.shape[0] * (t.shape[2] if len(t.shape) > 2 else 1) for name, t in matrices.items()}
        means = matrix.means() if matrix else {}
        if matrix and not means.keys() & sizes.keys():
            raise RigError(f"{self.matrix}: was made of another model: it has no tensor of {path}")
        for name in means.keys() & sizes.keys():
            if means[name].size != sizes[name]:
                raise RigError(
                    f"{self.matrix}: was made of another model: {name} has other columns in {path}"
                )
        asked: dict[str, str] = {}
        for pattern, kind in self.tensors:
            matching = [name for name in matrices if re.search(pattern, name)]
            if not matching:
                raise RigError(f"--tensor {pattern}={kind}: no matrix of {path} has such a name")
            asked = {**dict.fromkeys(matching, kind), **asked}  # the first that matches counts
        ends = zip(_UNWEIGHTED, (self.embeddings, self.output), strict=True)
        asked |= {name: kind for name, kind in ends if kind}
        for name, kind in asked.items():
            if kind in _NEED_IMPORTANCE and name not in means:
                raise RigError(f"{name}: {kind} needs an importance matrix that has this tensor")


_PROGRESS = re.compile(r"\[ *(\d+)/ *(\d+)\]")
_FALLBACK = re.compile(r"required for type +(\w+)\) -> falling back to +(\w+)")
_FALLBACKS = re.compile(r"(\d+) of \d+ tensor\(s\) required fallback")
_FAILURE = re.compile(r"failed to quantize: (.+)|error loading model: (.+)")
_TENSOR = re.compile(r"\[ *\d+/ *\d+\] +(\S+) +- .*\btype = +(\w+), size = [^>]*(?:-> .*\((\w+)\))?$")
_NEXT = "the next recipe"
_ANY = imatrix.ImportanceMatrix({"": np.ones((1, 1), np.float32)}, {"": np.ones(1, np.float32)})
"""A stand-in for any importance matrix when nothing is written."""


def require_merged(model: ResolvedModel) -> None:
    """Raise RigError for a model with an adapter, as llama.cpp quantizes only the file."""
    if model.adapter is not None:
        raise RigError(
            f"{model.name} is a model with an adapter; merge both into one file first: `rig models merge"
            f" {model.name}`"
        )


def quantize(
    parent: ResolvedModel, recipe: QuantizeRecipe, *, threads: int, progress: OnTensor
) -> DerivedModel:
    """Make `PARENT-RECIPE.gguf` in the models directory. `progress` gets the tensors done and their total.

    Raises RigError for an importance matrix of another model (see also `derive`).
    """
    require_merged(parent)
    matrix = imatrix.read(recipe.matrix) if recipe.matrix else None
    recipe.check(parent.path, read_header(parent.path).tensors, matrix)
    more: dict[str, Any] = {"recipe": recipe.text} if recipe.text else {}
    if matrix is not None:
        more |= {"imatrix": imatrix.sha256(matrix), "calibration": matrix.title[:100]}
        before = inspect(parent.path).origin
        more["calibrated_on"] = tuple(
            dict.fromkeys((*(before.calibrated_on if before else ()), *matrix.traces))
        )
    write = partial(_write, parent.path, recipe, threads, progress)
    return derive(parent, recipe.name, write, **more)


def _write(
    source: Path, recipe: QuantizeRecipe, threads: int, progress: OnTensor, target: Path, origin: Origin
) -> Counter[str]:
    """Write the file and return how many tensors fell back to another type, by old and new type."""
    task = {"source": source, "recipes": [asdict(recipe)], "target": target}
    task |= {"threads": threads, "metadata": origin.metadata()}
    fell_back: Counter[str] = Counter()
    count, reason = 0, "it gives no reason"
    with subprocess.Popen(
        _CHILD,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            # Its input stays open: where that ends before the work does, this process was killed.
            with suppress(BrokenPipeError):
                child.stdin.write(f"{json.dumps(task, default=str)}\n")
                child.stdin.flush()
            for line in child.stdout:
                if match := _PROGRESS.search(line):
                    progress(int(match[1]), int(match[2]))
                for match in _FALLBACK.finditer(line):
                    fell_back[f"{match[1].upper()} to {match[2].upper()}"] += 1
                if match := _FALLBACKS.search(line):
                    count = int(match[1])
                if match := _FAILURE.search(line):
                    reason = match[1] or match[2]
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0 or not target.is_file():
        raise RigError(f"{source}: llama.cpp cannot make {recipe.kind} of it: {reason}")
    if inspect(target).origin != origin:
        raise RigError(f"{target.stem}: llama.cpp wrote a file that does not say what it was made from")
    if fell_back.total() != count:
        # The file still says which types they got; only the types they should have had are unknown.
        fell_back = Counter({"types not told": count})
    return fell_back


def tensor_types(source: Path, recipes: Sequence[QuantizeRecipe]) -> list[dict[str, str]]:
    """Return, for each recipe, the types that a file's tensors would get; empty if it cannot be made.

    llama.cpp decides this without writing a file. Importance matrices need not exist yet. Raises RigError.
    """
    task = json.dumps({"source": source, "recipes": list(map(asdict, recipes))}, default=str)
    done = subprocess.run(_CHILD, input=task, capture_output=True, text=True, errors="replace")
    types: list[dict[str, str]] = []
    for line in done.stdout.splitlines():
        if line == _NEXT:
            types.append({})
        elif match := _TENSOR.search(line):
            types[-1][match[1]] = match[3] or match[2]
        elif _FAILURE.search(line):
            types[-1].clear()
    if done.returncode != 0 or len(types) != len(recipes):
        raise RigError(f"{source}: llama.cpp cannot tell what could be made of it")
    return types


def run_quantizer(
    source: str, target: str, *, recipe: QuantizeRecipe, threads: int, metadata: Mapping[str, str | bool]
) -> int:
    """Write `target` from `source`, with this metadata added, and return llama.cpp's status.

    Without a target it only prints what it would do. This runs in a process of its own, which can be stopped
    at any time, and which llama.cpp may abort over a damaged file.
    """
    parameters = C.llama_model_quantize_default_params()
    parameters.ftype = int(file_type(recipe.kind))
    parameters.nthread = threads
    parameters.allow_requantize = True
    parameters.dry_run = not target
    if recipe.embeddings:
        parameters.token_embedding_type = gguf.GGMLQuantizationType[recipe.embeddings.upper()]
    if recipe.output:
        parameters.output_tensor_type = gguf.GGMLQuantizationType[recipe.output.upper()]
    added: dict[str, str | bool | int] = dict(metadata)
    kept: list[Any] = []  # objects that llama.cpp gets pointers to
    if recipe.matrix:
        matrix = imatrix.read(recipe.matrix) if target else _ANY
        means = matrix.means()
        # What llama-quantize itself adds.
        added |= {
            "quantize.imatrix.file": recipe.matrix.name[-100:],
            "quantize.imatrix.dataset": matrix.title[:100],
            "quantize.imatrix.entries_count": len(means),
            "quantize.imatrix.chunks_count": matrix.chunks,
        }
        entries = (C.llama_model_imatrix_data * (len(means) + 1))()  # an empty name ends them
        for entry, (name, values) in zip(entries, means.items(), strict=False):
            kept += [np.ascontiguousarray(values), name.encode()]
            entry.name, entry.size = kept[-1], values.size
            entry.data = kept[-2].ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        kept.append(entries)
        parameters.imatrix = ctypes.cast(entries, type(parameters.imatrix))
    if recipe.tensors:
        one = C.llama_model_tensor_override
        types = (gguf.GGMLQuantizationType[kind.upper()] for _, kind in recipe.tensors)
        patterns = (pattern.encode() for pattern, _ in recipe.tensors)
        kept.append((one * (len(recipe.tensors) + 1))(*map(one, patterns, types)))
        parameters.tt_overrides = ctypes.cast(kept[-1], type(parameters.tt_overrides))
    overrides = (C.llama_model_kv_override * (len(added) + 1))()  # an empty key ends them
    for override, (key, value) in zip(overrides, added.items(), strict=False):
        override.key = key.encode()
        if isinstance(value, bool):
            override.tag, override.value.val_bool = C.LLAMA_KV_OVERRIDE_TYPE_BOOL, value
        elif isinstance(value, int):
            override.tag, override.value.val_i64 = C.LLAMA_KV_OVERRIDE_TYPE_INT, value
        else:
            override.tag, override.value.val_str = C.LLAMA_KV_OVERRIDE_TYPE_STR, value.encode()
    parameters.kv_overrides = ctypes.cast(overrides, ctypes.POINTER(C.llama_model_kv_override))
    return int(C.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(parameters)))


def _end_with_starter(target: Path) -> None:
    """Wait for the end of the input, and remove the unfinished file: who wanted it was killed."""
    while os.read(sys.stdin.fileno(), 1):  # not by `sys.stdin`, whose lock would be held when Python ends
        pass
    shutil.rmtree(target.parent, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    from rig.plugins.llama.core.llama import listening

    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with listening(lambda text: print(text, end="", flush=text.endswith("\n"))):
        task = parse_json(sys.stdin.readline())
        for told in task.pop("recipes"):
            recipe = QuantizeRecipe(**{**told, "matrix": told["matrix"] and Path(told["matrix"])})
            if "target" in task:
                threading.Thread(target=_end_with_starter, args=(Path(task["target"]),), daemon=True).start()
                sys.exit(run_quantizer(recipe=recipe, **task))
            print(_NEXT)
            run_quantizer(task["source"], "", recipe=recipe, threads=1, metadata={})
