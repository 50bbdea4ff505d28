"""The ways of running the same prompts that are compared, one module each."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from benchmarks.engine.job import Answer, Job
from benchmarks.engine.prompts import BenchPrompt
from rig.core.calls import JsonObject

INSTALL = "pip install '.[bench]' -c constraints.txt"
"""What brings every peer."""


class Contestant(Protocol):
    """A model loaded and ready to be asked."""

    def run(self) -> Sequence[Answer]:
        """Answer all prompts. The clock runs meanwhile."""
        ...

    def details(self) -> JsonObject:
        """What only this contestant can tell of the run."""
        ...

    def close(self) -> None: ...


_ENGINE = ("llama-cpp-python", "llguidance", "outlines")
_FLOOR = ("llama-cpp-python",)


@dataclass(frozen=True, slots=True)
class Entry:
    """A contestant: the module whose `make(job, prompts, clients)` loads it, and the packages it needs.

    `clients` is how many ask at once; None is as many as the job says.
    """

    name: str
    title: str
    module: str
    packages: tuple[str, ...] = ()
    clients: int | None = 1

    @property
    def is_engine(self) -> bool:
        """Whether it is rig's engine, which takes requests and not only prompts."""
        return self.packages is _ENGINE

    def missing(self) -> tuple[str, ...]:
        """The packages that are not installed."""
        return tuple(package for package in self.packages if _version(package) is None)

    def versions(self) -> dict[str, str]:
        """The versions of its packages."""
        return {package: found for package in self.packages if (found := _version(package))}

    def make(self, job: Job, prompts: Sequence[BenchPrompt]) -> Contestant:
        """Load it."""
        clients = self.clients or job.parallel
        made: Contestant = importlib.import_module(self.module).make(job, prompts, clients)
        return made


_HERE = "benchmarks.engine.contestants"
RIG, FLOOR = "rig", "floor"
AGAIN = "rig-again"
PARALLEL, PARALLEL_FLOOR = "rig-parallel", "floor-parallel"
FLOORS = {RIG: FLOOR, PARALLEL: PARALLEL_FLOOR}
"""Whose batches each floor plays."""

OWN = (
    Entry(RIG, "rig", f"{_HERE}.engine", _ENGINE),
    Entry(FLOOR, "  its batches, bare", f"{_HERE}.floor", _FLOOR),
    Entry(AGAIN, "rig, second start", f"{_HERE}.engine_again", _ENGINE),
    Entry(PARALLEL, "rig, several at once", f"{_HERE}.engine", _ENGINE, clients=None),
    Entry(PARALLEL_FLOOR, "  its batches, bare", f"{_HERE}.floor", _FLOOR, clients=None),
)
PEERS = (
    Entry("outlines", "Outlines", f"{_HERE}.outlines", ("outlines", "llama-cpp-python", "numba")),
    Entry(
        "llama-cpp-server",
        "llama-cpp-python's server",
        f"{_HERE}.llama_cpp_server",
        ("llama-cpp-python", "uvicorn", "fastapi", "sse-starlette", "starlette-context", "pydantic-settings"),
    ),
    Entry("llama-server", "llama-server, 1 slot", f"{_HERE}.llama_server", ("xllamacpp",)),
    Entry("llama-server-4", "llama-server, 4 slots", f"{_HERE}.llama_server", ("xllamacpp",), clients=4),
)
ENTRIES = {entry.name: entry for entry in (*OWN, *PEERS)}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
