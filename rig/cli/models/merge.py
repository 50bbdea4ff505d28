"""`rig models merge`: a model and an adapter as one file."""

from dataclasses import replace
from pathlib import Path

import click

from rig.cli import completion
from rig.cli.models.progress import bar
from rig.cli.options import json_option
from rig.cli.output import print_json, printable
from rig.displays.numbers import file_size
from rig.displays.signals import endings_as_exceptions
from rig.engine.files.adapters import Adapter
from rig.engine.files.registry import ResolvedModel, resolve
from rig.errors import RigError

_TYPES = ("f16", "bf16", "f32", "q8_0")


@click.command()
@click.argument("model", shell_complete=completion.model_files)
@click.option("--lora", metavar="FILE[:SCALE]", help="The adapter.  [default: that of the registry's entry]")
@click.option("--scale", type=float, metavar="X", help="How strongly the adapter counts.  [default: 1]")
@click.option(
    "--to", type=click.Choice(_TYPES), default="f16", show_default=True, help="The type of the weights."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write.  [default: MODEL+ADAPTER-TYPE.gguf in the models folder]",
)
@json_option()
def merge(
    model: str, lora: str | None, scale: float | None, to: str, output: Path | None, as_json: bool
) -> None:
    """Merge a model and a LoRA adapter into one file, which you can then quantize.

    You can use the name MODEL+ADAPTER-TYPE at once wherever a model is asked for. The file records what it
    was made from. If the model was quantized, what it has lost stays lost. The file appears only when it is
    complete.
    """
    from rig.engine.files.merge import merge as make

    parent = _with_adapter(resolve(model), lora, scale)
    assert parent.adapter is not None
    with endings_as_exceptions():
        made = make(parent, parent.adapter, to, target=output, progress=bar(f"{parent.name}-{to}", "merging"))
    path = output or made.entry.path
    if as_json:
        print_json({**made.entry.model_dump(), "path": str(path), "seconds": made.seconds})
        return
    state = "here already" if made.seconds is None else f"made in {made.seconds:.1f} s"
    note = made.info.origin.note if made.info.origin else ""
    click.echo(printable(f"{path}: {file_size(made.entry.size)}, {note}; {state}"))


def _with_adapter(parent: ResolvedModel, lora: str | None, scale: float | None) -> ResolvedModel:
    """The model with the adapter to be merged. Raises RigError if there is none, or another."""
    asked = [] if lora is None else [Adapter.parse(lora)]
    (found,) = parent.with_adapters(asked)
    if found.adapter is None:
        raise RigError("which adapter? Give --lora FILE, or a model from the registry that has one")
    if scale is None:
        return found
    adapter = replace(found.adapter, scale=scale).checked(f"{found.adapter.path}:{scale}")
    if found.entry is not None and found.entry.base:
        return replace(found, name=f"{found.name}:{scale:g}", adapter=adapter)
    return parent.with_adapters([adapter])[0]
