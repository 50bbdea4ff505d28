"""The page over all runs: a table that needs nothing, and what changed between two arms, by a script.

What the script shows comes from one JSON value, whose texts it only ever writes as texts.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from rig.core.calls import JsonObject
from rig.core.errors import counted
from rig.core.files import json_text
from rig.core.intervals import with_interval
from rig.core.paths import runs_file
from rig.plugins.overview.gathered import Ending, Gathered, ListedArm, ListedRun
from rig.plugins.report.page import asset, environment, packed, script_hash
from rig.show.table import one_line
from rig.show.texts import clip, file_size

LARGEST = 5_000_000
"""The bytes that a page should not exceed."""

_PACKAGE = "rig.plugins.overview"
_SAID = (200, 80, 0)
"""The characters of what a user says first, the most that has room."""
_ANSWERS = 300
"""The most answers of people that are listed."""
_ANSWER = 300


class _Row(NamedTuple):
    """An arm in the table. `at` is its number in the data of the script."""

    at: int
    run: ListedRun
    arm: ListedArm
    suites: str
    file: int

    @property
    def id(self) -> str:
        return f"{self.run.stored.id}/{self.arm.position}"

    @property
    def rate(self) -> str:
        metric, rate = self.run.metric, self.arm.rate
        return metric.amount(rate.value) + metric.unit if metric and rate and rate.value is not None else "-"

    @property
    def span(self) -> str:
        metric, rate = self.run.metric, self.arm.rate
        return with_interval(metric.amount, rate).partition(" ")[2].strip("()") if metric and rate else ""

    @property
    def strict(self) -> str:
        metric, strict = self.run.metric, self.arm.strict
        return "" if metric is None or strict is None else metric.amount(strict) + metric.unit

    @property
    def played(self) -> str:
        arm = self.arm
        return str(arm.planned) if arm.finished == arm.planned else f"{arm.finished} of {arm.planned}"


class _FileRow(NamedTuple):
    """A file in the table of files, with its newest arm that has a rate."""

    name: str
    digest: str
    size: str
    quantization: str
    arms: int
    runs: int
    newest: _Row | None


def page(
    gathered: Gathered,
    store: Path,
    rig: str,
    largest: int = LARGEST,
    reports: Mapping[str, Mapping[str, int]] | None = None,
    folder: str = "",
) -> str:
    """Return the whole page; it exceeds `largest` bytes only if the table of arms alone does.

    What the script shows is packed (gzip, base64) if it would be too large, then without what users say,
    and then without the conversations of the oldest runs. `reports` are the numbers of conversations in the
    reports of runs, by their ids and names, if these are in a `folder` beside the page.
    """
    fixed = _fixed(gathered, store, rig)
    template = environment(_PACKAGE).get_template("runs.html")
    kept, text = len(gathered.runs), ""
    while True:
        for detail in _SAID if kept == len(gathered.runs) else _SAID[-1:]:
            data = _inert(json_text({**data_of(gathered, store, detail, kept, reports), "folder": folder}))
            for is_packed in (False, True):
                content = packed(data) if is_packed else Markup(data)
                left_out = len(gathered.runs) - kept
                text = template.render(**fixed, data=content, is_packed=is_packed, left_out=left_out)
                if len(text.encode("utf-8", "backslashreplace")) <= largest:
                    return text
        if not kept:
            return text
        kept = kept * 3 // 4


def _inert(json: str) -> str:
    """Return JSON in which nothing can end its element, or begin another one."""
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", json)


def _fixed(gathered: Gathered, store: Path, rig: str) -> dict[str, Any]:
    """Return the template's variables for all but the data of the script."""
    runs = gathered.runs
    suites = {name: number for number, name in enumerate(_suites(runs))}
    files = {key: number for number, key in enumerate(_files(runs))}
    rows: list[_Row] = []
    for run in runs:
        of_run = " ".join(str(suites[name]) for name in run.suites)
        for arm in run.arms:
            rows.append(_Row(len(rows), run, arm, of_run, files[arm.file_key]))
    answers = sorted(gathered.answers, key=lambda answer: answer.time, reverse=True)
    script = asset("runs.js", _PACKAGE) + asset("sort.js")
    methods = sorted({run.stored.declaration.method for run in runs})
    return {
        "runs": runs,
        "rows": rows,
        "suites": _suite_rows(rows, suites),
        "files": _file_rows(rows, len(files)),
        "methods": methods,
        "store": one_line(str(store)),
        "rig": rig,
        "span": sorted({run.stored.created.strftime("%Y-%m-%d") for run in (runs[:1] + runs[-1:])}),
        "answers": [
            (*(clip(one_line(text), _ANSWER) for text in answer[:2]), answer.same, answer.time[:10])
            for answer in answers[:_ANSWERS]
        ],
        "more_answers": max(len(answers) - _ANSWERS, 0),
        "overruled": len(gathered.answers.overruled),
        "faults": gathered.faults,
        "counted": counted,
        "style": Markup(asset("style.css") + asset("runs.css", _PACKAGE)),
        "script": Markup(script),
        "script_hash": script_hash(script),
    }


