"""A card of one arm: what was tested, on what, the verdict, and how to reproduce it.

The card is a JSON object, from which the page and the Markdown are made. The same store gives the same bytes.
`docs/how-to/cards.md` describes it.
"""

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from math import isfinite
from pathlib import Path

from markupsafe import Markup

from rig.compare.arms import ComparisonOptions, choose
from rig.compare.compare import compare_chosen
from rig.compare.findings import ArmPair, ArmResult, Comparison
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError, counted
from rig.core.files import json_text
from rig.core.intervals import with_interval
from rig.core.metrics import UNPLAYED, Counts, Metric
from rig.plugins.documents.documents import to_yaml
from rig.plugins.llama.files.registry import entry_of
from rig.plugins.report import plots
from rig.plugins.report.card_check import DIGEST, FORMAT, OF_METRIC, VERSION, digest_of, tasks_digest
from rig.plugins.report.page import asset, environment
from rig.plugins.resources.measured import resources_in
from rig.plugins.resources.text import resource_notes, spread_rows
from rig.running.command import command, models_of
from rig.show.compare import sparkline, titled
from rig.show.table import inert, markdown
from rig.show.texts import estimate, file_size, printable
from rig.stats import Estimate
from rig.store import Runs, StoredRun

SPREAD_HEADS = ("speed and memory", "median", "half between", "95% interval", "quiet turns")
_WRITTEN = ("conversation", "repeat", "turn", "step", "role", "raw", "error", "response", "exception")
"""The columns of what an arm wrote and the answers it got. Without times, equal runs give equal values."""


def card_of(runs: Runs, address: str, question: ComparisonOptions) -> JsonObject:
    """Return the card of RUN/ARM, or of RUN if it has one arm.

    Raises RigError as `compare` does, and for an arm that has finished nothing or could not be evaluated.
    """
    arms = choose(runs, [address])
    if len(arms) > 1:
        names = ", ".join(f"{address}/{arm.arm.name}" for arm in arms)
        raise RigError(f"a card is of one arm; choose from: {names}")
    comparison = compare_chosen(runs, choose(runs, [arms[0].run.id]), question)
    arm = next((arm for arm in comparison.arms if arm.position == arms[0].arm.position), None)
    if arm is None:
        raise RigError(f"{address} has no card: {comparison.left_out[arms[0].arm.name]}")
    if UNPLAYED in arm.counts:
        raise RigError(
            f"{address} has no card: its results chose what it played, so its rates would be biased; play it"
            " without --until"
        )
    return _card(runs, arms[0].run, arm, comparison)


def _card(runs: Runs, run: StoredRun, arm: ArmResult, comparison: Comparison) -> JsonObject:
    cells = runs.scored_cells(run, comparison.grader, [arm.position])
    sources = {(cell.suite, cell.conversation): cell.source for cell in cells}
    # A card's verdict can be computed again from its rows, which one on bounds alone cannot.
    told = (pair for pair in comparison.pairs if pair.won is not None)
    pair = next((pair for pair in told if pair.arm == arm.label), None)
    resources = resources_in(runs, [arm])[arm.label]
    written = sha256()
    for row in runs.view("steps", run):
        if row["arm"] == arm.arm:
            written.update(f"{json_text([row[name] for name in _WRITTEN])}\n".encode())
    card: JsonObject = {
        "format": FORMAT,
        "version": VERSION,
        "subject": _subject(arm),
        "run": {
            "id": run.id,
            "name": run.name,
            "arm": arm.arm,
            "created": run.created.isoformat(),
            "finished": run.finished.isoformat() if run.finished else None,
            "rig": run.rig,
        },
        "tested": {
            "method": comparison.declaration.method,
            "suites": dict(Counter(row.suite for row in arm.conversations)),
            "conversations": len(arm.conversations),
            "repeats": list(arm.repeats),
            "finished": arm.finished,
            "planned": arm.planned,
            "grader": comparison.grader.as_json(),
        },
        "rates": [
            {**{part: getattr(metric, part) for part in OF_METRIC}, **arm.rates[metric.name].as_json()}
            for metric in comparison.metrics
        ],
        "declaration": comparison.declaration._replace(metrics=tuple(comparison.metrics)).to_json(),
        "verdict": _verdict(pair, arm, comparison) if pair else None,
        "recommendation": comparison.recommendation.as_json() if comparison.recommendation else None,
        "curves": [
            {"title": titled(curve), "text": curve.text, "points": curve.points}
            for curve in comparison.curves
            if arm.label in curve.labels
        ],
        "limits": [limit.text for limit in arm.limits if limit.cut],
        "errors": dict(arm.errors),
        "resources": {
            **resources.as_json(),
            "energy_j": arm.speed.energy_j,
            "rows": spread_rows(resources),
            "notes": resource_notes({"this file": resources}),
        },
        "notes": [
            *comparison.notes,
            *([comparison.declaration.caution] if comparison.declaration.caution else []),
        ],
        "counts": dict(arm.counts),
        "conversations": [
            {
                "conversation": row.conversation,
                "suite": row.suite,
                "source": sources[row.suite, row.conversation],
                "repeats": row.repeats,
                "successes": row.successes,
                "counts": dict(row.counts),
            }
            for row in arm.conversations
        ],
        "command": _command(run, arm),
        "settings": {name: value for name, value in arm.fingerprint.items() if value is not None},
        "hashes": {
            "answers_sha256": written.hexdigest(),
        },
    }
    whole: JsonObject = dict(_rounded(card))
    whole["hashes"]["tasks_sha256"] = tasks_digest(whole["conversations"])
    return {**whole, DIGEST: digest_of(whole)}


