"""The registry of model files made here: what each was made from, and the SHA-256 it had then.

`local.toml` lies beside the files, in the models directory. It belongs to whoever made them.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rig.engine.files.atomic import put_in_place, temporary_folder
from rig.errors import RigError
from rig.files import read_toml
from rig.paths import models_directory

_SHA256 = r"^[0-9a-f]{64}$"


class LocalEntry(BaseModel):
    """A file made here. `size` is in bytes; `tensors` are counts by the GGML type really used.

    `fell_back` counts the tensors that could not have the type they were meant to have, by `WANTED to USED`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

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


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: list[LocalEntry] = Field(default_factory=list)


def local_registry() -> dict[str, LocalEntry]:
    """What was made here, by file name. Raises RigError if the file cannot be understood."""
    path = _place()
    if not path.exists():
        return {}
    try:
        entries = _File.model_validate(read_toml(path)).model
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RigError(f"{path}: not a registry of local models: {place}: {first['msg']}") from error
    return {entry.file: entry for entry in entries}


def record(entry: LocalEntry) -> None:
    """Add an entry, in the place of one for the same file. Raises RigError, OSError."""
    with _alone():
        entries = {**local_registry(), entry.file: entry}
        text = "# Model files that `rig models quantize` made here.\n" + "".join(map(_toml, entries.values()))
        with temporary_folder(models_directory(), "local") as folder:
            finished = folder / _place().name
            finished.write_text(text, encoding="utf-8")
            put_in_place(finished, _place())


def _place() -> Path:
    return models_directory() / "local.toml"


@contextmanager
def _alone() -> Iterator[None]:
    """Only one process at a time adds entries, so that none is lost."""
    directory = os.open(models_directory(), os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _toml(entry: LocalEntry) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in entry.model_dump().items()]
    return "\n".join(["", "[[model]]", *lines, ""])


def _value(value: str | int | bool | Mapping[str, int]) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(key)} = {number}" for key, number in value.items()) + "}"
    # JSON's strings are TOML's basic strings, but for one control character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
