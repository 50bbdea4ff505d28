"""`rig models quantize`, `merge` and `widen`: new model files, made of others."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

import click

from rig.cli.options import AS_JSON, MODEL, of_table
from rig.cli.output import ProgressLine, print_json, print_table, say
from rig.cli.verbs import option, verb
from rig.displays.base import endings_as_exceptions
from rig.displays.texts import file_size
from rig.engine.files.adapters import Adapter
from rig.engine.files.derived import DerivedModel
from rig.engine.files.registry import ResolvedModel, resolve
from rig.errors import RigError, did_you_mean
from rig.meters import available_cores
from rig.paths import models_directory
from rig.tuning import merging, widening
from rig.tuning import quantize as quantizing
from rig.tuning.quantize import LADDER, TYPES

WholeType: TypeAlias = Literal["f16", "bf16", "f32", "q8_0"]
"""The types that rig itself writes weights as."""

_HEADER = ("NAME", "SIZE", "BITS PER WEIGHT", "TENSORS BY THE TYPE REALLY USED", "SECONDS")


def _types(text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    for kind in kinds:
        if kind not in TYPES:
            near = did_you_mean(kind, TYPES)
            raise click.BadParameter(f"there is no type {kind!r}{near}; choose from: {', '.join(TYPES)}")
    return kinds


@verb()
def quantize(
    *,
    model: str = MODEL,
    to: tuple[str, ...] = option(
        f"The types to make, such as {','.join(LADDER)}. In a terminal, rig asks if you leave this out.",
        "TYPE,...",
        multiple=False,
        callback=lambda _context, _parameter, text: () if text is None else _types(text),
    ),
    threads: int | None = of_table("threads"),
    as_json: bool = AS_JSON,
) -> None:
    """Make smaller files of a model, with llama.cpp's own quantizer.

    Each new file is MODEL-TYPE.gguf in the models folder, and you can use the name MODEL-TYPE at once
    wherever a model is asked for. The file records what it was made from, and so does every run with it. You
    can quantize a quantized model again, but what it has lost stays lost.
    """
    parent = resolve(model)
    files = []
    for kind in to or _asked(parent):
        with endings_as_exceptions():
            progress = _bar(f"{parent.name}-{kind}", "quantizing")
            files.append(
                quantizing.quantize(parent, kind, threads=threads or available_cores(), progress=progress)
            )
    if as_json:
        print_json(
            [
                {
                    **file.entry.model_dump(),
                    "path": str(file.entry.path),
                    "bits_per_weight": file.info.bits_per_weight,
                    "origin": file.info.origin and file.info.origin.as_json(),
                    "seconds": file.seconds,
                }
                for file in files
            ]
        )
        return
    rows = []
    for file in files:
        bits = file.info.bits_per_weight
        tensors = ", ".join(f"{count} {kind}" for kind, count in file.entry.tensors.items())
        took = "here already" if file.seconds is None else f"{file.seconds:.1f}"
        size = file_size(file.entry.size)
        rows.append((file.entry.name, size, f"{bits:.2f}" if bits else "?", tensors, took))
    print_table(_HEADER, rows)
    for new in files:
        if new.entry.fell_back:
            counts = ", ".join(f"{count} from {change}" for change, count in new.entry.fell_back.items())
            say(
                f"{new.entry.name}: tensors whose rows are too short for their type got another:"
                f" {counts.lower()}"
            )
    origins = [file.info.origin for file in files if file.info.origin]
    if origins and origins[0].requantized:
        say(
            f"{origins[0].note}: its weights were quantized before, so these files lose more than"
            " the same types made from the original weights would"
        )


def _asked(parent: ResolvedModel) -> tuple[str, ...]:
    """The types that a person wants; without one to ask, what could be made is said instead."""
    ladder = ",".join(LADDER)
    if not _is_asked():
        files = ", ".join(f"{parent.name}-{kind}.gguf" for kind in LADDER)
        raise RigError(f"say which types to make; --to {ladder} would make {files} in {models_directory()}")
    for kind in LADDER:
        say(f"  {kind:<7} {parent.name}-{kind}.gguf", err=True)
    say(f"They go to {models_directory()}. Other types: {', '.join(TYPES)}.", err=True)
    return _types(click.prompt("Which types", default=ladder, err=True))


def _is_asked() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _bar(name: str, doing: str) -> Callable[[int, int], None]:
    """Shows on a terminal how far it is; elsewhere that a file is begun."""
    if not sys.stderr.isatty():
        say(f"{name}: {doing}", err=True)
        return lambda _done, _of: None
    return ProgressLine(name, "tensor").show


@verb()
def merge(
    *,
    model: str = MODEL,
    lora: str | None = option("The adapter.  [default: that of the registry's entry]", "FILE[:SCALE]"),
    scale: float | None = option("How strongly the adapter counts.  [default: 1]", "X"),
    to: WholeType = option("The type of the weights.", start="f16"),
    output: Path | None = option(
        "The file to write.  [default: MODEL+ADAPTER-TYPE.gguf in the models folder]", flags="-o --output"
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Merge a model and a LoRA adapter into one file, which you can then quantize.

    You can use the name MODEL+ADAPTER-TYPE at once wherever a model is asked for. The file records what it
    was made from. If the model was quantized, what it has lost stays lost. The file appears only when it is
    complete.
    """
    parent = _with_adapter(resolve(model), lora, scale)
    assert parent.adapter is not None
    with endings_as_exceptions():
        progress = _bar(f"{parent.name}-{to}", "merging")
        merged = merging.merge(parent, parent.adapter, to, target=output, progress=progress)
    _say_made(merged, output, as_json=as_json)


@verb()
def widen(
    *,
    model: str = MODEL,
    to: WholeType = option("The type of the weights.", start="f16"),
    output: Path | None = option(
        "The file to write.  [default: MODEL-wide-TYPE.gguf in the models folder]", flags="-o --output"
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Add columns of zeros to a model, so that K-quants fit; it computes the same.

    K-quants and most smaller types need rows of 256 weights, and models whose rows are no multiple of that
    get larger types instead. An adapter of the registry's entry is merged. The new file is larger and slower;
    quantize it to get small ones. Only for the architectures llama and qwen2.
    """
    parent = resolve(model)
    with endings_as_exceptions():
        progress = _bar(f"{parent.name}-wide-{to}", "widening")
        widened = widening.widen(parent, to, target=output, progress=progress)
    _say_made(widened, output, as_json=as_json)


def _say_made(made: DerivedModel, output: Path | None, *, as_json: bool) -> None:
    path = output or made.entry.path
    if as_json:
        print_json({**made.entry.model_dump(), "path": str(path), "seconds": made.seconds})
        return
    state = "here already" if made.seconds is None else f"made in {made.seconds:.1f} s"
    note = made.info.origin.note if made.info.origin else ""
    say(f"{path}: {file_size(made.entry.size)}, {note}; {state}")


def _with_adapter(parent: ResolvedModel, lora: str | None, scale: float | None) -> ResolvedModel:
    """The model with the adapter to be merged. Raises RigError if there is none, or another."""
    asked = [] if lora is None else [Adapter.parse(lora)]
    (adapted,) = parent.with_adapters(asked)
    if adapted.adapter is None:
        raise RigError("which adapter? Give --lora FILE, or a model from the registry that has one")
    if scale is None:
        return adapted
    adapter = replace(adapted.adapter, scale=scale).checked(f"{adapted.adapter.path}:{scale}")
    if adapted.entry is not None and adapted.entry.base:
        return replace(adapted, name=f"{adapted.name}:{scale:g}", adapter=adapter)
    return parent.with_adapters([adapter])[0]
