"""`rig models quantize`, `merge` and `calibrate`: make new files from others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from rig.cli.options import JSON_LINES, MODEL, OUTPUT, Grouped, of_table, table_options
from rig.cli.output import print_json, print_table, say, show_progress
from rig.cli.verbs import option, verb
from rig.core.errors import RigError, counted, did_you_mean
from rig.core.meters import available_cores
from rig.core.paths import models_directory
from rig.plugins.screen.verb import as_asked, corpus_of, progress, screening_of
from rig.plugins.tune.types import CALIBRATED, LADDER, TENSOR_TYPES, TYPES
from rig.show.base import endings_as_exceptions
from rig.show.texts import file_size

if TYPE_CHECKING:
    from rig.plugins.llama.files.derived import DerivedModel
    from rig.plugins.llama.files.registry import ResolvedModel

WholeType: TypeAlias = Literal["f16", "bf16", "f32", "q8_0"]
"""The types that rig itself writes weights as."""
MatrixFormat: TypeAlias = Literal["gguf", "dat"]

_HEADER = ("NAME", "SIZE", "BITS PER WEIGHT", "TENSORS BY THE TYPE REALLY USED", "SECONDS")


def types(text: str) -> tuple[str, ...]:
    """Parse `TYPE,TYPE`. Raises click.BadParameter for an unknown type."""
    kinds = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    for kind in kinds:
        if kind not in (*TYPES, *CALIBRATED):
            near = did_you_mean(kind, (*TYPES, *CALIBRATED))
            choices = f"{', '.join(TYPES)}, and with --imatrix {', '.join(CALIBRATED)}"
            raise click.BadParameter(f"there is no type {kind!r}{near}; choose from: {choices}")
    return kinds


@verb()
def quantize(
    *,
    model: str = MODEL,
    to: tuple[str, ...] = option(
        f"The types to make, such as {','.join(LADDER)}. In a terminal, rig asks if you leave this out.",
        "TYPE,...",
        multiple=False,
        callback=lambda _context, _parameter, text: () if text is None else types(text),
    ),
    matrix: Path | None = option(
        "Weight columns by this importance matrix, of `rig models calibrate` or llama-imatrix. Most types"
        " below 3 bits need one.",
        "FILE",
        "--imatrix",
    ),
    tensor: tuple[str, ...] = option(
        "Store the tensors in whose names this regular expression is found as this type. Repeatable; the"
        " first that matches counts.",
        "REGEX=TYPE",
    ),
    embeddings: str = option(
        "The type of the token embeddings.", "TYPE", "--token-embedding-type", default=""
    ),
    output: str = option("The type of the output matrix.", "TYPE", "--output-tensor-type", default=""),
    threads: int | None = of_table("threads"),
    as_json: bool = JSON_LINES,
) -> None:
    """Make smaller files of a model, with llama.cpp's own quantizer.

    Each new file is MODEL-TYPE.gguf in the models folder, and you can use the name MODEL-TYPE at once
    wherever a model is asked for; an importance matrix and types of single tensors are added to the name. The
    file records what it was made from, and so does every run with it. You can quantize a quantized model
    again, but what it has lost stays lost.
    """
    from rig.plugins.llama.files.registry import resolve
    from rig.plugins.tune import quantize as quantizing
    from rig.plugins.tune.quantize import QuantizeRecipe, TensorType

    parent = resolve(model)
    tensors = tuple(map(TensorType.parse, tensor))
    if wrong := [kind for kind in (embeddings, output) if kind and kind.lower() not in TENSOR_TYPES]:
        raise RigError(f"there is no type {wrong[0]!r} for a tensor; choose from: {', '.join(TENSOR_TYPES)}")
    files = []
    for kind in to or _asked(parent):
        with endings_as_exceptions():
            recipe = QuantizeRecipe(kind, matrix, tensors, embeddings.lower(), output.lower())
            progress = bar(f"{parent.name}-{recipe.name}", "quantizing")
            cores = threads or available_cores()
            files.append(quantizing.quantize(parent, recipe, threads=cores, progress=progress))
    told, rows = [], []
    for file in files:
        bits, origin = file.info.bits_per_weight, file.info.origin
        about = {"bits_per_weight": bits, "origin": origin and origin.as_json(), "seconds": file.seconds}
        told.append({**file.entry.model_dump(), "path": str(file.entry.path), **about})
        types = ", ".join(f"{count} {kind}" for kind, count in file.entry.tensors.items())
        took = "here already" if file.seconds is None else f"{file.seconds:.1f}"
        size = file_size(file.entry.size)
        rows.append((file.entry.name, size, f"{bits:.2f}" if bits else "?", types, took))
    if as_json:
        print_json(told)
        return
    print_table(_HEADER, rows)
    for file in files:
        name, fell_back = file.entry.name, file.entry.fell_back
        if fell_back:
            counts = ", ".join(f"{count} from {change}" for change, count in fell_back.items()).lower()
            say(f"{name}: tensors whose rows are too short for their type got another: {counts}")
    origins = [file.info.origin for file in files if file.info.origin]
    if origins and origins[0].requantized:
        say(
            f"{origins[0].note}: its weights were quantized before, so these files lose more than"
            " the same types made from the original weights would"
        )


def _asked(parent: ResolvedModel) -> tuple[str, ...]:
    """Ask a person for the types. Raises RigError without a terminal, with the files that could be made."""
    ladder = ",".join(LADDER)
    if not _is_asked():
        files = ", ".join(f"{parent.name}-{kind}.gguf" for kind in LADDER)
        raise RigError(f"say which types to make; --to {ladder} would make {files} in {models_directory()}")
    for kind in LADDER:
        say(f"  {kind:<7} {parent.name}-{kind}.gguf", err=True)
    say(f"They go to {models_directory()}. Other types: {', '.join(TYPES)}.", err=True)
    return types(click.prompt("Which types", default=ladder, err=True))


def _is_asked() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def bar(name: str, doing: str) -> Callable[[int, int], None]:
    """Return what shows progress on a terminal; elsewhere, print that a file is begun."""
    if not sys.stderr.isatty():
        say(f"{name}: {doing}", err=True)
    return partial(show_progress, name, "tensor")


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
    as_json: bool = JSON_LINES,
) -> None:
    """Merge a model and a LoRA adapter into one file, which you can then quantize.

    You can use the name MODEL+ADAPTER-TYPE at once wherever a model is asked for. The file records what it
    was made from. If the model was quantized, what it has lost stays lost. The file appears only when it is
    complete.
    """
    from rig.plugins.llama.files.adapters import Adapter
    from rig.plugins.llama.files.registry import resolve
    from rig.plugins.tune import merging

    plain = resolve(model)
    (parent,) = plain.with_adapters([] if lora is None else [Adapter.parse(lora)])
    adapter = parent.adapter
    if adapter is None:
        raise RigError("which adapter? Give --lora FILE, or a model from the registry that has one")
    if scale is not None:
        adapter = replace(adapter, scale=scale).checked(f"{adapter.path}:{scale}")
        if parent.entry is not None and parent.entry.base:
            parent = replace(parent, name=f"{parent.name}:{scale:g}", adapter=adapter)
        else:
            (parent,) = plain.with_adapters([adapter])
    with endings_as_exceptions():
        progress = bar(f"{parent.name}-{to}", "merging")
        merged = merging.merge(parent, adapter, to, target=output, progress=progress)
    _say_made(merged, output, as_json=as_json)


@verb(Grouped, options=table_options("screen", single=True, without=("lora",)))
def calibrate(
    *,
    model: str = MODEL,
    text: Path | None = option(
        "Read this text file instead of conversations, as llama-imatrix does, in chunks of --n-ctx tokens"
        " (512); --limit is then of chunks."
    ),
    output: Path | None = option(
        "The file to write.  [default: MODEL.imatrix.gguf]", "FILE", "-o --output", group=OUTPUT
    ),
    output_format: MatrixFormat = option(
        "llama.cpp's format: today's, or the older one, which other programs read.",
        group=OUTPUT,
        start="gguf",
    ),
    as_json: bool = JSON_LINES,
    **values: Any,
) -> None:
    """Make an importance matrix from conversations or a text, for `rig models quantize --imatrix`.

    The model reads the prompts of a run with the right answers, and rig sums what enters its weights. Use the
    file that you will quantize, or one of the same weights that is less quantized. Only the fifth of a suite
    that is set apart for this is read; `rig run --without calibration` plays the others, and `rig compare`
    refuses conversations that a file was calibrated on.
    """
    from rig.plugins.tune import imatrix
    from rig.plugins.tune.calibrate import calibrate as collect
    from rig.plugins.tune.calibrate import calibrate_on_text

    options = {name: value for name, value in values.items() if value not in (None, (), False)}
    options["models"] = (model,)
    note = partial(say, err=True)
    target = output or Path(f"{Path(model).name.removesuffix('.gguf')}.imatrix.{output_format}")
    if target.exists() or not target.absolute().parent.is_dir():
        fault = "already exists" if target.exists() else "no such folder"
        raise RigError(f"{target}: {fault}; name another file with --output")
    with endings_as_exceptions():
        if text is not None:
            calibration = calibrate_on_text(corpus_of(options, text), note, progress("read", "chunk"))
        else:
            asked = screening_of(*as_asked(options, "calibration"))
            calibration = collect(asked, note, progress("read"))
    imatrix.write(calibration.matrix, target, output_format)
    matrix = calibration.matrix
    if as_json:
        told = {"output": str(target), "tokens": calibration.tokens, "conversations": len(matrix.traces)}
        print_json({**told, "tensors": len(matrix.sums), "left_out": dict(calibration.left_out)})
        return
    for reason, count in calibration.left_out.items():
        say(f"{counted(count, 'step')} left out: {reason}", err=True)
    say(f"{target}: {matrix.title}; {len(matrix.sums)} weight matrices")
    say(f"quantize with it: `rig models quantize {model} --to q2_k,iq2_xs --imatrix {target}`")


def _say_made(made: DerivedModel, output: Path | None, *, as_json: bool) -> None:
    path = output or made.entry.path
    if as_json:
        print_json({**made.entry.model_dump(), "path": str(path), "seconds": made.seconds})
        return
    state = "here already" if made.seconds is None else f"made in {made.seconds:.1f} s"
    note = made.info.origin.note if made.info.origin else ""
    say(f"{path}: {file_size(made.entry.size)}, {note}; {state}")
