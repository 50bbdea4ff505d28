"""Everything about generation that a user can set. All of it is part of an arm's fingerprint."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from rig.errors import RigError
from rig.meters import available_cores

ToolChoice: TypeAlias = Literal["auto", "required", "none"]
"""Whether a model may call, has to, or must not."""

DEFAULT_CONTEXT = 8192
DEFAULT_BATCH = 512

GrammarArm: TypeAlias = Literal["json", "strict", "none"]
"""A legal call of a known tool or a reply; the same with formats of dates and the like; or any text."""
GrammarEngine: TypeAlias = Literal["llguidance", "outlines_core"]
ParameterOrder: TypeAlias = Literal["fixed", "free"]
"""That of the tool's schema, or any."""
ThinkingArm: TypeAlias = Literal["auto", "on", "off"]
"""As the chat template has it where nothing is said, or as its switch says."""
KvType: TypeAlias = Literal["f16", "q8_0"]

DRAFTS = ("none", "sibling", "lookup")
"""Where drafts can come from besides a model."""

LEAST_TEMPERATURE = 0.001
"""Below it differences of log-probabilities overflow single precision before anything is drawn."""
THREADS_A_CORE = 4
"""Threads of llama.cpp wait for each other hundreds of times a token; many more than cores take minutes."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How a GGUF file is run.

    None means: decided at loading, by what fits (`rig.engine.memory`), and then recorded. `n_ctx` becomes the
    smaller of the model's own and 8192, `n_batch` 512, `n_gpu_layers` all of them where there is a GPU with
    room; memory permitting. `flash_attention` is on with a GPU, and with a quantized KV cache, which needs
    it; it is off without, where decoding over a long prefix is measurably slower with it.
    `parallel`, how many steps are predicted at once, is measured. `temperature` 0 is greedy; `seed` matters
    only above it. `exact` gives the same bits on the same machine whatever was computed before: one sequence,
    and no tokens taken along in a batch because the grammar forces them. `prefix_cache` keeps the KV state of
    the prompt's shared beginning on disk; it changes no bit. `grammar_engine` and `parameter_order` are of no
    effect where `grammar` is none. `format` names the form of answers (`rig.engine.formats`); `auto` is the
    model's own where its chat template has one, else rig's. With `several_calls` a model may make several in
    one message, where its form and whoever asks can do with that. `tool_choice` and `thinking` are for
    models' own forms; thoughts take `thinking_tokens` at most, beside the answer's `max_tokens`.
    `draft` is where drafts come from: none, sibling (the answer of the arm before, else as lookup), lookup
    (what followed in the prompt), or a model.
    """

    n_ctx: int | None = None
    n_batch: int | None = None
    n_threads: int = field(default_factory=available_cores)
    n_gpu_layers: int | None = None
    flash_attention: bool | None = None
    kv_type: KvType = "f16"
    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    fast_forward: bool = True
    parallel: int | None = None
    exact: bool = False
    prefix_cache: bool = True
    grammar: GrammarArm = "json"
    grammar_engine: GrammarEngine = "llguidance"
    parameter_order: ParameterOrder = "fixed"
    format: str = "auto"
    several_calls: bool = True
    tool_choice: ToolChoice = "auto"
    thinking: ThinkingArm = "auto"
    thinking_tokens: int = 1024
    chat_template: Path | None = None
    draft: str = "none"

    def check(self) -> None:
        """Raise RigError for settings that cannot go together, and for values that make no sense here."""
        if 0 < self.temperature < LEAST_TEMPERATURE:
            raise RigError(
                f"--temperature {self.temperature:g} is too close to 0; give 0, or at least"
                f" {LEAST_TEMPERATURE}"
            )
        if self.draft != "none" and self.exact:
            raise RigError("--exact never drafts; leave out --draft, or --exact")
        if self.draft != "none" and self.temperature > 0:
            raise RigError("--draft is for greedy answers; leave it out, or give --temperature 0")
        most = THREADS_A_CORE * max(os.cpu_count() or 1, available_cores())
        if self.n_threads > most:
            raise RigError(
                f"--threads {self.n_threads}: more than {most} would only wait for each other here"
            )
        if (self.grammar_engine, self.parameter_order) == (
            "outlines_core",
            "free",
        ) and self.grammar != "none":
            raise RigError(
                "--grammar-engine outlines_core cannot take --parameter-order free: its regular expression"
                " would have to list every order, up to 13,700 for a tool of 7 parameters; use llguidance"
            )
