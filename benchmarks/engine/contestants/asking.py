"""Asking a peer for its answers, one after another or by several clients at once, and over HTTP."""

import json
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter
from typing import Any

from benchmarks.engine.job import Answer
from benchmarks.engine.prompts import BenchPrompt

Ask = Callable[[BenchPrompt], Answer]


def ask_all(ask: Ask, prompts: Sequence[BenchPrompt], clients: int) -> list[Answer]:
    """The answers in the order of the prompts. A client that is free takes the next prompt."""

    def timed(prompt: BenchPrompt) -> Answer:
        began = perf_counter()
        try:
            answer = ask(prompt)
        except Exception as error:  # whatever a peer raises, its other answers count
            detail = f"{type(error).__name__}: {error}"
            answer = Answer(prompt.id, "", "error", None, 0.0, detail=" ".join(detail.split())[:300])
        return replace(answer, seconds=perf_counter() - began)

    if clients == 1:
        return [timed(prompt) for prompt in prompts]
    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(timed, prompts))


def post(url: str, body: dict[str, Any], *, timeout_s: float = 3600.0) -> Any:
    """POST JSON to a server on this machine and return its JSON. Raises RuntimeError with what it says."""
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    # Without proxies: the server is in this very process.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout_s) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"HTTP {error.code}: {error.read(500).decode('utf-8', 'replace')}") from error
