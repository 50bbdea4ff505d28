"""The floor: what the engine had llama.cpp do, done again with nothing around it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.engine.job import Answer, Job
from benchmarks.engine.prompts import BenchPrompt
from benchmarks.engine.recorded import Player, Recorded, catching_context
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.loading import load


class Floor:
    """A tape, and a context made exactly as the engine makes its own."""

    def __init__(self, job: Job, clients: int) -> None:
        if job.tape is None:
            raise RigError("the floor needs the tape of a run")
        contexts: list[Any] = []
        with catching_context(contexts):
            settings = replace(job.settings, parallel=clients)
            self._model = load(Path(job.model), settings, job.name, notify=_ignore)
        self._context = contexts[-1]
        self._tape = Recorded.read(Path(job.tape))
        self._player = Player(self._tape)

    def run(self) -> Sequence[Answer]:
        self._player.play(self._context)
        return ()

    def details(self) -> JsonObject:
        return {"batches": self._tape.batches, "batch_tokens": self._tape.tokens}

    def close(self) -> None:
        self._player.close()
        self._model.close()


def make(job: Job, prompts: Sequence[BenchPrompt], clients: int) -> Floor:
    """The floor of the run that wrote the job's tape."""
    return Floor(job, clients)


def _ignore(text: str) -> None:
    pass
