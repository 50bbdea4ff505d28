"""The GGUF files of this machine, by where programs keep them, and what their headers say.

Files and folders may come from anyone: how many are looked at is bounded, and so is the time for it. Only
headers are read, by rig's own reader.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from rig.core.errors import RigError
from rig.core.files import beginning, read_json
from rig.core.paths import expanded, models_directory
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.formats.detection import Unsupported, native_of
from rig.plugins.llama.memory.plan import DeviceUse

HERE = "this folder"
"""The place of the current folder."""

_DEEPEST = 5
_MOST_ENTRIES = 5_000
_MOST_S = 2.0
"""How deep, how many entries and how long rig looks below one folder."""
_LARGEST_MANIFEST = 1 << 20
_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_QUANTIZATION = re.compile(r"[-._ ](?:UD-)?(?:I?Q\d\w*|T?Q\d_\d\w*|B?F16|F32|MXFP4\w*)\Z", re.IGNORECASE)


class FoundFile(NamedTuple):
    """A file that may be a model: its path, the name to show, the place it was found in, and its bytes."""

    path: Path
    name: str
    place: str
    size: int

    @property
    def family(self) -> str:
        """The name without the quantization; quantizations of one model have it in common."""
        return _QUANTIZATION.sub("", self.name.partition(":")[0]) or self.name


class FileFacts(NamedTuple):
    """What a header says: type, bits of a weight, and whether there are tools; or why it is no model."""

    quantization: str = ""
    bits: float | None = None
    tools: str = ""
    fault: str = ""


def find(environment: Mapping[str, str], home: Path) -> list[FoundFile]:
    """Return the files that programs keep on this machine, the current folder's first.

    Each is there once, even if it has several names: programs share files by links of both kinds.
    """
    files: dict[tuple[int, int], FoundFile] = {}
    for place, paths in _places(environment, home):
        for path, name in paths:
            with suppress(OSError):
                status = path.stat()
                file = FoundFile(path, name, place, status.st_size)
                files.setdefault((status.st_dev, status.st_ino), file)
    return list(files.values())


def grouped(files: list[FoundFile]) -> list[tuple[str, list[FoundFile]]]:
    """Return the files by model, the largest of each first.

    Models in the current folder come first, and then those with several files.
    """
    groups: dict[str, list[FoundFile]] = {}
    for file in files:
        groups.setdefault(file.family.lower(), []).append(file)

    def late(group: list[FoundFile]) -> tuple[bool, bool]:
        return all(file.place != HERE for file in group), len(group) == 1

    ordered = sorted(groups.values(), key=late)
    return [(group[0].family, sorted(group, key=lambda file: -file.size)) for group in ordered]


def _places(environment: Mapping[str, str], home: Path) -> Iterator[tuple[str, Iterator[tuple[Path, str]]]]:
    cache = _named(environment, "XDG_CACHE_HOME") or home / ".cache"
    yield HERE, _below(Path(), 2)
    yield "rig", _below(models_directory(), 1)
    studio = home / ".lmstudio"
    with suppress(RigError, OSError):  # where somebody has moved it
        moved = beginning(home / ".lmstudio-home-pointer", 4096).strip()
        studio = expanded(moved) if moved else studio
    for folder in (studio / "models", cache / "lm-studio" / "models"):
        yield "LM Studio", _below(folder)
    own = _named(environment, "OLLAMA_MODELS")
    for folder in [own] if own else [home / ".ollama/models", Path("/usr/share/ollama/.ollama/models")]:
        yield "Ollama", _ollama(folder)
    hub = _named(environment, "HF_HUB_CACHE")
    hub = hub or (_named(environment, "HF_HOME") or cache / "huggingface") / "hub"
    yield (
        "Hugging Face",
        (found for found in _below(hub, _DEEPEST + 2) if "snapshots" in found[0].relative_to(hub).parts),
    )
    llama = _named(environment, "LLAMA_CACHE")
    for folder in [llama] if llama else [cache / "llama.cpp", home / "Library/Caches/llama.cpp"]:
        yield "llama.cpp", _below(folder, 2)


def _named(environment: Mapping[str, str], variable: str) -> Path | None:
    return expanded(environment[variable]) if environment.get(variable) else None


def _below(folder: Path, deepest: int = _DEEPEST) -> Iterator[tuple[Path, str]]:
    """Yield the GGUF files below a folder, with their names. Links to folders are not followed."""
    until, left, folders = time.monotonic() + _MOST_S, _MOST_ENTRIES, [(folder, 1)]
    while folders:
        here, depth = folders.pop(0)
        with suppress(OSError), os.scandir(here) as entries:
            for entry in entries:
                left -= 1
                if not left or time.monotonic() > until:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if depth < deepest and entry.name not in (".git", "node_modules"):
                        folders.append((here / entry.name, depth + 1))
                elif entry.name.lower().endswith(".gguf") and entry.is_file():
                    yield here / entry.name, entry.name[:-5]


def _ollama(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the models of Ollama: a manifest names a model, and its layers are files by their digests."""
    manifests = folder / "manifests"
    until, count = time.monotonic() + _MOST_S, 0
    for here, folders, names in os.walk(manifests):
        if len(Path(here).relative_to(manifests).parts) >= _DEEPEST:
            folders.clear()
        for name in names:
            count += 1
            if count > _MOST_ENTRIES or time.monotonic() > until:
                return
            with suppress(RigError, OSError):
                manifest = read_json(Path(here) / name, _LARGEST_MANIFEST)
                for blob in _blobs(manifest):
                    if (path := folder / "blobs" / blob).is_file():
                        yield path, f"{Path(here).name}:{name}"


def _blobs(manifest: object) -> Iterator[str]:
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    for layer in layers if isinstance(layers, list) else ():
        is_model = isinstance(layer, dict) and layer.get("mediaType") == _MODEL
        if is_model and (match := _DIGEST.fullmatch(str(layer.get("digest")))):
            yield f"sha256-{match[1]}"


def read(path: Path) -> FileFacts:
    """Return what the header of a file says."""
    try:
        info = inspect(path)
    except RigError as error:
        return FileFacts(fault=str(error).removeprefix(f"{path}: "))
    if info.other:
        return FileFacts(info.quantization, info.bits_per_weight, fault=info.other)
    template = info.other_templates.get("tool_use") or info.chat_template
    return FileFacts(info.quantization, info.bits_per_weight, _tools(template))


@lru_cache(maxsize=64)
def _tools(template: str | None) -> str:
    """Say whether a template has tools, in a form that rig knows; quantizations share one."""
    if template is None:
        return "no template"
    try:
        native = native_of(ChatTemplate(template))
    except Unsupported as error:
        return "form unknown" if error.shows_calls else "no tools"
    except RigError:
        return "bad template"
    return "tools" if native.is_supported else "no tools"


def fit(size: int, memory: DeviceUse) -> str:
    """Say whether a file of this size fits into free memory, only into all of it, or not at all."""
    if size + memory.margin <= memory.free:
        return "fits"
    return "tight" if size + memory.margin <= memory.total else "large"
