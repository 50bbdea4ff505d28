"""`rig models`: list, inspect and verify models; other tenants add verbs that fetch and make them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rig.cli.options import AS_JSON, MODEL, Grouped, click_option, complete_model_files
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import Verbs, argument, members_of, option, verb
from rig.config.options import TABLE
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.paths import models_directory
from rig.plugins.llama.core.options import OF_ENGINE
from rig.show.texts import file_size, millions

if TYPE_CHECKING:
    from rig.plugins.llama.files.registry import Entry

_FITTING = (
    *("gpu_layers", "n_cpu_moe", "cpu_moe", "llama", "n_ctx", "n_batch"),
    *("parallel", "kv", "flash_attention"),
)
"""Options that --fit decides by itself if they are not given."""


@verb(Verbs, later=members_of("models"))
def command() -> None:
    """List, inspect, fetch, verify, quantize, merge and tune models."""


@command.verb("list")
def list_models(*, as_json: bool = AS_JSON) -> None:
    """List the models in rig's registry and every GGUF file in the models folder.

    The models folder is $RIG_MODELS, or models/ in a checkout of rig, or ./models.
    """
    from rig.plugins.llama.files import registry
    from rig.plugins.llama.files.derived import remove_unfinished

    remove_unfinished()
    entries = registry.load_registry().values()
    registered = {entry.file for entry in entries}
    rows = [_describe(entry.name, entry.path, entry) for entry in entries]
    rows += [_describe(path.stem, path) for path in registry.local_files() if path.name not in registered]
    if as_json:
        print_json(rows)
        return
    lines = []
    for row in rows:
        count = millions(row["parameters"]) if "parameters" in row else ""
        kinds = (row.get("architecture", ""), count, row.get("quantization", ""))
        about = (row.get("context_length") or "", file_size(row["size"]), row.get("licence") or "")
        lines.append((row["name"], *kinds, *about, row["status"]))
    kinds = ("ARCHITECTURE", "PARAMETERS", "QUANTIZATION")
    print_table(("NAME", *kinds, "CONTEXT", "SIZE", "LICENCE", "STATUS"), lines)
    if origins := [f"{row['name']}: {row['origin']}" for row in rows if row.get("origin")]:
        say("\n" + "\n".join(origins))
    click.echo(f"\nA GGUF file copied to {models_directory()} joins this list.", err=True)


@command.verb(
    kind=Grouped, options=[click_option(TABLE[name], single=True, group="With --fit") for name in _FITTING]
)
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
    as_json: bool = AS_JSON,
    **values: Any,
) -> None:
    """Show what is in a GGUF file, the memory it needs, and how its model calls tools.

    MODEL is a name from `rig models list` or the path of a GGUF file. Everything shown is read from the file.
    With --fit, rig chooses GPU layers, context, batch and sequences for the memory that is free now, as `rig
    run` would; the other options ask for particular values.
    """
    # Imported here, because forms of answers take a moment to load.
    from rig.plugins.llama.core.settings import EngineSettings
    from rig.plugins.llama.files import registry
    from rig.plugins.llama.files.adapters import Adapter, inspect_adapter
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.verbs import info as model_info

    resolved = registry.resolve(model)
    facts = inspect(resolved.path)
    (resolved,) = resolved.with_adapters([Adapter.parse(lora)] if lora else [])
    adapter = inspect_adapter(resolved.adapter.path) if resolved.adapter else None
    source = registry.template_source(facts, chat_template, own_format=True)
    chosen = [(OF_ENGINE[name], value) for name, value in values.items() if value is not None]
    fields = {option.field: (option.values or {}).get(value, value) for option, value in chosen}
    asked = EngineSettings(**fields)
    if fit:
        model_info.show_fit(resolved.name, facts, asked, source, load=load, as_json=as_json)
        return
    if load or asked != EngineSettings():
        raise RigError("options on how to load a model go with --fit")
    if tools and not as_json:
        model_info.show_tools(source)
    elif as_json:
        about = {"adapter": adapter and adapter.as_json(), "tool_calls": model_info.tools_json(source)}
        print_json({"name_in_rig": resolved.name, **facts.as_json(), **about})
    else:
        model_info.show_info(facts, resolved.entry, adapter, source)


@command.verb()
def verify(
    *, models: tuple[str, ...] = argument(shell_complete=complete_model_files), as_json: bool = AS_JSON
) -> int:
    """Verify model files: those you name, or all that are here.

    rig reads each file from end to end. Files from the registry, and those that `rig models quantize` made,
    must have the SHA-256 that rig recorded; other files must be complete. The exit code is 1 if a file is not
    as it should be.
    """
    from rig.plugins.llama.files import registry
    from rig.plugins.llama.files.caches import sha256_of
    from rig.plugins.llama.files.derived import local_registry
    from rig.plugins.llama.files.info import inspect

    entries, local = registry.load_registry(), local_registry()
    results: list[JsonObject] = []
    names = registry.known_names()
    present = (name for name in names if name not in entries or entries[name].path.is_file())
    for name in models or present:
        entry = entries.get(name)
        try:
            if entry:
                registry.check(entry, fresh=True)
            path = entry.path if entry else registry.resolve(name).path
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
    """Return a row of the list. Nothing is hashed for it: `verified` files were, and are unchanged since."""
    from rig.plugins.llama.files.caches import remembered_sha256
    from rig.plugins.llama.files.info import inspect

    row: JsonObject = {"name": name, "path": str(path), "registered": entry is not None}
    if entry:
        status = f"{entry.parts_here} of {len(entry.source)} parts" if entry.parts_here else "not pulled"
        about = {"licence": entry.licence, "origin": entry.origin, "notes": entry.notes}
        row |= {"size": entry.size, **about, "status": status}
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
    parts = ("architecture", "parameters", "quantization", "context_length", "memory")
    return row | {part: getattr(gguf, part) for part in parts}
