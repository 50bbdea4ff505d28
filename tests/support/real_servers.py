"""Real servers of models, each in a process of its own, and the taught model as files that they can load."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from built_server import built_llama_server

LLAMA_SERVER = """
import sys, xllamacpp
model, port, n_ctx = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
p = xllamacpp.CommonParams()
p.model.path, p.port, p.n_ctx, p.n_parallel = model, port, n_ctx, 1
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.ui = p.warmup = False
server = xllamacpp.Server(p)
sys.stdin.read()
"""

LLAMA_CPP_SERVER = """
import runpy
import llama_cpp.llama_cpp as C

default_params = C.llama_model_default_params

def without_layouts():
    parameters = default_params()
    parameters.use_extra_bufts = b"AMX_INT8 = 1" not in C.llama_print_system_info()
    return parameters

C.llama_model_default_params = without_layouts
runpy.run_module("llama_cpp.server", run_name="__main__")
"""
"""Like rig, it leaves out the CPU's weight layouts where llama.cpp was compiled for AMX: there it crashes."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server under way at an address; `kill` ends it as `kill -9` does."""

    def __init__(self, command: list[str], port: int, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)
        until = time.monotonic() + 90
        while not _listens(port):
            assert self.process.poll() is None, log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.2)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()


def _listens(port: int) -> bool:
    """Whether the kernel has a listener on this port. Nothing is connected to."""
    wanted = f":{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines)


@contextmanager
def llama_server(
    model: Path, folder: Path, *, n_ctx: int = 4096, port: int | None = None
) -> Iterator[Server]:
    """llama-server, as xllamacpp brings it."""
    port = port or free_port()
    yield from _until_done(
        [sys.executable, "-c", LLAMA_SERVER, str(model), str(port), str(n_ctx)], port, folder
    )


@contextmanager
def vendored_llama_server(model: Path, folder: Path, *, n_ctx: int = 4096) -> Iterator[Server]:
    """llama-server of the very commit that rig's library is of. Skips the test where it cannot be built."""
    import llama_cpp

    options = {"-m": model, "-c": n_ctx, "-np": 1, "-t": 1, "-tb": 1}
    words = [str(word) for pair in options.items() for word in pair]
    if b"AMX_INT8 = 1" in llama_cpp.llama_print_system_info():  # as rig does there
        words.append("--no-repack")
    with vendored_by(words, folder) as server:
        yield server


@contextmanager
def vendored_by(words: list[str], folder: Path) -> Iterator[Server]:
    """The same llama-server by the options of a command line, on a port of this machine."""
    port = free_port()
    place = ["--host", "127.0.0.1", "--port", str(port)]
    yield from _until_done([str(built_llama_server()), *words, *place], port, folder)


@contextmanager
def fault_proxy(upstream: str, fault: str, folder: Path) -> Iterator[Server]:
    """A proxy that does one thing wrong, in front of a server."""
    port = free_port()
    script = Path(__file__).with_name("fault_proxy.py")
    yield from _until_done([sys.executable, str(script), str(port), upstream, fault], port, folder)


@contextmanager
def llama_cpp_server(model: Path, folder: Path, *, n_ctx: int = 4096) -> Iterator[Server]:
    """llama-cpp-python's server."""
    port = free_port()
    options = {"--model": model, "--port": port, "--n_ctx": n_ctx, "--n_threads": 1, "--n_threads_batch": 1}
    words = [str(word) for pair in options.items() for word in pair]
    yield from _until_done(
        [sys.executable, "-c", LLAMA_CPP_SERVER, "--host", "127.0.0.1", *words], port, folder
    )


def _until_done(command: list[str], port: int, folder: Path) -> Iterator[Server]:
    server = Server(command, port, folder / f"server-{port}.log")
    try:
        yield server
    finally:
        server.kill()


def with_template(model: Path, template: str, target: Path) -> Path:
    """A copy of a file with another chat template."""
    arguments = ["gguf-new-metadata", "--force", "--chat-template", template, str(model), str(target)]
    script = "import sys; from gguf.scripts.gguf_new_metadata import main; sys.argv = sys.argv[1:]; main()"
    subprocess.run([sys.executable, "-c", script, *arguments], check=True, capture_output=True)
    return target


def rig_environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "RIG_CACHE": str(folder / "cache"), "RIG_RUNS": str(folder / "runs.sqlite")}


def rig_process(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """`rig` in a process of its own, which may use the network as far as it does."""
    command = [sys.executable, "-m", "rig", *map(str, arguments)]
    return subprocess.run(command, env=rig_environment(folder), cwd=folder, capture_output=True, text=True)
