"""Reports of runs as one file: a page that needs nothing but a browser, Markdown, CSV, and JSON."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from rig.compare.findings import ArmPair
from rig.core.calls import JsonObject
from rig.core.files import json_text
from rig.core.metrics import TASKS
from rig.plugins.documents.folders import csv_line
from rig.plugins.groups.groups import WHAT
from rig.plugins.ranking.tables import tables_markdown
from rig.plugins.report.material import FORMATS, Format, Material, gather
from rig.plugins.report.page import page
from rig.plugins.resources.text import known, resource_notes, resource_rows, without_means
from rig.plugins.statistics.rows import difference_rows, flips_with_turns, heading, how_often, quality_rows
from rig.show import table
from rig.show.compare import curve_line, notes
from rig.show.summary import cost_rows
from rig.show.table import Row, inert, one_line
from rig.show.texts import cut_json
from rig.show.transcript import transcript_json

__all__ = ["FORMATS", "Format", "Material", "gather", "render"]

LARGEST = 50_000_000
"""The most characters that all transcripts together may have as JSON."""

_LENGTHS = (20_000, 4_000, 1_000, 250, 60)


def markdown(material: Material) -> str:
    """Return verdicts, flips and numbers as Markdown, without transcripts. Markup in names is escaped."""
    comparison = material.comparison
    names = [arm.label for arm in comparison.arms]
    opening = [*heading(comparison), *notes(comparison)]
    decision = [f"**{inert(recommended.text())}.**"] if (recommended := comparison.recommendation) else []
    parts = ["# Report", *decision, "\n".join(f"- {inert(line)}" for line in opening)]
    if comparison.pairs:
        parts.append("## Verdicts")
        parts.append("\n".join(f"- **{inert(pair.arm)}**: {pair.verdict.text}." for pair in comparison.pairs))
        differences = difference_rows(comparison)
        parts.append(_table("points more or less", [pair.arm for pair in comparison.pairs], differences))
    if costs := known(resource_rows(material.resources)):
        explained = resource_notes(dict(zip(names, material.resources, strict=True)))
        parts += ["## Speed and memory", _table("", names, costs)]
        parts.append("\n".join(f"- {inert(line)}" for line in explained))
    if comparison.curves:
        parts += ["## Curves", "\n".join(f"- {inert(curve_line(curve))}" for curve in comparison.curves)]
    parts += ["## Quality", _table("", names, quality_rows(comparison))]
    parts += ["## Cost", _table("", names, without_means(cost_rows(comparison.arms)))]
    if material.tables:
        parts += ["## Tables of the paper", tables_markdown(material.tables)]
    for group in material.groups:
        told = [Row(name, [f"{share.part}/{share.whole}" for share in shares]) for name, shares in group.rows]
        parts += [f"## By {group.by}", f"The {WHAT[group.by]}.", _table(group.by, names, told)]
    for pair in comparison.pairs:
        if pair.flips or pair.turn_flips:
            parts += [f"## Flips of {inert(pair.arm)} against {inert(pair.baseline)}", _flips(pair)]
    return "\n\n".join(parts) + "\n"


def as_csv(material: Material, *, raw: bool = False) -> str:
    """Return a CSV row for each arm and conversation, with whether it flipped against the baseline."""
    rows = list(_rows(material))
    lines = [csv_line(rows[0]), *(csv_line(row.values(), raw=raw) for row in rows)]
    return "".join(f"{line}\n" for line in lines)


def as_json(material: Material) -> str:
    """Return the whole comparison as JSON, with the transcripts and their ground truth.

    Long texts and lists are cut just enough to keep the transcripts within `LARGEST`; "cut" says if any were.
    """
    for longest in _LENGTHS:
        transcripts, cut, is_whole = _transcripts(material, longest)
        if is_whole:
            break
    document = material.comparison.as_json()
    for told, resources in zip(document["arms"], material.resources, strict=True):
        told["resources"] = resources.as_json()
    if material.left_out:
        document["left_out_transcripts"] = material.left_out
    if cut:
        document["cut"] = {"longest": longest, "times": cut}
    document["by"] = [group.as_json() for group in material.groups]
    if material.tables:
        document["tables"] = [table.as_json() for table in material.tables]
    return json_text({**document, "transcripts": transcripts}, indent=1) + "\n"


def _transcripts(material: Material, longest: int) -> tuple[list[JsonObject], int, bool]:
    """Return transcripts with texts cut to `longest`, the number of cuts, and whether all are included.

    It stops as soon as they exceed `LARGEST`, unless no shorter length is left to try.
    """
    transcripts: list[JsonObject] = []
    cut = size = 0
    for number, of_arms in zip(material.shown, material.transcripts, strict=True):
        name, suite = material.comparison.conversations[number]
        arms, often = cut_json([transcript_json(of_arm) for of_arm in of_arms], longest)
        transcripts.append({"conversation": name, "suite": suite, "arms": arms})
        cut += often
        size += len(json_text(arms))
        if size > LARGEST and longest != _LENGTHS[-1]:
            return transcripts, cut, False
    return transcripts, cut, True


def _rows(material: Material) -> Iterator[dict[str, object]]:
    comparison = material.comparison
    flipped = material.flipped
    micro = [metric for metric in comparison.metrics if metric.denominator != TASKS]
    for arm in comparison.arms:
        for conversation in arm.conversations:
            yield {
                "run": arm.run,
                "arm": arm.arm,
                "is_baseline": int(arm is comparison.baseline),
                "suite": conversation.suite,
                "conversation": conversation.conversation,
                "repeats": conversation.repeats,
                "success_share": conversation.success_share,
                "flip": flipped.get((arm.label, conversation.conversation), ""),
                **{metric.name: metric.rate(conversation.counts) for metric in micro},
                **{name: conversation.counts.get(name, 0) for name in comparison.declaration.sides(micro)},
                "errors": sum(conversation.errors.values()),
            }


def _flips(pair: ArmPair) -> str:
    lines = []
    for flip, turns in flips_with_turns(pair):
        outcome, often = (flip.outcome, how_often(flip)) if flip.turn is None else ("alike", "")
        of_it = ", ".join(f"{turn.outcome} turn {turn.turn}" for turn in turns)
        lines.append(f"- {outcome} {inert(flip.conversation)}{often}{': ' if of_it else ''}{of_it}")
        for command in map(one_line, flip.commands):
            # As code, between more backticks than it contains in a row.
            fence = "`" * (1 + max(map(len, re.findall("`+", command)), default=0))
            lines.append(f"  {fence} {command} {fence}" if len(fence) > 1 else f"  `{command}`")
    return "\n".join(lines)


def _table(corner: str, header: Sequence[str], rows: Sequence[Row]) -> str:
    labelled = [[f"{'- ' if row.detail else ''}{inert(row.label)}", *map(inert, row.cells)] for row in rows]
    return table.markdown([corner, *map(inert, header)], labelled)


_FORMATS: Mapping[Format, Callable[[Material], str]] = {
    "html": page,
    "md": markdown,
    "json": as_json,
}


def render(material: Material, form: Format, *, raw: bool = False) -> str:
    """Return the whole report; the same store gives the same text. Lone surrogates are written as escapes.

    With `raw`, CSV cells that a spreadsheet would execute are left as they are.
    """
    text = as_csv(material, raw=raw) if form == "csv" else _FORMATS[form](material)
    return text.encode("utf-8", "backslashreplace").decode()
