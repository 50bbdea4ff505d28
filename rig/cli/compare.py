"""`rig compare`, `report`, `leaderboard` and `history`: arms of stored runs side by side, and over time."""

from __future__ import annotations

import re
import sys
import webbrowser
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from rig.cli.options import (
    AS_JSON,
    GRADED_BY,
    MODEL,
    SHARE,
    STORE,
    FloatRange,
    complete_runs,
    complete_suites,
    json_option,
)
from rig.cli.output import form_of, paint, print_json, print_table, printable, say, terminal_width
from rig.cli.runs import print_cautions, print_tables
from rig.cli.verbs import argument, option, verb
from rig.show.texts import measured, out_of
from rig.core.errors import RigError, counted
from rig.core.files import write
from rig.core.paths import real

if TYPE_CHECKING:
    from rig.compare.arms import ComparisonOptions
    from rig.compare.findings import Comparison
    from rig.compare.noise import Noise
    from rig.compare.sequential import SequentialComparison
    from rig.compare.verdict import Decision
    from rig.store import Runs


ReportFormat: TypeAlias = Literal["html", "md", "csv", "json"]


@dataclass(frozen=True, kw_only=True)
class ComparisonQuestion:
    """The options that say what is compared, and how."""

    addresses: tuple[str, ...] = argument("RUN...", required=True, shell_complete=complete_runs)
    baseline: str | None = option("The arm to compare the others with.  [default: the first arm]", "ARM")
    metric: str | None = option(
        "The rate that decides the verdicts, by its name in --json.  [default: success]", "NAME"
    )
    loss: float = option(
        "The loss of success, in points, that a file to ship may have, and that --sequential tests for.",
        "X",
        type=FloatRange(0, 100, min_open=True),
        start=5.0,
    )
    alpha: float = option(
        "The chance of a false alarm, over all arms together. Intervals cover 1 - alpha.",
        "X",
        type=SHARE,
        start=0.05,
    )
    across_settings: bool = option(
        "Compare arms even if they differ from the baseline in more than one setting, and list the"
        " differences."
    )
    noise: str | None = option(
        "Show the noise that this run of `rig noise` measured next to the differences.",
        "RUN",
        shell_complete=complete_runs,
    )
    graded_by: str = GRADED_BY
    runs: Path = STORE

    @property
    def options(self) -> ComparisonOptions:
        """The options of the comparison."""
        from rig.compare.arms import ComparisonOptions

        return ComparisonOptions(self.baseline, self.metric, self.alpha, self.across_settings, loss=self.loss)

    def noise_in(self, store: Runs) -> Noise | None:
        """Return the noise to show as well. Raises RigError if that run does not have two equal arms."""
        from rig.compare.noise import noise_of

        return None if self.noise is None else noise_of(store, self.noise, self.alpha)


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """What to decide about the differences, or to show instead."""

    fail_if_worse: float | None = option(
        "Exit with code 1 if rig finds a loss of more than X points.", "X", type=FloatRange(0, 100)
    )
    fail_if_unsure: bool = option(
        "Exit with code 3 if a loss of more than X points could have gone unseen. X is that of"
        " --fail-if-worse, else of --loss."
    )
    full: bool = option("Also print the statistics: rates, costs, differences with their tests, and flips.")
    tables: bool = option("Print the tables of the method's paper for these arms instead, as Markdown.")
    sequential: bool = option(
        "Say instead whether each arm loses as much as --loss, using tests that you may repeat after every"
        " conversation."
    )
    in_suite: bool = option(
        "With --sequential, decide about this suite alone, not about conversations like these. One of two"
        " equally good files gets more of a small suite right, and the other then shows a loss."
    )
    curve: bool = option(
        "Say instead where success breaks over the levels of an option, as in --sweep: success level by"
        " level, and a sentence for each file, which hold however often you look."
    )

    def limit(self, loss: float) -> float | None:
        """Return the loss, in points, that makes an arm fail; None if nothing is decided."""
        return loss if self.fail_if_unsure and self.fail_if_worse is None else self.fail_if_worse

    def decisions(self, comparison: SequentialComparison | Comparison, points: float) -> dict[str, Decision]:
        """Return for each arm whether it loses more than this. Raises RigError if nothing may be decided."""
        from rig.compare.sequential import SequentialComparison
        from rig.compare.verdict import Decision

        if isinstance(comparison, SequentialComparison):
            decisions = {arm.arm: arm.decision for arm in comparison.arms}
        else:
            if not comparison.declaration.decides:
                asked = "unsure" if self.fail_if_worse is None else "worse"
                raise RigError(f"--fail-if-{asked} cannot decide here: {comparison.declaration.caution}")
            limit = points / comparison.metric.scale
            decisions = {pair.arm: pair.verdict.decision(limit) for pair in comparison.pairs}
        return decisions | dict.fromkeys(comparison.left_out, Decision.CANNOT_TELL)


