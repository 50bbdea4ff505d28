"""How a tool refuses a call."""


class ToolError(Exception):
    """A tool's refusal, in words for the model. `upstream` is ToolTalk's text where that differs."""

    def __init__(self, message: str, upstream: str | None = None) -> None:
        super().__init__(message)
        self.upstream = message if upstream is None else upstream


class Stuck(ToolError):
    """A tool was given up on that did not come to an end, and may still hold the world's database."""


def quoted(value: object, limit: int = 80) -> str:
    """A value as an error text may quote it: what a model wrote can be of any length."""
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
