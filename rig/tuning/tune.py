"""A model made as good as it can be at a size: many candidates, the closest of them played, one kept.

Every stage is kept in a folder as soon as it is through, so that a tuning that was killed goes on there. Half
of the calibration conversations make the importance matrix and the other half screen the candidates, so that
a candidate with the matrix looks no better than it is.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from rig.calls import JsonObject
from rig.compare.sequential import SequentialArm
from rig.engine.files.caches import sha256_of
from rig.engine.files.derived import local_registry, remove
from rig.engine.files.header import read_header
from rig.engine.files.registry import ResolvedModel, resolve
from rig.errors import RigError, counted
from rig.files import json_text, read_json, size_text, write
from rig.models import Notify
from rig.paths import models_directory
from rig.screening.screening import Progress, Screening, one_by_one
from rig.tuning import imatrix
from rig.tuning.calibrate import calibrate
from rig.tuning.merging import OnTensor
from rig.tuning.quantize import (
    CALIBRATED,
    TYPES,
    QuantizeRecipe,
    TensorType,
    quantize,
    require_merged,
    tensor_types,
)

PLAYED = 3
"""Candidates that are played, the closest to the original."""

Mixture: TypeAlias = tuple[TensorType, ...]
Making: TypeAlias = Callable[[str], OnTensor]
"""Told of a file that is being made; what it returns is told of its tensors."""


_UNUSUAL = ("f32", "f16", "bf16", "tq2_0", "tq1_0")
KINDS = (*(kind for kind in TYPES if kind not in _UNUSUAL), *CALIBRATED)
"""The types that are tried where nobody says which: not the whole ones, nor those of ternary models."""
MIXTURES: tuple[Mixture, ...] = ((), (TensorType("attn_", "q6_k"),), (TensorType("ffn_down", "q5_k"),))
"""A type's own mixture, and with more bits for what quantizing hurts most."""
MATRIX = Path("matrix")
"""In a candidate's recipe, the importance matrix that there is none of yet."""

_INDIFFERENT = ("q8_0", "tq2_0", "tq1_0")
"""Types that llama.cpp rounds alike with a matrix and without."""
_ALIGNMENT = 32
_ADDED = 8_192
"""More bytes than a file says of its making, besides the traces of what calibrated it."""
_TRACE = 192


class Candidate(NamedTuple):
    """A recipe, and the bytes that its file has at most."""

    recipe: QuantizeRecipe
    size: int


