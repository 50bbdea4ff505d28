"""The options of `rig run` as keywords of `rig.run`, written by `python docs/generate.py`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

class RunKeywords(TypedDict, total=False):
    lora: str | Path | Sequence[str | Path]
    suite: str
    conversations: str | Path | None
    only: str | Sequence[str]
    without: Literal["defects", "calibration"] | Sequence[Literal["defects", "calibration"]]
    limit: int | None
    repeats: int
    method: str | None
    role: str | Path | Sequence[str | Path]
    set: str | Sequence[str]
    loss: float
    toolbox: str | Path | None
    servers: Literal["live", "replay", "live-misses"]
    server_network: bool
    world: str | Path | None
    docs: Literal["full", "names"] | Sequence[Literal["full", "names"]]
    tools: Literal["all", "suite", "exact"] | Sequence[Literal["all", "suite", "exact"]]
    history: Literal["recorded", "replayed"] | Sequence[Literal["recorded", "replayed"]]
    max_calls: int
    grader: Literal["default", "upstream", "per-turn"]
    similarity: str | Path
    reader: str | Path | None
    max_tokens: int
    thinking_tokens: int | None
    sampling: str | Path | Sequence[str | Path] | None
    temperature: float | Sequence[float]
    seed: int
    threads: int
    gpu_layers: int | None
    n_cpu_moe: int | None
    cpu_moe: bool
    n_ctx: int | Literal["auto"] | None
    llama: str | Sequence[str]
    n_batch: int | None
    parallel: int | None
    kv: str | Sequence[str]
    flash_attention: bool | Literal["auto", "on", "off"] | None
    format: str | Sequence[str]
    tool_choice: str | Sequence[str]
    several_calls: bool
    leaked: Literal["lenient", "strict"] | Sequence[Literal["lenient", "strict"]] | None
    thinking: Literal["auto", "on", "off"] | Sequence[Literal["auto", "on", "off"]]
    template_set: str | Sequence[str] | None
    chat_template: str | Path | Literal["own"] | Sequence[str | Path | Literal["own"]] | None
    grammar: Literal["json", "strict", "none"] | Sequence[Literal["json", "strict", "none"]]
    exact: bool
    dialect: str | None
    timeout: float
    thorough: bool
    fill: int | Sequence[int]
    distractors: int | Sequence[int]
    tool_errors: float | Sequence[float]
    injections: Literal["none", "ignore", "send", "delete", "leak"] | Sequence[Literal["none", "ignore", "send", "delete", "leak"]]
    wording: Literal["plain", "polite", "bullets", "numbered", "headed", "tags", "reversed", "capitals"] | Sequence[Literal["plain", "polite", "bullets", "numbered", "headed", "tags", "reversed", "capitals"]]
    reorder: Literal["none", "tools", "arguments", "both"] | Sequence[Literal["none", "tools", "arguments", "both"]]
    typos: float | Sequence[float]
    language: str | Sequence[str]
