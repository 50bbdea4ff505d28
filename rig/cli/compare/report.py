"""`rig report`: write runs as one file to read, pass on, or work with."""

import re
import sys
import webbrowser
from pathlib import Path
from typing import cast

import click

from rig.cli.compare import arms_and_question, noise_beside
from rig.cli.config import say_what_is_from_file
from rig.cli.options import json_option
from rig.cli.output import print_json, printable
from rig.compare import ComparisonOptions, uncollected
from rig.errors import RigError
from rig.files import write
from rig.paths import real, runs_file
from rig.report import FORMATS, Format, gather, render
from rig.store import Runs


@click.command()
@arms_and_question
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="The form of the report; csv has a row for each conversation and arm.  [default: from the name of"
    " the output, or html]",
)
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write.  [default: stdout]")
@click.option("--tables", is_flag=True, help="Add the tables of the method's paper.")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@click.option("--raw", is_flag=True, help="csv: leave texts that a spreadsheet would execute as they are.")
@click.option("--open", "opened", is_flag=True, help="Open the report in your browser.")
@json_option("Print JSON about the file that was written.")
def command(
    addresses: tuple[str, ...],
    baseline: str | None,
    metric: str | None,
    alpha: float,
    across_settings: bool,
    noise: str | None,
    graded_by: str,
    runs: Path | None,
    format_: str | None,
    output: Path | None,
    tables: bool,
    force: bool,
    raw: bool,
    opened: bool,
    as_json: bool,
) -> None:
    """Write a report: verdicts, plots, and every conversation with the arms side by side.

    RUN is an id or its first characters, a name given with --name, or `latest`. It stands for all arms of the
    run; RUN/ARM is one of them. A single arm is enough.

    The page is one file that needs no network. You can search, filter and print it, and send it to others.

    \b
    Examples:
      rig report latest --open                  write rig-report-RUN.html and show it
      rig report quants other -o both.html      two runs in one report
      rig report latest --format md             Markdown, for a pull request
    """  # noqa: D301 - for click
    say_what_is_from_file(click.get_current_context())
    if opened and output is None:
        output = Path(f"rig-report-{'-'.join(re.findall('[0-9A-Za-z]+', addresses[0]))}.html")
        force = True
    if output is None and as_json:
        raise RigError("--json describes a file that is written; name it with --output")
    form = cast(Format, format_ or _by_ending(output))
    if output is None and form == "html" and sys.stdout.isatty():
        raise RigError("the page is for a browser: add --open or --output FILE, or choose --format md")
    with uncollected(), Runs.open(runs or runs_file(), graded_by) as stored:
        question = ComparisonOptions(baseline, metric, alpha, across_settings)
        measured = noise_beside(stored, noise, alpha)
        material = gather(stored, addresses, question, measured, with_tables=tables)
        text = render(material, form, raw=raw)
    if output is None:
        # A file gets what is there as it is; a terminal must not be steered by it.
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
        return
    write(text, output, force=force)
    if opened and not webbrowser.open(real(output).as_uri()):
        click.echo(f"rig: no browser was found; open {printable(str(output))} yourself", err=True)
    comparison = material.comparison
    if as_json:
        arms = [arm.label for arm in comparison.arms]
        print_json({"output": str(output), "format": form, "bytes": len(text.encode()), "arms": arms})
        return
    for pair in comparison.pairs:
        click.echo(printable(f"{pair.arm}: {pair.verdict.text}"))
    click.echo(printable(f"wrote {output} ({len(text.encode()) / 1e6:.2f} MB)"))


def _by_ending(output: Path | None) -> str:
    ending = output.suffix.removeprefix(".").lower() if output else ""
    return ending if ending in FORMATS else "html"
