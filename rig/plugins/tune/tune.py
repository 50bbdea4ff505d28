"""Tuning: making the best file of a model at a size. Many candidates are screened, the closest ones played.

Each finished stage is stored in a folder, so that a tuning that was killed can continue there. One half of
the calibration conversations makes the importance matrix and the other half screens the candidates, so that
a candidate with the matrix does not seem better than it is.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.files import json_text, read_json, size_text, write
from rig.core.models import Notify
from rig.core.paths import models_directory
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.derived import local_registry, remove
from rig.plugins.llama.files.header import read_header
from rig.plugins.llama.files.registry import ResolvedModel, resolve
from rig.plugins.screen.screening import Progress, Screening, one_by_one
from rig.plugins.strategies.early import SequentialArm
from rig.plugins.tune import imatrix
from rig.plugins.tune.calibrate import calibrate
from rig.plugins.tune.merging import OnTensor
from rig.plugins.tune.quantize import (
    QuantizeRecipe,
    TensorType,
    quantize,
    require_merged,
    tensor_types,
)
from rig.plugins.tune.types import CALIBRATED, TYPES

PLAYED = 3
"""The number of candidates that are played: those closest to the original."""

Mixture: TypeAlias = tuple[TensorType, ...]
Making: TypeAlias = Callable[[str], OnTensor]
"""Called with the name of a file that is being made; returns the callback for its tensors."""


_UNUSUAL = ("f32", "f16", "bf16", "tq2_0", "tq1_0")
KINDS = (*(kind for kind in TYPES if kind not in _UNUSUAL), *CALIBRATED)
"""The types that are tried by default: all but the unquantized ones and those of ternary models."""
MIXTURES: tuple[Mixture, ...] = ((), (TensorType("attn_", "q6_k"),), (TensorType("ffn_down", "q5_k"),))
"""A type's own mixture, and two with more bits for the tensors that quantizing hurts most."""
MATRIX = Path("matrix")
"""A placeholder in recipes for the importance matrix that does not exist yet."""

_INDIFFERENT = ("q8_0", "tq2_0", "tq1_0")
"""Types that llama.cpp rounds in the same way with and without a matrix."""
_ALIGNMENT = 32
_ADDED = 8_192
"""An upper bound, in bytes, of a file's metadata on its making, without the traces of its calibration."""
_TRACE = 192


class Candidate(NamedTuple):
    """A recipe, and an upper bound of its file's size in bytes."""

    recipe: QuantizeRecipe
    size: int


