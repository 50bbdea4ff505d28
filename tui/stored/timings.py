"""Where the time went: of a conversation turn by turn, of a turn or a step prediction by prediction."""

from collections.abc import Sequence
from dataclasses import asdict

from rig.events import Speed
from rig.models import Usage
from tui.stored.record import Record, StepRecord
from tui.text.lines import Span, Tint, inert_line
from tui.text.page_writer import PageWriter


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
