"""What happened: words, calls, responses, verdicts, faults and effects, of a step, a turn or all."""

from collections import Counter
from collections.abc import Sequence

from rig.displays import signs
from rig.displays.steps import Called, Failed, Lengths, Replied, Returned, TurnHeading, expected, matched
from rig.errors import counted
from rig.events import Where
from rig.rescore.reexecute import Effect, Effects
from tui.stored.record import Record, StepRecord
from tui.text.lines import Line, Span, Tint, columns_in_sight, fit, inert_line, side_by_side
from tui.text.page_writer import PageWriter, json_spans, verdict_lines, word_spans

_KINDS: dict[str, Span] = {
    "added": ("+ added", Tint.SUCCESS),
    "changed": ("~ changed", Tint.ERROR),
    "removed": ("- removed", Tint.FAILURE),
}


def write_world(page: PageWriter, steps: Sequence[StepRecord], effects: Effects) -> None:
    """The effects of each call of these steps, with the simulator's own state."""
    if effects.other_world:
        page.note(
            "the world is not the one this run was made in; this is what its calls do there", Tint.ERROR
        )
    calls = [step for step in steps if step.place in effects.by_call]
    if not calls:
        page.gap()
        page.note("no call was executed here")
    for step in calls:
        page.title(f"step {step.step + 1}", (f"  {inert_line(step.words)}", Tint.CALL))
        write_effect(page, effects.by_call[step.place], with_bookkeeping=True)


def write_effect(page: PageWriter, effect: Effect, *, with_bookkeeping: bool = False) -> None:
    """What one call did. The simulator's own state: its clock, who is logged in, ids drawn."""
    changes = [change for change in effect.diff.changes if with_bookkeeping or not change.is_bookkeeping]
    if all(change.is_bookkeeping for change in changes):
        page.beside(("world", Tint.MUTED), [("no record changed", Tint.MUTED)])
    for change in changes:
        own = change.is_bookkeeping
        word, tint = _KINDS[change.kind]
        table = f"{change.table} (the simulator's own)" if own else change.table
        key = [span for _, value in change.key for span in ((" ", Tint.PLAIN), *page.json(value))]
        heading: Span = (table, Tint.MUTED if own else Tint.STRONG)
        page.beside((word, Tint.MUTED if own else tint), [heading, *key])
        for column in change.columns:
            spans = page.json(column.after if change.kind == "added" else column.before)
            if change.kind == "changed":
                spans += [(" -> ", Tint.STRONG), *page.json(column.after)]
            name = page.text(column.name, Tint.KEY)
            page.beside(("", Tint.PLAIN), [*name, ("  ", Tint.PLAIN), *spans], 2)
    if effect.diff.omitted:
        page.note(f"and {counted(effect.diff.omitted, 'more record')}")
    if effect.differs:
        page.note("executed again, this call gives a different response from the stored one", Tint.ERROR)


NOTHING: Span = ("", Tint.PLAIN)


def write_conversation(page: PageWriter, record: Record) -> None:
    """Where and when it plays, how it went, what went wrong in it."""
    conversation = record.transcript.conversation
    page.title(conversation.name or record.where.conversation)
    for name, fact in conversation.facts.items():
        page.words((name, Tint.MUTED), fact)
    page.words(("arm", Tint.MUTED), record.name_of(record.where))
    done = len(record.transcript.turns)
    if done < len(record.turns):
        page.note(f"{done} of {len(record.turns)} turns are played")
    if record.ended is not None:
        page.gap()
        page.words(record.ended.sign, record.ended.text)
    _write_faults(page, record, None)


def write_turn(page: PageWriter, record: Record, turn: int, effects: Effects | None) -> None:
    """What was said, what the model did, and what it should have done."""
    number = record.turns.index(turn) + 1
    page.title(TurnHeading(turn, number).text(len(record.turns)))
    _write_said(page, record, turn)
    _write_steps(page, record, turn, effects)
    _write_faults(page, record, turn)
    write_truth(page, record, turn)


def _write_steps(page: PageWriter, record: Record, turn: int, effects: Effects | None) -> None:
    steps = record.steps(turn)
    if not steps:
        page.gap()
        page.note("not played yet")
    for step in steps:
        page.gap()
        write_step(page, step, effects)