@verb()
def command(
    question: ComparisonQuestion, deciding: DecisionOptions, *, as_json: bool = AS_JSON
) -> int | None:
    """Compare arms with a baseline, conversation by conversation.

    RUN is an id or its first characters, a name given with --name, or `latest`. It stands for all arms of the
    run; RUN/ARM is one of them.

    The first line says which file to ship: the smallest one that loses no more than --loss. Below it, each
    arm has its rates, its difference from the baseline and a verdict. --full adds the statistics: intervals,
    tests, the smallest loss that a suite of this size can show, and conversations and turns won and lost.

    --curve shows success over the levels of an option, such as --fill, and where it breaks.

    With --sequential you may look as often as you like while a run is in progress, and stop when you have
    seen enough. --fail-if-worse X then asks whether a loss of X points has been shown.

    The exit code is 1 if an arm is worse than --fail-if-worse allows, 3 if --fail-if-unsure is given and rig
    cannot tell, and else 0. A verdict holds however unclear texts are decided.
    """
    from rig.compare import leaderboard
    from rig.compare.compare import compare
    from rig.compare.sequential import SequentialComparison, compare_sequentially
    from rig.compare.verdict import Decision
    from rig.show.compare import looks_text
    from rig.store import Runs

    limit = deciding.limit(question.loss)
    if deciding.in_suite and not deciding.sequential:
        raise RigError("--in-suite is for --sequential; give both, or neither")
    if deciding.curve and (deciding.sequential or limit is not None):
        raise RigError("--curve decides nothing; leave out --sequential and --fail-if-…")
    with Runs.open(question.runs, question.graded_by) as stored:
        if deciding.tables:
            arms = question.addresses
            print_tables(leaderboard.published(stored, arms), {"arms": list(arms)}, as_json=as_json)
            return None
        comparison: SequentialComparison | Comparison
        if deciding.sequential:
            tested = question.loss if limit is None else limit
            if not tested:
                raise RigError("--sequential tests for a loss; give --fail-if-worse more than 0 points")
            options = question.options
            in_suite = deciding.in_suite
            comparison = compare_sequentially(
                stored, question.addresses, tested / 100, options, in_suite=in_suite
            )
            baseline = comparison.baseline
        else:
            noise = question.noise_in(stored)
            # Curves of several files differ in the file as well as in the level.
            options = replace(question.options, across_settings=question.across_settings or deciding.curve)
            comparison = compare(stored, question.addresses, options, noise)
            baseline = comparison.baseline.label
    decisions = {} if limit is None else deciding.decisions(comparison, limit)
    by = {kind: [arm for arm, decision in decisions.items() if decision is kind] for kind in Decision}
    if as_json:
        failed, unsure = by[Decision.WORSE], by[Decision.CANNOT_TELL]
        print_json({**comparison.as_json(), "failed": failed, "unsure": unsure})
    elif isinstance(comparison, SequentialComparison):
        say(looks_text(comparison))
    else:
        _say_comparison(comparison, deciding)
    # With --json, lines on what does not pass go to stderr.
    size = f"{'at least' if deciding.sequential else 'more than'} {counted(limit or 0.0, 'point')}"
    green = "" if deciding.fail_if_unsure else "; that passes all the same, unless --fail-if-unsure is given"
    for arm, decision in decisions.items():
        if decision is Decision.WORSE:
            say(f"\n{arm} is worse than {baseline} by {size}", err=as_json)
        elif decision is Decision.CANNOT_TELL:
            line = f"\n{arm}: cannot tell: a loss of {size} could have gone unseen{green}"
            say(line, err=as_json)
    if by[Decision.WORSE]:
        return Decision.WORSE
    is_unsure = deciding.fail_if_unsure and by[Decision.CANNOT_TELL]
    return Decision.CANNOT_TELL if is_unsure else Decision.PASSES


