"""Files that rig makes from others: what they say about themselves, and what the local registry keeps."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rig.engine.files.adapters import Adapter
from rig.engine.files.checksums import sha256_of
from rig.engine.files.local_models import LocalEntry, local_registry
from rig.engine.files.registry import ResolvedModel, load_registry
from rig.engine.gguf.info import GgufInfo, inspect
from rig.engine.gguf.origin import Origin
from rig.errors import RigError
from rig.paths import models_directory

_WHOLE = frozenset({"F64", "F32", "F16", "BF16"})
"""Types that are not quantized."""


@dataclass(frozen=True, slots=True)
class Made:
    """A file that is there now. `seconds` is None if it was there before."""

    entry: LocalEntry
    info: GgufInfo
    seconds: float | None


def place_for(name: str, source: Path) -> Path:
    """Where a file called `name` belongs. Raises RigError if the registry has a model of that name."""
    registry = load_registry()
    target = models_directory() / f"{name}.gguf"
    if name in registry or target.name in {entry.file for entry in registry.values()}:
        raise RigError(f"{name}: the registry has another model of this name; copy {source} under a new name")
    return target


def origin_of(parent: ResolvedModel, before: GgufInfo, adapter: Adapter | None = None) -> Origin:
    """What a file says that was made from a model, and perhaps from an adapter."""
    sha256 = sha256_of(parent.path)
    older = before.origin
    return Origin(
        name=parent.base[:100],
        sha256=sha256,
        root_sha256=older.root_sha256 if older else sha256,
        quantizations=(*(older.quantizations if older else ()), before.quantization),
        requantized=not _WHOLE.issuperset(before.tensor_types) or bool(older and older.requantized),
        adapters=(*(older.adapters if older else ()), *([adapter.name] if adapter else [])),
        adapter_sha256=sha256_of(adapter.path) if adapter else older.adapter_sha256 if older else "",
    )


def there_already(target: Path, origin: Origin) -> Made | None:
    """The file that is there, if it was made so before. Raises RigError for another one."""
    registry = local_registry()
    if not target.exists():
        return None
    info, entry = inspect(target), registry.get(target.name)
    if entry is None or info.origin != origin or sha256_of(target) != entry.sha256:
        raise RigError(
            f"{target}: is here already, and was not made of {origin.name} here; delete or rename it"
        )
    return Made(entry, info, None)


def entry_for(path: Path, info: GgufInfo, origin: Origin, fell_back: Counter[str]) -> LocalEntry:
    """What the local registry keeps about a file; its name is the file's stem."""
    from rig.engine.core.llama import versions

    return LocalEntry(
        name=path.stem,
        file=path.name,
        sha256=sha256_of(path),
        size=info.size,
        quantization=info.quantization,
        parent=origin.name,
        parent_sha256=origin.sha256,
        requantized=origin.requantized,
        tensors={kind: types.tensors for kind, types in info.tensor_types.items()},
        fell_back=dict(fell_back),
        llama_cpp=versions()["llama_cpp"],
    )
