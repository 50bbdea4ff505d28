"""The HTML page: one file that needs nothing but a browser, and in which no text can load or run anything."""

import base64
import gzip
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rig.compare.findings import ArmPair, Comparison, Flip
from rig.compare.recommendation import file_bytes
from rig.core.errors import counted
from rig.core.metrics import UNPLAYED
from rig.plugins.groups.groups import WHAT, Share
from rig.plugins.ranking.tables import cell_text
from rig.plugins.report import plots
from rig.plugins.report.material import Material, conversation_views
from rig.plugins.resources.text import VALUES, busy_note, known, resource_notes, resource_rows, without_means
from rig.plugins.statistics.rows import difference_rows, flips_with_turns, heading, how_often, quality_rows
from rig.show import signs
from rig.show.card import decision, difference_span, entries_of, short_labels, verdict_span
from rig.show.compare import notes, titled
from rig.show.summary import contention_notes, cost_rows
from rig.show.table import short_names
from rig.show.texts import estimate, file_size, printable

LARGEST = 1_000_000
"""The bytes that a page should not exceed; transcripts are packed and texts of models cut until it fits."""

_PACKAGE = "rig.plugins.report"
_LENGTHS = (2_000, 600, 300, 150, 80, 40)

BESIDE = 7
"""The columns of arms that fit side by side on a desktop screen and on paper."""

_CALIBRATED = "minilm"
"""The measure of similarity that the shipped calibration was made for."""


def page(material: Material, largest: int = LARGEST) -> str:
    """Return the whole page; it exceeds `largest` bytes only if even the shortest texts are too long.

    Transcripts that would be too large are packed (gzip, base64) and unpacked by the page's script. If that
    is not enough, texts are cut as little as the size allows.
    """
    fixed = _fixed(material)
    text = ""
    template = environment().get_template("report.html")
    for longest in _LENGTHS:
        views = list(conversation_views(material, longest))
        told = environment().get_template("conversations.html").render(views=views, missed=signs.MISSED)
        for is_packed in (False, True) if longest == _LENGTHS[0] else (True,):
            transcripts = {"packed": packed(told) if is_packed else None, "conversations": Markup(told)}
            tools = sorted({tool for view in views for tool in view.tools})
            text = template.render(**fixed, **transcripts, longest=longest, views=views, tools=tools)
            if len(text.encode("utf-8", "backslashreplace")) <= largest:
                return text
    return text


def packed(text: str) -> Markup:
    """Pack a text for `DecompressionStream("gzip")`; the same text gives the same bytes."""
    packed = gzip.compress(text.encode("utf-8", "backslashreplace"), mtime=0)
    return Markup(base64.b64encode(packed).decode())


def _fixed(material: Material) -> dict[str, Any]:
    """Return the template's variables for everything but the transcripts."""
    comparison = material.comparison
    letters = material.letters
    numbers = {comparison.conversations[number][0]: number for number in material.shown}
    refused = plots.refused_texts(transcript for row in material.transcripts for transcript in row)
    is_calibrated = comparison.grader.similarity.split(",")[0] == _CALIBRATED
    busy = contention_notes((arm.label, arm.speed, arm.fingerprint) for arm in comparison.arms)
    has_energy = any(arm.speed.energy_j for arm in comparison.arms)
    resources = dict(zip(letters, material.resources, strict=True))
    script = asset("open.js") + asset("sort.js")
    return {
        "title": _title(comparison),
        "runs": list(material.runs.values()),
        "comparison": comparison,
        "metric": comparison.metric,
        "letters": letters,
        "left_out": material.left_out,
        # Where results chose what was played, wins and losses are no fair count.
        "fair": not any(UNPLAYED in arm.counts for arm in comparison.arms),
        "blocks": _blocks,
        "heading": heading(comparison),
        "notes": notes(comparison, origins=False),
        "quality": quality_rows(comparison),
        "costs": [*without_means(cost_rows(comparison.arms)), *known(resource_rows(material.resources))],
        "tables": [(table, [list(map(cell_text, row)) for row in table.cells]) for table in material.tables],
        "groups": [(group, [_heat(shares) for _, shares in group.rows]) for group in material.groups],
        "what": WHAT,
        "counted": counted,
        "cited": list(dict.fromkeys(filter(None, (table.cited for table in material.tables)))),
        "differences": difference_rows(comparison) if comparison.pairs else [],
        "pairs": [
            (letter, pair, _flips(pair, numbers))
            for letter, pair in zip(letters[1:], comparison.pairs, strict=True)
        ],
        "rate_plots": {
            metric.name: Markup(plots.rates(comparison, metric, letters)) for metric in comparison.metrics
        },
        "difference_plot": Markup(plots.differences(comparison, letters)) if comparison.pairs else None,
        "curves": [
            (curve.text, Markup(plots.curve(titled(curve), curve.points))) for curve in comparison.curves
        ],
        "decision": decision(comparison),
        "ladder": _ladder(material),
        "explained": [f"{line[0].upper()}{line[1:]}." for line in resource_notes(resources)],
        "names": short_names([arm.label for arm in comparison.arms]),
        "incorrect": signs.INCORRECT,
        "said": signs.SAID[signs.INCORRECT],
        "has_alarm": any(comparison.declaration.faults(arm.counts) for arm in comparison.arms),
        "trade_offs": _drawn(
            plots.trade_off(comparison, material.resources, cost, letters)
            for cost in plots.COSTS
            if not (busy and cost == plots.ENERGY)
        ),
        "unplotted": [
            *(f"Energy is not plotted: {line}." for line in busy if has_energy),
            *(["Speed is plotted only of arms with quiet turns."] if busy_note(resources) else []),
        ],
        "kinds": _drawn(plots.kinds(comparison, letters, of) for of in ("errors", "faults")),
        "threshold_plot": Markup(plots.threshold_plot()) if is_calibrated else None,
        "labelled": plots.pairs_measured(),
        "refused": refused,
        "nearly": plots.nearly(refused),
        "near": plots.NEAR,
        "refused_plot": _drawn([plots.refused_plot(refused)]),
        "settings": _settings(comparison),
        "style": Markup(asset("style.css")),
        "script": Markup(script),
        "script_hash": script_hash(script),
    }


