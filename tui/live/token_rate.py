"""How fast a prediction is being written."""

from collections import deque

from rig.verdicts import StepPlace

_SECONDS = 3.0
"""What is looked back on."""


class TokenRate:
    """Tokens per second over the last seconds of the step that is being written."""

    def __init__(self) -> None:
        self._step: object = None
        self._seen: deque[tuple[float, int]] = deque()

    def tell(self, conversation: object, step: StepPlace | None, tokens: int, now: float) -> None:
        """There are this many tokens of a step now; None if nothing is being written."""
        if step is None or self._step != (conversation, step):
            self._step = (conversation, step) if step is not None else None
            self._seen.clear()
        if tokens and (not self._seen or self._seen[-1][1] != tokens):
            self._seen.append((now, tokens))
        while len(self._seen) > 2 and self._seen[0][0] < now - _SECONDS:
            self._seen.popleft()

    @property
    def per_second(self) -> float | None:
        """The rate; None until it can be told."""
        if len(self._seen) < 2 or self._seen[-1][0] == self._seen[0][0]:
            return None
        (began, before), (ended, after) = self._seen[0], self._seen[-1]
        return (after - before) / (ended - began)
