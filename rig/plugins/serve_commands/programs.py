"""The settings of an arm in the words of three programs, and what each of them cannot be told.

The options of llama-server are those of the llama.cpp that rig uses.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rig.core.calls import ByName, JsonObject
from rig.core.files import json_text
from rig.plugins.llama.core.settings import Sampling
from rig.plugins.serve_commands.tested import ServedArm


@dataclass(frozen=True, slots=True)
class Program(ByName):
    """How one program serves an arm: `lines` to use there, and what is left out or has to be known."""

    name: str
    title: str
    lines: tuple[str, ...]
    notes: tuple[str, ...]


_SAMPLING = {
    "temp": "--temp",
    "top_k": "--top-k",
    "top_p": "--top-p",
    "min_p": "--min-p",
    "typical_p": "--typical-p",
    "top_n_sigma": "--top-n-sigma",
    "xtc_probability": "--xtc-probability",
    "xtc_threshold": "--xtc-threshold",
    "repeat_penalty": "--repeat-penalty",
    "presence_penalty": "--presence-penalty",
    "frequency_penalty": "--frequency-penalty",
    "repeat_last_n": "--repeat-last-n",
    "dry_multiplier": "--dry-multiplier",
    "dry_base": "--dry-base",
    "dry_allowed_length": "--dry-allowed-length",
    "dry_last_n": "--dry-penalty-last-n",
    "samplers": "--samplers",
}
"""llama-server's options by the names of `Sampling`."""
_KNOBS = {
    "rope_scaling_type": "--rope-scaling",
    "rope_freq_base": "--rope-freq-base",
    "rope_freq_scale": "--rope-freq-scale",
    "yarn_orig_ctx": "--yarn-orig-ctx",
    "yarn_ext_factor": "--yarn-ext-factor",
    "yarn_attn_factor": "--yarn-attn-factor",
    "yarn_beta_fast": "--yarn-beta-fast",
    "yarn_beta_slow": "--yarn-beta-slow",
    "tensor_buft_overrides": "-ot",
    "tensor_split": "-ts",
}
"""llama-server's options by the names of llama.cpp's own parameters."""
_ALWAYS = ("temp", "top_k", "top_p", "min_p")
"""What llama-server sets to other values by itself; so do the files that have settings of sampling."""


def llama_server(served: ServedArm) -> Program:
    """Return the command line of llama-server."""
    arguments, notes = ["llama-server"], []
    for option, value in _options(served):
        arguments += [option] if value is None else [option, value]
    if (adapter := served.adapter) and any(mark in adapter for mark in ",:"):
        notes.append("llama-server splits the path of an adapter at , and : - rename the file")
    knobs = served.tested.knobs
    if knobs.rope_scaling_type == "longrope":
        notes.append(
            "llama-server has no --rope-scaling longrope: a file says so itself, or it cannot be had"
        )
    if knobs.others:
        notes.append(f"not carried over: llama.cpp's own {', '.join(knobs.others)}")
    if served.template:
        notes.append("the template has to be given, as the model was tested with another than its file's")
    return Program("llama_server", "llama-server", (shlex.join(arguments),), tuple(notes))


def _options(served: ServedArm) -> Iterator[tuple[str, str | None]]:
    """Yield the options of llama-server with their values."""
    tested = served.tested
    yield "-m", served.file
    yield "-c", str(tested.n_ctx)
    yield "-np", "1"  # several slots would share the context
    yield from zip(("-ctk", "-ctv"), tested.kv, strict=True)
    yield "-fa", "on" if tested.flash_attention else "off"
    if not tested.cpu_weight_layouts:
        yield "--no-repack", None  # other layouts of weights add up in another order, and some builds crash
    yield "-ngl", "all" if tested.n_gpu_layers < 0 else str(tested.n_gpu_layers)
    if tested.n_cpu_moe:
        yield "--n-cpu-moe", str(tested.n_cpu_moe)
    knobs = tested.knobs
    for name, option in _KNOBS.items():
        if (value := getattr(knobs, name)) not in (None, "longrope"):
            yield option, f"{value:g}" if isinstance(value, float) else str(value)
    if knobs.main_gpu is not None:  # and rig uses no other then
        yield from (("-sm", "none"), ("-mg", str(knobs.main_gpu)))
    elif knobs.split_mode:
        yield "-sm", knobs.split_mode
    yield from (("-b", str(tested.n_batch)), ("-ub", str(tested.n_batch)), ("-t", str(tested.n_threads)))
    if served.adapter:
        scaled = f"{served.adapter}:{tested.adapter_scale:g}"
        yield ("--lora", served.adapter) if tested.adapter_scale == 1 else ("--lora-scaled", scaled)
    yield "--jinja", None  # before the template, which llama-server would take for one of its own list
    if served.template:
        yield "--chat-template-file", served.template
    if tested.variables:
        yield "--chat-template-kwargs", json_text(tested.variables)
    if tested.budget is not None:
        yield "--reasoning-budget", str(tested.budget)
    values = _values(tested.samplers)
    yield from ((option, values[name]) for name, option in _SAMPLING.items() if name in values)


def _values(sampling: Sampling) -> dict[str, str]:
    """Return the settings of sampling that are not every program's own, by name."""
    chosen = {name: getattr(sampling, name) for name in _ALWAYS} | sampling.changed
    return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in chosen.items()}


_OLLAMA = {
    "temp": "temperature",
    **{name: name for name in ("top_k", "top_p", "min_p", "typical_p", "repeat_penalty", "repeat_last_n")},
    **{name: name for name in ("presence_penalty", "frequency_penalty")},
}
"""Ollama's parameters by the names of `Sampling`."""