def candidates(
    path: Path, kinds: Iterable[str], mixtures: Iterable[Mixture], conversations: int
) -> list[Candidate]:
    """Return the candidates that can be made of a file, each type with and without a matrix, largest first.

    The matrix is to be made of this many conversations. Only one of several recipes with the same result is
    kept, and mixtures that match no tensor are left out. Raises RigError, and writes nothing.
    """
    header = read_header(path)
    names = [tensor.name for tensor in header.tensors if len(tensor.shape) > 1]
    fitting = [
        mixture
        for mixture in mixtures
        if all(any(re.search(one.pattern, name) for name in names) for one in mixture)
    ]
    recipes = [
        QuantizeRecipe(kind, matrix, mixture)
        for kind in kinds
        for matrix in (None, MATRIX)
        if kind not in (_INDIFFERENT if matrix else CALIBRATED)
        for mixture in fitting
    ]
    distinct: dict[tuple[Path | str | None, ...], Candidate] = {}
    for recipe, types in zip(recipes, tensor_types(path, recipes), strict=True):
        if types:
            size = header.size + _ADDED + _TRACE * conversations
            for tensor in header.tensors:
                block, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[types[tensor.name].upper()]]
                size += -(-tensor.elements // block * block_bytes // _ALIGNMENT) * _ALIGNMENT - tensor.bytes
            distinct.setdefault((recipe.matrix, *types.values()), Candidate(recipe, size))
    return sorted(distinct.values(), key=lambda candidate: -candidate.size)


class Funnel:
    """A tuning and its state. Raises RigError, before anything is made, for a tuning that cannot succeed.

    `folder` holds its state, the matrix and in the end the card; `options` are the stored options of the run.
    """

    def __init__(
        self,
        screening: Screening,
        size: int,
        kinds: Sequence[str],
        mixtures: Sequence[Mixture],
        most: int,
        *,
        folder: Path,
        options: JsonObject,
        notify: Notify,
    ) -> None:
        """Look for a file of the screening's model of at most `size` bytes, with these types and mixtures.

        The `most` largest candidates are screened.
        """
        self._screening, self._size, self._folder, self._notify = screening, size, folder, notify
        self._base = base = screening.models[0]
        tasks = screening.tasks
        require_merged(base)
        if len(tasks) < 2:
            raise RigError("tuning needs two conversations for calibration at least; choose a larger suite")
        self.possible = candidates(base.path, kinds, mixtures, len(tasks))
        self.fitting = [candidate for candidate in self.possible if candidate.size <= size]
        self._chosen = self.fitting[:most]
        if not self.fitting:
            smallest = f"{self.possible[-1].recipe.kind}, {size_text(self.possible[-1].size)}"
            raise RigError(f"no file of {base.name} is that small; the smallest is {smallest}")
        self._file = folder / "tune.json"
        asked = {"model": sha256_of(base.path), "size": size, "kinds": kinds}
        asked |= {"mixtures": mixtures, "candidates": most, "options": options}
        asked = parse_json(json_text(asked))  # in the form in which it is read back
        self._state: dict[str, Any] = {"asked": asked, "matrix": None, "created": [], "screened": {}}
        if self._file.exists():
            state = read_json(self._file)
            if (
                not isinstance(state, dict)
                or state.get("asked") != asked
                or self._state.keys() - state.keys()
            ):
                raise RigError(f"{folder}: holds another tuning; name another folder with --output")
            self._state = state
        self._require_room()

    def _require_room(self) -> None:
        """Raise RigError if the disk has no room for all files that exist at the same time."""
        largest = [candidate.size for candidate in self._chosen[: PLAYED + 1]]
        there = (self.place(name) for name in self._state["created"])
        needed = sum(largest) - sum(path.stat().st_size for path in there if path.exists())
        models_directory().mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(models_directory()).free
        if needed > free and not self["kept"]:
            raise RigError(
                f"{models_directory()}: {size_text(free)} free, and {counted(len(largest), 'candidate')}"
                f" at a time take {size_text(needed)}; make room, or let RIG_MODELS name a larger place"
            )

    @property
    def text(self) -> str:
        """The number of candidates at each stage, in a line."""
        stages = [f"{len(self.possible)} candidates", f"{len(self.fitting)} under the size"]
        if screened := len(self.screened):
            stages.append(f"{screened} of {len(self._chosen)} screened")
            if screened == len(self._chosen):
                stages.append(f"{len(self.finalists)} played")
        return " > ".join([*stages, *(["1 kept"] if self["kept"] else ())])

    def __getitem__(self, name: str) -> Any:
        """Return a part of the state; None if there is none yet."""
        return self._state.get(name)

    def keep(self, **parts: Any) -> None:
        """Set parts of the state and write it to the disk."""
        self._state |= parts
        write(json_text(self._state, indent=1) + "\n", self._file, force=True, folders=True)

    @property
    def screened(self) -> Mapping[str, JsonObject]:
        """For each screened candidate its `size`, `divergence` and, if there is one, `failure`."""
        screened: Mapping[str, JsonObject] = self._state["screened"]
        return screened

    @property
    def finalists(self) -> list[str]:
        """The names of the candidates that are played, the closest to the original first."""
        return self._closest()[:PLAYED]

    def _closest(self) -> list[str]:
        compared = {name: row["divergence"] for name, row in self.screened.items() if not row["failure"]}
        return sorted(compared, key=compared.__getitem__)

    def calibrate(self, progress: Progress) -> None:
        """Make the importance matrix if a candidate needs one and it does not exist."""
        needs_one = any(candidate.recipe.matrix for candidate in self._chosen)
        if not needs_one or (self["matrix"] and (self._folder / self["matrix"]).is_file()):
            return
        half = replace(self._screening, tasks=self._screening.tasks[::2])
        calibration = calibrate(half, self._notify, progress)
        for reason, count in calibration.left_out.items():
            self._notify(f"{counted(count, 'step')} left out: {reason}")
        self._folder.mkdir(parents=True, exist_ok=True)
        # The candidates' names contain its name, which has to differ between two tunings of a model.
        name = f"tuned_{imatrix.sha256(calibration.matrix)[:6]}.gguf"
        imatrix.write(calibration.matrix, self._folder / name)
        self.keep(matrix=name)

    def screen(self, making: Making, progress: Progress) -> Iterator[str]:
        """Make and screen the remaining candidates, yielding a line on each result.

        Only the files of candidates that may be played are kept. Raises RigError if every candidate failed.
        """
        recipes = self._recipes()
        # Failed candidates are tried again, as long as nothing was played.
        done = self.screened if self["run"] else self._closest()
        waiting = {name: recipe for name, recipe in recipes.items() if name not in done}
        half = replace(self._screening, tasks=self._screening.tasks[1::2])
        if waiting:
            arms = one_by_one(half, self._models(waiting, making), self._notify, progress)
            next(arms)
            for arm in arms:
                # The mean distance of its choices from the original's, in nats; None without comparisons.
                divergences = [value for step in arm.assessed for value in step.divergences]
                divergence = fmean(divergences) if divergences else None
                failure = arm.failure or ("cannot be compared" if divergence is None else None)
                yield self._through(arm.name, divergence, failure)
        if not self.finalists:
            raise RigError(f"no candidate could be screened: {next(iter(self.screened.values()))['failure']}")
        for name in self.finalists if not self["kept"] else ():
            if not self.place(name).exists():
                self._make(name, recipes[name], making)  # somebody removed it

    def _models(self, waiting: Mapping[str, QuantizeRecipe], making: Making) -> Iterator[ResolvedModel]:
        yield self._base
        for name, recipe in waiting.items():
            try:
                model = self._make(name, recipe, making)
            except RigError as error:
                if isinstance(error.__cause__, OSError):
                    raise  # the disk's fault
                self._notify(self._through(name, None, str(error)))
                continue
            yield model

    def _through(self, name: str, divergence: float | None, failure: str | None) -> str:
        """Store a candidate's result, remove files that will not be played, and return a line about it."""
        path = self.place(name)
        size = path.stat().st_size if path.exists() else None
        row = {"divergence": divergence, "failure": failure, "size": size}
        self.keep(screened={**self.screened, name: row})
        self._keep_only(self.finalists)
        return f"{name}: {failure or f'{divergence:.4f} nats from the original'}"

    def _make(self, name: str, recipe: QuantizeRecipe, making: Making) -> ResolvedModel:
        if not self.place(name).exists() and name not in self["created"]:
            # Stored before the file exists: files that were not made here are never removed.
            self.keep(created=[*self["created"], name])
        threads = self._screening.engine.n_threads
        derived = quantize(self._base, recipe, threads=threads, progress=making(name))
        if derived.entry.size > self._size:
            raise RigError(f"came out larger than asked for: {size_text(derived.entry.size)}")
        return resolve(str(derived.entry.path))

    def choose(self, arms: Sequence[SequentialArm]) -> SequentialArm:
        """Choose the arm to keep: first one whose loss is excluded, then one that is undecided, then any.

        Arms with an excluded loss are ordered by their closeness to the original, the others by the largest
        loss that their bounds allow. All bounds hold together, so that choosing by them costs nothing.
        """
        order = ("excluded", None, "shown")

        def rank(arm: SequentialArm) -> tuple[int, float, int]:
            verdict = order.index(arm.judged.found)
            return verdict, arm.judged.high if verdict else 0.0, self.finalists.index(arm.arm)

        return min(arms, key=rank)

    def end(self, name: str) -> Path:
        """Keep only this candidate's file and return its path."""
        self.keep(kept=name)
        self._keep_only([name])
        return self.place(name)

    def _keep_only(self, names: Sequence[str]) -> None:
        """Remove the files of screened candidates, except these. Raises RigError and OSError."""
        entries = local_registry()
        # Only files of candidates, whatever the state lists as made here.
        for name in self._recipes().keys() & self.screened.keys() & set(self["created"]) - set(names):
            if f"{name}.gguf" in entries or self.place(name).exists():
                remove(f"{name}.gguf")

    def _recipes(self) -> dict[str, QuantizeRecipe]:
        """Return the recipes to screen by the names of their files."""
        recipes = {}
        for recipe, _ in self._chosen:
            real = replace(recipe, matrix=self._folder / self["matrix"]) if recipe.matrix else recipe
            recipes[f"{self._base.name}-{real.name}"] = real
        return recipes

    def place(self, name: str) -> Path:
        """Return the path of a candidate's file."""
        return models_directory() / f"{name}.gguf"
