"""rig's own engine, as a run uses it; what it has llama.cpp do is recorded for the floor."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from benchmarks.engine.external_prompts import give
from benchmarks.engine.job import Answer, Job
from benchmarks.engine.prompts import BenchPrompt
from benchmarks.engine.recorded import Recorded, recording
from rig.core.calls import JsonObject
from rig.core.models import Model, Piece, Prediction, Request, StepKey
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load


class Engine:
    """The engine, predicting up to `clients` answers at once.

    Prompts that come from conversations are rendered and tokenised while the clock runs, as in a run.
    """

    def __init__(self, job: Job, prompts: Sequence[BenchPrompt], clients: int) -> None:
        self._model = open_model(job, clients)
        self._job = job
        self._prompts = prompts
        self._requests: list[Request] = []
        if job.work is not None:
            requests = job.work.requests()
            # As a turn begins: the history is the true one, and not what the model itself wrote in the turn.
            self._requests = [
                replace(requests[prompt.id], key=StepKey(prompt.id, 0, 0)) for prompt in prompts
            ]
        self._predictions: list[Prediction] = []
        self._prepare_s = 0.0
        self._tape = Recorded()

    def run(self) -> Sequence[Answer]:
        with recording(self._tape):
            clock = perf_counter()
            requests = self._requests or give(self._model, self._prompts)
            # Prompts of others begin alike, too, as far as the first place where two of them part.
            self._model.prepare(opening(requests[0]), None)
            self._prepare_s = perf_counter() - clock
            self._predictions, seconds = predict_all(self._model, requests)
        return [
            _answer(prompt, self._predictions[number], seconds[number])
            for number, prompt in enumerate(self._prompts)
        ]

    def details(self) -> JsonObject:
        usages = [prediction.usage for prediction in self._predictions]
        if self._job.tape:
            self._tape.write(Path(self._job.tape))
        return {
            "slots": self._model.slots,
            "prepare_s": self._prepare_s,
            "cached_tokens": sum(usage.cached_tokens for usage in usages),
            "forced_tokens": sum(usage.forced_tokens for usage in usages),
            "mask_s": sum(usage.mask_s for usage in usages),
            "llama_s": self._tape.seconds,
            "batches": self._tape.batches,
            "batch_tokens": self._tape.tokens,
        }

    def close(self) -> None:
        self._model.close()


def make(job: Job, prompts: Sequence[BenchPrompt], clients: int) -> Engine:
    """The engine."""
    return Engine(job, prompts, clients)


def open_model(job: Job, clients: int) -> LlamaCppModel:
    """The model of a job. What it would tell a person goes to the process's log."""
    settings = replace(job.settings, parallel=clients)
    return load(Path(job.model), settings, job.name, notify=print)


def predict_all(
    model: Model, requests: Sequence[Request], clock: Callable[[], float] = perf_counter
) -> tuple[list[Prediction], list[float]]:
    """The predictions in the order of the requests, a free slot taking the next one; how long each took."""
    coming = iter(enumerate(requests))
    under_way: dict[int, tuple[int, float]] = {}
    made: dict[int, tuple[Prediction, float]] = {}
    while True:
        for slot in range(model.slots):
            if slot not in under_way and (following := next(coming, None)):
                number, request = following
                under_way[slot] = number, clock()
                model.begin(slot, request, _ignore)
        if not under_way:
            ordered = [made[number] for number in range(len(requests))]
            return [prediction for prediction, _ in ordered], [seconds for _, seconds in ordered]
        for slot, prediction in model.advance():
            number, began = under_way.pop(slot)
            made[number] = prediction, clock() - began


def opening(request: Request) -> Request:
    """What requests like this one have in common."""
    return replace(request, messages=())


def _answer(prompt: BenchPrompt, prediction: Prediction, seconds: float) -> Answer:
    usage = prediction.usage
    return Answer(
        id=prompt.id,
        text=prediction.raw,
        finish=prediction.finish_reason,
        tokens=usage.completion_tokens,
        seconds=seconds,
        prompt_tokens=usage.prompt_tokens,
        detail=prediction.error_detail,
    )


def _ignore(piece: Piece) -> None:
    pass
