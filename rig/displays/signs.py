"""The one table of outcomes: the sign, the word and the tint that stand for each, wherever it is shown.

Signs are ASCII, so that they survive every terminal, and are told apart without colour and without case.
"""

from typing import NamedTuple


class Sign(NamedTuple):
    """How something is shown. `tint` is a name that each painter has its own colours for."""

    sign: str
    word: str
    tint: str
    is_outcome: bool = True

    @property
    def label(self) -> str:
        """The sign and the word; of what is no outcome, the word will do."""
        return f"{self.sign} {self.word}" if self.is_outcome else self.word


USER = Sign("u", "user", "user", is_outcome=False)
CALL = Sign(">", "call", "call", is_outcome=False)
RESPONSE = Sign("<", "response", "muted", is_outcome=False)
REFUSED = Sign("^", "refused", "failure", is_outcome=False)
THOUGHT = Sign("?", "thought", "muted", is_outcome=False)
REPLY = Sign("=", "reply", "user", is_outcome=False)
BACK = Sign("~", "back", "muted", is_outcome=False)

MATCH = Sign("+", "match", "success")
NO_MATCH = Sign("x", "no match", "failure")
INCORRECT = Sign("#", "incorrect", "alarm")
ERROR = Sign("!", "error", "error")

SUCCESS = Sign("+", "success", "success")
FAILED = Sign("x", "failed", "failure")
WAITING = Sign(".", "waiting", "muted")
RUNNING = Sign(">", "running", "running")
SKIPPED = Sign("-", "skipped", "muted")

MADE = Sign("+", "made", "success")
MISSED = Sign("x", "missed", "failure")
OPEN = Sign(".", "open", "muted")

SAID = {
    INCORRECT: "an unexpected action was carried out",
    ERROR: "a step gave no usable answer",
}
"""Outcomes that their word alone does not explain, in a few more."""


def judged(*, match: bool, incorrect: bool) -> Sign:
    """How a call went."""
    return MATCH if match else INCORRECT if incorrect else NO_MATCH


def ended(*, success: bool, incorrect: bool, error: bool) -> Sign:
    """How a conversation or a turn ended: of what made it fail, what is worst."""
    if success:
        return SUCCESS
    return INCORRECT if incorrect else ERROR if error else FAILED


def due(*, made: bool, over: bool) -> Sign:
    """What became of a call that is expected; `over` once its turn was played."""
    return MADE if made else MISSED if over else OPEN
