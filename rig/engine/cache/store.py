"""The prompt's shared beginning on disk: its KV state, so that the next start need not compute it again.

A file is found by everything that shaped its bits: the model file, the tokens, the context's settings and
llama.cpp's build. It is checked before it is used; if it fails the check, the state is computed again.
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rig.calls import Json
from rig.engine.core.llama import LlamaContext
from rig.engine.core.tokenizer import Segment
from rig.engine.files.disk_cache import Damaged, DiskCache
from rig.models import Notify

WORTH_TOKENS = 256
"""Shorter beginnings are computed about as fast as they are read."""


class PrefixStore:
    """A directory of KV states. The least recently used ones go when it grows beyond `max_bytes`.

    `shape` is everything besides the tokens that can change a bit of the state. `notify` gets one line about
    anything a person should know: a damaged file, or a directory that cannot be written.
    """

    def __init__(
        self, directory: Path, shape: Mapping[str, Json], notify: Notify, max_bytes: int = 2 << 30
    ) -> None:
        self._directory = directory
        self._shape = json.dumps(shape, sort_keys=True).encode()
        self._notify = notify
        self._cache = DiskCache(directory, "kv", max_bytes)
        self._is_silent = False

    def load(self, context: LlamaContext, sequence: int, tokens: Segment) -> bool:
        """Make a sequence hold these tokens, and nothing else, if their state is here and sound."""
        key = self._key(tokens)
        path = self._cache.path(key)
        try:
            state = self._cache.load(key)
            if state is None or context.restore(sequence, tokens, state):
                return state is not None
            self._cache.drop(key)
            fault = f"{path}: damaged"
        except OSError as error:
            self._say(f"{path}: cannot be read ({error.strerror}); the prompt is computed again")
            return False
        except Damaged as error:
            fault = str(error)
        self._notify(f"{fault}; the prompt is computed again")
        return False

    def save(self, context: LlamaContext, sequence: int) -> None:
        """Keep the state of what a sequence holds, unless it is too short to be worth it or too large."""
        tokens = tuple(context.sequences[sequence])
        if len(tokens) < WORTH_TOKENS:
            return
        try:
            self._cache.save(self._key(tokens), context.state(sequence))
        except OSError as error:
            self._say(f"{self._directory}: the prompt's state is not kept: {error.strerror or error}")

    def rates(self, tokens: Segment) -> dict[int, float] | None:
        """What `keep_rates` was given for these tokens, if it can be read."""
        try:
            data = json.loads(self._rates(tokens).read_bytes())
            return {int(count): float(rate) for count, rate in data.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def keep_rates(self, tokens: Segment, rates: Mapping[int, float]) -> None:
        """Remember how fast this many sequences go on after these tokens."""
        with suppress(OSError):  # measuring again costs a second
            self._directory.mkdir(parents=True, exist_ok=True)
            self._rates(tokens).write_text(json.dumps(rates))

    def _rates(self, tokens: Segment) -> Path:
        return self._directory / f"{self._key(tokens)}.steps.json"

    def _key(self, tokens: Segment) -> str:
        return hashlib.sha256(self._shape + struct.pack(f"<{len(tokens)}i", *tokens)).hexdigest()

    def _say(self, text: str) -> None:
        """Once is enough for what will not change within a run."""
        if not self._is_silent:
            self._is_silent = True
            self._notify(text)
