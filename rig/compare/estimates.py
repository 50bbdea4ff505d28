"""Numbers with what is known about them. Rates are fractions; a field is None if there is no such number."""

from dataclasses import asdict, dataclass

from rig.calls import JsonObject


@dataclass(frozen=True, slots=True)
class Difference:
    """An arm's rate less the baseline's, with the bounds of its confidence interval.

    `p` is the chance of a difference at least as large if there is none, `p_holm` the same corrected for
    there being several arms; `detectable` is the smallest difference that this suite detects with a power of
    0.8 at the corrected level. `test` says which test p is from: of McNemar, or the interval's own.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    detectable: float | None
    test: str = "bootstrap"
    p_holm: float | None = None

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return asdict(self)
