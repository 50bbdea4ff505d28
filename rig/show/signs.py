"""All that rig draws: signs of outcomes, and glyphs of lines, bars and cuts.

Everything has two forms: one for terminals that show Unicode, and one in ASCII for all others. In both, you
can tell signs apart without colour and without case. `use` chooses the form for this process.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

ASCII_VARIABLE = "RIG_ASCII"
"""An environment variable: any value asks for ASCII, here and in the processes that rig starts."""

_WITHOUT_GLYPHS = ("dumb", "linux", "vt")
"""The beginnings of the names of terminals whose fonts lack the signs."""

_is_ascii = bool(os.environ.get(ASCII_VARIABLE))


def use(*, ascii_only: bool) -> None:
    """Show the ASCII forms or the Unicode forms from now on."""
    global _is_ascii
    _is_ascii = ascii_only


def is_ascii() -> bool:
    """Whether the ASCII forms are shown."""
    return _is_ascii


def wants_ascii(environment: Mapping[str, str], encoding: str | None) -> bool:
    """Whether a terminal, or anything else that output goes to, needs ASCII.

    It does if the user asks for ASCII, if the encoding is not UTF, if the locale is C or POSIX, or if the
    terminal is known to lack the signs.
    """
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    return (
        bool(environment.get(ASCII_VARIABLE))
        or not (encoding or "").lower().startswith("utf")
        or locale in ("C", "POSIX")
        or environment.get("TERM", "").startswith(_WITHOUT_GLYPHS)
    )


class Glyph(NamedTuple):
    """One thing that is drawn, in both forms. `str()` returns the form in use."""

    unicode: str
    ascii: str

    def __str__(self) -> str:
        return self.ascii if _is_ascii else self.unicode

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


ELLIPSIS = Glyph("…", "..")
RULE = Glyph("─", "-")
SIDE = Glyph("│", "|")
CURSOR = Glyph("▌", "|")
BRANCH = Glyph("├─ ", "|- ")
LAST_BRANCH = Glyph("└─ ", "`- ")
BESIDE_BRANCH = Glyph("│  ", "|  ")
DIFFERS = Glyph("≠", "~")
DELTA = Glyph("Δ", "diff")
DASH = Glyph("–", "-")
DOT = Glyph("·", "|")
TIMES = Glyph("×", "x")
FULL = Glyph("█", "=")
TRACK = Glyph("░", "-")
LEVELS = Glyph("▁▂▃▄▅▆▇█", "_.-:=+*#")
"""The levels of curves, from nothing to all."""
PARTS = Glyph("▏▎▍▌▋▊▉", "")
"""The last cell of a bar, from one to seven eighths; in ASCII, cells are only full or empty."""


class Sign(NamedTuple):
    """How something is shown. `tint` is the name of a colour, which each painter chooses."""

    glyph: Glyph
    word: str
    tint: str
    is_outcome: bool = True

    @property
    def label(self) -> str:
        """The sign and the word; for anything but an outcome, just the word."""
        return f"{self.glyph} {self.word}" if self.is_outcome else self.word


USER = Sign(Glyph("u", "u"), "user", "user", is_outcome=False)
CALL = Sign(Glyph("▸", ">"), "call", "call", is_outcome=False)
RESPONSE = Sign(Glyph("◂", "<"), "response", "muted", is_outcome=False)
REFUSED = Sign(Glyph("⊘", "^"), "refused", "failure", is_outcome=False)
THOUGHT = Sign(Glyph("?", "?"), "thought", "muted", is_outcome=False)
REPLY = Sign(Glyph("“", "="), "reply", "user", is_outcome=False)
BACK = Sign(Glyph("←", "~"), "back", "muted", is_outcome=False)
MODEL = Sign(Glyph("●", "~"), "model", "running", is_outcome=False)

MATCH = Sign(Glyph("✓", "+"), "match", "success")
NO_MATCH = Sign(Glyph("✗", "x"), "no match", "failure")
INCORRECT = Sign(Glyph("◆", "#"), "incorrect", "alarm")
ERROR = Sign(Glyph("!", "!"), "error", "error")

SUCCESS = Sign(Glyph("✓", "+"), "success", "success")
CAPPED = SUCCESS._replace(word="success, at the call cap", tint="error")
ERRED = SUCCESS._replace(word="success, with errors", tint="error")
"""By the rules of most methods, calls decide. So a conversation can succeed although a turn ended without a
reply, which no user wants.
"""
SUCCESSES = (SUCCESS, CAPPED, ERRED)
FAILED = Sign(Glyph("✗", "x"), "failed", "failure")
WAITING = Sign(Glyph("○", "."), "waiting", "muted")
RUNNING = Sign(Glyph("●", ">"), "running", "running")
SKIPPED = Sign(Glyph("–", "-"), "skipped", "muted")

MADE = Sign(Glyph("✓", "+"), "made", "success")
MISSED = Sign(Glyph("✗", "x"), "missed", "failure")
OPEN = Sign(Glyph("○", "."), "open", "muted")
LEFT_OUT = Sign(Glyph("–", "-"), "optional, not made", "muted")

FINISHED_RUN = Sign(Glyph("✓", "="), "finished", "success")
RUNNING_RUN = Sign(Glyph("●", ">"), "running", "running")
INTERRUPTED_RUN = Sign(Glyph("!", "!"), "interrupted", "error")
RUN_STATES = {sign.word: sign for sign in (FINISHED_RUN, RUNNING_RUN, INTERRUPTED_RUN)}
"""The signs of the states of a run, by their words."""
MARKED = Sign(Glyph("▸", "*"), "marked for comparing", "call")

SAID = {
    INCORRECT: "an unexpected action was carried out",
    ERROR: "a step gave no usable answer",
}
"""Explanations of outcomes that their word alone does not explain."""


def judged(*, match: bool, incorrect: bool) -> Sign:
    """Return the sign for how a call went."""
    return MATCH if match else INCORRECT if incorrect else NO_MATCH


def ended(*, success: bool, incorrect: bool, error: bool) -> Sign:
    """Return the sign for how a conversation or a turn ended; if several things went wrong, for the worst."""
    if success:
        return ERRED if error else SUCCESS
    return INCORRECT if incorrect else ERROR if error else FAILED


def due(*, made: bool, over: bool, optional: bool = False) -> Sign:
    """Return the sign for an expected call; `over` once its turn is played. Only required ones are missed."""
    if made or not over:
        return MADE if made else OPEN
    return LEFT_OUT if optional else MISSED
