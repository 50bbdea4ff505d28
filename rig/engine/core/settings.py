"""Everything about generation that a user can set. All of it is part of an arm's fingerprint."""

import os
from dataclasses import dataclass

from rig.errors import RigError
from rig.meters import available_cores
from rig.options import EngineOptions

DEFAULT_CONTEXT = 8192
DEFAULT_BATCH = 512

DRAFTS = ("none", "sibling", "lookup")
"""Where drafts can come from besides a model."""

LEAST_TEMPERATURE = 0.001
"""Below it differences of log-probabilities overflow single precision before anything is drawn."""
THREADS_A_CORE = 4
"""Threads of llama.cpp wait for each other hundreds of times a token; many more than cores take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings(EngineOptions):
    """How a GGUF file is run: the options of the engine (`rig.options`), and what only benchmarks set.

    None means: decided at loading, by what fits (`rig.engine.memory`), and then recorded. `n_ctx` becomes the
    smaller of the model's own and 8192, `n_batch` 512, `n_gpu_layers` all of them where there is a GPU with
    room; memory permitting. `flash_attention` is on with a GPU, and with a quantized KV cache, which needs
    it; it is off without, where decoding over a long prefix is measurably slower with it. `parallel`, how
    many steps are predicted at once, is measured. `exact` gives the same bits on the same machine whatever
    was computed before: one sequence, and no tokens taken along in a batch because the grammar forces them.
    `prefix_cache` changes no bit. `several_calls` holds where the model's form and whoever asks can do with
    that; `tool_choice` and `thinking` are for models' own forms.
    """

    top_p: float = 1.0
    min_p: float = 0.0
    fast_forward: bool = True

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
