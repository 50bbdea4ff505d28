"""The running numbers of an arm, exactly as the events carry them."""

from rig.displays.numbers import clock_time, percent, rate
from rig.events import Speed
from rig.verdicts import Metrics
from tui.lines import Line, Span, Tint, join
from tui.state import ArmState
from tui.widgets.lines import Lines


class Meters(Lines):
    """Two lines: how right the model is, and how fast it goes."""

    def show_arm(self, arm: ArmState | None, elapsed_s: float, eta_s: float | None) -> None:
        """Bring the numbers up to date."""
        metrics = (arm.metrics if arm else None) or Metrics()
        speed = (arm.speed if arm else None) or Speed()
        gap = "    " if self.size.width >= 100 else "   "
        self.show([_rights(metrics, gap), _speeds(speed, elapsed_s, eta_s, gap)])


def _rights(metrics: Metrics, gap: str) -> Line:
    actions = percent(metrics.incorrect_action_rate)
    return join(
        [
            [(" success ", Tint.MUTED), (percent(metrics.success_rate), Tint.STRONG)],
            _named("recall", percent(metrics.recall)),
            _named("precision", percent(metrics.precision)),
            [
                ("incorrect actions ", Tint.MUTED),
                (actions, Tint.FAILURE if metrics.bad_actions else Tint.STRONG),
            ],
        ],
        gap,
    )


def _speeds(speed: Speed, elapsed_s: float, eta_s: float | None, gap: str) -> Line:
    return join(
        [
            [(" prefill ", Tint.MUTED), (rate(speed.prefill_rate), Tint.STRONG), (" tok/s", Tint.MUTED)],
            [*_named("decode", rate(speed.decode_rate)), (" tok/s", Tint.MUTED)],
            _named("cached", percent(speed.cached_share)),
            _named("time", _time(elapsed_s)),
            _named("left", _time(eta_s)),
        ],
        gap,
    )


def _named(name: str, value: str) -> list[Span]:
    return [(f"{name} ", Tint.MUTED), (value, Tint.STRONG)]


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else clock_time(seconds)
