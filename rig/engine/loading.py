"""From a GGUF file and settings to a model that runs, or to one line that says why it cannot."""

import hashlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from rig.calls import Json, JsonObject
from rig.engine import grammar
from rig.engine.answer_format import FormatChoice, choose, is_own
from rig.engine.cache.store import PrefixStore
from rig.engine.core import llama
from rig.engine.core.llama import LlamaContext, LlamaModel
from rig.engine.core.settings import DEFAULT_BATCH, DEFAULT_CONTEXT, DRAFTS, EngineSettings
from rig.engine.core.tokenizer import Tokenizer
from rig.engine.drafting.ahead import MOST, NOISE
from rig.engine.drafting.draft_model import open_draft_model
from rig.engine.drafting.drafter import WORTH_CPU, WORTH_GPU, Drafter
from rig.engine.engine import LlamaCppModel
from rig.engine.files.checksums import sha256_of
from rig.engine.files.registry import resolve, template_source
from rig.engine.gguf import info as gguf
from rig.engine.gguf.info import GgufInfo
from rig.engine.memory.count import LlamaCount
from rig.engine.memory.first_load import check_loads
from rig.engine.memory.fit import Loaded, fit_here, load_planned
from rig.engine.memory.plan import FitPlan, Shape
from rig.engine.memory.weights import find_weights, open_weights
from rig.engine.parallel import OpenContext
from rig.engine.templates.template import ChatTemplate
from rig.errors import RigError
from rig.models import Notify
from rig.options import engine_fingerprint
from rig.paths import cache_directory

MAX_LAYERS = 512
"""llama.cpp's own bound (LLAMA_MAX_LAYERS); it ends the process over a file that claims none, or more."""


def load(
    path: Path, settings: EngineSettings, name: str, notify: Notify, *, n_outputs: int | None = None
) -> LlamaCppModel:
    """Load weights, template and grammar, decide what the settings leave open, and take the fingerprint.

    `n_outputs` is of how many tokens of each sequence in a batch the logits can be read.
    """
    info = gguf.inspect(path)
    if info.layers is not None and not 1 <= info.layers <= MAX_LAYERS:
        raise RigError(
            f"{path}: damaged: its header claims {info.layers:,} layers; llama.cpp takes 1 to {MAX_LAYERS}"
        )
    if settings.exact:
        settings = replace(settings, parallel=1, fast_forward=False)
    if settings.draft != "none":
        n_outputs = 1 + MOST
    if settings.draft not in DRAFTS:  # a draft model has a sequence for each slot
        settings = replace(settings, parallel=settings.parallel or 1)
    source = _template_source(settings, info)
    model, context, plan = loaded = _load_fitting(info, settings, n_outputs, notify)
    settings = _decided(settings, plan)
    notify(f"{name}: {plan.line}, threads {settings.n_threads}")
    remarks = (*plan.remarks, *([info.origin.note] if info.origin else []), grammar.remark(settings))
    for remark in filter(None, remarks):
        notify(f"{name}: {remark}")
    try:
        tokenizer = Tokenizer(model)
        template = _template(source, settings.chat_template or info.path, tokenizer)
        chosen = choose(settings, template)
        for remark in chosen.remarks:
            notify(f"{name}: {remark}")
        fingerprint = _fingerprint(info, settings, plan, source, model, template, chosen)
        worth = WORTH_GPU if settings.n_gpu_layers else WORTH_CPU
        drafting = settings.draft not in DRAFTS
        draft = open_draft_model(resolve(settings.draft), tokenizer, name, settings) if drafting else None
        drafter = Drafter(settings.draft, tokenizer, worth=worth, model=draft)
        if settings.draft != "none" and not model.can_branch:
            notify(f"{name}: nothing is drafted, as its memory cannot take back a token")
        return LlamaCppModel(
            name,
            fingerprint,
            model=model,
            context=context,
            open_context=_context_opener(model, settings, n_outputs),
            tokenizer=tokenizer,
            template=template,
            settings=settings,
            chosen=chosen,
            most_slots=plan.most_sequences,
            open_store=partial(_prefix_store, notify) if settings.prefix_cache else lambda _: None,
            drafter=drafter,
            notify=notify,
        )
    except BaseException:
        loaded.close()
        raise


def _context_opener(model: LlamaModel, settings: EngineSettings, n_outputs: int | None) -> OpenContext:
    def open_context(n_seq: int, n_cells: int | None) -> LlamaContext:
        return LlamaContext(
            model,
            n_ctx=settings.n_ctx or DEFAULT_CONTEXT,
            n_batch=settings.n_batch or DEFAULT_BATCH,
            n_threads=settings.n_threads,
            flash_attention=bool(settings.flash_attention),
            kv_type=settings.kv_type,
            n_seq=n_seq,
            n_cells=n_cells,
            n_outputs=n_outputs and n_outputs * n_seq,
        )

    return open_context


