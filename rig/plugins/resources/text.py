"""What arms take as rows of tables, with the sentences that explain them."""

from collections.abc import Callable, Mapping, Sequence

from rig.core.errors import listed
from rig.plugins.resources.measured import QUIET, Resources, TurnSpread
from rig.show.table import Row
from rig.show.texts import UNKNOWN, mebibytes, rate, seconds

_MOST_NAMED = 3
"""More arms than this are counted instead of named."""
VALUES: Mapping[str, Callable[[Resources], float | None]] = {
    "tokens a second": lambda of: of.decode.median if of.decode else None,
    "first token after": lambda of: of.first_token.median if of.first_token else None,
    "memory": lambda of: of.whole_memory,
}
"""The numbers by which an arm's cells in these rows are sorted."""
_MEANS = ("prefill tok/s", "decode tok/s", "first token after", "memory")

SPREAD = (
    "speeds are medians over quiet turns, those in which rig's threads got at least"
    f" {QUIET:.0%} of the CPU time that they could have used; half of these turns are"
    " between the numbers in brackets"
)
MEMORY = "memory is that of weights, KV cache and compute buffers"


def resource_rows(resources: Sequence[Resources]) -> list[Row]:
    """Return the speeds in quiet turns, the memory, and how many turns were quiet, of each arm."""
    return [
        Row("tokens a second", [in_brackets(of.decode, rate) for of in resources]),
        Row("first token after", [in_brackets(of.first_token, seconds) for of in resources]),
        Row("memory", [mebibytes(of.whole_memory) for of in resources]),
        Row("quiet turns", [quiet_turns(of) for of in resources]),
    ]


def without_means(costs: Sequence[Row]) -> list[Row]:
    """Return rows of costs without the speeds and the memory that `resource_rows` has instead of means."""
    return [row for row in costs if row.label not in _MEANS]


def known(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of which something is known."""
    return [row for row in rows if set(row.cells) != {UNKNOWN}]


def in_brackets(spread: TurnSpread | None, word: Callable[[float | None], str]) -> str:
    """Return a median, and in brackets the quartiles: `0.50 s (0.41 to 0.62)`."""
    if spread is None:
        return UNKNOWN
    lower, upper = (word(end).removesuffix(" s") for end in (spread.lower, spread.upper))
    return f"{word(spread.median)} ({lower} to {upper})"


def spread_rows(of: Resources) -> list[tuple[str, str, str, str, str]]:
    """Return rows of an arm's speeds: a name, the median over quiet turns, between what half of these and, in
    95% of cases, the median lie, and how many turns that is of; with its memory as the last, if it is known.
    """
    rows = []
    for name, spread, word in (
        ("tokens a second", of.decode, rate),
        ("first token after", of.first_token, seconds),
    ):
        if of.is_timed:
            ends = (spread.lower, spread.upper, spread.low, spread.high) if spread else (None,) * 4
            lower, upper, low, high = (word(end).removesuffix(" s") for end in ends)
            half, interval = (
                UNKNOWN if end == UNKNOWN else f"{begin} to {end}"
                for begin, end in ((lower, upper), (low, high))
            )
            rows.append((name, word(spread.median if spread else None), half, interval, quiet_turns(of)))
    if of.whole_memory is not None:
        rows.append(("memory", mebibytes(of.whole_memory), "", "", ""))
    return rows


def quiet_turns(of: Resources) -> str:
    """Return how many of an arm's turns were quiet, as in `40 of 56`, or that nobody knows which."""
    if not of.is_timed:
        return UNKNOWN
    return f"{of.quiet} of {of.turns}" if of.is_known else f"all {of.turns} count"


def resource_notes(resources: Mapping[str, Resources]) -> list[str]:
    """Return what to know of the speeds and the memory of arms, by their names; empty if they have none."""
    lines = []
    timed = {name: of for name, of in resources.items() if of.is_timed}
    if not all(of.is_busy for of in timed.values()):
        lines.append(SPREAD)
    if any(of.whole_memory is not None for of in resources.values()):
        lines.append(MEMORY)
    if busy := busy_note(timed):
        lines.append(busy)
    unknown = [name for name, of in timed.items() if not of.is_known]
    if unknown:
        lines.append(f"nobody knows which turns of {_named(unknown, timed)} were quiet, so all of them count")
    return lines


def busy_note(resources: Mapping[str, Resources]) -> str:
    """Return whose speeds nobody knows, as no turn was quiet; empty if there is no such arm."""
    busy = [name for name, of in resources.items() if of.is_busy]
    if not busy:
        return ""
    return (
        f"no turn of {_named(busy, resources)} was quiet: in each, rig's threads got less than {QUIET:.0%} of"
        " the CPU time that they could have used, so nobody knows how fast the model is here"
    )


def _named(names: Sequence[str], among: Mapping[str, Resources]) -> str:
    return listed(names) if len(names) <= _MOST_NAMED else f"{len(names)} of {len(among)} arms"
