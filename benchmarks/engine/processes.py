"""Contestants' processes: started one at a time, under equal conditions, and what became of them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.engine.job import Job, Outcome
from rig.core.calls import JsonObject
from rig.core.errors import RigError

_OPENMP = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


class Failed(Exception):
    """A contestant's process ended without a result; the message says how, in one line."""


def environment(cache: Path) -> dict[str, str]:
    """The same for every contestant: how OpenMP's threads wait, and an empty cache of rig's.

    rig has threads spin for 2,000 rounds (`rig.plugins.llama`), so the others do too.
    """
    made = {**os.environ, "RIG_CACHE": str(cache)}
    if not any(name in made for name in _OPENMP):
        made["GOMP_SPINCOUNT"] = "2000"
    return made


def conditions() -> dict[str, str]:
    """What `environment` says about OpenMP."""
    made = environment(Path())
    return {name: made[name] for name in _OPENMP if name in made}


def settle(job: Job, folder: Path) -> JsonObject:
    """Make the job's prompts ready; what the engine settled on. Raises RigError."""
    made = _child(job, folder)
    settled: JsonObject = made["settled"]
    return settled


def measure(job: Job, folder: Path) -> Outcome:
    """Run one contestant once. Raises Failed."""
    try:
        return Outcome.from_json(_child(job, folder)["outcome"])
    except RigError as error:
        raise Failed(str(error)) from error


def profiled(job: Job, folder: Path) -> JsonObject:
    """Run the job's conversations as `rig run` would; seconds by what they went into. Raises RigError."""
    made: JsonObject = _child(job, folder)["profile"]
    return made


def _child(job: Job, folder: Path) -> Any:
    """Raises RigError with what the process says of a user's fault, Failed when it dies."""
    told, result, log = folder / "job.json", folder / "result.json", folder / "log"
    result.unlink(missing_ok=True)
    job.write(told)
    cache = folder / "cache"
    command = [sys.executable, "-m", "benchmarks.engine.child", str(told), str(result)]
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment(cache)
        )
        try:
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
    if code or not result.is_file():
        raise Failed(_last_words(code, log))
    made = json.loads(result.read_text())
    if "fault" in made:
        raise RigError(made["fault"])
    return made


def _last_words(code: int, log: Path) -> str:
    how = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"{how}; it last said: {lines[-1][:300]}" if lines else f"{how} and said nothing"
