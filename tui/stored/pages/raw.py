"""The text as it was generated, before rig read it."""

from rig.displays.signs import ELLIPSIS
from rig.people.words import counted
from tui.stored.record import StepRecord
from tui.text.inert import inert, inert_line
from tui.text.lines import Tint, fit
from tui.text.page_writer import FULL, PageWriter


def write_raw(page: PageWriter, step: StepRecord, *, with_title: bool = False) -> None:
    """The raw text of a step, whole, with its line breaks; why it ended."""
    prediction = step.prediction
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