def ollama(served: ServedArm) -> Program:
    """Return a Modelfile for Ollama."""
    tested = served.tested
    values, (keys, kv_values) = _values(tested.samplers), tested.kv
    lines = [f"FROM {served.file}"]
    if served.adapter and tested.adapter_scale == 1:
        lines.append(f"ADAPTER {served.adapter}")
    layers = 999 if tested.n_gpu_layers < 0 else tested.n_gpu_layers  # more than there are: all
    parameters: dict[str, object] = {"num_ctx": tested.n_ctx, "num_batch": tested.n_batch, "num_gpu": layers}
    parameters |= {"num_thread": tested.n_threads}
    parameters |= {_OLLAMA[name]: value for name, value in values.items() if name in _OLLAMA}
    lines += [f"PARAMETER {name} {value}" for name, value in parameters.items()]
    notes = ["ollama create NAME -f Modelfile makes the model from these lines"]
    environment = {"OLLAMA_FLASH_ATTENTION": str(int(tested.flash_attention)), "OLLAMA_KV_CACHE_TYPE": keys}
    named = " ".join(f"{name}={value}" for name, value in environment.items())
    notes.append(f"start its server with {named}, as a Modelfile cannot say that")
    notes.append(
        "not carried over: the chat template. Ollama has a template language of its own and guesses one for"
        " the file; add a TEMPLATE in it, or compare the prompts: rig doctor http://127.0.0.1:11434"
    )
    notes.append("through /v1 Ollama takes temperature and top_p as 1 if a request has none: send them")
    left = [name for name in values if name not in _OLLAMA]
    left += ["the adapter's scale"] * (served.adapter is not None and tested.adapter_scale != 1)
    left += ["keys and values of different types"] * (keys != kv_values)
    return Program("ollama", "Ollama, as a Modelfile", tuple(lines), (*notes, *_not_carried(served, left)))


def _not_carried(served: ServedArm, left: list[str]) -> Iterator[str]:
    """Yield what only llama-server can be told, in a line, if there is anything."""
    tested = served.tested
    left = [*left, *["n_cpu_moe"] * bool(tested.n_cpu_moe), *tested.knobs.named]
    left += [f"the template's variables {json_text(tested.variables)}"] * bool(tested.variables)
    left += ["the limit on thoughts"] * (tested.budget is not None)
    if left:
        yield f"not carried over: {', '.join(left)}"


_LM_STUDIO: Mapping[str, str] = {
    "temp": "Temperature",
    "top_k": "Top K Sampling",
    "repeat_penalty": "Repeat Penalty",
    "top_p": "Top P Sampling",
    "min_p": "Min P Sampling",
    "presence_penalty": "Presence Penalty",
}
"""LM Studio's settings by the names of `Sampling`."""


def lm_studio(served: ServedArm) -> Program:
    """Return the settings of LM Studio, a line each."""
    tested = served.tested
    keys, kv_values = tested.kv
    settings = {
        "Model file": served.file,
        "Context Length": tested.n_ctx,
        "GPU Offload": "all layers" if tested.n_gpu_layers < 0 else tested.n_gpu_layers,
        "CPU Thread Pool Size": tested.n_threads,
        "Evaluation Batch Size": tested.n_batch,
        "Flash Attention": "on" if tested.flash_attention else "off",
        "K Cache Quantization Type": keys,
        "V Cache Quantization Type": kv_values,
    }
    if served.template:
        settings["Prompt Template (Jinja)"] = f"the text of {served.template}"
    values = _values(tested.samplers)
    settings |= {title: values[name] for name, title in _LM_STUDIO.items() if name in values}
    left = [name for name in values if name not in _LM_STUDIO]
    left += ["the adapter; `rig models merge` makes a file with it"] * (served.adapter is not None)
    lines = tuple(f"{title}: {value}" for title, value in settings.items())
    note = "LM Studio may rename tools before the model sees them"
    return Program("lm_studio", "LM Studio, in its settings", lines, (note, *_not_carried(served, left)))


PROGRAMS: tuple[Callable[[ServedArm], Program], ...] = (llama_server, ollama, lm_studio)


def common_notes(served: ServedArm, form_note: str) -> list[str]:
    """Return what no server can be told, and what differs between servers.

    `form_note` says which calls were in other forms than the family's own.
    """
    tested, native = served.tested, served.tested.native_format
    notes = [*served.remarks]
    if native is None:
        notes.append(
            f"it answered in a form that is not its own ({tested.prompt_format}), which no server shows or"
            " reads: behind a server it gets other prompts, and these results do not hold there"
        )
    elif not native.tools_in:
        notes.append("its template shows no tools, so rig put them into the instructions; servers do not")
    if native and tested.thinking == "off" and native.thinking.off_word:
        notes.append(f"its instructions began with {native.thinking.off_word!a}, which clients have to send")
    if tested.grammar != "none":
        notes.append(
            f"rig held its calls to the tools' parameters (--grammar {tested.grammar}); servers have a"
            " grammar of their own, or none"
        )
    if form_note:
        notes.append(form_note)
        kept = "rig carried them out" if tested.leaked_calls == "lenient" else "for rig they were words"
        notes.append(
            f"{kept}; llama-server, vLLM and LM Studio leave such calls in the text, newer versions of Ollama"
            " and clients that look for calls find some"
        )
    notes.append(f"a step had at most {tested.max_tokens} tokens; a server has no such limit")
    notes.append("a request's own settings of sampling override these; a client may always send some")
    return notes


def facts(served: ServedArm) -> JsonObject:
    """Return which file it is."""
    tested = served.tested
    return {"file": served.file, "sha256": tested.file_sha256, "bytes": tested.file_bytes}