def candidates(
    path: Path, kinds: Iterable[str], mixtures: Iterable[Mixture], conversations: int
) -> list[Candidate]:
    """What can be made of a file, each type with and without a matrix of so many conversations, largest
    first. Of recipes that make the same there is one.

    Mixtures are left out that no tensor is meant by. Raises RigError, and writes nothing.
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
    """A tuning as far as it has come. Raises RigError for one that cannot end well, before anything is made.

    `folder` holds its state, the matrix and in the end the card; `options` are those of the run, as stored.
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
        """For a file of the screening's model of at most `size` bytes, of these types and mixtures.

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
        asked = json.loads(json_text(asked))  # as it is read again
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
        """Raise RigError where the disk does not hold the files that are there at one time."""
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
        """How many candidates are left at each stage."""
        stages = [f"{len(self.possible)} candidates", f"{len(self.fitting)} under the size"]
        if screened := len(self.screened):
            stages.append(f"{screened} of {len(self._chosen)} screened")
            if screened == len(self._chosen):
                stages.append(f"{len(self.finalists)} played")
        return " > ".join([*stages, *(["1 kept"] if self["kept"] else ())])

    def __getitem__(self, name: str) -> Any:
        """A part of the state, None if there is none yet."""
        return self._state.get(name)

    def keep(self, **parts: Any) -> None:
        """Keep parts of the state on the disk."""
        self._state |= parts
        write(json_text(self._state, indent=1) + "\n", self._file, force=True, folders=True)

    @property
    def screened(self) -> Mapping[str, JsonObject]:
        """Of each candidate that is through: its `size`, `divergence`, and `failure` if there is one."""
        screened: Mapping[str, JsonObject] = self._state["screened"]
        return screened

    @property
    def finalists(self) -> list[str]:
        """The names of the candidates that are the closest to the original, the closest first."""
        return self._closest()[:PLAYED]

    def _closest(self) -> list[str]:
        compared = {name: row["divergence"] for name, row in self.screened.items() if not row["failure"]}
        return sorted(compared, key=compared.__getitem__)

    def calibrate(self, progress: Progress) -> None:
        """Make the importance matrix, if a candidate needs one and it is not there."""
        needs_one = any(candidate.recipe.matrix for candidate in self._chosen)
        if not needs_one or (self["matrix"] and (self._folder / self["matrix"]).is_file()):
            return
        half = replace(self._screening, tasks=self._screening.tasks[::2])
        made = calibrate(half, self._notify, progress)
        for reason, count in made.left_out.items():
            self._notify(f"{counted(count, 'step')} left out: {reason}")
        self._folder.mkdir(parents=True, exist_ok=True)
        # Its name becomes a part of the candidates' names, and two tunings of a model may differ in it.
        name = f"tuned_{imatrix.sha256(made.matrix)[:6]}.gguf"
        imatrix.write(made.matrix, self._folder / name)
        self.keep(matrix=name)

    def screen(self, making: Making, progress: Progress) -> Iterator[str]:
        """Make and screen the candidates that are left, and say of each what came out.

        Only those that may be played stay. Raises RigError if none is left.
        """
        recipes = self._recipes()
        # What failed is tried again, as long as nothing was played.
        done = self.screened if self["run"] else self._closest()
        waiting = {name: recipe for name, recipe in recipes.items() if name not in done}
        half = replace(self._screening, tasks=self._screening.tasks[1::2])
        if waiting:
            arms = one_by_one(half, self._models(waiting, making), self._notify, progress)
            next(arms)
            for arm in arms:
                # How far its choices are from the original's, in nats; none if nothing can be compared.
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
        """Keep what came out of a candidate, and remove the files that will not be played."""
        path = self.place(name)
        size = path.stat().st_size if path.exists() else None
        row = {"divergence": divergence, "failure": failure, "size": size}
        self.keep(screened={**self.screened, name: row})
        self._keep_only(self.finalists)
        return f"{name}: {failure or f'{divergence:.4f} nats from the original'}"

    def _make(self, name: str, recipe: QuantizeRecipe, making: Making) -> ResolvedModel:
        if not self.place(name).exists() and name not in self["created"]:
            # Kept before it is there: what was not made here is not removed here.
            self.keep(created=[*self["created"], name])
        threads = self._screening.engine.n_threads
        made = quantize(self._base, recipe, threads=threads, progress=making(name))
        if made.entry.size > self._size:
            raise RigError(f"came out larger than asked for: {size_text(made.entry.size)}")
        return resolve(str(made.entry.path))

    def choose(self, arms: Sequence[SequentialArm]) -> SequentialArm:
        """The arm that is kept: one of which the loss is excluded before one of which it is open or shown.

        Of those that are open or shown, the one of which the smallest loss is possible; else the closest to
        the original. All arms' bounds hold together, so that choosing by them costs nothing.
        """
        order = ("excluded", None, "shown")

        def rank(arm: SequentialArm) -> tuple[int, float, int]:
            found = order.index(arm.judged.found)
            return found, arm.judged.high if found else 0.0, self.finalists.index(arm.arm)

        return min(arms, key=rank)

    def end(self, name: str) -> Path:
        """Keep this candidate's file alone; where it is."""
        self.keep(kept=name)
        self._keep_only([name])
        return self.place(name)

    def _keep_only(self, names: Sequence[str]) -> None:
        """Remove the files of candidates that are through, but for these. Raises RigError, OSError."""
        entries = local_registry()
        # Of candidates alone, whatever the state says that was made here.
        for name in self._recipes().keys() & self.screened.keys() & set(self["created"]) - set(names):
            if f"{name}.gguf" in entries or self.place(name).exists():
                remove(f"{name}.gguf")

    def _recipes(self) -> dict[str, QuantizeRecipe]:
        """By the names of their files."""
        recipes = {}
        for recipe, _ in self._chosen:
            real = replace(recipe, matrix=self._folder / self["matrix"]) if recipe.matrix else recipe
            recipes[f"{self._base.name}-{real.name}"] = real
        return recipes

    def place(self, name: str) -> Path:
        """Where a candidate's file is, or will be."""
        return models_directory() / f"{name}.gguf"
