"""How each entry of a transcript looks: a label in the margin and wrapped lines beside it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rig.verdicts import Metrics
from tui.clip import Clip
from tui.flow import Flow, wrap
from tui.inert import inert, inert_line
from tui.json_tint import JsonTint, tint_json
from tui.lines import BLANK, Line, Span, Tint, fit
from tui.transcript import (
    Called,
    Differing,
    Draft,
    Ended,
    Entry,
    Failed,
    Judged,
    Remark,
    Replied,
    Returned,
    Said,
    TurnHeading,
)

MARGIN = 12
"""Cells of the label column."""
READABLE = 110
"""Cells beyond which a line of text is no longer pleasant to read."""
RESPONSE_LINES = 3
CALL_LINES = 12


def text_width(width: int) -> int:
    """Cells for text beside the margin in a view of `width` cells."""
    return max(min(width - MARGIN - 2, READABLE), 8)


def block(entry: Entry, width: int, turns: int) -> list[Line]:
    """The lines of a complete entry in `width` cells, in a conversation of `turns` turns (0: unknown)."""
    return _BLOCKS[type(entry)](entry, text_width(width), turns)


class DraftBlock:
    """A prediction being made: only the text that is new since the last look is tinted and wrapped."""

    def __init__(self, draft: Draft, width: int) -> None:
        self.draft = draft
        self._flow = Flow(text_width(width))
        self._tint: JsonTint | None = None
        self._taken = 0

    def lines(self) -> list[Line]:
        """The lines as of now, with a cursor where the next token appears."""
        text = self.draft.text
        new = text[self._taken :]
        if new:
            if not self._taken and text.lstrip().startswith("{"):
                self._tint = JsonTint()
            self._taken = len(text)
            shown = inert(new)
            self._flow.feed(self._tint.feed(shown) if self._tint else [(shown, Tint.PLAIN)])
        lines = self._flow.lines
        if not self.draft.tokens:
            return _beside(("model", Tint.RUNNING), [(("reads the prompt", Tint.MUTED),)])
        if self.draft.omitted:
            lines.append(tuple(_omitted(self.draft.omitted)))
        lines[-1] = (*lines[-1], (" ", Tint.CURSOR))
        return _beside(("model", Tint.RUNNING), lines)


def _beside(label: Span, lines: Sequence[Line]) -> list[Line]:
    text, tint = label
    margin: Span = (" " * MARGIN, Tint.PLAIN)
    head: Span = (f" {text}".ljust(MARGIN), tint)
    return [((margin if number else head), *line) for number, line in enumerate(lines)]


def _omitted(characters: int) -> list[Span]:
    return [(f" .. {characters:,} more characters", Tint.MUTED)] if characters else []


def _shortened(text: Clip, lines: int, width: int) -> tuple[str, int]:
    """As much as fits about so many lines beside a note of the rest, and how much that is."""
    shown = inert_line(text.text)
    if len(shown) > lines * width:
        shown = shown[: max(lines * width - 32, width)]
    return shown, max(len(text.text) - len(shown), 0) + text.omitted


def _words(text: Clip, tint: Tint, width: int) -> list[Line]:
    return wrap([(inert(text.text), tint), *_omitted(text.omitted)], width)


def _turn_heading(entry: TurnHeading, width: int, turns: int) -> list[Line]:
    of = f" of {turns}" if turns else ""
    heading: Line = ((f" turn {entry.number}{of}", Tint.TITLE),)
    return [heading] if entry.number == 1 else [BLANK, heading]


def _said(entry: Said, width: int, turns: int) -> list[Line]:
    return _beside(("user", Tint.USER), _words(entry.text, Tint.STRONG, width))


def _called(entry: Called, width: int, turns: int) -> list[Line]:
    name: Span = (inert_line(entry.name.text), Tint.CALL)
    arguments, omitted = _shortened(entry.arguments, CALL_LINES, width)
    spans = [name, (" ", Tint.PLAIN), *tint_json(arguments), *_omitted(omitted)]
    return _beside(("call", Tint.CALL), wrap(spans, width))


def _returned(entry: Returned, width: int, turns: int) -> list[Line]:
    text, omitted = _shortened(entry.text, RESPONSE_LINES, width)
    spans = [(text, Tint.FAILURE if entry.failed else Tint.MUTED), *_omitted(omitted)]
    label: Span = ("refused", Tint.FAILURE) if entry.failed else ("response", Tint.MUTED)
    return _beside(label, wrap(spans, width))


def _judged(entry: Judged, width: int, turns: int) -> list[Line]:
    if entry.match:
        return _beside(("+ match", Tint.SUCCESS), wrap([(_matched(entry), Tint.MUTED)], width))
    lines = [line for difference in entry.differences for line in _difference(difference, width)]
    if not lines and entry.reason.text:
        reason = [(inert_line(entry.reason.text), Tint.PLAIN), *_omitted(entry.reason.omitted)]
        lines = wrap(reason, width)
    if not entry.bad_action:
        return _beside(("x no match", Tint.FAILURE), lines or [BLANK])
    alarm = fit([(" INCORRECT ACTION ", Tint.ALARM), (" it changed the world", Tint.FAILURE)], width)
    return _beside(("x no match", Tint.FAILURE), [alarm, *lines])


def _matched(entry: Judged) -> str:
    if entry.ground_truth is None:
        return "an expected call"
    turn, call = entry.ground_truth
    elsewhere = "" if turn == entry.turn else " of another turn"
    return f"expected call {call + 1}{elsewhere}"


def _difference(difference: Differing, width: int) -> list[Line]:
    what = inert_line(difference.what.text)
    if what == "exception" and difference.expected.text == "null":
        return wrap([("the call failed; it should have succeeded", Tint.PLAIN)], width)
    head = wrap([(what, Tint.KEY), *_omitted(difference.what.omitted), *_similarity(difference)], width)
    for label, value in (("expected", difference.expected), ("got", difference.got)):
        spans = [*tint_json(inert_line(value.text)), *_omitted(value.omitted)]
        for number, line in enumerate(wrap(spans, width - 11)):
            head.append(((f"  {'' if number else label:<9}", Tint.MUTED), *line))
    return head


def _similarity(difference: Differing) -> list[Span]:
    if difference.note is not None:
        return [(f"  {inert_line(difference.note.text)}", Tint.MUTED), *_omitted(difference.note.omitted)]
    if difference.similarity is None:
        return []
    needed = "" if difference.threshold is None else f", needs {difference.threshold:.2f}"
    return [(f"  similarity {difference.similarity:.2f}{needed}", Tint.MUTED)]


def _replied(entry: Replied, width: int, turns: int) -> list[Line]:
    if not entry.text.text:
        return _beside(("reply", Tint.MUTED), [(("(empty)", Tint.MUTED),)])
    return _beside(("reply", Tint.USER), _words(entry.text, Tint.PLAIN, width))


def _failed(entry: Failed, width: int, turns: int) -> list[Line]:
    detail = f": {inert_line(entry.detail.text)}" if entry.detail.text else ""
    lines = wrap([(entry.kind, Tint.ERROR), (detail, Tint.PLAIN), *_omitted(entry.detail.omitted)], width)
    if entry.raw.text:
        lines += wrap([(inert_line(entry.raw.text), Tint.MUTED), *_omitted(entry.raw.omitted)], width)
    return _beside(("! error", Tint.ERROR), lines)


def _ended(entry: Ended, width: int, turns: int) -> list[Line]:
    metrics = entry.metrics
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(entry.errors.items()))
    if metrics.successes:
        label: Span = ("+ success", Tint.SUCCESS)
    elif entry.errors:
        label = ("! error", Tint.ERROR)
    else:
        label = ("x failed", Tint.FAILURE)
    lines = wrap([(_counts(metrics) + (f"; {kinds}" if kinds else ""), Tint.PLAIN)], width)
    return [BLANK, *_beside(label, lines)]


def _counts(metrics: Metrics) -> str:
    parts = [f"{metrics.matches} of {metrics.ground_truths} expected calls made"]
    if metrics.predictions != metrics.matches:
        parts.append(f"{metrics.predictions - metrics.matches} calls without a match")
    if metrics.bad_actions:
        actions = "incorrect action" if metrics.bad_actions == 1 else "incorrect actions"
        parts.append(f"{metrics.bad_actions} {actions}")
    return ", ".join(parts)


def _remark(entry: Remark, width: int, turns: int) -> list[Line]:
    return _beside(("", Tint.MUTED), wrap([(inert(entry.text), Tint.MUTED)], width))


_BLOCKS: dict[type[Entry], Callable[[Any, int, int], list[Line]]] = {
    TurnHeading: _turn_heading,
    Said: _said,
    Called: _called,
    Returned: _returned,
    Judged: _judged,
    Replied: _replied,
    Failed: _failed,
    Ended: _ended,
    Remark: _remark,
}


def plain(lines: Iterable[Line]) -> str:
    """The lines as bare text, for tests and for copying."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
