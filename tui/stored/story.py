"""Pages on a step, a turn or a conversation: words, calls, responses, verdicts, faults and effects.

Others show how answers were generated: their tokens with likelihoods, their raw text, and their times.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import NamedTuple

from rich.cells import set_cell_size

from rig.core.errors import counted
from rig.core.events import Speed, Where
from rig.core.models import Prediction, Usage
from rig.plugins.matching.worlds import Effect, Effects
from rig.show import signs
from rig.show.signs import ELLIPSIS
from rig.show.steps import Called, Failed, Replied, Returned, StepView
from rig.show.story import StoryTurn
from tui.stored.record import Record, StepRecord
from tui.text.lines import Line, Span, Tint, columns_in_sight, fit, inert, inert_line, side_by_side
from tui.text.page_writer import FULL, PageWriter, json_spans, verdict_lines, word_spans

_KINDS: dict[str, Span] = {
    "added": ("+ added", Tint.SUCCESS),
    "changed": ("~ changed", Tint.ERROR),
    "removed": ("- removed", Tint.FAILURE),
}


def write_world(page: PageWriter, steps: Sequence[StepRecord], effects: Effects) -> None:
    """Write the effects of each call of these steps, including the simulator's internal state."""
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
    """Write the effects of one call.

    `with_bookkeeping` includes the simulator's internal state: its clock, who is logged in, and ids drawn.
    """
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


def write_conversation(page: PageWriter, record: Record) -> None:
    """Write the facts of a conversation, how it ended, and what went wrong in it."""
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


def write_turn(page: PageWriter, record: Record, position: int, effects: Effects | None) -> None:
    """Write what was said in a turn, what the model did, and what it should have done."""
    turn = record.story(position, page.limit)
    page.title(turn.heading.text(len(record.turns)))
    _write_said(page, turn)
    _write_steps(page, turn, effects)
    _write_faults(page, record, position)
    write_truth(page, turn)


def _write_steps(page: PageWriter, turn: StoryTurn, effects: Effects | None) -> None:
    if not turn.steps:
        page.gap()
        page.note("not played yet")
    for view, _ in turn.outline or [(view, "") for view in turn.steps]:
        page.gap()
        write_step(page, view, effects)


def write_step_page(page: PageWriter, record: Record, step: StepRecord, effects: Effects | None) -> None:
    """Write a step, before it what was said if it is the turn's first, and after it the ground truth."""
    turn = record.story(step.turn, page.limit)
    page.title(f"{turn.heading.text(len(record.turns))}, step {step.step + 1} of {len(turn.steps)}")
    if not step.step:
        _write_said(page, turn)
        page.gap()
    write_step(page, turn.steps[step.step], effects)
    write_truth(page, turn)


def write_step(page: PageWriter, view: StepView, effects: Effects | None) -> None:
    """Write a reply, an error, or a call with its response, its verdict and its effects on the world."""
    if view.back is not None:
        page.words(view.back.sign, view.back.text, Tint.MUTED)
    if view.thought is not None:
        page.words(view.thought.sign, view.thought.text, Tint.MUTED)
    match view.made:
        case Called():
            page.call(view.made.sign, view.made)
        case Replied():
            page.words(view.made.sign, view.made.text)
            page.form(view.made.form)
        case Failed():
            page.beside(view.made.sign, [(inert_line(view.made.why), Tint.ERROR)])
            if view.raw.text:
                page.words(("raw", Tint.MUTED), view.raw, Tint.MUTED)
    if view.returned is not None:
        _write_returned(page, view.returned, Tint(view.returned.sign.tint))
    if view.judged is not None:
        page.lines_beside(view.judged.sign, verdict_lines(view.judged, page.room()))
    if effects is not None and view.place in effects.by_call:
        write_effect(page, effects.by_call[view.place])


def write_truth(page: PageWriter, turn: StoryTurn) -> None:
    """Write the calls and the reply of the turn's ground truth, nothing if it has neither."""
    if not (turn.due or turn.reply):
        return
    page.title("expected")
    for due in turn.due:
        page.call(due.sign(over=turn.is_played and turn.is_paired), due.call)
        if due.returned is not None:
            _write_returned(page, due.returned, Tint.MUTED)
    page.words(signs.REPLY._replace(tint=Tint.MUTED), turn.reply, Tint.MUTED)


def _write_returned(page: PageWriter, returned: Returned, tint: Tint) -> None:
    label, text = returned.sign._replace(tint=tint), returned.text
    page.beside(label, word_spans(text, tint) if returned.failed else json_spans(text))


def _write_said(page: PageWriter, turn: StoryTurn) -> None:
    for text in turn.said:
        page.words(signs.USER, text, Tint.STRONG)


