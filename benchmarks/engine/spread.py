"""What several passes of contestants say: medians and ranges, and ratios taken pass by pass."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import median

from rig.core.calls import JsonObject


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, and between which they lie."""

    median: float
    minimum: float
    maximum: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread | None":
        """None of no values."""
        known = sorted(values)
        return cls(median(known), known[0], known[-1], len(known)) if known else None

    def as_json(self) -> JsonObject:
        return asdict(self)


def ratios(values: Mapping[int, float], base: Mapping[int, float]) -> list[float]:
    """Value over base, pass by pass, for the passes that have both.

    Within a pass the machine was about as busy for the one as for the other; between passes it need not be.
    """
    return [values[number] / base[number] for number in sorted(values) if base.get(number)]