def _suites(runs: Sequence[ListedRun]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.suites))


def _files(runs: Sequence[ListedRun]) -> list[str]:
    return list(dict.fromkeys(arm.file_key for run in runs for arm in run.arms))


def _suite_rows(rows: Sequence[_Row], suites: Mapping[str, int]) -> list[tuple[str, int, int, set[str]]]:
    """Return each suite with the numbers of its runs and arms, and its methods."""
    runs: dict[int, set[str]] = {number: set() for number in suites.values()}
    methods: dict[int, set[str]] = {number: set() for number in suites.values()}
    arms: Counter[int] = Counter()
    for row in rows:
        for number in map(int, row.suites.split()):
            runs[number].add(row.run.stored.id)
            methods[number].add(row.run.stored.declaration.method)
            arms[number] += bool(row.arm.finished)
    return [(name, len(runs[number]), arms[number], methods[number]) for name, number in suites.items()]


def _file_rows(rows: Sequence[_Row], number: int) -> list[_FileRow]:
    """Return each file with what is known of it, and its newest rate."""
    by_file: list[list[_Row]] = [[] for _ in range(number)]
    for row in rows:
        by_file[row.file].append(row)
    files = []
    for of_file in by_file:
        arm = of_file[0].arm
        newest = next((row for row in of_file if row.arm.rate), None)
        runs = len({row.run.stored.id for row in of_file})
        size = file_size(arm.size) if arm.size else ""
        files.append(_FileRow(arm.file, arm.digest, size, arm.quantization, len(of_file), runs, newest))
    return files


def data_of(
    gathered: Gathered,
    store: Path,
    said: int,
    kept: int,
    reports: Mapping[str, Mapping[str, int]] | None = None,
) -> JsonObject:
    """Return what the script shows, of the newest `kept` runs, with as much of what users say.

    Each run is [id, name, date, conversations], and each arm [run, position, name, grader, whether results
    chose what it played, outcomes, ways in which it went wrong]. The conversations of a run are ranges of
    their indexes; the outcomes of its arms follow their order, and only those that are not all right have a
    way in which they went wrong.
    """
    texts: dict[str, int] = {}
    graders: dict[str, int] = {}
    runs: list[Any] = []
    arms: list[Any] = []
    used: set[int] = set()
    for place, run in enumerate(gathered.runs):
        is_kept = place < kept
        met = sorted({talk for arm in run.arms for talk in arm.endings}) if is_kept else []
        used.update(met)
        stored = run.stored
        about: list[Any] = [
            stored.id,
            one_line((stored.name or "")[:40]),
            f"{stored.created:%Y-%m-%d}",
            _ranges(met),
        ]
        if reports is not None:
            numbers = reports.get(stored.id, {})
            about.append([numbers.get(gathered.talks[talk].name, -1) for talk in met] if numbers else 0)
        runs.append(about)
        for arm in run.arms:
            endings = [arm.endings.get(talk) for talk in met]
            wrong = [
                texts.setdefault(ending.text, len(texts))
                for ending in endings
                if ending is not None and ending.successes < ending.repeats
            ]
            grader = graders.setdefault(f"{one_line(stored.declaration.method)}, {arm.grader}", len(graders))
            told = [_outcomes(endings), ",".join(map(str, wrong))]
            arms.append([place, arm.position, arm.name, grader, int(arm.is_chosen), *told])
    suites = list(dict.fromkeys(talk.suite for talk in gathered.talks))
    places = {name: number for number, name in enumerate(suites)}
    talks = [
        [talk.key, talk.name, places[talk.suite], talk.said[:said]] if number in used else 0
        for number, talk in enumerate(gathered.talks)
    ]
    return {
        "runs": runs,
        "arms": arms,
        "talks": talks,
        "suites": suites,
        "texts": list(texts),
        "graders": list(graders),
        "option": "" if store == runs_file() else one_line(str(store)),
    }


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges: `0-49,60`."""
    parts = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        parts.append(f"{run[0]}-{run[-1]}" if run[1:] else str(run[0]))
    return ",".join(parts)


def _outcomes(endings: Sequence[Ending | None]) -> str:
    """Return a digit for each conversation, 1 for a success and `-` where it was not played; with repeats,
    successes and repeats with commas between: `3/5,5/5,-`.
    """
    if all(ending is None or ending.repeats == 1 for ending in endings):
        return "".join("-" if ending is None else str(ending.successes) for ending in endings)
    return ",".join("-" if one is None else f"{one.successes}/{one.repeats}" for one in endings)
