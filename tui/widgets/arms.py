"""The arms of a run: how far each is, how its conversations went, and its numbers."""

from collections import Counter
from collections.abc import Sequence

from textual import events

from rig.displays.progress import NOT_EVALUATED
from rig.displays.signs import CURSOR
from rig.displays.texts import measured, rate
from rig.metrics import Declaration
from tui.live.glyphs import IN_ORDER, cell
from tui.live.state import ArmState, ConversationState, RunState
from tui.text.bars import bar
from tui.text.lines import Line, Span, Tint, fit, inert_line, pad, width_of
from tui.widgets.lines import Lines
from tui.widgets.messages import ArmPicked

_NAME = 30


class Arms(Lines):
    """One line for each arm; nothing for a run of a single one."""

    def show_arms(self, state: RunState, reading: int) -> None:
        """Bring the lines up to date, with a mark at the arm of the conversation that is read."""
        numbers = [(arm.rated, arm.speed, arm.failure, arm.evidence, arm.info.name) for arm in state.arms]
        if len(state.arms) < 2 or not self.is_new(reading, state.changes, numbers):
            return
        cells: list[list[ConversationState]] = [[] for _ in state.arms]
        for where, conversation in state.conversations.items():
            if where.arm < len(cells):
                cells[where.arm].append(conversation)
        width = self.size.width
        names = min(max(len(inert_line(arm.info.name)) for arm in state.arms), _NAME, width // 3)
        lines = []
        for number, arm in enumerate(state.arms):
            name: Span = (inert_line(arm.info.name), Tint.STRONG if number == reading else Tint.PLAIN)
            head: list[Span] = [
                (str(CURSOR) if number == reading else " ", Tint.RUNNING),
                (f"{number + 1} ", Tint.MUTED),
                *pad(fit([name], names), names + 1),
            ]
            room = width - width_of(head)
            lines.append((*head, *_state(arm, cells[number], state.declaration, width, room)))
        self.show(lines)
        self.bring_into_sight(reading, reading)

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number < len(self.lines):
            self.post_message(ArmPicked(number))


def _state(
    arm: ArmState, conversations: Sequence[ConversationState], declaration: Declaration, width: int, room: int
) -> Line:
    """How an arm's conversations went and how far it is; then why it failed, or its numbers."""
    order = [sign.sign for sign in IN_ORDER]
    counts = Counter(cell(conversation) for conversation in conversations)
    kinds = sorted(counts.items(), key=lambda kind: order.index(kind[0][0]))
    over, of = sum(conversation.status.over for conversation in conversations), len(conversations)
    size = min(max(width // 5, 10), of)
    tail: list[Span] = [(f" {over:>{len(str(of))}}/{of}", Tint.STRONG)]
    if arm.failure is not None or not arm.evaluated:
        tail.append((f"  {NOT_EVALUATED if arm.failure is None else inert_line(arm.failure)}", Tint.ERROR))
    else:
        if arm.evidence:
            tail.append((f"  {inert_line(arm.evidence)}", Tint.STRONG))
        tail += _numbers(arm, declaration, room - width_of(tail) - size)
    return (*bar(kinds, size), *fit(tail, room - size - 1))


def _numbers(arm: ArmState, declaration: Declaration, room: int) -> list[Span]:
    """Rates and speed, as far as there is room."""
    if arm.rated is None:
        return []
    spans: list[Span] = []
    rates = [(metric.title, measured(metric, arm.rated)) for metric in declaration.shown("lines")]
    for label, value in (*rates, ("tok/s", rate(arm.speed.decode_rate if arm.speed else None))):
        part: list[Span] = [(f"  {label} ", Tint.MUTED), (f"{value:>6}", Tint.STRONG)]
        if width_of([*spans, *part]) < room:
            spans += part
    return spans
