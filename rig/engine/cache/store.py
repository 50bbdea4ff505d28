"""The prompt's shared beginning on disk: its KV state, so that the next start need not compute it again.

A file is found by everything that shaped its bits: the model file, the tokens, the context's settings and
llama.cpp's build. It is checked before it is used; what fails the check is computed again.
"""

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from rig.calls import Json
from rig.engine.llama import LlamaContext
from rig.engine.prompt import Segment
from rig.models import Notify

WORTH_TOKENS = 256
"""Shorter beginnings are computed about as fast as they are read."""

_MAGIC = b"rig-kv-1"
_DIGEST_SIZE = 32


class PrefixStore:
    """A directory of KV states, the least recently used of which go when it grows beyond `max_bytes`.

    `shape` is everything besides the tokens that can change a bit of the state. `notify` is told in one line
    what a person should know: a file that was damaged, a directory that cannot be written.
    """

    def __init__(
        self,
        directory: Path,
        shape: Mapping[str, Json],
        notify: Notify,
        *,
        max_bytes: int = 2 << 30,
    ) -> None:
        self._directory = directory
        self._shape = json.dumps(shape, sort_keys=True).encode()
        self._notify = notify
        self._max_bytes = max_bytes
        self._is_silent = False

    def load(self, context: LlamaContext, sequence: int, tokens: Segment) -> bool:
        """Make a sequence hold these tokens, and nothing else, if their state is here and sound."""
        path = self._path(tokens)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return False
        except OSError as error:
            self._say(f"{path}: cannot be read ({error.strerror}); the prompt is computed anew")
            return False
        digest, state = data[len(_MAGIC) : len(_MAGIC) + _DIGEST_SIZE], data[len(_MAGIC) + _DIGEST_SIZE :]
        sound = data.startswith(_MAGIC) and _digest(state) == digest
        if not (sound and context.restore(sequence, tokens, state)):
            self._notify(f"{path}: damaged; the prompt is computed anew")
            with suppress(OSError):
                path.unlink()
            return False
        with suppress(OSError):
            os.utime(path)
        return True

    def save(self, context: LlamaContext, sequence: int) -> None:
        """Keep the state of what a sequence holds, unless it is too short to be worth it or too large."""
        tokens = tuple(context.sequences[sequence])
        if len(tokens) < WORTH_TOKENS:
            return
        state = context.state(sequence)
        if len(state) > self._max_bytes:
            return
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._make_room(len(state))
            with NamedTemporaryFile(dir=self._directory, prefix=".", delete=False) as file:
                temporary = Path(file.name)
                try:
                    file.write(_MAGIC + _digest(state))
                    file.write(state)
                    file.close()
                    temporary.replace(self._path(tokens))
                except BaseException:
                    temporary.unlink(missing_ok=True)
                    raise
        except OSError as error:
            self._say(f"{self._directory}: the prompt's state is not kept: {error.strerror or error}")

    def rates(self, tokens: Segment) -> dict[int, float] | None:
        """What `keep_rates` was given for these tokens, if it can be read."""
        try:
            data = json.loads(self._path(tokens, "rates.json").read_bytes())
            return {int(count): float(rate) for count, rate in data.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def keep_rates(self, tokens: Segment, rates: Mapping[int, float]) -> None:
        """Remember how fast so many sequences decode after these tokens."""
        with suppress(OSError):  # measuring again costs a second
            self._directory.mkdir(parents=True, exist_ok=True)
            self._path(tokens, "rates.json").write_text(json.dumps(rates))

    def _path(self, tokens: Segment, suffix: str = "kv") -> Path:
        key = hashlib.sha256(self._shape + struct.pack(f"<{len(tokens)}i", *tokens))
        return self._directory / f"{key.hexdigest()}.{suffix}"

    def _make_room(self, size: int) -> None:
        """Remove the files that were not used for longest, until `size` bytes more are within the bound."""
        files = []
        for path in self._directory.glob("*.kv"):
            with suppress(FileNotFoundError):  # another run may remove it first
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, freed, path in sorted(files):
            if total + size <= self._max_bytes:
                break
            path.unlink(missing_ok=True)
            total -= freed

    def _say(self, text: str) -> None:
        """Once is enough for what will not change within a run."""
        if not self._is_silent:
            self._is_silent = True
            self._notify(text)


def _digest(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=_DIGEST_SIZE).digest()
