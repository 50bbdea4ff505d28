"""`rig report`: runs as one file to be read, passed on, or worked with."""

import sys
from pathlib import Path
from typing import cast

import click

from rig.cli.compare import arms_and_question, noise_beside
from rig.cli.output import print_json, printable
from rig.compare import Question
from rig.errors import RigError
from rig.files import write
from rig.paths import runs_file
from rig.report import FORMATS, Format, gather, render
from rig.store import Runs


@click.command()
@arms_and_question
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Default: as the output's name ends, else html. csv: a row for each conversation and arm.",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write; default: stdout.")
@click.option("--tables", is_flag=True, help="With the tables of the method's paper for these arms.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--raw", is_flag=True, help="csv: leave texts that a spreadsheet would execute as they are.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON about what was written.")
def command(
    addresses: tuple[str, ...],
    baseline: str | None,
    metric: str | None,
    alpha: float,
    across_settings: bool,
    noise: str | None,
    runs: Path | None,
    format_: str | None,
    output: Path | None,
    tables: bool,
    force: bool,
    raw: bool,
    as_json: bool,
) -> None:
    """Write a report of arms: verdicts, plots, and every conversation with the arms side by side.

    RUN is an id, the beginning of one, a name given with --name, or `latest`, and stands for all arms of the
    run; RUN/ARM is one of them. A single arm will do.

    The page is one file that needs no network, at most 1 MB for six arms of all conversations.
    """
    if output is None and as_json:
        raise RigError("--json is about a file that is written; name it with --output")
    form = cast(Format, format_ or _by_ending(output))
    if output is None and form == "html" and sys.stdout.isatty():
        raise RigError("a page is no reading in a terminal; name a file with --output, or choose --format md")
    with Runs.open(runs or runs_file()) as stored:
        question = Question(baseline, metric, alpha, across_settings)
        measured = noise_beside(stored, noise, alpha)
        material = gather(stored, addresses, question, measured, with_tables=tables)
    text = render(material, form, raw=raw)
    if output is None:
        # A file gets what is there as it is; a terminal must not be steered by it.
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
        return
    write(text, output, force=force)
    comparison = material.comparison
    if as_json:
        arms = [arm.label for arm in comparison.arms]
        print_json({"output": str(output), "format": form, "bytes": len(text.encode()), "arms": arms})
        return
    for pair in comparison.pairs:
        click.echo(printable(f"{pair.arm}: {pair.verdict.text}"))
    click.echo(printable(f"{len(text.encode()) / 1e6:.2f} MB in {output}"))


def _by_ending(output: Path | None) -> str:
    ending = output.suffix.removeprefix(".").lower() if output else ""
    return ending if ending in FORMATS else "html"