def _say_comparison(comparison: Comparison, deciding: DecisionOptions) -> None:
    from rig.show.card import opening
    from rig.show.compare import curves_text, statistics_text

    width = terminal_width()
    if deciding.curve:
        if not comparison.curves:
            raise RigError("these arms are no levels of one option; make some with `rig run FILE --sweep`")
        say(curves_text(comparison.curves, width))
        return
    paint(opening(comparison, width and min(width, 120)))
    if deciding.full:
        say(f"\n{statistics_text(comparison, width)}")
    else:
        say("\n--full prints the statistics behind it; rig report shows conversations side by side")


@verb()
def report(
    question: ComparisonQuestion,
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
    """  # noqa: D301 - for click
    from rig.compare.compare import uncollected
    from rig.show.card import headline, sentences
    from rig.plugins.report import FORMATS, gather, render
    from rig.store import Runs

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


@verb()
def rank(
    file: Path | None = argument(),
    *,
    suite: str | None = option(
        "The suite.  [default: that of the latest run]", "NAME", shell_complete=complete_suites
    ),
    method: str | None = option("The method, such as judge-win.  [default: that of the latest run]", "NAME"),
    csv_path: Path | None = option(
        "Also write the ranking to a new file, in the form of ToolBench's leaderboard.", flags="--csv"
    ),
    every: bool = option(
        "Rank oracles, and arms that played only a part of the suite, too. All are then ranked by what they"
        " have in common.",
        flags="--all",
    ),
    runs: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Rank the arms of all runs on a suite, with intervals and the settings that differ.

    With FILE, a leaderboard in ToolBench's form, print that one instead.
    """
    from rig.compare import leaderboard
    from rig.compare.leaks import leak_text
    from rig.show.compare import with_interval
    from rig.plugins.judging import toolbench_paper
    from rig.store import Runs

    if file is not None:
        _print_file(file, as_json=as_json)
        return
    with Runs.open(runs) as opened:
        ranking = leaderboard.leaderboard(opened, suite, method, every=every)
    if csv_path is not None:
        write(toolbench_paper().leaderboard_text(leaderboard.standings(ranking)), csv_path)
    if as_json:
        print_json(ranking.as_json())
        return
    rows = []
    for place in ranking.places:
        cells = [with_interval(metric.amount, place.rates[metric.name]) for metric in ranking.metrics]
        played = len(place.tasks)
        count = str(played) if played == place.planned else out_of(played, place.planned, " of ")
        count += "" if place.tasks == ranking.tasks else " *"
        rows.append((place.name, count, *cells, ", ".join(place.differs) or "-"))
    titles = [metric.title for metric in ranking.metrics]
    say(f"{ranking.suite}, by the method {ranking.method}")
    print_table(("arm", "tasks", *titles, "differs from the first in"), rows)
    if any(place.tasks != ranking.tasks for place in ranking.places):
        left = len(frozenset.union(*(place.tasks for place in ranking.places))) - len(ranking.tasks)
        click.echo(
            f"* has other tasks, too: arms are ranked by the {len(ranking.tasks)} that all have in common,"
            f" word for word; {left} {'is' if left == 1 else 'are'} left out"
        )
    if texts := ranking.deciding_texts:
        decide = f"{counted(texts, 'unclear text')} {'decides' if texts == 1 else 'decide'} it"
        click.echo(f"cannot tell the order: {decide}; `rig adjudicate RUN` asks you about them")
    if len({grader.rules for grader in ranking.graders}) > 1:
        click.echo(
            "the graders differ, so the order means little; `rig compare` goes by one that all arms share"
        )
    elif len(ranking.graders) > 1:
        again = dict.fromkeys(f"`rig score {place.run.id}`" for place in ranking.places)
        say(f"unclear texts were decided by different answers; to use all: {' and '.join(again)}")
    for line in ranking.left_out:
        say(line)
    for place in ranking.places:
        if place.leaks:
            say(leak_text(place.name, place.leaks, "that it is ranked by"))
    print_cautions({place.run.id: place.run for place in ranking.places}.values())


def _print_file(file: Path, *, as_json: bool) -> None:
    from rig.plugins.judging import toolbench_paper

    rows = toolbench_paper().leaderboard(file)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    sets = list(dict.fromkeys(name for row in rows for name in row.by_set))
    cells = []
    for row in rows:
        by_set = [f"{row.by_set[name][0]:.3f}" if name in row.by_set else "-" for name in sets]
        error = "-" if isnan(row.std_error) else f"{row.std_error:.4f}"
        cells.append((row.method, f"{row.win_rate:.3f}", error, *by_set))
    print_table(("method", "win rate", "std error", *sets), cells)
    if others := [row.method for row in rows if not row.is_consistent]:
        say(
            f"the test sets of {others[0]}{' and others' if others[1:] else ''} do not average to its win"
            " rate, so these columns hold something else; in ToolBench's own table against ChatGPT-DFSDT"
            " they are pass rates"
        )


_PLAYED = ("run", "started", "rig", "arm", "suite", "conversations")
_NAMED = 3
"""The most changed settings that are named."""


@verb()
def history_of_model(model: str = MODEL, *, runs: Path = STORE, as_json: bool = AS_JSON) -> None:
    """Show every run of one model file, over time.

    MODEL is a name from `rig models list`, the path of a .gguf file, or the first 8 or more characters of its
    SHA-256. rig recognizes a file by its content, even if it had another name at the time of the run.

    There is one table for each version of a grader, because you cannot compare the scores of different
    graders. `rig score RUN` adds a score by the current version to an old run. The last column names what
    changed since the row above: the version of rig, the suite, or a setting.
    """
    from rig.compare import leaderboard
    from rig.compare.leaks import leak_text
    from rig.plugins.llama.files.caches import sha256_of
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import resolve
    from rig.store import Runs

    sha256 = model
    if not leaderboard.is_hash(model) or Path(model).exists():
        sha256 = sha256_of(inspect(resolve(model).path).path)  # what is no model may have no end
    with Runs.open(runs) as stored:
        hashes, lines = leaderboard.history(stored, sha256)
    if as_json:
        scores = [past.as_json() for line in lines for past in line]
        print_json({"model.file_sha256": hashes[0], "scores": scores})
        return
    if not lines:
        raise RigError(f"no conversation of a run of {model} is scored yet")
    say(f"{model}, SHA-256 {hashes[0][:16]}…: {counted(sum(map(len, lines)), 'score')}")
    for line in lines:
        first = line[0]
        metrics, version = first.run.declaration.shown("lines"), first.run.rig
        say(f"\n{first.run.declaration.method}, graded by {first.score.grader}")
        rows = []
        for past in line:
            changed = [f"rig {version} to {past.run.rig}"] if past.run.rig != version else []
            changed += [name.rpartition(".")[2].replace("_", " ") for name in past.changed[:_NAMED]]
            if len(past.changed) > _NAMED:
                changed.append(f"{len(past.changed) - _NAMED} more")
            version = past.run.rig
            about = (past.run.id, f"{past.run.created.astimezone():%Y-%m-%d %H:%M}", version, past.arm)
            numbers = [measured(metric, past.score.counts) for metric in metrics]
            suites = ", ".join(filter(None, past.suites))
            rows.append((*about, suites, past.tasks, *numbers, ", ".join(changed)))
        titles = (metric.title for metric in metrics)
        print_table((*_PLAYED, *titles, "changed"), rows)
    leaks = {f"{past.run.id}/{past.arm}": past.leaks for line in lines for past in line if past.leaks}
    for name, tasks in leaks.items():
        say(leak_text(name, tasks, "that it played"))
    if len(lines) > 1:
        click.echo("\nNumbers of different tables are not comparable: the graders differ.")
