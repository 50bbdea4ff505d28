"""llama-cpp-python's own server, asked over the loopback interface with the schema's grammar."""

import json
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import uvicorn
from llama_cpp.llama_grammar import json_schema_to_gbnf
from llama_cpp.server.app import create_app
from llama_cpp.server.settings import ModelSettings, ServerSettings

from benchmarks.engine.contestants.asking import ask_all, post
from benchmarks.engine.contestants.workaround import leave_out_cpu_weight_layouts
from benchmarks.engine.job import Answer, Job
from benchmarks.engine.prompts import BenchPrompt
from rig.core.calls import JsonObject


class LlamaCppServer:
    """The server in a thread of this process.

    The completions endpoint takes a prompt as it is, and a grammar instead of a schema; it is made from the
    schema by the function that the chat endpoint uses.
    """

    def __init__(self, job: Job, prompts: Sequence[BenchPrompt]) -> None:
        self._without_layouts = leave_out_cpu_weight_layouts()
        self._prompts = prompts
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1/completions"
        model = ModelSettings(
            model=job.model,
            n_ctx=job.n_ctx or 0,
            n_threads=job.threads,
            n_threads_batch=job.threads,
            n_gpu_layers=job.gpu_layers or 0,
            # Its default keeps the logits of every token of the prompt, which nobody asked for here.
            logits_all=False,
            verbose=False,
        )
        app = create_app(server_settings=ServerSettings(), model_settings=[model])
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server ended before it took requests")
            time.sleep(0.01)
        self._grammars: dict[str, str] = {}

    def run(self) -> Sequence[Answer]:
        return ask_all(self._ask, self._prompts, 1)

    def _ask(self, prompt: BenchPrompt) -> Answer:
        schema = json.dumps(prompt.schema)
        if schema not in self._grammars:
            self._grammars[schema] = json_schema_to_gbnf(schema)
        answer: dict[str, Any] = post(
            self._url,
            {
                "prompt": prompt.text,
                "grammar": self._grammars[schema],
                "max_tokens": prompt.max_tokens,
                "temperature": 0.0,
            },
        )
        choice, usage = answer["choices"][0], answer["usage"]
        return Answer(
            prompt.id,
            choice["text"],
            "length" if choice["finish_reason"] == "length" else "stop",
            usage["completion_tokens"],
            0.0,
            prompt_tokens=usage["prompt_tokens"],
        )

    def details(self) -> JsonObject:
        return {"without_cpu_weight_layouts": self._without_layouts}

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()


def make(job: Job, prompts: Sequence[BenchPrompt], clients: int) -> LlamaCppServer:
    """The server, asked by one client: it answers one request at a time."""
    return LlamaCppServer(job, prompts)
