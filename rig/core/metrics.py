"""Metrics: what a method counts, and the rates computed from the counts.

A method declares its metrics once. The store keeps the counts; tables, meters, comparisons, reports and views
read the declaration. `rate` is the one place where a rate is computed, and `RATE_SQL` the same in SQL.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from rig.core.calls import UNREAD, Doubt, Fault, JsonObject, Verdict
from rig.core.models import BROKEN, LEAKED

Counts: TypeAlias = Mapping[str, float]
"""Counts by name, of one task or summed over many."""

TASKS = "tasks"
"""The count that is 1 for every task. A metric over it is a mean over tasks."""


POWER = 0.8
"""How often a difference that is called detectable is found."""
ALPHA = 0.05
"""The chance of a false alarm, by default."""
ASSUMED = 0.1
"""The share of conversations that is assumed to flip between two arms if no run shows it."""

RATE_SQL = "1.0 * {part} / nullif({whole}, 0)"
"""`rate` in SQL, for two numbers of which the second is not null."""


def rate(part: float, whole: float) -> float | None:
    """Return one number divided by the other; None if there is nothing to divide by."""
    return part / whole if whole else None


UNCLEAR = "unclear"
"""The count of texts that nobody can judge right or wrong; they count as wrong. This name, a dot and the name
of another count is by how much that count would change if they were right.
"""


UNREAD_TEXTS = "unread"
"""The count of those among them that are in a language that the judge of texts does not know."""

UNPLAYED = "unplayed"
"""The count of tasks that an arm did not play because of how others or it did. The rates of what it did play
are then biased: it skips what the first arm got wrong. So counts that have it have no rates, only bounds.
"""


def nothing_played(planned: int) -> Counts:
    """Return the counts of an arm that has played none of the tasks, of which results choose some."""
    return {UNPLAYED: planned}


def with_score(sums: Counts, counts: Counts) -> Counts:
    """Return the sums of an arm with the counts of one more task."""
    added = total((sums, counts))
    left = added.pop(UNPLAYED, 0) - 1
    return {**added, UNPLAYED: left} if left > 0 else added


def if_right(counts: Counts) -> Counts:
    """Return the counts as they would be if everything unclear were right."""
    return {name: value + counts.get(f"{UNCLEAR}.{name}", 0) for name, value in counts.items()}


Place: TypeAlias = Literal["lines", "meters", "tables", "json"]
"""Where numbers are shown, from the least room to the most."""

_PLACES = get_args(Place)


class Metric(NamedTuple):
    """A rate: one count over another, both by name. `noun` is what sentences call it, `label` what tables do.

    Over `TASKS` it is a mean over tasks (a macro average), over any other count a micro average. It is shown
    in its `place` and where there is more room.
    """

    name: str
    noun: str
    numerator: str
    denominator: str = TASKS
    better: Literal["higher", "lower"] = "higher"
    format: Literal["percent", "number"] = "percent"
    label: str = ""
    place: Place = "lines"

    @property
    def title(self) -> str:
        """The title of the metric in tables: its label, or else its noun."""
        return self.label or self.noun

    def rate(self, counts: Counts) -> float | None:
        """Return the rate of these counts; None if there is nothing to divide by, or tasks are `UNPLAYED`."""
        if counts.get(UNPLAYED):
            return None
        return rate(counts.get(self.numerator, 0), counts.get(self.denominator, 0))

    def bounds(self, counts: Counts) -> tuple[float, float] | None:
        """Return the least and the greatest rate that unclear texts and unplayed tasks allow; None if nothing
        can change it, or nothing bounds it.
        """
        if unplayed := counts.get(UNPLAYED):
            if self.denominator != TASKS or self.format != "percent":
                return None
            ends = [side.get(self.numerator, 0) for side in (counts, if_right(counts))]
            planned = counts.get(TASKS, 0) + unplayed
            return min(ends) / planned, (max(ends) + unplayed) / planned
        least, most = self.rate(counts), self.rate(if_right(counts))
        if least is None or most is None or least == most:
            return None
        return min(least, most), max(least, most)

    @property
    def scale(self) -> float:
        """The factor that turns a rate into the number that is printed."""
        return 100.0 if self.format == "percent" else 1.0

    @property
    def unit(self) -> str:
        """The unit printed after the number."""
        return "%" if self.format == "percent" else ""

    def amount(self, value: float, sign: Literal["", "+"] = "") -> str:
        """Return a rate or a difference as a bare number: in percent or points, if the metric is a share."""
        return f"{self.scale * value:{sign}.{1 if self.format == 'percent' else 2}f}"

    def worsening(self, difference: float) -> float:
        """Return how much worse an arm is whose rate differs by this much from the baseline's."""
        return -difference if self.better == "higher" else difference


