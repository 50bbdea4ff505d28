"""How answers were generated: their tokens with likelihoods, their raw text, and where the time went."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import NamedTuple

from rich.cells import set_cell_size

from rig.displays.signs import ELLIPSIS
from rig.errors import counted
from rig.events import Speed
from rig.models import Prediction, Usage
from tui.stored.record import Record, StepRecord
from tui.text.lines import Span, Tint, fit, inert, inert_line
from tui.text.page_writer import FULL, PageWriter

MOST = 1_000
"""Tokens of a step that are shown."""

ALL = 10_000
"""And when all are asked for."""

_BAR = 10
_UNLIKELY = 0.5
"""Below this a chosen token was less likely than all others together."""


class GeneratedToken(NamedTuple):
    """A generated token. `text` is what it completed of the raw text, None if that was not stored.

    `logprob` is of the distribution that the grammar left, None if none was stored.
    """

    number: int
    id: int
    text: str | None
    logprob: float | None
    forced: bool

    @property
    def probability(self) -> float | None:
        """Between 0 and 1."""
        return None if self.logprob is None else math.exp(min(self.logprob, 0.0))


def tokens_of(prediction: Prediction) -> Iterator[GeneratedToken]:
    """The tokens of a prediction, as far as they were stored."""
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
    """The tokens of a step, a line each, below the text that they make."""
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
        page.note("which these are, and the characters of each, is not stored: the run is of an older rig")
    else:
        page.gap()
        # A span for each run of tokens that looks the same.
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
    """A line for each step: how many tokens, how many of them forced, the least likely one chosen."""
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
    """The raw text of a step, whole, with its line breaks; why it ended."""
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
    """Each turn: its seconds in all, in the model, in tools, in scoring."""
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
    """Each prediction: tokens of prompt and answer, and the seconds that they took."""
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
