"""Numbers for people."""


def percent(fraction: float | None) -> str:
    """A rate as a percentage, `-` where there is none."""
    return "-" if fraction is None else f"{100 * fraction:.1f}%"


def rate(per_second: float | None) -> str:
    """Tokens per second, `-` where there is none."""
    if per_second is None:
        return "-"
    return f"{per_second:.0f}" if per_second >= 10 else f"{per_second:.1f}"


def clock_time(seconds: float) -> str:
    """A duration as minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