class NamedCount(NamedTuple):
    """A count with a row of its own in tables."""

    name: str
    noun: str


class Part(NamedTuple):
    """A phrase on how a task went, besides whether it succeeded: "3 of 4 calls matched", "2 slips".

    With a `whole`, the name of another count, it is always printed, otherwise only if the count is not 0.
    `short` is the noun where there is little room. A part whose `better` is lower is marked as a fault.
    """

    name: str
    noun: str
    whole: str = ""
    short: str = ""
    better: Literal["higher", "lower"] = "higher"

    def text(self, counts: Counts) -> str:
        """Return the phrase; empty if there is nothing to report."""
        count = counts.get(self.name, 0)
        if self.whole:
            return f"{count:g} of {counts.get(self.whole, 0):g} {self.noun}"
        noun = self.noun.removesuffix("s") if count == 1 else self.noun
        return f"{count:g} {noun}" if count else ""

    def brief(self, counts: Counts) -> str:
        """Return the phrase in its shortest form."""
        count = counts.get(self.name, 0)
        if self.whole:
            return f"{count:g}/{counts.get(self.whole, 0):g}"
        return f"{count:g} {self.short or self.noun}" if count else ""


OWN_CALLS, FORMED = "calls.own", "calls.formed"
"""The counts of calls in the family's own form, and of all calls: own, leaked and broken."""
OTHER_FORMS = LEAKED, BROKEN
"""What the names of the counts of calls in other forms begin with; the name of the form follows."""
STRICT = "strict."
"""This and the name of the count of a success is that count where leaked calls are taken for words."""


def in_other_forms(counts: Counts) -> dict[str, int]:
    """Return the number of calls by each form that is not the family's own, the most frequent first."""
    names = (name for name, value in counts.items() if name.startswith(OTHER_FORMS) and value)
    return {name: int(counts[name]) for name in sorted(names, key=lambda name: (-counts[name], name))}


def forms_in_words(counts: Counts) -> str:
    """Return how many calls were in other forms, as in `28 of 30 calls leaked (fenced JSON)`."""
    others, of = in_other_forms(counts), f"{counts.get(FORMED, 0):g} calls"
    phrases = []
    for kind in OTHER_FORMS:
        forms = {name.removeprefix(kind): count for name, count in others.items() if name.startswith(kind)}
        if forms:
            named = ", ".join(form if len(forms) == 1 else f"{form} {n}" for form, n in forms.items())
            phrases.append(f"{sum(forms.values())} of {of} {kind.removesuffix(': ')} ({named})")
    return ", ".join(phrases)


class Remark(NamedTuple):
    """A remark that must stand wherever a run's rates are printed.

    Unless it `decides`, nothing may be decided by those rates.
    """

    text: str = ""
    decides: bool = True


NO_REMARK = Remark()


