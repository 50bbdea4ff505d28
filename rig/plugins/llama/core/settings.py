"""Everything about generation that a user can set. All of it is part of an arm's fingerprint."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.meters import available_cores
from rig.core.models import Request
from rig.plugins.llama.core.knobs import knobs_of
from rig.plugins.llama.core.options import EngineOptions
from rig.plugins.llama.core.placement import Placement

DEFAULT_CONTEXT = 8192
DEFAULT_THOUGHTS = 4096
"""Tokens of thinking if nothing else is set; with fewer, most models that think are cut off."""
DEFAULT_BATCH = 512

KV_TYPES = {
    "f16": 1,
    "bf16": 30,
    "q8_0": 8,
    "q5_1": 7,
    "q5_0": 6,
    "q4_1": 3,
    "q4_0": 2,
    "iq4_nl": 20,
}
"""The types of a KV cache, by ggml's numbers for them (ggml.h)."""


def kv_types(text: str) -> tuple[str, str]:
    """Return the types of keys and values from `q8_0` or `q8_0/q4_0`. Raises RigError for unknown types."""
    keys, slash, values = text.partition("/")
    types = keys, values if slash else keys
    for name in types:
        if name not in KV_TYPES:
            raise RigError(
                f"--kv {text}: {name!r} is no type of a KV cache; choose from {', '.join(KV_TYPES)},"
                " one for all or KEYS/VALUES"
            )
    return types


THREADS_A_CORE = 4
"""The most threads per core. llama.cpp's wait for each other hundreds of times a token; many take minutes."""


SAMPLERS = ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"]
"""llama.cpp's samplers in the order of its default chain (common/common.h)."""

LEAST_TEMPERATURE = 0.001
"""The lowest temperature above 0; below it, differences of log probabilities overflow single precision."""


