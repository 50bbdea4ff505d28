"""Numbers as the view writes them: short, and of steady width."""


def percent(rate: float | None) -> str:
    """A rate as a percentage, `-` without one."""
    return "-" if rate is None else f"{rate:.1%}"


def rate(value: float | None) -> str:
    """Tokens per second."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def duration(seconds: float | None) -> str:
    """Seconds as `m:ss` or `h:mm:ss`, `-` when unknown."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
