"""llama.cpp's own server (`llama-server`), as the package xllamacpp ships it, asked over the loopback."""

from collections.abc import Sequence
from typing import Any

import xllamacpp

from benchmarks.engine.contestants.asking import ask_all, post
from benchmarks.engine.job import Answer, Job
from benchmarks.engine.prompts import BenchPrompt
from rig.core.calls import JsonObject


class LlamaServer:
    """As many slots as clients, each with the whole context. Everything else is the server's default."""

    def __init__(self, job: Job, prompts: Sequence[BenchPrompt], clients: int) -> None:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = job.model
        parameters.n_ctx = (job.n_ctx or 0) * clients
        parameters.n_parallel = clients
        parameters.cpuparams.n_threads = job.threads
        parameters.cpuparams_batch.n_threads = job.threads
        parameters.n_gpu_layers = job.gpu_layers or 0
        # The engine's rule for builds that would crash (`LlamaModel`); this package's own build is another.
        self._without_layouts = "AMX_INT8 = 1" in xllamacpp.get_system_info()
        parameters.no_extra_bufts = self._without_layouts
        parameters.ui = False
        parameters.verbosity = 1
        self._server: Any = xllamacpp.Server(parameters)
        self._url = f"{self._server.listening_address}/completion"
        self._prompts = prompts
        self._clients = clients
        self._cached = 0
        self._timings = {"prompt_n": 0, "prompt_ms": 0.0, "predicted_n": 0, "predicted_ms": 0.0}

    def run(self) -> Sequence[Answer]:
        return ask_all(self._ask, self._prompts, self._clients)

    def _ask(self, prompt: BenchPrompt) -> Answer:
        answer: dict[str, Any] = post(
            self._url,
            {
                "prompt": prompt.tokens,
                "json_schema": prompt.schema,
                "n_predict": prompt.max_tokens,
                "temperature": 0.0,
                "cache_prompt": True,
            },
        )
        for name in self._timings:
            self._timings[name] += answer["timings"][name]
        self._cached += answer["timings"].get("cache_n", 0)
        return Answer(
            prompt.id,
            answer["content"],
            "length" if answer["stop_type"] == "limit" else "stop",
            answer["tokens_predicted"],
            0.0,
            prompt_tokens=answer["tokens_evaluated"],
        )

    def details(self) -> JsonObject:
        return {
            "without_cpu_weight_layouts": self._without_layouts,
            "system": xllamacpp.get_system_info().strip(),
            "cached_tokens": self._cached,
            **self._timings,
        }

    def close(self) -> None:
        self._server = None


def make(job: Job, prompts: Sequence[BenchPrompt], clients: int) -> LlamaServer:
    """The server with a slot for each client."""
    return LlamaServer(job, prompts, clients)
