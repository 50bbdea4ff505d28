"""The outline of a stored conversation: a row for itself, for every turn, and for every step."""

from typing import NamedTuple

from rig.displays import signs
from rig.displays.signs import Sign
from rig.displays.steps import matched
from tui.stored.record import Record, StepRecord

SIGNS = (
    (signs.MATCH.glyph, "matches, or all calls of the turn were made"),
    (signs.NO_MATCH.glyph, "does not match, or a call is missing"),
    *((sign.glyph, words) for sign, words in signs.SAID.items()),
    (signs.REPLY.glyph, "reply"),
    (signs.WAITING.glyph, "not played yet"),
    (signs.RUNNING.glyph, "being played"),
)
"""What the signs mean, for help and documentation."""

_LONGEST = 200


class OutlineRow(NamedTuple):
    """A place in a conversation. Without a `turn` it is the whole of it, without a `step` the whole turn.

    `turn` is a position in the conversation, `number` counts the turns to predict from 1. `note` stands at
    the right end. `is_wrong` marks what one would look at first.
    """

    turn: int | None
    step: int | None
    sign: Sign
    text: str
    note: str = ""
    number: int = 0
    is_wrong: bool = False

    @property
    def place(self) -> tuple[int | None, int | None]:
        """(turn, step), by which it is found again after something was added."""
        return self.turn, self.step


def outline(record: Record) -> list[OutlineRow]:
    """The rows, in the order in which things happened."""
    by_call = matched(record.transcript)
    counts, parts = record.transcript.counts, record.transcript.declaration.outcome
    share = " ".join(part.brief(counts) for part in parts if part.whole) if counts else ""
    rows = [OutlineRow(None, None, sign_of(record), "conversation", share)]
    for number, turn in enumerate(record.turns, 1):
        truth = record.transcript.conversation.expected(turn).calls
        steps = record.steps(turn)
        matches = sum((turn, call) in by_call for call in range(len(truth)))
        rows.append(
            OutlineRow(
                turn,
                None,
                _sign_of_turn(steps, matches == len(truth)),
                f"turn {number}",
                f"{matches}/{len(truth)}" if truth else "",
                number,
                bool(steps) and matches < len(truth),
            )
        )
        for step in steps:
            view = step.view(_LONGEST)
            text = step.drawn + view.words
            rows.append(OutlineRow(step.turn, step.step, view.sign, text, "", number, view.is_wrong))
    return rows


def sign_of(record: Record) -> Sign:
    """How the whole of it went."""
    if record.ended is not None:
        return record.ended.sign
    return signs.RUNNING if record.transcript.turns else signs.WAITING


def _sign_of_turn(steps: list[StepRecord], is_complete: bool) -> Sign:
    if not steps:
        return signs.WAITING
    incorrect = any(step.made.verdict and step.made.verdict.bad_action for step in steps)
    error = max(steps, key=lambda step: step.step).made.prediction.error is not None
    return signs.ended(success=is_complete and not incorrect and not error, incorrect=incorrect, error=error)
