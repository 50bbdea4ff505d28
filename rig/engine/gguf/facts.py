"""A GGUF header's metadata by type: a value of the wrong type counts as missing."""

import re
from collections.abc import Mapping
from typing import TypeAlias

from rig.engine.gguf.header import Array, Value

TEMPLATE = "tokenizer.chat_template"
_SPECIAL = re.compile(r"tokenizer\.ggml\.(\w+)_token_id")

PerLayer: TypeAlias = int | tuple[int, ...]
"""One number for every layer, or one for each."""


class Facts:
    """What the metadata say, under the architecture's own name or in general."""

    def __init__(self, metadata: Mapping[str, Value]) -> None:
        self._metadata = metadata
        self.architecture = self.text("general.architecture") or ""

    def text(self, key: str) -> str | None:
        value = self._metadata.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str, default: int | None = None) -> int | None:
        value = self._metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default

    def flag(self, key: str) -> bool | None:
        value = self._metadata.get(key)
        return value if isinstance(value, bool) else None

    def own(self, key: str, default: int | None = None) -> int | None:
        """A number under the architecture's own name."""
        return self.number(f"{self.architecture}.{key}", default)

    def per_layer(self, key: str) -> PerLayer | None:
        value = self._metadata.get(f"{self.architecture}.{key}")
        if isinstance(value, tuple) and all(isinstance(item, int) and item >= 0 for item in value):
            return tuple(int(item) for item in value)
        return self.own(key)

    def length(self, key: str) -> int | None:
        value = self._metadata.get(key)
        return value.length if isinstance(value, Array) else None

    def has(self, key: str) -> bool:
        return f"{self.architecture}.{key}" in self._metadata

    def special_tokens(self) -> dict[str, int]:
        matches = ((_SPECIAL.fullmatch(key), value) for key, value in self._metadata.items())
        return {match[1]: value for match, value in matches if match and isinstance(value, int)}

    def other_templates(self) -> dict[str, str]:
        prefix = f"{TEMPLATE}."
        return {
            key.removeprefix(prefix): value
            for key, value in self._metadata.items()
            if key.startswith(prefix) and isinstance(value, str)
        }