_SHAPES_STATE = (
    "file_sha256",
    "adapter_sha256",
    "adapter_scale",
    "n_batch",
    "n_threads",
    "n_gpu_layers",
    "devices",
    "flash_attention",
    "kv_type",
    "cpu_weight_layouts",
    "llama_cpp_python",
    "llama_cpp",
    "llama_cpp_system",
)
"""The part of a fingerprint that can change a bit of the KV state of given tokens."""


def _prefix_store(notify: Notify, fingerprint: Mapping[str, Json]) -> PrefixStore:
    shape = {name: fingerprint[name] for name in _SHAPES_STATE if name in fingerprint}
    return PrefixStore(cache_directory() / "prefixes", shape, notify)


def _load_fitting(info: GgufInfo, settings: EngineSettings, n_outputs: int | None, notify: Notify) -> Loaded:
    """Weights and a context as they fit here. Weights that are open take no more, if they can stay there."""
    shared = find_weights(info.path)
    if shared is None:
        check_loads(info.path)
    elif settings.n_gpu_layers is None:
        settings = replace(settings, n_gpu_layers=shared.n_gpu_layers)
    loaded = shared is not None and settings.n_gpu_layers == shared.n_gpu_layers

    def open_context(model: LlamaModel, shape: Shape) -> LlamaContext:
        shaped = replace(
            settings, n_ctx=shape.n_ctx, n_batch=shape.n_batch, flash_attention=shape.flash_attention
        )
        return _context_opener(model, shaped, n_outputs)(shape.n_seq, None)

    with closing(LlamaCount(info.path, open_context)) as count:
        return load_planned(
            fit_here(info, settings, count, loaded=loaded),
            lambda plan: open_weights(info.path, plan.n_gpu_layers),
            lambda model, plan: open_context(model, plan.shape),
            notify,
        )


def _decided(settings: EngineSettings, plan: FitPlan) -> EngineSettings:
    """The settings with what the plan decides; all layers are -1, as which they are asked for."""
    is_all = plan.n_gpu_layers == plan.offloadable
    return replace(
        settings,
        n_ctx=plan.n_ctx,
        n_batch=plan.n_batch,
        n_gpu_layers=-1 if is_all else plan.n_gpu_layers,
        flash_attention=plan.flash_attention,
    )


def _template_source(settings: EngineSettings, info: GgufInfo) -> str:
    source = template_source(info, settings.chat_template, own_format=is_own(settings.format))
    if source is None:
        raise RigError(
            f"{info.path}: has no chat template (is it a base model?);"
            " give one with --chat-template FILE, Jinja2 as in Hugging Face's tokenizer_config.json"
        )
    return source


def _template(source: str, place: Path, tokenizer: Tokenizer) -> ChatTemplate:
    """The template that was read from this file. Raises RigError for one that is of no use."""
    bos, eos = (tokenizer.special_text(token) for token in (tokenizer.bos, tokenizer.eos))
    try:
        return ChatTemplate(source, bos=bos, eos=eos)
    except RigError as error:
        raise RigError(f"{place}: {error}") from error


def _drafts(settings: EngineSettings) -> JsonObject:
    """The part of drafts that could change an answer; nothing if there are none."""
    if settings.draft == "none":
        return {}
    if settings.draft in DRAFTS:
        return {"draft": settings.draft, "draft_noise": NOISE}
    draft = resolve(settings.draft)
    gguf.inspect(draft.path)  # what is no model may have no end
    adapter = draft.adapter.as_json() if draft.adapter else {}
    return {
        "draft": "model",
        "draft_noise": NOISE,
        "draft_sha256": sha256_of(draft.path),
        **{f"draft_{name}": value for name, value in adapter.items()},
    }


def _fingerprint(
    info: GgufInfo,
    settings: EngineSettings,
    plan: FitPlan,
    template_source: str,
    model: LlamaModel,
    template: ChatTemplate,
    chosen: FormatChoice,
) -> JsonObject:
    """Everything of the engine that can change an answer, as flat JSON values."""
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
        "chat_roles": {"system": template.system, "tool": template.tool, "repeats": template.repeats},
        **grammar.fingerprint(settings, chosen.salvage_rules),
        "fast_forward": settings.fast_forward,
        **(
            {"top_p": settings.top_p, "min_p": settings.min_p, "seed": settings.seed}
            if settings.temperature > 0
            else {}
        ),
        **engine_fingerprint(settings),
        "devices": [use.title for use in plan.gpus],
        **_drafts(settings),
        "cpu_weight_layouts": model.cpu_weight_layouts,
        "llama_cpp_python": versions["llama_cpp_python"],
        "llama_cpp": versions["llama_cpp"],
        "llama_cpp_system": versions["system"],
    }
