"""Model files that rig makes from others: what they record about their origin, and the registry of them.

`local.toml` lies beside the files, in the models directory, and belongs to the user who made them: what each
was made from, and its SHA-256 at that time.
"""

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from rig.core.errors import RigError
from rig.core.files import put_in_place, read_toml, remove_leftovers, temporary_folder, write
from rig.core.paths import models_directory
from rig.plugins.documents.documents import parsed
from rig.plugins.llama.files.adapters import Adapter
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.info import GgufInfo, Origin, inspect
from rig.plugins.llama.files.registry import Registered, ResolvedModel, load_registry

_REGISTRY = "local.toml"
_PURPOSE = "derive"
_SHA256 = r"^[0-9a-f]{64}$"

_WHOLE = frozenset({"F64", "F32", "F16", "BF16"})
"""Tensor types that are not quantized."""


class LocalEntry(Registered):
    """A file made here. `size` is in bytes; `tensors` are counts by the GGML type really used.

    `fell_back` counts the tensors that could not have the intended type, by `WANTED to USED`.
    """

    name: str = Field(min_length=1)
    file: str = Field(pattern=r"^[^/\\\x00]+\.gguf$")
    sha256: str = Field(pattern=_SHA256)
    size: int = Field(gt=0)
    quantization: str
    parent: str
    parent_sha256: str = Field(pattern=_SHA256)
    requantized: bool
    tensors: dict[str, int]
    fell_back: dict[str, int] = Field(default_factory=dict)
    llama_cpp: str

    @property
    def path(self) -> Path:
        return models_directory() / self.file


class _LocalRegistry(Registered):
    model: list[LocalEntry] = Field(default_factory=list)


def local_registry() -> dict[str, LocalEntry]:
    """Return the registry of files made here, by file name. Raises RigError if it cannot be understood.

    An entry whose file is gone, or was never put in its place, says nothing.
    """
    path = models_directory() / _REGISTRY
    if not path.exists():
        return {}
    entries = parsed(_LocalRegistry, read_toml(path), str(path), "a registry of local models").model
    return {entry.file: entry for entry in entries if entry.path.is_file()}


def record(entry: LocalEntry, written: Path) -> None:
    """Add an entry, or replace the one for the same file, and put that file in place.

    Raises RigError, OSError.
    """
    with _rewriting(lambda entries: {**entries, entry.file: entry}):
        put_in_place(written, entry.path)


def remove(file: str) -> None:
    """Remove a file that was made here, and its entry. Raises RigError, OSError."""
    (models_directory() / file).unlink(missing_ok=True)
    with _rewriting(lambda entries: {name: entry for name, entry in entries.items() if name != file}):
        pass


@contextmanager
def _rewriting(change: Callable[[dict[str, LocalEntry]], dict[str, LocalEntry]]) -> Iterator[None]:
    """Change the registry, and let nobody else read it to change it before the context ends."""
    directory = os.open(models_directory(), os.O_RDONLY)
    try:
        # Only one process at a time changes entries, so that none is lost.
        fcntl.flock(directory, fcntl.LOCK_EX)
        text = "# Model files that `rig models quantize` made here.\n"
        for local in change(local_registry()).values():
            text += "\n[[model]]\n"
            text += "".join(f"{key} = {_value(value)}\n" for key, value in local.model_dump().items())
        write(text, models_directory() / _REGISTRY, force=True)
        yield
    finally:
        os.close(directory)


def _value(value: str | int | bool | Mapping[str, int]) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(key)} = {number}" for key, number in value.items()) + "}"
    # JSON's strings are TOML's basic strings, except for one control character that JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def remove_unfinished() -> None:
    """Remove what killed processes have begun to make among the models."""
    remove_leftovers(models_directory(), _PURPOSE)


@dataclass(frozen=True, slots=True)
class DerivedModel:
    """A file that now exists. `seconds` is how long it took to make, or None if it existed before."""

    entry: LocalEntry
    info: GgufInfo
    seconds: float | None


def derive(
    parent: ResolvedModel,
    kind: str,
    write_file: Callable[[Path, Origin], Counter[str] | None],
    *,
    adapter: Adapter | None = None,
    output: Path | None = None,
    **more: Any,
) -> DerivedModel:
    """Return the file that `write_file` makes of a model: `PARENT-KIND.gguf` among the models, or `output`.

    `write_file` may return counts of the tensors that could not have the intended type; `more` are parts of
    the file's origin. The file appears under its name only when it is complete and was read back; a file that
    was made the same way before is kept. Raises RigError, also if another file has the name.
    """
    from rig.plugins.llama.core.llama import versions

    origin = replace(_origin_of(parent, inspect(parent.path), adapter), **more)
    target = output or models_directory() / f"{parent.name}-{kind}.gguf"
    if output is None and (existing := _existing(target, parent, origin)):
        return existing
    if output and (output.exists() or output.suffix != ".gguf" or not output.absolute().parent.is_dir()):
        fault = "already exists" if output.exists() else "name a .gguf file in an existing folder"
        raise RigError(f"--output {output}: {fault}")
    started = time.perf_counter()
    try:
        with temporary_folder(target.parent, _PURPOSE) as folder:
            written = folder / target.name
            fell_back = write_file(written, origin)
            info = inspect(written)
            entry = LocalEntry(
                name=target.stem,
                file=target.name,
                sha256=sha256_of(written),
                size=info.size,
                quantization=info.quantization,
                parent=origin.name,
                parent_sha256=origin.sha256,
                requantized=origin.requantized,
                tensors={kind: types.tensors for kind, types in info.tensor_types.items()},
                fell_back=dict(fell_back or {}),
                llama_cpp=versions()["llama_cpp"],
            )
            if output is None:
                record(entry, written)
            else:
                put_in_place(written, target)
    except OSError as error:
        raise RigError(f"{target.parent}: cannot be written: {error.strerror}") from error
    return DerivedModel(entry, inspect(target), time.perf_counter() - started)


def _origin_of(parent: ResolvedModel, before: GgufInfo, adapter: Adapter | None) -> Origin:
    """Return the origin of a file that is made from a model, and perhaps from an adapter."""
    sha256 = sha256_of(parent.path)
    older = before.origin or Origin(parent.base[:100], sha256, sha256, (), requantized=False)
    return replace(
        older,
        name=parent.base[:100],
        sha256=sha256,
        quantizations=(*older.quantizations, before.quantization),
        requantized=not _WHOLE.issuperset(before.tensor_types) or older.requantized,
        adapters=(*older.adapters, *([adapter.name] if adapter else [])),
        adapter_sha256=sha256_of(adapter.path) if adapter else older.adapter_sha256,
        recipe="",
    )


def _existing(target: Path, parent: ResolvedModel, origin: Origin) -> DerivedModel | None:
    """Return the existing file if it was made the same way; None without one. Raises RigError otherwise."""
    registered, registry = load_registry(), local_registry()
    name = target.name.removesuffix(".gguf")
    if name in registered or target.name in {entry.file for entry in registered.values()}:
        raise RigError(
            f"{name}: the registry has another model of this name; copy {parent.path} under a new name"
        )
    if not target.exists():
        return None
    info, entry = inspect(target), registry.get(target.name)
    if entry is None or info.origin != origin or sha256_of(target) != entry.sha256:
        raise RigError(
            f"{target}: is here already, and was not made of {origin.name} here; delete or rename it"
        )
    return DerivedModel(entry, info, None)