class Declaration(NamedTuple):
    """What a method counts and which rates it computes. A run keeps the one that it was played by.

    `success` names the count that is 1 for a task that succeeded and 0 for any other. `counts` have rows of
    their own in tables, `outcome` are the phrases on a single task. `error_types` is what tables call the
    types of error that scores have; empty if they have none. `caution` must stand wherever the rates of one
    run are printed; unless it `decides`, nothing may be decided by them.
    """

    method: str = ""
    metrics: tuple[Metric, ...] = ()
    success: str = ""
    counts: tuple[NamedCount, ...] = ()
    outcome: tuple[Part, ...] = ()
    error_types: str = ""
    caution: str = ""
    decides: bool = True

    def with_forms(self, counts: Counts) -> "Declaration":
        """Return the declaration with what is worth counting if some of these calls leaked or are broken.

        These are the rate of calls in the family's own form, each other form, and, where the counts have it,
        success beside the one that a strict reader of calls would see.
        """
        others = [NamedCount(name, name) for name in in_other_forms(counts)]
        new = [count for count in others if count not in self.counts]
        if not new:
            return self
        strict = [metric for _, metric in self._strict(counts)]
        noun = "calls in the model's own form"
        own = Metric("own_form", noun, OWN_CALLS, FORMED, label="own form", place="tables")
        names = {metric.name for metric in self.metrics}
        added = [metric for metric in (*strict, own) if metric.name not in names]
        return self._replace(metrics=(*self.metrics, *added), counts=(*self.counts, *new))

    def _strict(self, counts: Counts) -> list[tuple[Metric, Metric]]:
        """Return each rate of success that these counts have for a strict reader, too, with that reader's."""
        return [
            (
                metric,
                metric._replace(
                    name=f"strict_{metric.name}",
                    noun=f"strict {metric.noun}",
                    label=f"strict {metric.title}",
                    numerator=f"{STRICT}{metric.numerator}",
                ),
            )
            for metric in (self.success_metric, *self.parts)
            if metric is not None and f"{STRICT}{metric.numerator}" in counts
        ]

    def form_note(self, counts: Counts) -> str:
        """Return a sentence on the calls that these counts have in other forms; empty if there are none."""
        words = forms_in_words(counts)
        if not words or not any(name.startswith(OTHER_FORMS[0]) for name in in_other_forms(counts)):
            return words
        pairs = self._strict(counts)
        rates = [
            f"{metric.noun} {metric.amount(strict)}{metric.unit} instead of {metric.amount(own)}{metric.unit}"
            for metric, other in pairs
            if (own := metric.rate(counts)) is not None and (strict := other.rate(counts)) not in (None, own)
        ]
        if pairs and not rates:
            return words  # such as where leaked calls were words in the run itself
        told = f"with {', '.join(rates)}" if rates else "and only --leaked strict tells what is left then"
        return f"{words}: a strict server takes leaked calls for words, {told}"

    def cautioned(self, caution: Remark) -> "Declaration":
        """Return the declaration with this remark on a run."""
        return self._replace(caution=caution.text, decides=caution.decides)

    @classmethod
    def from_json(cls, data: JsonObject) -> "Declaration":
        """Read what `to_json` returns. Fields that a newer rig may have added are ignored.

        Raises ValueError, KeyError or TypeError for anything that is not a declaration.
        """
        rows: dict[str, Any] = {
            name: tuple(_of(kind, row) for row in data[name]) for name, kind in _ROWS.items()
        }
        if unknown := {metric.place for metric in rows["metrics"]} - {*_PLACES}:
            raise ValueError(f"{unknown.pop()!r} is no place of a metric")
        named = {"method": data["method"], "success": data["success"]}
        optional = {name: data[name] for name in ("error_types", "caution", "decides") if name in data}
        return cls(**named, **rows, **optional)

    def to_json(self) -> JsonObject:
        """Return the fields by name."""
        rows = {name: [row._asdict() for row in getattr(self, name)] for name in _ROWS}
        named = {"method": self.method, "success": self.success, "error_types": self.error_types}
        remark = {"caution": self.caution, "decides": self.decides} if self.caution else {}
        return {**named, **rows, **remark}

    def shown(self, place: Place) -> tuple[Metric, ...]:
        """Return the metrics that are shown in a place, in order."""
        room = _PLACES.index(place)
        return tuple(metric for metric in self.metrics if _PLACES.index(metric.place) <= room)

    def is_of_success(self, metric: Metric) -> bool:
        """Return whether a metric is the share of tasks that succeeded."""
        return (metric.numerator, metric.denominator) == (self.success, TASKS)

    @property
    def success_metric(self) -> Metric | None:
        """The share of tasks that succeeded, None if none is declared."""
        return next(filter(self.is_of_success, self.metrics), None)

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The rates of success by kinds of tasks, if there is none over all of them."""
        parts = (m for m in self.metrics if m.numerator == f"{self.success}.{m.name}")
        return () if self.success_metric else tuple(parts)

    @property
    def progress(self) -> Metric | None:
        """The metric that shows how far failed tasks got: the first that `outcome` mentions."""
        sides = {(part.name, part.whole) for part in self.outcome}
        return next((m for m in self.metrics if (m.numerator, m.denominator) in sides), None)

    def sides(self, metrics: Iterable[Metric]) -> tuple[str, ...]:
        """Return the counts that these metrics are made of, starting with those that have rows of their own.

        Counts that are only summed for a mean over tasks are left out.
        """
        micro = (metric for metric in metrics if metric.denominator != TASKS)
        sides = (name for metric in micro for name in (metric.numerator, metric.denominator))
        return tuple(dict.fromkeys((*(count.name for count in self.counts), *sides)))

    @property
    def other_counts(self) -> list[NamedCount]:
        """The counts with rows of their own that `outcome` does not mention."""
        wholes = {part.whole for part in self.outcome}
        return [count for count in self.counts if count.name not in wholes]

    def rates(self, counts: Counts) -> dict[str, float | None]:
        """Return every rate by name, a fraction or None."""
        return {metric.name: metric.rate(counts) for metric in self.metrics}

    def bounds_json(self, counts: Counts) -> JsonObject:
        """Return the number of unclear texts, and both ends of each rate, equal if nothing is unclear."""
        ends = {metric.name: metric.bounds(counts) or (metric.rate(counts),) * 2 for metric in self.metrics}
        return {
            "unclear": counts.get(UNCLEAR, 0),
            "lower": {name: lower for name, (lower, _) in ends.items()},
            "upper": {name: upper for name, (_, upper) in ends.items()},
        }

    def as_json(self, counts: Counts, rated: Counts | None = None) -> JsonObject:
        """Return rates, which follow from `rated` if it is given, and counts by name. The count of tasks is
        called `conversations`.
        """
        names = dict.fromkeys((self.success, *self.sides(self.metrics)))
        rated = counts if rated is None else rated
        return {
            **self.rates(rated),
            **self.bounds_json(rated),
            UNCLEAR: counts.get(UNCLEAR, 0),
            "conversations": counts.get(TASKS, 0),
            **{name: counts.get(name, 0) for name in names if name},
        }

    def succeeded(self, counts: Counts) -> bool:
        """Return whether these counts of one task are a success."""
        return bool(counts.get(self.success, 0))

    def partly(self, counts: Counts) -> float:
        """Return how far tasks without success got, from 0 to 1: by a mean over tasks, or else `progress`."""
        means = (m for m in self.metrics if m.denominator == TASKS and not self.is_of_success(m))
        shares = (m for m in means if (m.better, m.format) == ("higher", "percent"))
        metric = next(shares, self.progress)
        return (metric and metric.rate(counts)) or 0.0

    def faults(self, counts: Counts) -> int:
        """Return how many things were done that a method counts as faults."""
        return round(sum(counts.get(part.name, 0) for part in self.outcome if part.better == "lower"))

    def text(self, counts: Counts) -> str:
        """Return the phrases on a task."""
        return ", ".join(filter(None, (part.text(counts) for part in self.outcome)))

    def brief(self, counts: Counts) -> str:
        """Return the phrases on a task in their shortest form."""
        return ", ".join(filter(None, (part.brief(counts) for part in self.outcome)))


UNDECLARED = Declaration()
"""The declaration of a run that has none."""

_ROWS = {"metrics": Metric, "counts": NamedCount, "outcome": Part}
"""The fields of a declaration that hold several items, with the type of each item."""


def _of(kind: Any, data: JsonObject) -> Any:
    return kind(**{name: value for name, value in data.items() if name in kind._fields})


def total(parts: Iterable[Counts]) -> dict[str, float]:
    """Add up counts by name. A count that a part lacks is 0 there."""
    sums: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            sums[name] = sums.get(name, 0) + value
    return sums


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one finished task. `counts` have `TASKS`, whether the method gives it or not.

    `verdicts` are those on its calls, in the order in which they were made; none where there is nothing to
    match calls with. `error_types` are counted by turn, `faults` say what went wrong; a method may have
    neither. `doubts` are texts that may or may not be right, and `unclear` says by how much each count would
    change if they were; both then stand in `counts`.
    """

    counts: Counts
    verdicts: tuple[Verdict, ...] = ()
    error_types: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    unclear: Counts = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts: dict[str, float] = {TASKS: 1, **self.counts}
        if self.doubts:
            counts[UNCLEAR] = len({doubt.pair for doubt in self.doubts})
            if unread := len({doubt.pair for doubt in self.doubts if doubt.note == UNREAD}):
                counts[UNREAD_TEXTS] = unread
            counts |= {f"{UNCLEAR}.{name}": value for name, value in self.unclear.items() if value}
        object.__setattr__(self, "counts", counts)
