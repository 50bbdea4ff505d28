"""`rig report`: runs as one file."""

from __future__ import annotations

import re
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import click

from rig.cli.compare import ComparisonQuestion
from rig.cli.options import complete_runs, json_option
from rig.cli.output import form_of, paint, print_json, printable, say, terminal_width
from rig.cli.verbs import Viewed, argument, option, verb
from rig.core.errors import RigError
from rig.core.files import write
from rig.core.paths import real

ReportFormat: TypeAlias = Literal["html", "md", "csv", "json"]


@dataclass(frozen=True, kw_only=True)
class ReportQuestion(ComparisonQuestion):
    """What is compared; a page over all runs names none."""

    addresses: tuple[str, ...] = argument("[RUN...]", required=False, shell_complete=complete_runs)


@verb(Viewed, "report")
def report(
    question: ReportQuestion,
    *,
    format_: ReportFormat | None = option(
        "The form of the report; csv has a row for each conversation and arm.  [default: from the name of"
        " the output, or html]",
        flags="--format",
    ),
    output: Path | None = option("The file to write.  [default: stdout]", flags="--output -o"),
    tables: bool = option("Add the tables of the method's paper."),
    force: bool = option("Replace a file that is already there."),
    raw: bool = option("csv: leave texts that a spreadsheet would execute as they are."),
    opened: bool = option("Open the report in your browser.", flags="--open"),
    as_json: bool = json_option("Print JSON about the file that was written."),
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
      rig report --all --open                   every run of the store on one page
    """  # noqa: D301 - for click
    from rig.compare.compare import uncollected
    from rig.plugins.report.render import FORMATS, gather, render
    from rig.show.card import headline, sentences
    from rig.store import Runs

    if not question.addresses:
        raise RigError("name the runs to report, such as latest, or give --all for a page over all runs")
    if opened and output is None:
        output = Path(f"rig-report-{'-'.join(re.findall('[0-9A-Za-z]+', question.addresses[0]))}.html")
        force = True
    if output is None and as_json:
        raise RigError("--json describes a file that is written; name it with --output")
    form: ReportFormat = format_ or form_of(output, FORMATS, "html")
    if output is None and form == "html" and sys.stdout.isatty():
        raise RigError("the page is for a browser: add --open or --output FILE, or choose --format md")
    with uncollected(), Runs.open(question.runs, question.graded_by) as stored:
        noise = question.noise_in(stored)
        material = gather(stored, question.addresses, question.options, noise, with_tables=tables)
        text = render(material, form, raw=raw)
    if output is None:
        # A file gets the text unchanged; on a terminal, it must not contain control characters.
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
        return
    write(text, output, force=force)
    if opened and not webbrowser.open(real(output).as_uri()):
        say(f"rig: no browser was found; open {output} yourself", err=True)
    size = len(text.encode())
    if as_json:
        arms = [arm.label for arm in material.comparison.arms]
        print_json({"output": str(output), "format": form, "bytes": size, "arms": arms})
        return
    paint(headline(material.comparison, terminal_width() or 100))
    for line in sentences(material.comparison):
        say(line)
    say(f"wrote {output} ({size / 1e6:.2f} MB)")
