"""The arms of a run: how far each is, how its conversations went, and its numbers."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from textual import events

from rig.displays.numbers import measured, rate
from rig.displays.progress import NOT_EVALUATED
from rig.displays.signs import CURSOR
from rig.metrics import Declaration
from tui.live.glyphs import IN_ORDER, cell
from tui.live.state import ArmState, ConversationState, RunState
from tui.text.bars import bar
from tui.text.inert import inert_line
from tui.text.lines import Line, Span, Tint, fit, width_of
from tui.widgets.lines import Lines
from tui.widgets.messages import ArmPicked

_NAME = 30


class _Known(NamedTuple):
    arm: ArmState
    cells: tuple[tuple[Span, int], ...]
    over: int
    all: int


class Arms(Lines):
    """One line for each arm; nothing for a run of a single one."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[object, ...] = ()

    def show_arms(self, state: RunState, reading: int) -> None:
        """Bring the lines up to date, with a mark at the arm of the conversation that is read."""
        if not self.size.width or len(state.arms) < 2:
            return
        numbers = [(arm.rated, arm.speed, arm.failure, arm.evidence, arm.info.name) for arm in state.arms]
        version = (self.size.width, reading, state.changes, numbers)
        if version == self._shown:
            return
        self._shown = version
        cells: list[list[ConversationState]] = [[] for _ in state.arms]
        for where, conversation in state.conversations.items():
            if where.arm < len(cells):
                cells[where.arm].append(conversation)
        rows = [_known(arm, conversations) for arm, conversations in zip(state.arms, cells, strict=True)]
        names = min(max(len(inert_line(arm.info.name)) for arm in state.arms), _NAME, self.size.width // 3)
        self.show(
            [
                _line(row, state.declaration, n, names, n == reading, self.size.width)
                for n, row in enumerate(rows)
            ]
        )
        self.bring_into_sight(reading, reading)

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number < len(self.lines):
            self.post_message(ArmPicked(number))


def _known(arm: ArmState, conversations: Sequence[ConversationState]) -> _Known:
    counts = Counter(cell(conversation) for conversation in conversations)
    order = [sign.sign for sign in IN_ORDER]
    kinds = sorted(counts.items(), key=lambda kind: order.index(kind[0][0]))
    over = sum(conversation.status.over for conversation in conversations)
    return _Known(arm, tuple(kinds), over, len(conversations))


def _line(row: _Known, declaration: Declaration, number: int, names: int, is_read: bool, width: int) -> Line:
    arm = row.arm
    name = fit([(inert_line(arm.info.name), Tint.STRONG if is_read else Tint.PLAIN)], names)
    head: list[Span] = [
        (str(CURSOR) if is_read else " ", Tint.RUNNING),
        (f"{number + 1} ", Tint.MUTED),
        *name,
        (" " * (names - width_of(name) + 1), Tint.PLAIN),
    ]
    done = f" {row.over:>{len(str(row.all))}}/{row.all}"
    tail: list[Span] = [(done, Tint.STRONG)]
    size = min(max(width // 5, 10), row.all)
    if arm.failure is not None:
        tail.append((f"  {inert_line(arm.failure)}", Tint.ERROR))
    elif not arm.evaluated:
        tail.append((f"  {NOT_EVALUATED}", Tint.ERROR))
    else:
        if arm.evidence:
            tail.append((f"  {inert_line(arm.evidence)}", Tint.STRONG))
        tail += _numbers(arm, declaration, width - width_of(head) - width_of(tail) - size)
    return (*head, *bar(row.cells, size), *fit(tail, width - width_of(head) - size - 1))


def _numbers(arm: ArmState, declaration: Declaration, room: int) -> list[Span]:
    """Rates and speed, as far as there is room."""
    if arm.rated is None:
        return []
    spans: list[Span] = []
    for label, value in (
        *((metric.title, measured(metric, arm.rated)) for metric in declaration.shown("lines")),
        ("tok/s", rate(arm.speed.decode_rate if arm.speed else None)),
    ):
        part: list[Span] = [(f"  {label} ", Tint.MUTED), (f"{value:>6}", Tint.STRONG)]
        if width_of([*spans, *part]) < room:
            spans += part
    return spans