def write_step_page(page: PageWriter, record: Record, step: StepRecord, effects: Effects | None) -> None:
    """A step with what was said before it, and what the turn should have been."""
    number = record.turns.index(step.turn) + 1
    steps = len(record.steps(step.turn))
    page.title(f"turn {number} of {len(record.turns)}, step {step.step + 1} of {steps}")
    if not step.step:
        _write_said(page, record, step.turn)
        page.gap()
    write_step(page, step, effects)
    write_truth(page, record, step.turn)


def write_step(page: PageWriter, step: StepRecord, effects: Effects | None) -> None:
    """A call with its response, its verdict and what it did to the world; a reply; or an error."""
    view = step.view(page.limit)
    if view.back is not None:
        page.words(view.back.sign, view.back.text, Tint.MUTED)
    if view.thought is not None:
        page.words(view.thought.sign, view.thought.text, Tint.MUTED)
    match view.made:
        case Called():
            page.call(view.made.sign, view.made)
        case Replied():
            page.words(view.made.sign, view.made.text)
        case Failed():
            page.beside(view.made.sign, [(inert_line(view.made.why), Tint.ERROR)])
            if view.raw.text:
                page.words(("raw", Tint.MUTED), view.raw, Tint.MUTED)
    if view.returned is not None:
        _write_returned(page, view.returned, Tint(view.returned.sign.tint))
    if view.judged is not None:
        page.lines_beside(view.judged.sign, verdict_lines(view.judged, page.room()))
    if effects is not None and step.place in effects.by_call:
        write_effect(page, effects.by_call[step.place])


def write_truth(page: PageWriter, record: Record, turn: int) -> None:
    """The calls that the turn should have had, and the reply of the ground truth, where there is any."""
    truth = record.transcript.conversation.expected(turn)
    if not (truth.calls or truth.reply):
        return
    page.title("expected")
    matches, is_played = matched(record.transcript), turn in record.transcript.turns
    for number, executed in enumerate(truth.calls):
        call, result, _ = expected(turn, number, executed, Lengths.of(page.limit))
        page.call(signs.due(made=(turn, number) in matches, over=is_played), call)
        _write_returned(page, result, Tint.MUTED)
    page.words(signs.REPLY._replace(tint=Tint.MUTED), truth.reply, Tint.MUTED)


def _write_returned(page: PageWriter, returned: Returned, tint: Tint) -> None:
    label, text = returned.sign._replace(tint=tint), returned.text
    page.beside(label, word_spans(text, tint) if returned.failed else json_spans(text))


def _write_said(page: PageWriter, record: Record, turn: int) -> None:
    for text in record.transcript.conversation.expected(turn).said:
        page.words(signs.USER, text, Tint.STRONG)


def _write_faults(page: PageWriter, record: Record, turn: int | None) -> None:
    """What went wrong, in kinds a user can act on: in a turn, or in all."""
    faults = (fault for fault in record.transcript.faults if turn is None or fault.turn == turn)
    counted = Counter((fault.turn, fault.kind, fault.text) for fault in faults)
    if counted:
        page.title("what went wrong")
    numbers = {position: number for number, position in enumerate(record.turns, 1)}
    for (position, kind, text), times in counted.items():
        label = f"turn {numbers.get(position, '?')}" if turn is None else "fault"
        often: Span = (f", {times} times" if times > 1 else "", Tint.MUTED)
        page.beside((label, Tint.MUTED), [(str(kind), Tint.ERROR), often])
        page.words(NOTHING, text)


def write_arms(page: PageWriter, records: Sequence[Record], here: Where, turn: int | None) -> None:
    """Columns for as many arms as fit, that of the reader among them."""
    if turn is not None:
        turns = records[0].turns
        page.title(f"turn {turns.index(turn) + 1} of {len(turns)}")
    place = next((number for number, record in enumerate(records) if record.where == here), 0)
    visible, room = columns_in_sight(len(records), place, page.width)
    columns = [_column(records[n], turn, room, full=page.full, is_read=n == place) for n in visible]
    page.lines += side_by_side(columns, room)
    if len(visible) < len(records):
        page.gap()
        page.note(f"{len(visible)} of {len(records)} arms fit here; move to another to see it")


def _column(record: Record, turn: int | None, width: int, *, full: bool, is_read: bool) -> list[Line]:
    page = PageWriter(width, full=full)
    name: Span = (inert_line(record.name_of(record.where)), Tint.STRONG if is_read else Tint.PLAIN)
    sign = record.sign
    page.lines.append(fit([(f" {sign.sign} ", Tint(sign.tint)), name], width))
    if turn is None:
        write_conversation(page, record)
    else:
        _write_steps(page, record, turn, None)
    return page.lines
