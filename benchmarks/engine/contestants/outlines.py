"""Outlines over llama-cpp-python, as its documentation has it: one generator for each schema, defaults."""

import json
from collections.abc import Sequence
from typing import Any

import llama_cpp
import outlines
from outlines.types import JsonSchema

from benchmarks.engine.contestants.asking import ask_all
from benchmarks.engine.contestants.workaround import leave_out_cpu_weight_layouts
from benchmarks.engine.job import Answer, Job
from benchmarks.engine.prompts import BenchPrompt
from rig.core.calls import JsonObject


class _Llama(llama_cpp.Llama):  # type: ignore[misc]
    """llama-cpp-python's model, which remembers of its last completion what Outlines does not pass on."""

    completion: Any = None

    def create_completion(self, *arguments: Any, **named: Any) -> Any:
        self.completion = super().create_completion(*arguments, **named)
        return self.completion


class Outlines:
    """`outlines.from_llamacpp(Llama(...))`. Building a generator counts as work, as it does for its users."""

    def __init__(self, job: Job, prompts: Sequence[BenchPrompt]) -> None:
        self._without_layouts = leave_out_cpu_weight_layouts()
        self._llama = _Llama(
            job.model,
            n_ctx=job.n_ctx or 0,
            n_threads=job.threads,
            n_threads_batch=job.threads,
            n_gpu_layers=job.gpu_layers or 0,
            verbose=False,
        )
        self._model = outlines.from_llamacpp(self._llama, chat_mode=False)
        self._prompts = prompts
        self._generators: dict[str, Any] = {}

    def run(self) -> Sequence[Answer]:
        return ask_all(self._ask, self._prompts, 1)

    def _ask(self, prompt: BenchPrompt) -> Answer:
        schema = json.dumps(prompt.schema)
        if schema not in self._generators:
            self._generators[schema] = outlines.Generator(self._model, JsonSchema(schema))
        text = self._generators[schema](prompt.text, max_tokens=prompt.max_tokens, temperature=0.0)
        usage = self._llama.completion["usage"]
        return Answer(
            prompt.id,
            text,
            "length" if self._llama.completion["choices"][0]["finish_reason"] == "length" else "stop",
            usage["completion_tokens"],
            0.0,
            prompt_tokens=usage["prompt_tokens"],
        )

    def details(self) -> JsonObject:
        return {"without_cpu_weight_layouts": self._without_layouts}

    def close(self) -> None:
        self._llama.close()


def make(job: Job, prompts: Sequence[BenchPrompt], clients: int) -> Outlines:
    """Plain Outlines."""
    return Outlines(job, prompts)