def _write_faults(page: PageWriter, record: Record, turn: int | None) -> None:
    """Write the faults of a turn, or of all turns, in kinds that a user can act on."""
    faults = (fault for fault in record.transcript.faults if turn is None or fault.turn == turn)
    counted = Counter((fault.turn, fault.kind, fault.text) for fault in faults)
    if counted:
        page.title("what went wrong")
    numbers = {position: number for number, position in enumerate(record.turns, 1)}
    for (position, kind, text), times in counted.items():
        label = f"turn {numbers.get(position, '?')}" if turn is None else "fault"
        often: Span = (f", {times} times" if times > 1 else "", Tint.MUTED)
        page.beside((label, Tint.MUTED), [(str(kind), Tint.ERROR), often])
        page.words(("", Tint.PLAIN), text)


def write_arms(page: PageWriter, records: Sequence[Record], here: Where, turn: int | None) -> None:
    """Write a column for each arm, as many as fit, including the reader's arm."""
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
    page.lines.append(fit([(f" {sign.glyph} ", Tint(sign.tint)), name], width))
    if turn is None:
        write_conversation(page, record)
    else:
        _write_steps(page, record.story(turn, page.limit), None)
    return page.lines


MOST = 1_000
"""The most tokens of a step that are shown by default."""

ALL = 10_000
"""The most tokens of a step that are shown in full."""

_BAR = 10
_UNLIKELY = 0.5
"""The probability below which a chosen token was less likely than all others together."""


class GeneratedToken(NamedTuple):
    """A generated token. `text` is the part of the raw text that it completed, None if that was not stored.

    `logprob` is its log probability among the tokens that the grammar allowed, None if none was stored.
    """

    number: int
    id: int
    text: str | None
    logprob: float | None
    forced: bool

    @property
    def probability(self) -> float | None:
        """Its probability between 0 and 1, None if it was not stored."""
        return None if self.logprob is None else math.exp(min(self.logprob, 0.0))


def tokens_of(prediction: Prediction) -> Iterator[GeneratedToken]:
    """Yield the stored tokens of a prediction."""
    ids = prediction.token_ids
    has_text = len(prediction.token_chars) == len(ids)
    has_forced = len(prediction.token_forced) == len(ids)
    has_logprob = len(prediction.logprobs) == len(ids)
    start = 0
    for number, token in enumerate(ids):
        end = start + (prediction.token_chars[number] if has_text else 0)
        yield GeneratedToken(
            number,
            token,
            prediction.raw[start:end] if has_text else None,
            prediction.logprobs[number] if has_logprob else None,
            has_forced and prediction.token_forced[number],
        )
        start = end


def write_tokens(page: PageWriter, step: StepRecord) -> None:
    """Write the text of a step, and below it a line for each of its tokens."""
    prediction = step.made.prediction
    tokens = list(tokens_of(prediction))
    if not tokens:
        page.gap()
        page.note("no tokens are stored: what made this prediction generates none")
        return
    visible = tokens[: ALL if page.full else MOST]
    forced = prediction.usage.forced_tokens
    page.title(counted(len(tokens), "token"), (f"  {forced} forced by the grammar", Tint.MUTED))
    if len(prediction.token_forced) != len(tokens):
        page.note("which these are, and the characters of each, is not stored")
    else:
        page.gap()
        # A span for each run of tokens with the same tint.
        runs = groupby(visible, key=_tint)
        text = [("".join(inert_line(token.text or "") for token in run), tint) for tint, run in runs]
        page.beside(("text", Tint.MUTED), text)
        legend = [("forced", Tint.MUTED), (", chosen, ", Tint.PLAIN), ("chosen below 50%", Tint.ERROR)]
        page.beside(("", Tint.MUTED), legend)
    page.gap()
    for token in visible:
        page.lines.append(fit([(" ", Tint.PLAIN), *_line(token, page.width)], page.width))
    if len(visible) < len(tokens):
        page.note(f"{ELLIPSIS} {counted(len(tokens) - len(visible), 'more token')}")


def write_token_counts(page: PageWriter, steps: Sequence[StepRecord]) -> None:
    """Write a line for each step: its tokens, how many were forced, and the least likely chosen one."""
    page.title("tokens of each step")
    rows: list[list[Span]] = []
    room = min(max(page.width - 42, 8), 30)
    for step in steps:
        tokens = list(tokens_of(step.made.prediction))
        chosen = [token for token in tokens if not token.forced and token.logprob is not None]
        least = min(chosen, key=lambda token: token.logprob or 0.0, default=None)
        name: Span = (set_cell_size(inert_line(step.words), room).rstrip(), Tint.PLAIN)
        counts = (len(tokens), step.made.prediction.usage.forced_tokens)
        share = "-"
        if least is not None:
            text = "" if least.text is None else f" {_quoted(least.text)}"
            share = f"{100 * (least.probability or 0.0):.1f}%{text}"
        rows.append([name, *((str(count), Tint.NUMBER) for count in counts), (share, Tint.PLAIN)])
    page.table(("step", "tokens", "forced", "least likely"), rows)
    page.gap()
    page.note("choose a step to see its tokens one by one")


