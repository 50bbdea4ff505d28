"""`rig report --all`: all runs of a store on one page."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rig import __version__
from rig.cli.compare import ComparisonQuestion
from rig.cli.output import print_json, say, show_progress
from rig.core.errors import RigError, counted
from rig.core.files import write
from rig.core.paths import real
from rig.plugins.overview.gathered import Gathered, gather, short
from rig.plugins.overview.page import page
from rig.store import Runs

NAME = "rig-report-all.html"


def of_all_runs(
    *,
    question: ComparisonQuestion,
    output: Path | None,
    format_: str | None,
    force: bool,
    opened: bool,
    as_json: bool,
    each: bool,
    **others: Any,
) -> None:
    """Write the page, and with `each` the reports of the runs beside it."""
    if not others.pop("all"):
        raise RigError("--each writes the reports of the runs of a page over all; add --all")
    if question.addresses:
        raise RigError(f"--all is a page over all runs; leave out {' '.join(question.addresses):.80}")
    unfit = [f"--{name}" for name in ("baseline", "metric", "noise") if getattr(question, name) is not None]
    unfit += [f"--{name}" for name in ("tables", "raw") if others.get(name)]
    unfit += [f"--format {format_}"] if format_ not in (None, "html") else []
    if unfit:
        raise RigError(f"the page over all runs has no {unfit[0]}; leave it out, or name runs to report")
    force = force or (opened and output is None)
    output = output or Path(NAME)
    if real(output).exists() and not force:
        raise RigError(f"{output}: exists; choose a new file, or --force to write over it")
    if not real(output).parent.is_dir():
        raise RigError(f"{output}: cannot be written: there is no folder {output.parent}; make it first")
    with Runs.open(question.runs, question.graded_by) as stored:
        gathered = gather(stored, lambda done, of: show_progress("all", "runs read", done, of))
        if not gathered.runs:
            raise RigError(
                f"{stored.path} holds no run yet; `rig run` adds one, --runs chooses another store"
            )
        reports = _write_each(stored, gathered, question, _folder(output), force=force) if each else None
    text = page(gathered, question.runs, __version__, reports=reports, folder=_folder(output).name)
    write(text, output, force=force)
    if opened and not webbrowser.open(real(output).as_uri()):
        say(f"rig: no browser was found; open {output} yourself", err=True)
    size = len(text.encode())
    arms = sum(len(run.arms) for run in gathered.runs)
    if as_json:
        print_json(
            {"output": str(output), "format": "html", "bytes": size, "runs": len(gathered.runs), "arms": arms}
        )
        return
    told = f"{counted(len(gathered.runs), 'run')}, {counted(arms, 'arm')}"
    say(f"wrote {output} ({told}, {size / 1e6:.2f} MB)")


def _folder(output: Path) -> Path:
    return output.with_name(f"{output.stem}-runs")


def _write_each(
    stored: Runs, gathered: Gathered, question: ComparisonQuestion, folder: Path, *, force: bool
) -> Mapping[str, Mapping[str, int]]:
    """Write the report of each run, and return the numbers of their conversations by the run's id and name.

    A run without anything to report gets none.
    """
    from rig.plugins.report.render import gather as gather_report
    from rig.plugins.report.render import render

    ids = [run.stored.id for run in gathered.runs]
    for name in ids:
        if (folder / f"{name}.html").exists() and not force:
            raise RigError(
                f"{folder / f'{name}.html'}: exists; choose a new page, or --force to write over it"
            )
    reports: dict[str, Mapping[str, int]] = {}
    for number, name in enumerate(ids, 1):
        show_progress("each", "reports written", number, len(ids))
        try:
            material = gather_report(stored, [name], replace(question.options, across_settings=True))
        except RigError as error:
            say(f"rig: run {name} has no report: {error}", err=True)
            continue
        write(render(material, "html"), folder / f"{name}.html", force=force, folders=True)
        played = material.comparison.conversations
        reports[name] = {short(played[place][0]): place for place in material.shown}
    return reports
