"""The part of the table of options (`rig.options`) that is the engine's: how a model is run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from rig.meters import available_cores
from rig.option import GENERATION, MACHINE, PROMPT, SERVERS, option

AUTO = 0
"""The context that stands for what the conversations need."""

ToolChoice: TypeAlias = Literal["auto", "required", "none"]
"""Whether a model may call, has to, or must not."""
GrammarArm: TypeAlias = Literal["json", "strict", "none"]
"""A legal call of a known tool or a reply; the same with formats of dates and the like; or any text."""
GrammarEngine: TypeAlias = Literal["llguidance", "outlines_core"]
ParameterOrder: TypeAlias = Literal["fixed", "free"]
"""That of the tool's schema, or any."""
ThinkingArm: TypeAlias = Literal["auto", "on", "off"]
"""As the chat template has it where nothing is said, or as its switch says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How a GGUF file or a server's model is run. None means: decided at loading, and then recorded.

    Arms' names have the options in this order.
    """

    max_tokens: int = option(
        256, "At most N tokens in a step.", GENERATION, least=1, verbs="judge", recorded="always"
    )
    thinking_tokens: int | None = option(
        None,
        "At most N tokens of thinking in a step, on top of --max-tokens.",
        GENERATION,
        least=0,
        unset="4096, or half of the context",
        recorded="never",
    )
    sampling: str | None = option(
        None,
        "How a token is chosen: always the likeliest (greedy), as the file or its generation_config.json"
        " recommends (author), as llama.cpp's programs do (llama.cpp), or by llama.cpp's samplers with these"
        " settings.",
        GENERATION,
        metavar="greedy|author|llama.cpp|FILE|NAME=VALUE,…",
        several=True,
        opens=True,
        unset="greedy, or by --temperature",
        verbs="judge",
        recorded="never",
    )
    temperature: float = option(
        0.0,
        "0 always takes the likeliest token. Without --sampling no sampler cuts off the unlikely ones.",
        GENERATION,
        least=0,
        several=True,
        verbs="judge",
        recorded="always",
    )
    seed: int = option(
        0,
        "Seed for sampling; each step of each conversation has one of its own, made of it.",
        GENERATION,
        least=0,
        most=2**32 - 1,
        verbs="judge",
        recorded="never",
    )
    n_threads: int = option(
        available_cores,
        "CPU threads.",
        MACHINE,
        name="threads",
        # llama.cpp's own bound (GGML_MAX_N_THREADS); beyond it the process dies of a segmentation fault.
        least=1,
        most=512,
        unset="all cores",
        verbs="judge screen bench",
        recorded="always",
    )
    n_gpu_layers: int | None = option(
        None,
        "Layers on the GPU; -1 for all.",
        MACHINE,
        name="gpu_layers",
        least=-1,
        unset="as many as fit",
        verbs="judge screen bench fit",
        recorded="always",
    )
    n_cpu_moe: int | None = option(
        None,
        "Keep the experts of the first N layers in main memory, and what else is on the GPU there.",
        MACHINE,
        least=0,
        unset="as few as fit",
        verbs="judge screen bench fit",
    )
    cpu_moe: bool = option(
        False, "Keep the experts of all layers in main memory.", MACHINE, verbs="judge screen bench fit"
    )
    override_tensor: str | None = option(
        None,
        "Put tensors on a device by their names; the first expression that matches counts.",
        MACHINE,
        metavar="REGEX=DEVICE,…",
        verbs="judge screen fit",
    )
    tensor_split: str | None = option(
        None,
        "Share layers among several GPUs in these proportions.",
        MACHINE,
        metavar="N,…",
        unset="by their free memory",
        verbs="judge screen fit",
    )
    main_gpu: int | None = option(
        None, "Use this GPU alone, counted from 0.", MACHINE, least=0, verbs="judge screen fit"
    )
    n_ctx: int | None = option(
        None,
        "Context in tokens; auto is what the longest of the conversations needs.",
        MACHINE,
        least=1,
        values={"auto": AUTO},
        unset="the model's own, at most 8192, and 4096 more for a model that thinks",
        verbs="judge screen bench fit",
        recorded="always",
    )
    rope_scaling: Literal["none", "linear", "yarn", "longrope"] | None = option(
        None,
        "How positions beyond those that the model was trained on are scaled.",
        MACHINE,
        unset="as the file says",
        verbs="judge screen fit",
    )
    rope_scale: float | None = option(
        None,
        "By how much the context grows with --rope-scaling. Scaling changes answers to short prompts, too.",
        MACHINE,
        least=1,
        most=1024,
        unset="as the file says",
        verbs="judge screen fit",
    )
    yarn_orig_ctx: int | None = option(
        None,
        "The context that the model was trained with before YaRN, in tokens.",
        MACHINE,
        least=1,
        unset="the model's own",
        verbs="judge screen fit",
    )
    n_batch: int | None = option(
        None,
        "Tokens in a batch.",
        MACHINE,
        least=1,
        most=16384,
        unset="512, or less if memory is short",
        verbs="judge screen fit",
        recorded="always",
    )
    parallel: int | None = option(
        None,
        "Run N conversations at once.",
        MACHINE,
        least=1,
        most=64,
        unset="measured; 1 unless more are faster",
        verbs="judge fit",
        recorded="never",
    )
    kv_type: str = option(
        "f16",
        "Type of the KV cache: f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl, one for keys and values or"
        " one for each. q8_0 needs half the memory; all but f16 change answers.",
        MACHINE,
        name="kv",
        metavar="TYPE[/TYPE]",
        several=True,
        verbs="judge screen fit",
        recorded="always",
    )
    flash_attention: bool | None = option(
        None,
        "auto turns it on with a GPU, and with a quantized KV cache, which needs it.",
        MACHINE,
        values={"auto": None, "on": True, "off": False},
        verbs="judge screen fit",
        recorded="always",
    )
    prefix_cache: bool = option(
        True,
        "Keep the processed beginning of the prompt on disk, so that the next run starts faster.",
        MACHINE,
        verbs="judge",
        recorded="never",
    )
    format: str = option(
        "auto",
        "The form of an answer: rig's own, the model's own (native), a model family's by name, or native if"
        " the chat template has a form and rig's otherwise (auto).",
        PROMPT,
        metavar="auto|rig|native|NAME",
        several=True,
        verbs="screen",
        key="prompt_format",
        recorded="never",
    )
    tool_choice: ToolChoice = option(
        "auto",
        "Whether the model may, must or must not call tools. Needs the model's own format.",
        PROMPT,
        several=True,
        recorded="never",
    )
    several_calls: bool = option(
        True,
        "Allow several calls in one message, if the model's format has them.",
        PROMPT,
        off="one-call",
        recorded="never",
    )
    thinking: ThinkingArm = option(
        "auto",
        "Turn thinking on or off, if the chat template has a switch for it.",
        PROMPT,
        several=True,
        verbs="screen",
        recorded="never",
    )
    chat_template: Path | None = option(
        None,
        "Use this Jinja2 file instead of the model's own chat template.",
        PROMPT,
        opens=True,
        verbs="judge screen bench",
        recorded="never",
    )
    draft: str = option(
        "none",
        "Draft several tokens at once, and keep those that the model itself chooses. The draft is the"
        " previous arm's answer (sibling), text that followed earlier in the prompt (lookup), or comes from a"
        " smaller model of the family.",
        GENERATION,
        metavar="none|sibling|lookup|MODEL",
        several=True,
        opens=True,
        recorded="never",
    )
    grammar: GrammarArm = option(
        "json",
        "json makes calls fit the parameters of the tools; strict also enforces formats such as dates; none"
        " lets the model write anything, and rig looks for calls in it.",
        GENERATION,
        several=True,
        verbs="judge screen",
        recorded="never",
    )
    grammar_engine: GrammarEngine = option(
        "llguidance",
        "The library that enforces the grammar.",
        GENERATION,
        several=True,
        idle=("grammar", "none"),
        verbs="judge screen",
        recorded="never",
    )
    parameter_order: ParameterOrder = option(
        "fixed",
        "Require arguments in the order of the tool's parameters, or allow any order.",
        GENERATION,
        several=True,
        idle=("grammar", "none"),
        verbs="screen",
        recorded="never",
    )
    exact: bool = option(
        False,
        "Give the same bits every time: one conversation at a time, one token at a time.",
        GENERATION,
        verbs="judge screen",
        recorded="always",
    )
    whole_prompt: bool = option(False, "")
    dialect: str | None = option(
        None,
        "How the server is spoken to: llama-server, llama-cpp-python, ollama, lm-studio or vllm.",
        SERVERS,
        metavar="NAME",
        unset="found by asking it",
        verbs="judge",
        recorded="never",
    )
    timeout: float = option(
        600.0,
        "Give up on an answer of a server after N seconds.",
        SERVERS,
        metavar="N",
        more_than=0,
        most=86_400,
        verbs="judge",
        recorded="never",
    )