def _tint(token: GeneratedToken) -> Tint:
    if token.forced:
        return Tint.MUTED
    probability = token.probability
    return Tint.ERROR if probability is not None and probability < _UNLIKELY else Tint.PLAIN


def _line(token: GeneratedToken, width: int) -> list[Span]:
    text = f"#{token.id}" if token.text is None else _quoted(token.text)
    room = 20 if width >= 60 else 14
    spans = fit([(text, _tint(token))], room)
    padding: Span = (" " * (room - sum(len(part) for part, _ in spans)), Tint.PLAIN)
    line: list[Span] = [(f"{token.number + 1:>4}  ", Tint.MUTED), *spans, padding]
    if token.forced:
        line.append(("    grammar", Tint.MUTED))
    elif token.logprob is not None and token.probability is not None:
        full = round(token.probability * _BAR)
        line += [
            (f"{100 * token.probability:>6.1f}% ", _tint(token)),
            (f"{round(token.logprob, 3) + 0.0:>8.3f}  ", Tint.MUTED),
            ("=" * full, _tint(token)),
            ("." * (_BAR - full), Tint.MUTED),
        ]
    return line


def _quoted(text: str) -> str:
    return f'"{inert_line(text)}"' if text else "(part of a character)"


def write_raw(page: PageWriter, step: StepRecord, *, with_title: bool = False) -> None:
    """Write the raw text of a step with its line breaks, and why it ended."""
    prediction = step.made.prediction
    raw = prediction.raw
    title = f"step {step.step + 1}" if with_title else "as generated"
    page.title(title, (f"  {counted(len(raw), 'character')}, ended: {prediction.finish_reason}", Tint.MUTED))
    if with_title:
        page.lines.append(fit([(f" {inert_line(step.words)}", Tint.CALL)], page.width))
    page.gap()
    if not raw:
        page.note("(empty)")
        return
    page.flush([(inert(raw[:FULL]), Tint.PLAIN)])
    if len(raw) > FULL:
        page.note(f"{ELLIPSIS} {counted(len(raw) - FULL, 'more character')}")


def write_times_of_turns(page: PageWriter, record: Record) -> None:
    """Write the seconds of each turn: in all, in the model, in tools, and in scoring."""
    page.title("seconds of each turn")
    rows: list[list[Span]] = []
    for number, turn in enumerate(record.turns, 1):
        played = record.transcript.turns.get(turn)
        if played is None:
            continue
        usages = [step.made.prediction.usage for step in record.steps(turn)]
        model = sum(usage.prefill_s + usage.decode_s for usage in usages)
        seconds = (played.wall_s, model, played.tools_s, played.scoring_s)
        tokens = sum(usage.completion_tokens for usage in usages)
        counts = [(str(len(usages)), Tint.PLAIN), (f"{tokens:,}", Tint.PLAIN)]
        spent = ((f"{value:.3f}", Tint.NUMBER) for value in seconds)
        rows.append([(f"turn {number}", Tint.PLAIN), *spent, *counts])
    page.table(("", "in all", "model", "tools", "scoring", "steps", "tokens"), rows)


def write_times_of_steps(page: PageWriter, record: Record, steps: Sequence[StepRecord]) -> None:
    """Write the tokens of prompt and answer of each prediction, and the seconds that they took."""
    played = record.transcript.turns.get(steps[0].turn) if steps else None
    if played is not None:
        page.title("this turn")
        parts = (("in all", played.wall_s), ("tools", played.tools_s), ("scoring", played.scoring_s))
        for label, seconds in parts:
            page.beside((label, Tint.MUTED), [(f"{seconds:.3f} s", Tint.NUMBER)])
    for step in steps:
        page.title(f"step {step.step + 1}", (f"  {inert_line(step.words)}", Tint.CALL))
        _write_usage(page, step.made.prediction.usage)


def _write_usage(page: PageWriter, usage: Usage) -> None:
    speed = Speed(**asdict(usage), steps=1)
    lines = (
        ("prompt", f"{usage.prompt_tokens:,} tokens, {usage.cached_tokens:,} of them from the cache"),
        ("prefill", f"{usage.prefill_s:.3f} s{_per_second(speed.prefill_rate)}"),
        ("answer", f"{usage.completion_tokens:,} tokens, {usage.forced_tokens:,} of them forced"),
        ("decode", f"{usage.decode_s:.3f} s{_per_second(speed.decode_rate)}"),
        ("grammar", f"{usage.mask_s:.3f} s for its masks"),
        ("1st token", f"after {usage.first_token_s:.3f} s"),
    )
    for label, text in lines:
        page.beside((label, Tint.MUTED), [(text, Tint.PLAIN)])


def _per_second(tokens: float | None) -> str:
    return "" if tokens is None else f", {tokens:,.1f} tokens/s"
