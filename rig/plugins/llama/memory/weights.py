"""Weights in memory: a file is loaded once, no matter how many models use it at the same time.

Two roles of a run can use one file. Each has its own context, and so its own prompts. The file of the next
arm can be read ahead. A file is first loaded in a separate process, because some damage makes llama.cpp end
its process. Run as a program, this module is that process.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from typing import TypeAlias
from weakref import WeakValueDictionary

from rig.core.errors import RigError
from rig.core.paths import cache_directory, real
from rig.plugins.llama.core.llama import Chunk, LlamaContext, LlamaModel
from rig.plugins.llama.core.placement import Placement
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.registry import entry_of
from rig.plugins.llama.memory.plan import machine_memory

_TIMEOUT_S = 300.0
_DEATHS = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL})
"""Signals by which llama.cpp ends a process. One that was killed, as for lack of memory, shows nothing."""
_LAST_WORDS = re.compile(r"(GGML_ASSERT\(.*\) failed|GGML_ABORT.*|what\(\): .*)")


def check_loads(path: Path, *, weightless: bool = False) -> None:
    """Raise RigError if llama.cpp dies while it loads a file or decodes the first token with it.

    A file that loaded once is remembered by its SHA-256 and llama.cpp's version, and files of the registry
    are known to load. A file that llama.cpp refuses without dying is left to the load that follows. A
    `weightless` load reads only the header, of files of any size, and remembers nothing.
    """
    if weightless:
        _load_in_child(path, "weightless")
        return
    digest = sha256_of(path)
    mark = cache_directory() / "loads" / f"{digest}-{version('llama_cpp_python')}"
    if entry_of(digest) is not None or mark.exists() or not _load_in_child(path):
        return
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _load_in_child(path: Path, *options: str) -> bool:
    """Load a file in a separate process and return whether that went well. Raises RigError if it died."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rig.plugins.llama.memory.weights", str(path), *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise RigError(f"{path}: llama.cpp did not finish loading it; it is damaged") from error
    except OSError:
        return False
    if -done.returncode in _DEATHS:
        words = _LAST_WORDS.search(done.stderr)
        reason = signal.Signals(-done.returncode).name + (f"): {words[0][:200]}" if words else ")")
        raise RigError(f"{path}: llama.cpp crashes on this file ({reason}; it is damaged, leave it out")
    return done.returncode == 0


READ_AHEAD_SHARE = 0.5
"""The share of the free memory that a file read ahead may take; the system keeps it as long as it can."""
_PIECE = 8 << 20

_Key: TypeAlias = tuple[Path, int, int]

_open: WeakValueDictionary[_Key, LlamaModel] = WeakValueDictionary()
"""The weights that are open, by their file as it was when they were loaded."""


def find_weights(path: Path) -> LlamaModel | None:
    """Return the weights of this exact file if they are open, else None."""
    model = _open.get(_key(path))
    return model if model is not None and model.pointer else None


def open_weights(path: Path, placement: Placement) -> LlamaModel:
    """Return the weights of a file in this placement: open ones, or else loaded now."""
    shared = find_weights(path)
    if shared is not None and shared.placement == placement:
        return shared.share()
    check_loads(path)
    model = LlamaModel(path, placement)
    _open[_key(path)] = model
    return model


@contextmanager
def keeping_weights(path: Path) -> Iterator[None]:
    """A context that keeps the weights of a file open, if they are, for the next user."""
    model = find_weights(path) if path.is_file() else None
    with closing(model.share()) if model else nullcontext():
        yield


def _key(path: Path) -> _Key:
    status = path.stat()
    return real(path), status.st_mtime_ns, status.st_size


@contextmanager
def reading_ahead(path: Path) -> Iterator[None]:
    """A context that reads a file in the background. A file that cannot be read is skipped."""
    stopped = Event()

    def read() -> None:
        with suppress(OSError), path.open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > READ_AHEAD_SHARE * machine_memory().free:
                return
            piece = bytearray(_PIECE)
            while not stopped.is_set() and file.readinto(piece):
                pass

    reader = Thread(target=read, daemon=True)
    reader.start()
    try:
        yield
    finally:
        stopped.set()
        reader.join()


if __name__ == "__main__":
    # In the child: weights, tokens, a context and one token; without weights no token.
    weightless = "weightless" in sys.argv[2:]
    with suppress(RigError):
        child = LlamaModel(Path(sys.argv[1]), weightless=weightless)
        Tokenizer(child)
        context = LlamaContext(child, n_ctx=64, n_batch=16, n_threads=1, flash_attention=False, kv_type="f16")
        if not weightless:
            context.decode([Chunk(0, (0,), True)])
