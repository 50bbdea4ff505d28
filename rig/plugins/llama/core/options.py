"""How a model is run: the options of files, most of which are those of a server's model, too."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rig.config.engine import GrammarArm, LeakedCalls, ThinkingArm, read_assignments
from rig.config.option import generation_option, machine_option, option, options_of, prompt_option
from rig.core.calls import JsonObject
from rig.core.meters import available_cores

AUTO = 0
"""The value of `n_ctx` that stands for what the conversations need."""

OWN_TEMPLATE = "own"
"""The value of `chat_template` that stands for the model's own."""


def arms_of(texts: Iterable[str | None]) -> list[str | None]:
    """Return the arms that `NAME=VALUE,VALUE` make: every combination of what several variables are set to.

    Texts about the same variables are further arms. Raises RigError.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for text in texts:
        read = read_assignments(text)
        if read:
            combinations = itertools.product(*([f"{name}={value}" for value in read[name]] for name in read))
            groups.setdefault(tuple(sorted(read)), []).extend(map(",".join, combinations))
    arms = [",".join(parts) for parts in itertools.product(*map(dict.fromkeys, groups.values()))]
    for arm in arms:
        read_assignments(arm, once=True)
    return list(dict.fromkeys(arms)) if groups else [None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How a GGUF file or a server's model is run. None means: decided at loading, and then recorded.

    The names of arms list the options in this order.
    """

    max_tokens: int = generation_option(
        256, "At most N tokens in a step.", least=1, verbs="judge", recorded="always", common=True
    )
    thinking_tokens: int | None = generation_option(
        None,
        "At most N tokens of thinking in a step, on top of --max-tokens.",
        least=0,
        unset="4096, or half of the context",
    )
    sampling: str | None = generation_option(
        None,
        "How a token is chosen: always the likeliest (greedy), as the file or its generation_config.json"
        " recommends (author), as llama.cpp's programs do (llama.cpp), or by llama.cpp's samplers with these"
        " settings.",
        metavar="greedy|author|llama.cpp|FILE|NAME=VALUE,…",
        several=True,
        opens=True,
        unset="greedy, or by --temperature",
        verbs="judge",
    )
    temperature: float = generation_option(
        0.0,
        "0 always takes the likeliest token. Without --sampling no sampler cuts off the unlikely ones.",
        least=0,
        several=True,
        verbs="judge",
        recorded="always",
        common=True,
    )
    seed: int = generation_option(
        0,
        "Seed for sampling and dials; each step of each conversation has one of its own, made of it.",
        least=0,
        most=2**32 - 1,
        verbs="judge",
    )
    n_threads: int = machine_option(
        available_cores,
        "CPU threads.",
        name="threads",
        # llama.cpp's own bound (GGML_MAX_N_THREADS); beyond it the process dies of a segmentation fault.
        least=1,
        most=512,
        unset="all cores",
        verbs="judge screen bench",
        recorded="always",
        common=True,
    )
    n_gpu_layers: int | None = machine_option(
        None,
        "Layers on the GPU; -1 for all.",
        name="gpu_layers",
        least=-1,
        unset="as many as fit",
        verbs="judge screen bench fit",
        recorded="always",
        common=True,
    )
    n_cpu_moe: int | None = machine_option(
        None,
        "Keep the experts of the first N layers in main memory, and what else is on the GPU there.",
        least=0,
        unset="as few as fit",
        verbs="judge screen bench fit",
    )
    cpu_moe: bool = machine_option(
        False, "Keep the experts of all layers in main memory.", verbs="judge screen bench fit"
    )
    n_ctx: int | None = machine_option(
        None,
        "Context in tokens; auto is what the longest of the conversations needs.",
        least=1,
        values={"auto": AUTO},
        unset="the model's own, at most 8192, and 4096 more for a model that thinks",
        verbs="judge screen bench fit",
        recorded="always",
        common=True,
    )
    knobs: tuple[str, ...] = machine_option(
        (),
        "Set a parameter of llama.cpp by its own name, such as rope_freq_scale=0.25, main_gpu=1,"
        " tensor_split=3,1 or tensor_buft_overrides=exps=CPU. Repeatable; it may change answers.",
        name="llama",
        metavar="NAME=VALUE",
        listed=True,
        recorded="never",
    )
    n_batch: int | None = machine_option(
        None,
        "Tokens in a batch.",
        least=1,
        most=16384,
        unset="512, or less if memory is short",
        recorded="always",
    )
    parallel: int | None = machine_option(
        None,
        "Run N conversations at once. A GPU can take half the time then, a CPU saves next to nothing. Now and"
        " then it changes an answer.",
        least=1,
        most=64,
        unset="1",
        verbs="judge fit",
        recorded="never",
    )
    kv_type: str = machine_option(
        "f16",
        "Type of the KV cache: f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl, one for keys and values or"
        " one for each. q8_0 needs half the memory; all but f16 change answers.",
        name="kv",
        metavar="TYPE[/TYPE]",
        several=True,
        recorded="always",
    )
    flash_attention: bool | None = machine_option(
        None,
        "auto turns it on with a GPU, and with a quantized KV cache, which needs it.",
        values={"auto": None, "on": True, "off": False},
        recorded="always",
    )
    format: str = prompt_option(
        "auto",
        "The form of an answer: rig's own, the model's own (native), a model family's by name, or native if"
        " the chat template has a form and rig's otherwise (auto).",
        metavar="auto|rig|native|NAME",
        several=True,
        verbs="screen",
        key="prompt_format",
        common=True,
    )
    tool_choice: str = prompt_option(
        "auto",
        "Whether the model may, must or must not call tools, or the one tool that it must call.",
        metavar="auto|required|none|TOOL",
        several=True,
    )
    several_calls: bool = prompt_option(
        True, "Allow several calls in one message, if the model's format has them.", off="one-call"
    )
    leaked: LeakedCalls | None = prompt_option(
        None,
        "Carry out calls that are written in another form than the model's own, as harnesses that look for"
        " them do (lenient), or take them for words, as strict servers do (strict).",
        several=True,
        unset="lenient for files; strict for a server's model, whose server has read its calls",
        key="leaked_calls",
    )
    thinking: ThinkingArm = prompt_option(
        "auto",
        "Turn thinking on or off, if the chat template has a switch for it.",
        several=True,
        verbs="screen",
        common=True,
    )
    template_set: str | None = prompt_option(
        None,
        "Set a variable of the chat template. `rig models info FILE --tools` lists what a template reads.",
        metavar="NAME=VALUE,…",
        several=True,
        # One text can stand for several arms, and several texts for the variables of one.
        arms=arms_of,
        verbs="screen",
        recorded="changed",
    )
    chat_template: Path | None = prompt_option(
        None,
        "Use this Jinja2 file instead of the model's own chat template.",
        metavar="FILE|own",
        values={OWN_TEMPLATE: None},
        several=True,
        opens=True,
        key="chat_template_sha256",
        verbs="judge screen bench",
    )
    grammar: GrammarArm = generation_option(
        "json",
        "json makes calls fit the parameters of the tools; strict also enforces formats such as dates; none"
        " lets the model write anything, and rig looks for calls in it.",
        several=True,
        verbs="judge screen",
    )
    exact: bool = generation_option(
        False,
        "Give the same bits every time: one conversation at a time, one token at a time.",
        verbs="judge screen",
        recorded="always",
        common=True,
    )
    whole_prompt: bool = option(False, "", reader="engine")

    @property
    def draws(self) -> bool:
        """Whether tokens may be chosen at random; only the file tells what its author recommends."""
        return self.temperature > 0 or self.sampling not in (None, "greedy")


OF_ENGINE = options_of(EngineOptions, "engine")


def engine_fingerprint(settings: EngineOptions) -> JsonObject:
    """Return what an arm's fingerprint records of these options, besides what the engine records."""
    values = ((option, getattr(settings, option.field)) for option in OF_ENGINE.values())
    return {option.key: value for option, value in values if option.is_recorded(value)}
