"""From a GGUF file and settings to a model that runs, or to one line that says why it cannot."""

import hashlib
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from rig.config.engine import assignments
from rig.core import registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.models import Notify
from rig.plugins.llama import grammar
from rig.plugins.llama.core import llama
from rig.plugins.llama.core.knobs import knobs_of
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.options import AUTO, EngineOptions, engine_fingerprint
from rig.plugins.llama.core.settings import DEFAULT_CONTEXT, DEFAULT_THOUGHTS, EngineSettings, Sampling
from rig.plugins.llama.core.template import ChatTemplate, TemplateError
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.info import GgufInfo, inspect
from rig.plugins.llama.files.registry import template_source
from rig.plugins.llama.files.sampling import author_of, sampling_of
from rig.plugins.llama.formats.form import FormatChoice, choose
from rig.plugins.llama.formats.probe import check_variables
from rig.plugins.llama.memory.fit import LoadedModel, load_here
from rig.plugins.llama.memory.weights import check_loads
from rig.plugins.llama.prompt import PromptBuilder

_STEP = 1024
"""An automatic context size is rounded up to a multiple of this many tokens."""

MAX_LAYERS = 512
"""llama.cpp's own bound (LLAMA_MAX_LAYERS); it ends the process over a file that claims none, or more."""


