"""From a GGUF file and settings to a model that runs, or to one line that says why it cannot."""

import hashlib
from dataclasses import replace
from pathlib import Path

from rig.calls import JsonObject
from rig.engine import gguf, grammar, llama, prompt
from rig.engine.checksums import sha256_of
from rig.engine.engine import LlamaCppModel
from rig.engine.gguf import GgufInfo
from rig.engine.llama import LlamaContext, LlamaModel
from rig.engine.parallel import OpenContext
from rig.engine.prefix_store import PrefixStore
from rig.engine.registry import entry_of, template_of
from rig.engine.settings import DEFAULT_CONTEXT, EngineSettings
from rig.engine.template import ChatTemplate
from rig.engine.tokenizer import Tokenizer
from rig.errors import RigError
from rig.models import Notify
from rig.paths import cache_directory

MAX_LAYERS = 512
"""llama.cpp's own bound (LLAMA_MAX_LAYERS); it ends the process over a file that claims none, or more."""


def load(path: Path, settings: EngineSettings, name: str, notify: Notify) -> LlamaCppModel:
    """Load weights, template and grammar, decide what the settings leave open, and take the fingerprint."""
    info = gguf.inspect(path)
    if info.layers is not None and not 1 <= info.layers <= MAX_LAYERS:
        raise RigError(
            f"{path}: damaged: its header claims {info.layers:,} layers; llama.cpp takes 1 to {MAX_LAYERS}"
        )
    settings = _decide(settings, info)
    source = _template_source(settings, info)
    model = LlamaModel(path, n_gpu_layers=settings.n_gpu_layers or 0)
    try:
        tokenizer = Tokenizer(model)
        template = ChatTemplate(
            source, bos=tokenizer.special_text(tokenizer.bos), eos=tokenizer.special_text(tokenizer.eos)
        )
        fingerprint = _fingerprint(info, settings, source, model, template)
        return LlamaCppModel(
            name,
            fingerprint,
            model=model,
            open_context=_context_opener(model, settings),
            tokenizer=tokenizer,
            template=template,
            settings=settings,
            store=_prefix_store(fingerprint, notify) if settings.prefix_cache else None,
            notify=notify,
        )
    except BaseException:
        model.close()
        raise


def _context_opener(model: LlamaModel, settings: EngineSettings) -> OpenContext:
    def open_context(n_seq: int, n_cells: int | None) -> LlamaContext:
        return LlamaContext(
            model,
            n_ctx=settings.n_ctx or DEFAULT_CONTEXT,
            n_batch=settings.n_batch,
            n_threads=settings.n_threads,
            flash_attention=bool(settings.flash_attention),
            kv_type=settings.kv_type,
            n_seq=n_seq,
            n_cells=n_cells,
        )

    return open_context


_SHAPES_STATE = (
    "file_sha256",
    "n_batch",
    "n_threads",
    "n_gpu_layers",
    "flash_attention",
    "kv_type",
    "cpu_weight_layouts",
    "llama_cpp_python",
    "llama_cpp",
    "llama_cpp_system",
)
"""What of a fingerprint can change a bit of the KV state of given tokens."""


def _prefix_store(fingerprint: JsonObject, notify: Notify) -> PrefixStore:
    shape = {name: fingerprint[name] for name in _SHAPES_STATE}
    return PrefixStore(cache_directory() / "prefixes", shape, notify)


def _decide(settings: EngineSettings, info: GgufInfo) -> EngineSettings:
    trained = info.context_length or DEFAULT_CONTEXT
    n_ctx = min(trained, DEFAULT_CONTEXT) if settings.n_ctx is None else settings.n_ctx
    if n_ctx > trained:
        raise RigError(
            f"{info.path}: --n-ctx {n_ctx} is more than the {trained} tokens this model was made for"
        )
    offloads = llama.supports_gpu_offload()
    n_gpu_layers = settings.n_gpu_layers
    if n_gpu_layers is None:
        n_gpu_layers = -1 if offloads else 0
    if n_gpu_layers and not offloads:
        raise RigError(
            "--gpu-layers: this llama.cpp was built without GPU support; rebuild it (`make run GPU=cuda`)"
            " or leave the option out"
        )
    flash_attention = settings.flash_attention
    if flash_attention is None:
        flash_attention = n_gpu_layers != 0
    settings = replace(settings, n_ctx=n_ctx, n_gpu_layers=n_gpu_layers, flash_attention=flash_attention)
    return replace(settings, parallel=1, fast_forward=False) if settings.exact else settings


def _template_source(settings: EngineSettings, info: GgufInfo) -> str:
    if settings.chat_template is not None:
        try:
            return settings.chat_template.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RigError(f"--chat-template {settings.chat_template}: cannot be read: {error}") from error
    shipped = info.chat_template or template_of(entry_of(sha256_of(info.path)))
    if shipped is None:
        raise RigError(
            f"{info.path}: has no chat template (is it a base model?);"
            " give one with --chat-template FILE, Jinja2 as in Hugging Face's tokenizer_config.json"
        )
    return shipped


def _fingerprint(
    info: GgufInfo,
    settings: EngineSettings,
    template_source: str,
    model: LlamaModel,
    template: ChatTemplate,
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
        "prompt_format": prompt.FORMAT,
        "chat_template_sha256": hashlib.sha256(template_source.encode()).hexdigest(),
        "chat_roles": {"system": template.system, "tool": template.tool, "repeats": template.repeats},
        "grammar": "json",
        **grammar.fingerprint(),
        "exact": settings.exact,
        "fast_forward": settings.fast_forward,
        "temperature": settings.temperature,
        **(
            {"top_p": settings.top_p, "min_p": settings.min_p, "seed": settings.seed}
            if settings.temperature > 0
            else {}
        ),
        "max_tokens": settings.max_tokens,
        "n_ctx": settings.n_ctx,
        "n_batch": settings.n_batch,
        "n_threads": settings.n_threads,
        "n_gpu_layers": settings.n_gpu_layers,
        "flash_attention": settings.flash_attention,
        "kv_type": settings.kv_type,
        "cpu_weight_layouts": model.cpu_weight_layouts,
        "llama_cpp_python": versions["llama_cpp_python"],
        "llama_cpp": versions["llama_cpp"],
        "llama_cpp_system": versions["system"],
    }