def _subject(arm: ArmResult) -> JsonObject:
    names = ("file", "file_sha256", "file_bytes", "architecture", "quantization", "adapter", "adapter_sha256")
    subject = {name: value for name in names if (value := arm.fingerprint.get(f"model.{name}"))}
    title = " + ".join(subject[name] for name in ("file", "adapter") if name in subject)
    entry = entry_of(subject.get("file_sha256", ""))
    about = {"licence": entry.licence, "origin": entry.origin} if entry else {}
    return {"name": title or arm.arm, **subject, **about, "made_from": arm.made_from}


def _verdict(pair: ArmPair, arm: ArmResult, comparison: Comparison) -> JsonObject:
    difference = pair.differences[comparison.metric.name]
    shared = {(row.suite, row.conversation) for row in arm.conversations}
    metric = comparison.metric
    names = dict.fromkeys((metric.numerator, metric.denominator, comparison.declaration.success))
    return {
        **pair.verdict.as_json(),
        "baseline": _subject(comparison.baseline),
        "metric": comparison.metric.name,
        "conversations": pair.conversations,
        "won": pair.won,
        "lost": pair.lost,
        "baseline_rows": [
            {
                "conversation": row.conversation,
                "suite": row.suite,
                "repeats": row.repeats,
                "successes": row.successes,
                "counts": {name: row.counts.get(name, 0) for name in names},
            }
            for row in comparison.baseline.conversations
            if (row.suite, row.conversation) in shared
        ],
        "difference": difference.as_json(),
        "difference_text": with_interval(comparison.metric.amount, difference),
        "baseline_text": estimate(comparison.baseline.rates[comparison.metric.name], comparison.metric),
    }


def _command(run: StoredRun, arm: ArmResult) -> str:
    """Return the command that reproduces the arm, with files named without their folders."""
    own = models_of(arm.arm, run.settings)
    model = own[0] if len(own) == 1 else str(arm.fingerprint.get("model.file", arm.arm))
    return command([Path(model).name], run.settings, arm.fingerprint, in_folders=False)


def _rounded(value: Json) -> Json:
    """Return a value with its floats as a card stores them: six decimals, or None if not finite."""
    if isinstance(value, float):
        return round(value, 6) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def as_json(card: JsonObject) -> str:
    """Return the text of the card's file. Signatures sign its bytes, so they can be verified as they are."""
    return json_text(dict(sorted(card.items())), indent=1) + "\n"


def as_html(card: JsonObject) -> str:
    """Return the card as a page that needs nothing but a browser, for people who have never seen rig."""
    curves = card.get("curves", ())
    drawn = [(curve["text"], Markup(plots.curve(curve["title"], curve["points"]))) for curve in curves]
    names = {"card": card, "curves": drawn, "style": Markup(asset("style.css")), "facts": facts(card)}
    page: str = environment().get_template("card.html").render(**names, counted=counted, **_words(card))
    return page.encode("utf-8", "backslashreplace").decode()


