"""The models that rig knows: those of the registry, and files in the models directory."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from rig.core.errors import DOWNLOAD, RigError, did_you_mean
from rig.core.files import read_text, read_toml
from rig.core.paths import REGISTRY, models_directory
from rig.plugins.documents.documents import parsed
from rig.plugins.llama.files.adapters import Adapter, named
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.info import GgufInfo


class Registered(BaseModel):
    """A part of a registry. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Registered):
    """A file inside a wheel: the package, its exact version, and the member's name in the archive.

    `size` (in bytes) and `sha256` are of a part; a model that comes in one piece has them in its entry.
    """

    package: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+!_-]*$")
    member: str
    size: int | None = Field(default=None, gt=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")

    @property
    def pinned(self) -> str:
        """The package as pip is asked for it."""
        return f"{self.package}=={self.version}"


class AdapterSource(Registered):
    """An adapter beside the registry. `size` is in bytes."""

    file: str = Field(pattern=r"^[^/\\]+\.lora$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(gt=0)
    scale: float = Field(default=1.0, allow_inf_nan=False)

    @property
    def path(self) -> Path:
        return REGISTRY.parent / self.file


class Entry(Registered):
    """A model of the registry. `file` is its name in the models directory, `size` is in bytes.

    A file that comes in several packages has a source for each part, in the order in which they are joined.
    `origin` says whose file it is, and who carries it. `chat_template` is a file beside the registry, for a
    model whose own file has none. An entry with a `base` uses the base's file, and an `adapter` for it.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    file: str = Field(pattern=r"^[^/\\]+\.gguf$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(gt=0)
    licence: str
    source: Annotated[
        tuple[Source, ...], BeforeValidator(lambda of: of if isinstance(of, list | tuple) else (of,))
    ] = Field(min_length=1)
    notes: str = ""
    origin: str = ""
    chat_template: str | None = Field(default=None, pattern=r"^[^/\\]+\.jinja$")
    base: str | None = None
    adapter: AdapterSource | None = None

    @model_validator(mode="after")
    def _has_both(self) -> "Entry":
        if (self.base is None) != (self.adapter is None):
            raise ValueError("an entry with a base has an adapter for it, and none else has")
        parts = self.source if len(self.source) > 1 else ()
        if parts and (sum(part.size or 0 for part in parts) != self.size or not all(p.sha256 for p in parts)):
            raise ValueError("each part has its size and sha256, and together they are as long as the file")
        return self

    @property
    def path(self) -> Path:
        """Where the file belongs, whether it exists or not."""
        return models_directory() / self.file

    @property
    def packages(self) -> str:
        """The packages that pip has to fetch, for messages."""
        first = self.source[0].pinned
        return first if len(self.source) == 1 else f"{first} and {len(self.source) - 1} more"

    @property
    def begun(self) -> Path:
        """Where the parts that an unfinished `rig models pull` has fetched are joined."""
        return self.path.with_name(f".{self.file}.begun")

    @property
    def parts_here(self) -> int:
        """How many parts an unfinished pull has fetched, by the size of what it left."""
        ends = accumulate(self.of_part(source)[0] for source in self.source)
        return sum(end <= self.begun.stat().st_size for end in ends) if self.begun.is_file() else 0

    def of_part(self, source: Source) -> tuple[int, str]:
        """Return the size and the SHA-256 of a part."""
        return source.size or self.size, source.sha256 or self.sha256


class _Registry(Registered):
    model: list[Entry]


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model file that exists. `entry` is the registry's, if the file was asked for by that name.

    With an `adapter`, the model is not the file's alone; the adapter is the entry's or one that was asked
    for.
    """

    name: str
    path: Path
    entry: Entry | None = None
    adapter: Adapter | None = None
    bare: str | None = None
    """The model's name without the adapter that was asked for."""

    @property
    def base(self) -> str:
        """The name of the model without its adapter, as valid text, which a file's name need not be."""
        name = self.bare or (self.entry.base if self.entry else None) or self.name
        return name.encode("utf-8", "backslashreplace").decode()

    def with_adapters(self, asked: Sequence[Adapter | None]) -> list["ResolvedModel"]:
        """Return the model with each of the adapters (None for without one); only itself if there are none.

        Raises RigError for an adapter that does not fit.
        """
        if asked and self.adapter is not None:
            raise RigError(f"{self.name} has an adapter of its own; give --lora with {self.base}")
        for adapter in filter(None, asked or (self.adapter,)):
            adapter.check(self.path)
        names = [named(self.base, adapter) for adapter in asked]
        if len(set(names)) < len(names):
            twice = max(names, key=names.count)
            raise RigError(f"--lora: several adapters would be called {twice}; rename one")
        pairs = zip(names, asked, strict=True)
        models = [replace(self, name=name, adapter=adapter, bare=self.base) for name, adapter in pairs]
        return models or [self]


def load_registry(path: Path = REGISTRY) -> Mapping[str, Entry]:
    """Return the registry by name, in the file's order. Raises RigError when it cannot be read."""
    entries = parsed(_Registry, _with_bases(read_toml(path)), str(path), "a model registry").model
    registry = {entry.name: entry for entry in entries}
    files = [entry.file for entry in entries if entry.base is None]
    if len(registry) != len(entries) or len(set(files)) != len(files):
        raise RigError(f"{path}: the names and files of models must be unique")
    return registry


def _with_bases(data: dict[str, Any]) -> dict[str, Any]:
    """Fill in from its base what an entry leaves out about the base's file."""
    models = data.get("model")
    if not isinstance(models, list):
        return data
    bases = {model["name"]: model for model in models if isinstance(model, dict) and "name" in model}
    for number, model in enumerate(models):
        if isinstance(model, dict) and (base := bases.get(str(model.get("base")))):
            models[number] = {**base, "notes": "", **model}
    return data


def local_files() -> list[Path]:
    """Return the GGUF files in the models directory, sorted by name."""
    return sorted(path for path in models_directory().glob("*.gguf") if path.is_file())


def known_names() -> list[str]:
    """Return all names that `resolve` understands: the registry's, then the stems of other files."""
    registry = load_registry()
    registered = {entry.file for entry in registry.values()}
    return [*registry, *(path.stem for path in local_files() if path.name not in registered)]


def entry_of(sha256: str) -> Entry | None:
    """Return the registry's entry for a file with this content, whatever its place and name."""
    entries = (entry for entry in load_registry().values() if entry.base is None)
    return next((entry for entry in entries if entry.sha256 == sha256), None)


def family_of(info: GgufInfo) -> Entry | None:
    """Return the registry's entry for a file, or for the one that it was made from."""
    return entry_of(sha256_of(info.path)) or (entry_of(info.origin.root_sha256) if info.origin else None)


def template_of(entry: Entry | None) -> str | None:
    """Return the chat template (Jinja2 source) that the registry has for a model. Raises RigError."""
    if entry is None or entry.chat_template is None:
        return None
    path = REGISTRY.parent / entry.chat_template
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RigError(f"{path}: the chat template of {entry.name} cannot be read: {error}") from error


def template_source(info: GgufInfo, named_file: Path | None, *, own_format: bool) -> str | None:
    """Return the chat template (Jinja2 source) to run a file with: the given one, its own, or the registry's.

    Some files have another one for tools, which is used for the model's `own_format`. Returns None if there
    is no template at all. Raises RigError if one cannot be read.
    """
    if named_file is not None:
        try:
            return read_text(named_file)
        except RigError as error:
            raise RigError(f"--chat-template {error}") from error
    for_tools = info.other_templates.get("tool_use") if own_format else None
    return for_tools or info.chat_template or template_of(family_of(info))


_NO_FILES = (
    (re.compile(r"^[\w.-]*:[0-9]{2,5}(/|$)"), "give a server as http://127.0.0.1:8080"),
    (re.compile(r"^(hf:|(www\.)?(hf\.co|huggingface\.co)/)|^[\w-]+/[\w.-]+-GGUF\b", re.I), DOWNLOAD),
    (re.compile(r"\.(safetensors|bin|pt|pth|onnx|ggml)$", re.I), "rig reads .gguf files; convert it to one"),
    (re.compile(r"^latest(/|$)"), "`rig show latest` shows the newest run"),
    (re.compile(r"^oracle(/|$)"), "`rig run` alone plays the oracle; give a .gguf file"),
    (re.compile(r"^[\w.-]+:[\w.-]+$"), "a model of a server is http://127.0.0.1:11434#NAME"),
)
"""What people give in place of a file, and what to give."""


def resolve(text: str) -> ResolvedModel:
    """Return the model that `text` means: a registry name, a path, or a file's stem in the models directory.

    A file asked for by its registry name is checked against the registry's SHA-256 first. Raises RigError
    when there is no such model, when it is not here yet, or when it is not the file the registry means.
    """
    entry = load_registry().get(text)
    if entry:
        check(entry)
        source = entry.adapter
        adapter = Adapter(source.path, source.scale) if source else None
        return ResolvedModel(entry.name, entry.path, entry, adapter)
    place = os.path.expanduser(text)
    if os.path.isfile(place):
        return ResolvedModel(Path(place).stem, Path(place))
    if os.path.isdir(place):
        raise RigError(f"{text}: a directory; give the path of a .gguf file in it")
    for path in local_files():
        if text in (path.stem, path.name):
            return ResolvedModel(path.stem, path)
    if advice := next((advice for form, advice in _NO_FILES if form.search(text)), ""):
        raise RigError(f"{text}: no such file; {advice}")
    if text.endswith(".gguf") or os.sep in text:
        if "://" in text:
            raise RigError(f"{text}: give a server as http://127.0.0.1:8080, or the path of a .gguf file")
        raise RigError(f"{text}: no such file; `rig models list` shows the models that are here")
    names = known_names()
    raise RigError(
        f"unknown model {text!r}{did_you_mean(text, names)}; choose from: {', '.join(names)} "
        "(or the path of a .gguf file; `rig models pull NAME` fetches one that is not here)"
    )


def check(entry: Entry, *, fresh: bool = False) -> None:
    """Raise RigError unless the entry's file is here and is exactly the one that the registry means.

    With `fresh`, the file is read even if its SHA-256 is remembered.
    """
    if not entry.path.is_file():
        raise RigError(f"{entry.name} is not in {models_directory()} yet; run `rig models pull {entry.name}`")
    if entry.path.stat().st_size != entry.size or sha256_of(entry.path, fresh=fresh) != entry.sha256:
        raise RigError(
            f"{entry.path} is not the file the registry calls {entry.name} (its SHA-256 differs); delete or "
            f"rename it, then run `rig models pull {entry.name}`"
        )
    source = entry.adapter
    if source and not (source.path.is_file() and sha256_of(source.path, fresh=fresh) == source.sha256):
        raise RigError(f"{source.path} is not the adapter that came with rig (its SHA-256 differs)")
