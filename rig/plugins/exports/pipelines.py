"""Exports for pipelines: JUnit XML, which most of them read, and the step summary of GitHub Actions."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from rig.core.errors import MACHINE
from rig.plugins.exports import Export, ExportSource
from rig.plugins.report.render import gather, render
from rig.show.texts import clip, printable

Kind: TypeAlias = Literal["", "failure", "error", "skipped"]

_LARGEST_SUMMARY = 1_000_000
"""The most bytes of a summary. GitHub drops a summary of more than 1,024 KiB as a whole."""

_LONGEST = 4_000
"""The most characters of a reason. GitLab reads files of 30 MB at most."""


class TestCase(NamedTuple):
    """A case of a JUnit file. If it did not pass, `kind` is its outcome and `text` the reason."""

    group: str
    name: str
    seconds: float = 0.0
    kind: Kind = ""
    text: str = ""


def junit_xml(suites: Iterable[tuple[str, list[TestCase]]]) -> Iterator[str]:
    """Yield a JUnit file piece by piece, in pytest's dialect, from the names of suites and their cases.

    Readers show the text of an element or its attribute `message`, so the reason is in both.
    """
    yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n'
    for name, cases in suites:
        kinds = Counter(case.kind for case in cases)
        counts = f'failures="{kinds["failure"]}" errors="{kinds["error"]}" skipped="{kinds["skipped"]}"'
        seconds = sum(case.seconds for case in cases)
        yield f'<testsuite name={_attribute(name)} {counts} tests="{len(cases)}" time="{seconds:.3f}">\n'
        for case in cases:
            about = f"classname={_attribute(case.group)} name={_attribute(case.name)}"
            text = str(clip(printable(case.text), _LONGEST))
            # For a case that passed, readers show its output.
            kind = f"{case.kind} message={_attribute(text)}" if case.kind else "system-out"
            inner = f"<{kind}>{escape(text)}</{case.kind or 'system-out'}>" if text else ""
            yield f'<testcase {about} time="{case.seconds:.3f}">{inner}</testcase>\n'
        yield "</testsuite>\n"
    yield "</testsuites>\n"


def _attribute(text: str) -> str:
    return quoteattr(printable(text))


class JUnitExport(Export):
    """JUnit XML with a suite for each arm, and a case for each conversation and repeat.

    A failure is the model's and an error the machine's. Cases that were not played are skipped.
    """

    name = "junit"

    def pieces(self, source: ExportSource) -> Iterator[str]:
        runs, run = source.runs, source.run
        seconds: defaultdict[tuple[str, str, int], float] = defaultdict(float)
        reasons: defaultdict[tuple[str, str, int], list[str]] = defaultdict(list)
        for row in runs.view("turn_results", run):
            seconds[row["arm"], row["conversation"], row["repeat"]] += row["wall_s"]
        for row in runs.view("turn_faults", run):
            fault = f"turn {row['turn']}: {row['kind']}: {row['text']}"
            reasons[row["arm"], row["conversation"], row["repeat"]].append(fault)
        suites = {task.name: task.suite for task in runs.conversations(run)}
        cases: dict[str, list[TestCase]] = {arm.name: [] for arm in run.arms}
        for cell in runs.each_cell(run):
            arm = run.arms[cell.arm].name
            key = arm, cell.conversation, cell.repeat
            name = f"{cell.conversation}#{cell.repeat + 1}" if run.repeats > 1 else cell.conversation
            group = ".".join(filter(None, (arm, suites[cell.conversation])))
            if cell.counts is None:
                why = run.arms[cell.arm].failure or run.arms[cell.arm].decided or "not played to its end"
                cases[arm].append(TestCase(group, name, seconds[key], "skipped", why))
                continue
            errors = [f"{kind} {count}" for kind, count in cell.errors.items()]
            told = [run.declaration.text(cell.counts), *errors, run.declaration.form_note(cell.counts)]
            text = "\n".join([*filter(None, told), *dict.fromkeys(reasons[key])])
            kind: Kind = "error" if MACHINE.intersection(cell.errors) else "failure"
            kind = "" if run.declaration.succeeded(cell.counts) else kind
            cases[arm].append(TestCase(group, name, seconds[key], kind, text))
        return junit_xml(cases.items())


JUNIT = JUnitExport()


class GitHubExport(Export):
    """The report as Markdown, cut to the size that GitHub allows for a step's summary."""

    name = "github"

    def pieces(self, source: ExportSource) -> Iterator[str]:
        yield fitting_summary(render(gather(source.runs, [source.run.id]), "md"))


GITHUB = GitHubExport()


def mentioning_nobody(text: str) -> str:
    """Return Markdown in which no `@` outside of code mentions a person or team on GitHub."""
    return _MENTION.sub(lambda part: f"{part['at']}<!-- -->" if part["at"] else part[0], text)


_MENTION = re.compile(
    # An escaped backtick begins no code, and code ends with as many backticks as it began with. What a cell
    # or a tag could end is not taken for code: there, a comment too many is shown, and nobody is mentioned.
    r"\\[\\`]|(?<!`)(?P<ticks>`+)(?!`)[^\n|<>]*?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<at>@|&(?:\#0*64|\#[xX]0*40|commat);)(?=\w)"
)


def fitting_summary(text: str) -> str:
    """Return Markdown that mentions nobody on GitHub, cut at a line's end if it is too long."""
    quiet = mentioning_nobody(text)
    encoded = quiet.encode("utf-8", "backslashreplace")
    if len(encoded) <= _LARGEST_SUMMARY:
        return quiet
    kept = encoded[:_LARGEST_SUMMARY].decode("utf-8", "ignore").rpartition("\n")[0]
    return f"{kept}\n\nThe rest does not fit into a summary; `rig report` has all of it.\n"