def load(
    path: Path, settings: EngineSettings, name: str, notify: Notify, *, n_outputs: int | None = None
) -> LlamaCppModel:
    """Load weights, template and grammar, decide what the settings leave open, and compute the fingerprint.

    `n_outputs` is the number of tokens per sequence whose logits one batch can give.
    """
    info = inspect(path)
    if info.other:
        raise RigError(f"{path}: {info.other}, which writes no text; give a model that chats")
    if info.layers is not None and not 1 <= info.layers <= MAX_LAYERS:
        raise RigError(
            f"{path}: damaged: its header claims {info.layers:,} layers; llama.cpp takes 1 to {MAX_LAYERS}"
        )
    keys, values = settings.kv_types
    settings = replace(settings, kv_type=keys if keys == values else f"{keys}/{values}")
    if settings.exact:
        settings = replace(settings, parallel=1, fast_forward=False)
    asked = settings.sampling
    sampling = Sampling(temp=settings.temperature) if asked is None else sampling_of(asked, info)
    source = source_of(info, settings)
    settings = with_room_to_think(settings, source)
    answered = needed = 0
    if settings.n_ctx == AUTO:
        answered, needed = _room(info, settings, source)
        settings = replace(settings, n_ctx=None, most_context=-(-needed // _STEP) * _STEP)
    told: set[str] = set()

    def tell(remarks: Iterable[str]) -> None:
        for remark in remarks:
            if remark and remark not in told:
                told.add(remark)
                notify(f"{name}: {remark}")

    loaded = load_here(info, settings, notify, n_outputs=n_outputs, announce=lambda plan: tell(plan.remarks))
    plan = loaded.plan
    # At least half of the context is for thoughts, and more if it was sized for them.
    for_thoughts = max(plan.n_ctx // 2, plan.n_ctx - answered if needed else 0)
    thinking_tokens = settings.thinking_tokens
    if thinking_tokens is None:
        thinking_tokens = min(DEFAULT_THOUGHTS, for_thoughts)
    settings = replace(
        settings,
        n_ctx=plan.n_ctx,
        thinking_tokens=thinking_tokens,
        n_batch=plan.n_batch,
        # All layers are written as -1, as users ask for them.
        n_gpu_layers=-1 if plan.n_gpu_layers == plan.offloadable else plan.n_gpu_layers,
        n_cpu_moe=plan.n_cpu_moe or None,
        cpu_moe=False,
        flash_attention=plan.flash_attention,
    )
    if needed:
        short = "" if needed <= plan.n_ctx else ", which the model or the memory does not allow"
        notify(f"{name}: context {plan.n_ctx:,}: the longest conversation needs {needed:,} tokens{short}")
    notify(f"{name}: {plan.line}, threads {settings.n_threads}")
    origin = info.origin.note if info.origin else ""
    tell((origin, grammar.remark(settings)))
    try:
        tokenizer = Tokenizer(loaded.model)
        template = compiled(source, settings.chat_template or info.path, tokenizer, settings)
        chosen = choose(settings, template)
        effect = check_variables(ChatTemplate(source), assignments(settings.template_set))
        for remark in filter(None, (*chosen.remarks, *template.adaptations, effect)):
            notify(f"{name}: {remark}")
        can_think = settings.thinking != "off" and "thinking" in chosen.fingerprint
        if can_think and not sampling.draws and (warning := _warning_of_loops(info)):
            notify(f"{name}: {warning}")
        fingerprint = _fingerprint(info, settings, sampling, loaded, source, template, chosen)
        return LlamaCppModel(
            name,
            fingerprint,
            loaded,
            tokenizer=tokenizer,
            template=template,
            settings=settings,
            chosen=chosen,
            sampling=sampling,
            notify=notify,
        )
    except BaseException:
        loaded.close()
        raise


def _room(info: GgufInfo, settings: EngineSettings, source: str) -> tuple[int, int]:
    """Return the tokens of the longest prompt with its answer, and with the thoughts before it as well.

    The prompts are those of the settings, as a model with this template reads them. Raises RigError.
    """
    check_loads(info.path, weightless=True)
    with closing(LlamaModel(info.path, weightless=True)) as model:
        tokenizer = Tokenizer(model)
        template = compiled(source, settings.chat_template or info.path, tokenizer, settings)
        chosen = choose(settings, template)
        prompts = PromptBuilder(template, tokenizer, whole=settings.whole_prompt)
        longest, form = 0, None
        for request in settings.prompts:
            if form is None or form.tools != request.tools:
                form = chosen.make(request.tools, settings.grammar, template)
            with suppress(TemplateError):  # the step will say what is wrong
                longest = max(longest, sum(map(len, prompts.build(request, form))))
    thinks = settings.thinking != "off" and "thinking" in chosen.fingerprint
    thoughts = DEFAULT_THOUGHTS if settings.thinking_tokens is None else settings.thinking_tokens
    answered = longest + settings.max_tokens
    return answered, answered + (thoughts if thinks else 0)


def with_room_to_think(settings: EngineSettings, source: str) -> EngineSettings:
    """Return the settings, with a longer context if the template thinks and no lengths were asked for.

    Prompts that fit the default context still fit beside the thoughts.
    """
    if settings.thinking_tokens is not None or settings.n_ctx is not None or settings.thinking == "off":
        return settings
    try:
        template = ChatTemplate(source, chosen=assignments(settings.template_set))
        thinks = "thinking" in choose(settings, template).fingerprint
    except RigError:  # reported once the special tokens are known
        return settings
    return replace(settings, most_context=DEFAULT_CONTEXT + DEFAULT_THOUGHTS) if thinks else settings


def _warning_of_loops(info: GgufInfo) -> str | None:
    """Return a warning about a thinking model that is sampled greedily; None if its author does so too."""
    warning = "it thinks, and models that think can repeat themselves without end under greedy sampling"
    try:
        author = author_of(info)
    except RigError as error:
        return f"{warning}; what its author recommends cannot be read: {error}"
    if author is None:
        return f"{warning}; its file does not say what its author recommends, its model card may (--sampling)"
    return f"{warning}; its author recommends {author} (--sampling author)" if author.draws else None


def source_of(info: GgufInfo, options: EngineOptions) -> str:
    """Return the chat template that a model is run with. Raises RigError if there is none."""
    # The model's own form, or one derived from its template: neither rig's nor a plugin's.
    is_own = options.format not in registry.registered().formats
    source = template_source(info, options.chat_template, own_format=is_own)
    if source is None:
        raise RigError(
            f"{info.path}: has no chat template (is it a base model?);"
            " give one with --chat-template FILE, Jinja2 as in Hugging Face's tokenizer_config.json"
        )
    return source


def compiled(source: str, place: object, tokenizer: Tokenizer, options: EngineOptions) -> ChatTemplate:
    """Compile the template that was read from this file. Raises RigError if it cannot be used."""
    bos, eos = (tokenizer.special_text(token) for token in (tokenizer.bos, tokenizer.eos))
    try:
        chosen = assignments(options.template_set)
        return ChatTemplate(source, bos=bos, eos=eos, chosen=chosen)
    except RigError as error:
        raise RigError(f"{place}: {error}") from error


def _sampling(settings: EngineSettings, sampling: Sampling) -> JsonObject:
    """Return how tokens are chosen: the temperature, other values if set, and the seed if it is used."""
    values: JsonObject = {"temperature": sampling.temp}
    if sampling.draws:
        values |= {"top_p": sampling.top_p, "min_p": sampling.min_p, "seed": settings.seed}
    return values if sampling == Sampling(temp=sampling.temp) else {**values, "sampling": str(sampling)}


def _fingerprint(
    info: GgufInfo,
    settings: EngineSettings,
    sampling: Sampling,
    loaded: LoadedModel,
    template_source: str,
    template: ChatTemplate,
    chosen: FormatChoice,
) -> JsonObject:
    """Return everything about the engine that can change an answer, as flat JSON values."""
    versions = llama.versions()
    return {
        "engine": "llama.cpp",
        "file": info.path.name,
        "file_sha256": sha256_of(info.path),
        "file_bytes": info.size,
        "architecture": info.architecture,
        "quantization": info.quantization,
        "tensor_types": {name: types.tensors for name, types in info.tensor_types.items()},
        **({"made_from": info.origin.as_json()} if info.origin else {}),
        **chosen.fingerprint,
        "chat_template_sha256": hashlib.sha256(template_source.encode()).hexdigest(),
        "chat_roles": template.roles,
        **grammar.fingerprint(settings, chosen.salvage_rules),
        "fast_forward": settings.fast_forward,
        **engine_fingerprint(settings),
        **{f"llama.{name}": knob.recorded for name, knob in knobs_of(settings.knobs).items()},
        **_sampling(settings, sampling),
        "devices": [use.title for use in loaded.plan.gpus],
        "cpu_weight_layouts": loaded.model.cpu_weight_layouts,
        "llama_cpp_python": versions["llama_cpp_python"],
        "llama_cpp": versions["llama_cpp"],
        "llama_cpp_system": versions["system"],
    }
