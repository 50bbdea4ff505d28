"""`rig gate`: an exit code for a pipeline, by a policy of conditions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rig.cli.options import AS_JSON, GRADED_BY, STORE, complete_runs
from rig.cli.output import print_json, say
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError, counted
from rig.core.files import HALVES, write
from rig.show.table import inert, markdown, one_line

if TYPE_CHECKING:
    from rig.plugins.exports.gate import ConditionResult, GateResult
    from rig.plugins.exports.pipelines import Kind, TestCase

_SUMMARY = "GITHUB_STEP_SUMMARY"
_MARKS = {"passes": "✅", "worse": "❌", "cannot tell": "⚠️"}
_WIDEST = max(map(len, _MARKS))


@verb()
def command(
    *,
    policy: Path = argument(),
    addresses: tuple[str, ...] = argument("RUN...", required=True, shell_complete=complete_runs),
    baseline: str | None = option(
        "The arm to compare the others with.  [default: that of the policy, or the first arm]", "ARM"
    ),
    github: bool = option(
        "Also print annotations for GitHub Actions, and add a table to the summary of the step."
    ),
    junit: Path | None = option("Also write the conditions as test cases of a JUnit file.", "FILE"),
    graded_by: str = GRADED_BY,
    runs: Path = STORE,
    as_json: bool = AS_JSON,
) -> int:
    """Decide by a policy whether arms may go on, for a script or a pipeline.

    POLICY is a TOML file with conditions that are required, supporting or informative. RUN is an id or its
    first characters, a name given with --name, or `latest`. It stands for all arms of the run; RUN/ARM is one
    of them. All arms are judged but the baseline, or the only one there is.

    The exit code is 0 if the arms pass, 1 if one is worse than a required or supporting condition allows, and
    3 if rig cannot tell whether a required condition holds.

    \b
    A policy:
      [[required]]
      metric = "success_rate"
      max_loss = 5                # points, against the baseline
    \b
      [[supporting]]
      metric = "decode_rate"
      min_ratio = 0.9             # times the baseline's
    """  # noqa: D301 - for click
    from rig.plugins.exports.gate import Policy, judge
    from rig.plugins.exports.pipelines import junit_xml
    from rig.store import Runs

    conditions = Policy.read(policy)
    if baseline is not None:
        conditions = replace(conditions, question=replace(conditions.question, baseline=baseline))
    with Runs.open(runs, graded_by) as stored:
        result = judge(stored, addresses, conditions)
    if as_json:
        print_json(result.as_json())
    else:
        say("\n".join(_lines(result)))
    if junit is not None:
        cases = list(map(_case, result.results))
        write("".join(junit_xml([("rig gate", cases)])), junit, force=True)
    if github:
        for line in _annotations(result):
            say(line, err=as_json)
        if place := os.environ.get(_SUMMARY):
            try:
                with open(place, "a", encoding="utf-8", errors=HALVES) as file:
                    file.write(f"{_summary(result)}\n")
            except OSError as error:
                raise RigError(f"{place} (${_SUMMARY}): cannot be written: {error.strerror}") from error
    return result.decision


def _lines(result: GateResult) -> Iterator[str]:
    from rig.plugins.exports.gate import word

    comparison = result.comparison
    conversations = counted(len(comparison.baseline.conversations), "conversation")
    yield f"baseline {one_line(comparison.baseline.label)}; {conversations}, graded by {comparison.grader}"
    yield from map(one_line, comparison.notes)
    for judged in result.results:
        text = one_line(f"{judged.arm}: {judged.condition.text}: {judged.text}")
        yield f"  {word(judged.decision):{_WIDEST}}  {judged.condition.tier:11}  {text}"
    yield _verdict(result)


def _verdict(result: GateResult) -> str:
    """Return the decision in words, with a note on conditions that were not required and stay open."""
    from rig.compare.verdict import Decision
    from rig.plugins.exports.gate import word

    decision = result.decision
    counting = [judged for judged in result.results if judged.counts and judged.decision is decision]
    if counting:
        names = ", ".join(dict.fromkeys(one_line(judged.arm) for judged in counting))
        return f"gate: {word(decision)}: {names}"
    unsure = sum(judged.decision is Decision.CANNOT_TELL for judged in result.results)
    conditions = f"{counted(unsure, 'condition')} that {'is' if unsure == 1 else 'are'} not required"
    doubt = f"; cannot tell of {conditions}" if unsure else ""
    return f"gate: {word(decision)}{doubt}"


def _case(judged: ConditionResult) -> TestCase:
    """Return a condition as a test case: failed if the gate fails by it, skipped if it stays open."""
    from rig.compare.verdict import Decision
    from rig.plugins.exports.gate import word
    from rig.plugins.exports.pipelines import TestCase

    kind: Kind = "failure" if judged.counts and judged.decision is Decision.WORSE else ""
    kind = "skipped" if judged.decision is Decision.CANNOT_TELL else kind
    name = f"{judged.condition.tier}: {judged.condition.text}"
    decided = f"{word(judged.decision)}: "
    return TestCase(judged.arm, name, kind=kind, text=f"{decided}{judged.text.removeprefix(decided)}")


def _annotations(result: GateResult) -> Iterator[str]:
    """Yield workflow commands of GitHub Actions: red, yellow or, if the gate passes, blue."""
    from rig.compare.verdict import Decision
    from rig.plugins.exports.gate import word

    levels = {Decision.WORSE: "error", Decision.CANNOT_TELL: "warning"}
    for judged in result.results:
        if judged.decision is not Decision.PASSES:
            level = levels[judged.decision] if judged.counts else "notice"
            text = one_line(f"{judged.arm}: {judged.condition.text} ({judged.condition.tier}): {judged.text}")
            yield f"::{level} title=rig gate%3A {word(judged.decision)}::{text.replace('%', '%25')}"
    if result.decision is Decision.PASSES:
        yield f"::notice title=rig gate::{_verdict(result).replace('%', '%25')}"


def _summary(result: GateResult) -> str:
    """Return the decision and a table of the conditions, as Markdown in which no name links to anything."""
    from rig.plugins.exports.gate import word

    rows = [
        (
            f"{_MARKS[word(judged.decision)]} {word(judged.decision)}",
            judged.condition.tier,
            *map(_quiet, (judged.arm, judged.condition.text, judged.text)),
        )
        for judged in result.results
    ]
    table = markdown(("", "", "arm", "condition", "what was found"), rows, texts=5)
    return f"### {_MARKS[word(result.decision)]} {_quiet(_verdict(result))}\n\n{table}\n"


def _quiet(text: str) -> str:
    """Return a text that is inert in Markdown, and mentions nobody on GitHub."""
    from rig.plugins.exports.pipelines import mentioning_nobody

    return mentioning_nobody(inert(text))
