"""What happened: a step, a turn or a conversation with its words, calls, responses, verdicts and faults."""

from collections import Counter

from rig.metrics import Part
from rig.rescore import Effects
from rig.verdicts import Difference, Verdict
from tui.live.transcript import shown
from tui.stored.outline import sign_of, sign_of_verdict
from tui.stored.pages.world import write_effect
from tui.stored.record import Record, StepRecord
from tui.text.lines import Span, Tint
from tui.text.page_writer import PageWriter

NOTHING: Span = ("", Tint.PLAIN)


def write_conversation(page: PageWriter, record: Record) -> None:
    """Where and when it plays, how it went, what went wrong in it."""
    conversation, counts = record.transcript.conversation, record.transcript.counts
    metadata = conversation.metadata
    page.title(conversation.name or record.where.conversation)
    page.words(("when", Tint.MUTED), f"{metadata.timestamp}, {metadata.location}")
    page.words(("user", Tint.MUTED), metadata.username or "nobody is logged in")
    page.words(("arm", Tint.MUTED), record.name_of(record.where))
    done = len(record.transcript.turns)
    if done < len(record.turns):
        page.note(f"{done} of {len(record.turns)} turns are played")
    if counts is not None:
        sign, tint = sign_of(record)
        declaration = record.transcript.declaration
        how = "success" if declaration.succeeded(counts) else "failed"
        beside: Span = (f"{sign} {how}", tint)
        page.gap()
        for part in declaration.outcome or (Part("", ""),):
            if beside is not NOTHING or part.text(counts):
                is_fault = part.better == "lower"
                page.beside(beside, [(part.text(counts), Tint.FAILURE if is_fault else Tint.PLAIN)])
                beside = NOTHING
    _write_faults(page, record, None)


def write_turn(page: PageWriter, record: Record, turn: int, effects: Effects | None) -> None:
    """What was said, what the model did, and what it should have done."""
    number = record.turns.index(turn) + 1
    page.title(f"turn {number} of {len(record.turns)}")
    _write_said(page, record, turn)
    steps = record.steps(turn)
    if not steps:
        page.note("not played yet")
    for step in steps:
        page.gap()
        write_step(page, step, effects)
    _write_faults(page, record, turn)
    write_truth(page, record, turn)


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
    prediction = step.prediction
    if prediction.error is not None:
        page.beside(("! error", Tint.ERROR), [(str(prediction.error), Tint.ERROR)])
        if prediction.error_detail:
            page.words(NOTHING, prediction.error_detail)
        if prediction.raw:
            page.words(("raw", Tint.MUTED), prediction.raw, Tint.MUTED)
        return
    if prediction.reply is not None:
        page.words(("reply", Tint.USER), prediction.reply)
        return
    if prediction.call is not None:
        page.arguments(("call", Tint.CALL), prediction.call.name, shown(prediction.call))
    if step.executed is not None:
        outcome = step.executed.outcome
        if outcome.exception is not None:
            page.words(("refused", Tint.FAILURE), outcome.exception, Tint.FAILURE)
        else:
            page.value(("response", Tint.MUTED), outcome.response)
    if step.verdict is not None:
        _write_verdict(page, step, step.verdict)
    if effects is not None and (step.turn, step.step) in effects.by_call:
        write_effect(page, effects.by_call[step.turn, step.step])


def write_truth(page: PageWriter, record: Record, turn: int) -> None:
    """The calls that the turn should have had, and the reply of the ground truth."""
    truth = record.transcript.conversation.turns[turn]
    matched, is_played = record.matched, turn in record.transcript.turns
    page.title("expected")
    for number, executed in enumerate(truth.calls):
        if (turn, number) in matched:
            label: Span = ("[+] made", Tint.SUCCESS)
        else:
            label = (" x  missed", Tint.FAILURE) if is_played else ("[ ] open", Tint.MUTED)
        page.arguments(label, executed.name, shown(executed.call))
        if executed.outcome.exception is not None:
            page.words(("refused", Tint.MUTED), executed.outcome.exception, Tint.MUTED)
        else:
            page.value(("response", Tint.MUTED), executed.outcome.response)
    page.words(("reply", Tint.MUTED), truth.text, Tint.MUTED)


def _write_said(page: PageWriter, record: Record, turn: int) -> None:
    turns = record.transcript.conversation.turns
    first = turn
    while first and turns[first - 1].role == "user":
        first -= 1
    for each in turns[first:turn]:
        page.words(("user", Tint.USER), each.text, Tint.STRONG)


def _write_verdict(page: PageWriter, step: StepRecord, verdict: Verdict) -> None:
    sign, tint = sign_of_verdict(verdict)
    if verdict.match:
        turn, call = verdict.ground_truth or (step.turn, 0)
        where = "" if turn == step.turn else " of another turn"
        page.beside((f"{sign} match", tint), [(f"expected call {call + 1}{where}", Tint.MUTED)])
        return
    label: Span = ("x no match", Tint.FAILURE)
    if verdict.bad_action:
        page.beside(label, [(" INCORRECT ACTION ", Tint.ALARM), (" it was carried out", Tint.FAILURE)])
        label = NOTHING
    for difference in verdict.differences:
        if difference.what == "exception" and difference.expected is None:
            page.beside(label, [("the call failed; it should have succeeded", Tint.PLAIN)])
        else:
            _write_difference(page, label, difference)
        label = NOTHING
    if not verdict.differences:
        page.words(label, verdict.reason or "no expected call")


def _write_difference(page: PageWriter, label: Span, difference: Difference) -> None:
    spans = page.text(difference.what, Tint.KEY)
    if difference.note is not None:
        spans += page.text(f"  {difference.note}", Tint.MUTED)
    elif difference.similarity is not None:
        needed = "" if difference.threshold is None else f", needs {difference.threshold:.2f}"
        spans.append((f"  similarity {difference.similarity:.2f}{needed}", Tint.MUTED))
    page.beside(label, spans)
    page.beside(NOTHING, [("expected ", Tint.MUTED), *page.json(difference.expected)], 2)
    page.beside(NOTHING, [("got      ", Tint.MUTED), *page.json(difference.got)], 2)


def _write_faults(page: PageWriter, record: Record, turn: int | None) -> None:
    """What went wrong, in kinds a user can act on: in a turn, or in all."""
    faults = [fault for fault in record.transcript.faults if turn is None or fault.turn == turn]
    if not faults:
        return
    page.title("what went wrong")
    numbers = {position: number for number, position in enumerate(record.turns, 1)}
    counted = Counter((fault.turn, fault.kind, fault.text) for fault in faults)
    for (position, kind, text), times in counted.items():
        label = f"turn {numbers.get(position, '?')}" if turn is None else "fault"
        often: Span = (f", {times} times" if times > 1 else "", Tint.MUTED)
        page.beside((label, Tint.MUTED), [(str(kind), Tint.ERROR), often])
        page.words(NOTHING, text)