class LadderCell(NamedTuple):
    """A cell of the table at the top: it is sorted by `value`, and its `bar` is this long in percent."""

    text: str
    value: float | None = None
    bar: float | None = None
    tint: str = ""


_SAID = "said"
"""The class of cells with words, which begin at the left."""
_TINTS = {"success": "good", "failure": "bad", "error": "bad"}


def _ladder(material: Material) -> dict[str, Any]:
    """Return the table at the top of the page: size, rate with a bar, difference, verdict, speed and memory
    of each arm.
    """
    comparison = material.comparison
    metric, recommended = comparison.metric, comparison.recommendation
    entries, short = entries_of(comparison), short_labels(comparison)
    sizes = [file_bytes(arm.fingerprint) for arm in comparison.arms]
    costs = [row for row in known(resource_rows(material.resources)) if row.label in VALUES]
    rows = []
    for place, (letter, arm, entry, size) in enumerate(
        zip(material.letters, comparison.arms, entries, sizes, strict=True)
    ):
        cells = [LadderCell(file_size(size), size)] if any(sizes) else []
        rated = arm.rates[metric.name]
        rate = rated.value
        bar = None if rate is None or metric.format != "percent" else round(100 * rate, 1)
        text = estimate(rated, metric) if rate is None else metric.amount(rate) + metric.unit
        cells.append(LadderCell(text, rate, bar))
        if comparison.pairs:
            difference = entry.pair.differences[metric.name].value if entry.pair else None
            delta, _ = difference_span(metric, entry.pair)
            verdict, tint = verdict_span(entry)
            cells += [
                LadderCell(delta, difference),
                LadderCell(verdict, tint=f"{_SAID} {_TINTS.get(tint, '')}"),
            ]
        of = material.resources[place]
        cells += [LadderCell(row.cells[place], VALUES[row.label](of)) for row in costs]
        ships = recommended is not None and recommended.arm == arm.label
        row = {"letter": letter, "name": arm.label, "short": short[arm.label], "cells": cells}
        rows.append({**row, "ships": ships})
    compared = [str(signs.DELTA), "verdict"] if comparison.pairs else []
    heads = [*(["size"] if any(sizes) else []), metric.noun, *compared, *(row.label for row in costs)]
    return {"heads": heads, "rows": rows}


def _heat(shares: Sequence[Share]) -> list[tuple[int | None, str]]:
    """Return how green each cell of a row is, from 0 to 10 or None without a rate, and its text."""
    greens = (None if share.rate is None else round(10 * share.rate) for share in shares)
    texts = (f"{share.part}/{share.whole}" if share.whole else "-" for share in shares)
    return list(zip(greens, texts, strict=True))


def _flips(pair: ArmPair, numbers: Mapping[str, int]) -> list[tuple[Flip, int, str, tuple[Flip, ...]]]:
    """Return the flips of the shown conversations: flip, conversation's number, how often, and turns."""
    return [
        (flip, numbers[flip.conversation], how_often(flip) if flip.turn is None else "", turns)
        for flip, turns in flips_with_turns(pair)
        if flip.conversation in numbers
    ]


def _blocks(number: int, beside: int = BESIDE) -> list[list[int]]:
    """Split the places of this many columns into tables of about equal width, at most `beside` in each."""
    tables = math.ceil(number / beside)
    ends = [round(number * number_of_table / tables) for number_of_table in range(tables + 1)]
    return [list(range(*pair)) for pair in pairwise(ends)]


def _settings(comparison: Comparison) -> dict[str, list[str]]:
    """Return the settings by name, with the value of each arm if they differ, else with a single one."""
    rows = {}
    for name in dict.fromkeys(name for arm in comparison.arms for name in arm.fingerprint):
        stored = (arm.fingerprint.get(name) for arm in comparison.arms)
        values = ["-" if value is None else str(value) for value in stored]
        rows[name] = values[:1] if len(set(values)) == 1 else values
    return rows


def _title(comparison: Comparison) -> str:
    suites = Counter(suite for _, suite in comparison.conversations)
    played = " and ".join(
        counted(count, "conversation") + (f" of the suite {suite}" if suite else "")
        for suite, count in suites.items()
    )
    return f"{counted(len(comparison.arms), 'arm')}, {played}"


def _drawn(drawings: Any) -> list[Markup]:
    return [Markup(drawing) for drawing in drawings if drawing is not None]


def script_hash(script: str) -> str:
    """Return the hash by which a content security policy names the only script that may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def environment(package: str = _PACKAGE) -> Environment:
    """Return an environment in which every text is escaped and made visible, for a package's templates and
    those that all pages share.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(_PACKAGE)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # A model may have written any text of the page: nothing in it may be invisible or reverse the page.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )


@cache
def asset(name: str, package: str = _PACKAGE) -> str:
    """Read the text of a file beside a package's templates."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")
