"""The first load of a file, in a process that may die of it: some damage makes llama.cpp end its process."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from rig.engine.files.checksums import sha256_of
from rig.engine.files.registry import entry_of
from rig.errors import RigError
from rig.paths import cache_directory

_TIMEOUT_S = 300.0
_DEATHS = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL})
"""How llama.cpp ends a process. One that was killed, such as for lack of memory, says nothing about it."""
_LAST_WORDS = re.compile(r"(GGML_ASSERT\(.*\) failed|GGML_ABORT.*|what\(\): .*)")


def check_loads(path: Path, *, weightless: bool = False) -> None:
    """Raise RigError if llama.cpp dies of a file, or of the first token that is decoded with it.

    What loaded once is remembered by its SHA-256 and llama.cpp's version, and files of the registry are known
    to load. A file that llama.cpp refuses without dying is left to the load that follows. A `weightless` load
    reads the header alone, of files of any size, and remembers nothing.
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
    """Load a file in a process of its own; whether that went well. Raises RigError if the process died."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rig.engine.memory.first_load", str(path), *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
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


def _main(path: Path, *, weightless: bool) -> None:
    """In the child: weights, tokens, a context and one token; without weights no token."""
    from rig.engine.core.llama import Chunk, LlamaContext, LlamaModel
    from rig.engine.core.tokenizer import Tokenizer

    model = LlamaModel(path, n_gpu_layers=0, weightless=weightless)
    Tokenizer(model)
    context = LlamaContext(
        model, n_ctx=64, n_batch=16, n_threads=1, flash_attention=False, kv_type="f16", n_seq=1
    )
    if not weightless:
        context.decode([Chunk(0, (0,), True)])


if __name__ == "__main__":
    with suppress(RigError):
        _main(Path(sys.argv[1]), weightless="weightless" in sys.argv[2:])