def as_markdown(card: JsonObject) -> str:
    """Return the card as a section of a model card, with results as the Hugging Face Hub reads them."""
    words = _words(card)
    results = {
        "task": {"type": "text-generation", "name": "tool calling"},
        "dataset": {"type": f"rig-{words['suites']}", "name": f"rig: {words['played']}"},
        "metrics": [
            {"type": row["name"], "name": row["title"], "value": round(row["printed"], 2)}
            for row in words["rates"]
            if row["printed"] is not None
        ],
    }
    front = {"model-index": [{"name": card["subject"]["name"], "results": [results]}]}
    rates = [tuple(map(inert, (row["title"], row["text"], row["counted"]))) for row in words["rates"]]
    speeds = card["resources"]["rows"]
    told = [(inert(name), inert(str(value))) for name, value in facts(card).items()]
    curves = []
    for curve in card.get("curves", ()):
        picture = sparkline([point["success"] for point in curve["points"]])
        curves.append(f"- {picture}  {inert(curve['title'])}: {inert(curve['text'])}")
    parts = [
        f"---\n{to_yaml(front)}---",
        f"## Tool calls of {inert(card['subject']['name'])}",
        inert(words["tested"]),
        f"**{inert(words['headline'])}**",
        inert(words["decision"]),
        "\n".join(f"- {inert(line)}" for line in words["lines"]),
        "\n".join(curves),
        markdown(("", "95% interval over conversations", "counted"), rates),
        markdown(SPREAD_HEADS, [tuple(map(inert, row)) for row in speeds]) if speeds else "",
        inert(f"Measured on the machine of the run. {words['explained']}") if speeds else "",
        "### Get the same",
        f"`{inert(card['command'])}`",
        markdown(("", ""), told, texts=2),
        inert(words["meaning"]),
    ]
    return printable("\n\n".join(filter(None, parts)) + "\n")


def _rate_words(row: JsonObject, counts: Counts) -> JsonObject:
    """Return a rate for display: `printed` is its number, `bounds` its range if texts are unclear."""
    metric = Metric(**{part: row[part] for part in OF_METRIC})
    measured = Estimate(row["value"], row["low"], row["high"])
    part, whole = (counts.get(name, 0) for name in (metric.numerator, metric.denominator))
    bounds = metric.bounds(counts)
    return {
        "name": metric.name,
        "title": metric.title,
        "better": metric.better,
        "text": estimate(measured, metric),
        "counted": f"{part:g} of {whole:g}",
        "printed": None if measured.value is None else metric.scale * measured.value,
        "bounds": " and ".join(map(metric.amount, bounds)) if bounds else "",
    }


def _words(card: JsonObject) -> JsonObject:
    """Return the sentences of a card, by their names in the templates."""
    tested, verdict, subject = card["tested"], card["verdict"], card["subject"]
    suites = " and ".join(name or tested["method"] for name in tested["suites"])
    played = f"{counted(tested['conversations'], 'conversation')} of the suite {suites}"
    unfinished = tested["finished"] < tested["planned"]
    lines = [f"only {tested['finished']} of {tested['planned']} planned were played"] if unfinished else []
    rates = [_rate_words(row, card["counts"]) for row in card["rates"]]
    lines += [
        f"{row['title']} is between {row['bounds']}: nobody can judge some of the texts"
        for row in rates
        if row["bounds"]
    ]
    measured = f"{rates[0]['title']} {rates[0]['text']}" if rates else "nothing was measured"
    headline = f"Compared with {verdict['baseline']['name']}: {verdict['text']}" if verdict else measured
    # Older cards have none.
    decision = (card.get("recommendation") or {}).get("text")
    return {
        "suites": suites,
        "rates": rates,
        "heads": SPREAD_HEADS,
        "explained": " ".join(f"{line[0].upper()}{line[1:]}." for line in card["resources"]["notes"]),
        "played": played,
        "measured": measured,
        "headline": headline,
        "decision": f"Of the files of this run: {decision[0].lower()}{decision[1:]}." if decision else "",
        "lines": [*lines, *card["limits"], *card["notes"]],
        "tested": (
            f"On {card['run']['created'][:10]}, rig played {played} with {subject['name']}."
            " In each, a user asks for something that takes tools, the model calls tools in a mock world, and"
            " every call is checked against what was due."
        ),
        "meaning": (
            "A card says what was measured, and a signature says who vouches for it. Neither shows that the"
            " file is good at anything else. To check the card, run the command above: rig is free software"
            " and needs no network. The same answers have the same hash."
        ),
    }


def facts(card: JsonObject) -> JsonObject:
    """Return the file's description and the hashes, each by a readable title."""
    subject = card["subject"]
    adapter = (
        f"{subject['adapter']}, SHA-256 {subject.get('adapter_sha256')}" if subject.get("adapter") else ""
    )
    told = {
        "adapter": adapter,
        "made from": subject.get("made_from"),
        "licence": subject.get("licence"),
        "origin": subject.get("origin"),
    }
    return {
        "file": subject["name"],
        "SHA-256": subject.get("file_sha256", "-"),
        "size": file_size(subject.get("file_bytes")),
        "quantization": subject.get("quantization", "-"),
        **{name: text for name, text in told.items() if text},
        "graded by": ", ".join(f"{name} {value}" for name, value in card["tested"]["grader"].items()),
        "run": f"{card['run']['id']}/{card['run']['arm']}, rig {card['run']['rig']}",
        "conversations, SHA-256": card["hashes"]["tasks_sha256"],
        "answers, SHA-256": card["hashes"]["answers_sha256"],
    }
