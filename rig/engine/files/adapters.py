"""Adapters as the user names them: a file, and how strongly it counts."""

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rig.calls import JsonObject
from rig.engine.files.checksums import sha256_of
from rig.engine.gguf.adapter import check_fits, inspect_adapter
from rig.errors import RigError
from rig.paths import expanded

NONE = "none"
"""Asks for the model without an adapter, beside others with one."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter and its scale: 1 is as it was trained, 0 is as without it."""

    path: Path
    scale: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Adapter | None":
        """What `FILE`, `FILE:SCALE` or `none` means. Raises RigError if there is no such file."""
        if text == NONE:
            return None
        adapter = cls(expanded(text))
        file, separator, scale = text.rpartition(":")
        if separator and not adapter.path.exists():
            with suppress(ValueError):
                adapter = cls(expanded(file), float(scale))
        return adapter.checked(text)

    def checked(self, text: str) -> "Adapter":
        """Itself. Raises RigError unless there is the file, and a scale that is a number."""
        if not self.path.is_file():
            fault = "not a file" if self.path.exists() else "no such file"
            raise RigError(f"--lora {text}: {fault}; give an adapter as FILE or FILE:SCALE, or {NONE}")
        if not math.isfinite(self.scale):
            raise RigError(f"--lora {text}: {self.scale} is not a scale; 1 means as the adapter was trained")
        return self

    @property
    def name(self) -> str:
        """What an arm's name says of it: the file's stem, and the scale where it is not 1."""
        stem = self.path.stem.encode("utf-8", "backslashreplace").decode()
        return stem if self.scale == 1 else f"{stem}:{self.scale:g}"

    @property
    def text(self) -> str:
        """The inverse of `parse`, from anywhere."""
        path = str(self.path.absolute())
        return path if self.scale == 1 else f"{path}:{self.scale!r}"

    def check(self, model: Path) -> None:
        """Raise RigError unless the file is a whole adapter that fits a model."""
        check_fits(inspect_adapter(self.path), model)

    def as_json(self) -> JsonObject:
        """The part of it that can change an answer, and its file's name: a part of a fingerprint."""
        return {
            "adapter": self.path.name.encode("utf-8", "backslashreplace").decode(),
            "adapter_sha256": sha256_of(self.path),
            "adapter_scale": self.scale,
        }


def named(model: str, adapter: Adapter | None) -> str:
    """The name of a model with an adapter."""
    return model if adapter is None else f"{model}+{adapter.name}"
