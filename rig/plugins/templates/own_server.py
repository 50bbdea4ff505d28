"""llama.cpp's own template engine on this machine: its server, as the package xllamacpp brings it."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

from rig.core.errors import RigError

NAME = "llama.cpp"
"""What stands for it instead of a URL."""

# Loads as little of the weights as it can: they stay in the file, since nothing is computed with them.
_SCRIPT = """
import json, sys, xllamacpp
wanted = json.loads(sys.stdin.readline())
p = xllamacpp.CommonParams()
p.model.path, p.chat_template = wanted["model"], wanted["template"]
p.hostnames, p.port, p.n_ctx, p.n_parallel, p.n_gpu_layers = ["127.0.0.1"], 0, 256, 1, 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
p.use_jinja = p.no_extra_bufts = True
p.ui = p.warmup = p.fit_params = False
server = xllamacpp.Server(p)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def llama_cpp(model: str, template: str) -> Iterator[str]:
    """Run llama.cpp's server with a model file and another template; its address on this machine, alone.

    Raises RigError if the package is not there, or the server takes the file or the template for broken.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise RigError(f"--server {NAME} needs the package xllamacpp: pip install xllamacpp")
    with TemporaryFile() as log:
        child = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        )
        assert child.stdin is not None
        assert child.stdout is not None
        with child:
            try:
                child.stdin.write(json.dumps({"model": model, "template": template}).encode() + b"\n")
                child.stdin.flush()
                words = next((line.split() for line in child.stdout if line.startswith(b"listening")), None)
                if words is None:
                    log.seek(0)
                    raise RigError(f"{model}: llama.cpp's server does not start with it{_told(log.read())}")
                yield words[1].decode()
            finally:
                child.kill()


def _told(log: bytes) -> str:
    """Return the first error of a log, without its time and place."""
    errors = [line for line in log.decode(errors="replace").splitlines() if " E " in line]
    return f": {errors[0].split(': ', 1)[-1].strip()[:200]}" if errors else ""