def _in_order(text: str) -> str:
    names = text.split(";")
    unknown = next((name for name in names if name not in SAMPLERS or names.count(name) > 1), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is unknown or there twice; the samplers are {';'.join(SAMPLERS)}")
    return text


def _warm_enough(temp: float) -> float:
    if 0 < temp < LEAST_TEMPERATURE:
        raise ValueError(f"{temp:g} is too close to 0; give 0, or at least {LEAST_TEMPERATURE}")
    return temp


_Share = Annotated[float, Field(ge=0, le=1)]
_Penalty = Annotated[float, Field(ge=-100, le=100)]
_Tokens = Annotated[int, Field(ge=0, le=1_000_000)]


class Sampling(BaseModel):
    """How tokens are chosen, in llama.cpp's terms. The default of every value leaves its sampler out.

    Values have llama.cpp's names, or those of GGUF files and transformers. `temp` 0 takes the likeliest token
    that the other samplers leave. The other defaults are llama.cpp's own, for values that matter only
    together with another.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    temp: Annotated[float, Field(ge=0, le=100), AfterValidator(_warm_enough)] = Field(
        default=1.0, validation_alias=AliasChoices("temp", "temperature")
    )
    top_k: _Tokens = 0
    top_p: _Share = 1.0
    min_p: _Share = 0.0
    typical_p: _Share = Field(default=1.0, validation_alias=AliasChoices("typical_p", "typ_p", "typical"))
    top_n_sigma: float = Field(default=-1.0, ge=-1, le=1000)
    xtc_probability: _Share = 0.0
    xtc_threshold: _Share = 0.1
    repeat_penalty: float = Field(
        default=1.0,
        gt=0,
        le=100,
        validation_alias=AliasChoices("repeat_penalty", "penalty_repeat", "repetition_penalty"),
    )
    presence_penalty: _Penalty = 0.0
    frequency_penalty: _Penalty = 0.0
    repeat_last_n: _Tokens = Field(
        default=64, validation_alias=AliasChoices("repeat_last_n", "penalty_last_n")
    )
    dry_multiplier: float = Field(default=0.0, ge=0, le=100)
    dry_base: float = Field(default=1.75, ge=1, le=100)
    dry_allowed_length: _Tokens = 2
    dry_last_n: _Tokens = Field(default=64, validation_alias=AliasChoices("dry_last_n", "dry_penalty_last_n"))
    samplers: Annotated[str, AfterValidator(_in_order)] = Field(
        default=";".join(SAMPLERS), validation_alias=AliasChoices("samplers", "sequence")
    )

    @property
    def changed(self) -> JsonObject:
        """The values that differ from their defaults, and the temperature: enough to restore the settings."""
        return {"temp": self.temp, **self.model_dump(exclude_defaults=True)}

    @property
    def draws(self) -> bool:
        """Whether tokens are chosen at random."""
        takes_one = self.temp == 0 or ("top_k" in self.active and self.top_k == 1)
        return "xtc" in self.active or not takes_one

    @property
    def active(self) -> list[str]:
        """The samplers that have something to do, in order."""
        penalties = self.repeat_penalty, self.presence_penalty, self.frequency_penalty
        acts = {
            "penalties": penalties != (1.0, 0.0, 0.0) and self.repeat_last_n > 0,
            "dry": self.dry_multiplier > 0 and self.dry_last_n > 0,
            "top_n_sigma": self.top_n_sigma > 0,
            "top_k": self.top_k > 0,
            "typ_p": self.typical_p < 1,
            "top_p": self.top_p < 1,
            "min_p": self.min_p > 0,
            "xtc": self.xtc_probability > 0 and self.xtc_threshold <= 0.5,
            "temperature": self.temp != 1,
        }
        return [name for name in self.samplers.split(";") if acts[name]]

    @property
    def looks_back(self) -> int:
        """How many tokens before the next one can influence it."""
        lengths = {"penalties": self.repeat_last_n, "dry": self.dry_last_n}
        return max((lengths.get(name, 0) for name in self.active), default=0)

    def __str__(self) -> str:
        """Return the settings as `--sampling` takes them."""
        return ",".join(f"{name}={value}" for name, value in self.changed.items())


GREEDY = Sampling(temp=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings(EngineOptions):
    """How a GGUF file is run: the engine's options (`rig.config.options`), and what only benchmarks set.

    None means that loading decides by what fits (`rig.plugins.llama.memory`) and records it. `n_ctx` becomes
    the smaller of the model's own and `most_context`, `thinking_tokens` 4096 or half of that, `n_batch` 512,
    `n_gpu_layers` all of them where there is a GPU with room; memory permitting. `flash_attention` is on with
    a GPU, and with a quantized KV cache, which needs it; otherwise it is off, because it measurably slows
    down decoding over a long prefix. `parallel`, how many steps are predicted at once, is one. `exact` gives
    the same bits on the same machine whatever was computed before: one sequence, and no forced tokens batched
    with others. `prefix_cache` changes no bit. `several_calls` holds where the model's form and the
    caller can handle them; `thinking` is for models' own forms.
    """

    fast_forward: bool = True
    prefix_cache: bool = True
    """Whether the state of the prompts' shared beginning is kept on the disk."""
    most_context: int = DEFAULT_CONTEXT
    """The most context where `n_ctx` is not set."""
    prompts: tuple[Request, ...] = field(default=(), compare=False, repr=False)
    """The requests that the context must have room for where `n_ctx` is `AUTO`."""

    @classmethod
    def of(cls, options: EngineOptions, prompts: Sequence[Request] = ()) -> "EngineSettings":
        """Return the settings of these options; `prompts` are the requests that size the context."""
        chosen = {name: getattr(options, name) for name in EngineOptions.__dataclass_fields__}
        return cls(**chosen, prompts=tuple(prompts))

    @property
    def own(self) -> Mapping[str, Any]:
        """What is set of llama.cpp's own parameters, by name. Raises RigError for what cannot be set."""
        return {name: knob.value for name, knob in knobs_of(self.knobs).items()}

    def longest(self, trained: int) -> int:
        """Return how many tokens a context can hold if the model was trained for `trained`."""
        scale = self.own.get("rope_freq_scale")
        return int((self.own.get("yarn_orig_ctx") or trained) / scale) if scale else trained

    @property
    def kv_types(self) -> tuple[str, str]:
        """The types of keys and values. Raises RigError for unknown types."""
        return kv_types(self.kv_type)

    @property
    def placement(self) -> Placement:
        """Where weights go, except for layers and experts. Raises RigError for text that cannot be read."""
        own = {name: knob.value for name, knob in knobs_of(self.knobs).items() if not knob.is_of_context}
        placed = own.pop("tensor_buft_overrides", ()), own.pop("tensor_split", ()), own.pop("main_gpu", None)
        return Placement(0, 0, *placed, tuple(own.items()))

    @property
    def quantizes(self) -> tuple[bool, bool]:
        """Whether keys, and whether values, are quantized."""
        keys, values = (name not in ("f16", "bf16") for name in self.kv_types)
        return keys, values

    def check(self) -> None:
        """Raise RigError for settings that contradict each other, and for values that make no sense here."""
        if self.quantizes[1] and self.flash_attention is False:
            raise RigError(f"--kv {self.kv_type} needs flash attention; leave out --flash-attention off")
        if self.cpu_moe and self.n_cpu_moe is not None:
            raise RigError(f"--n-cpu-moe {self.n_cpu_moe} beside --cpu-moe, which is all layers: give one")
        if "tensor_split" in self.own and "main_gpu" in self.own:
            raise RigError("--llama tensor_split shares what main_gpu gives to one GPU: give one of them")
        if self.sampling is not None and self.temperature > 0:
            raise RigError(
                f"--temperature {self.temperature:g} beside --sampling {self.sampling}: give one of them;"
                f" --sampling takes temp={self.temperature:g}, too"
            )
        if 0 < self.temperature < LEAST_TEMPERATURE:
            raise RigError(
                f"--temperature {self.temperature:g} is too close to 0; give 0, or at least"
                f" {LEAST_TEMPERATURE}"
            )
        most = THREADS_A_CORE * max(os.cpu_count() or 1, available_cores())
        if self.n_threads > most:
            raise RigError(
                f"--threads {self.n_threads}: more than {most} would only wait for each other here"
            )
