"""The outline of a stored conversation: a row for itself, for every turn, and for every step."""

from typing import NamedTuple

from rig.verdicts import Verdict
from tui.stored.record import Record, StepRecord
from tui.text.lines import Span, Tint

SUCCESS: Span = ("+", Tint.SUCCESS)
FAILURE: Span = ("x", Tint.FAILURE)
INCORRECT: Span = ("X", Tint.ALARM)
ERROR: Span = ("!", Tint.ERROR)
REPLY: Span = ("=", Tint.USER)
WAITING: Span = (".", Tint.MUTED)

SIGNS = (
    ("+", "matches, or all calls of the turn were made"),
    ("x", "does not match, or a call is missing"),
    ("X", "incorrect action"),
    ("!", "error"),
    ("=", "reply"),
    (".", "not played yet"),
    (">", "being played"),
)
"""What the signs mean, for help and documentation."""

_LONGEST = 200


class Row(NamedTuple):
    """A place in a conversation. Without a `turn` it is the whole of it, without a `step` the whole turn.

    `turn` is a position in the conversation, `number` counts the turns to predict from 1. `note` stands at
    the right end. `is_wrong` marks what one would look at first.
    """

    turn: int | None
    step: int | None
    sign: Span
    text: str
    note: str = ""
    number: int = 0
    is_wrong: bool = False

    @property
    def place(self) -> tuple[int | None, int | None]:
        """(turn, step), by which it is found again after something was added."""
        return self.turn, self.step


def outline(record: Record) -> list[Row]:
    """The rows, in the order in which things happened."""
    matched = record.matched
    rows = [Row(None, None, sign_of(record), "conversation", _share(record))]
    for number, turn in enumerate(record.turns, 1):
        wanted = record.transcript.conversation.turns[turn].calls
        steps = record.steps(turn)
        found = sum((turn, call) in matched for call in range(len(wanted)))
        rows.append(
            Row(
                turn,
                None,
                _sign_of_turn(steps, found == len(wanted)),
                f"turn {number}",
                f"{found}/{len(wanted)}" if wanted else "",
                number,
                bool(steps) and found < len(wanted),
            )
        )
        rows += [_row(step, number) for step in steps]
    return rows


def sign_of(record: Record) -> Span:
    """How the whole of it went."""
    counts, declaration = record.transcript.counts, record.transcript.declaration
    if counts is None:
        return (">", Tint.RUNNING) if record.transcript.turns else WAITING
    if declaration.succeeded(counts):
        return SUCCESS
    if declaration.faults(counts):
        return INCORRECT
    return ERROR if any(turn.error for turn in record.transcript.turns.values()) else FAILURE


def sign_of_step(step: StepRecord) -> Span:
    """How a step went."""
    if step.verdict is not None:
        return sign_of_verdict(step.verdict)
    return ERROR if step.prediction.error else REPLY


def sign_of_verdict(verdict: Verdict) -> Span:
    """How a call went."""
    if verdict.match:
        return SUCCESS
    return INCORRECT if verdict.bad_action else FAILURE


def words_of(step: StepRecord) -> str:
    """A step in a few words."""
    prediction = step.prediction
    if prediction.call is not None:
        return prediction.call.name[:_LONGEST] or "(no name)"
    if prediction.reply is not None:
        return prediction.reply[:_LONGEST] or "(empty)"
    return str(prediction.error).replace("_", " ")


def _row(step: StepRecord, number: int) -> Row:
    is_wrong = step.prediction.error is not None or (step.verdict is not None and not step.verdict.match)
    return Row(step.turn, step.step, sign_of_step(step), words_of(step), "", number, is_wrong)


def _sign_of_turn(steps: list[StepRecord], is_complete: bool) -> Span:
    if not steps:
        return WAITING
    if any(step.verdict and step.verdict.bad_action for step in steps):
        return INCORRECT
    if steps[-1].prediction.error:
        return ERROR
    return SUCCESS if is_complete else FAILURE


def _share(record: Record) -> str:
    counts, wholes = record.transcript.counts, (p for p in record.transcript.declaration.outcome if p.whole)
    return " ".join(part.brief(counts) for part in wholes) if counts else ""
