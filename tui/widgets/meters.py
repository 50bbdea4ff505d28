"""The running numbers of an arm, exactly as the events carry them, and how well the rates are known."""

from collections.abc import Mapping, Sequence

from rig.displays.numbers import UNKNOWN, clock_time, measured, mebibytes, percent, rate, unclear_texts
from rig.displays.progress import NOT_EVALUATED
from rig.events import Speed
from rig.metrics import Counts, Declaration
from rig.rates import Estimate
from tui.live.state import ArmState
from tui.text.lines import Line, Span, Tint, join, width_of
from tui.widgets.lines import Lines

_ROOMY = 100
"""Cells from which everything has its whole label."""


class Meters(Lines):
    """How right the model is, with the bounds of 95% intervals, and how fast it goes."""

    def show_arm(
        self,
        arm: ArmState | None,
        declaration: Declaration,
        estimates: Mapping[str, Estimate],
        elapsed_s: float,
        eta_s: float | None,
    ) -> None:
        """Bring the numbers up to date. `estimates` are by the names of metrics."""
        if not self.size.width:
            return
        counts = (arm.rated if arm else None) or {}
        speed = (arm.speed if arm else None) or Speed()
        is_roomy = self.size.width >= _ROOMY
        gap = "    " if is_roomy else "  "
        speeds = _speeds(speed, is_roomy) + _times(elapsed_s, eta_s, is_roomy)
        rights = _rights(declaration, counts, estimates if counts else {})
        if arm is not None and not arm.evaluated:
            rights.insert(0, [(NOT_EVALUATED, Tint.ERROR)])
        lines = [
            *_flow(rights, gap, self.size.width),
            *_flow(speeds, gap, self.size.width),
        ]
        if len(lines) != len(self.lines):
            self.styles.height = len(lines)
        self.show(lines)


def _rights(declaration: Declaration, counts: Counts, estimates: Mapping[str, Estimate]) -> list[list[Span]]:
    faults = {part.name for part in declaration.outcome if part.better == "lower" and counts.get(part.name)}
    parts = []
    for metric in declaration.shown("meters"):
        tint = Tint.FAILURE if metric.numerator in faults else Tint.STRONG
        part = _named(metric.title, measured(metric, counts), tint)
        known = estimates.get(metric.name)
        if known is not None and known.low is not None and known.high is not None:
            bounds = (f"{metric.scale * end:.0f}" for end in (known.low, known.high))
            part.append((f" [{'-'.join(bounds)}]", Tint.MUTED))
        parts.append(part)
    if unclear := unclear_texts(counts):
        parts.append([(unclear, Tint.MUTED)])
    return parts


def _speeds(speed: Speed, is_roomy: bool) -> list[list[Span]]:
    parts = [
        [*_named("prefill", rate(speed.prefill_rate)), (" tok/s" if is_roomy else "", Tint.MUTED)],
        [*_named("decode", rate(speed.decode_rate)), (" tok/s", Tint.MUTED)],
        _named("cached", percent(speed.cached_share)),
        _named("memory", mebibytes(speed.peak_memory)),
    ]
    if speed.peak_device_memory is not None:
        parts.append(_named("GPU", mebibytes(speed.peak_device_memory)))
    return parts


def _times(elapsed_s: float, eta_s: float | None, is_roomy: bool) -> list[list[Span]]:
    """The time left, and that which has passed where there is room or nothing left."""
    passed = [_named("time", _time(elapsed_s))] if is_roomy or eta_s is None else []
    return [*passed, _named("left", _time(eta_s))]


def _named(name: str, value: str, tint: Tint = Tint.STRONG) -> list[Span]:
    return [(f"{name} ", Tint.MUTED), (value, tint)]


def _time(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else clock_time(seconds)


def _flow(parts: Sequence[Sequence[Span]], gap: str, width: int) -> list[Line]:
    """The parts on as few lines as they fit on."""
    rows: list[list[Sequence[Span]]] = [[]]
    for part in parts:
        if rows[-1] and width_of(join([*rows[-1], part], gap)) + 1 > width:
            rows.append([])
        rows[-1].append(part)
    return [((" ", Tint.PLAIN), *join(row, gap)) for row in rows]
