"""What calls did to the world: records added, changed and removed, column by column."""

from collections.abc import Sequence

from rig.errors import counted
from rig.rescore.reexecute import Effect, Effects
from tui.stored.record import StepRecord
from tui.text.lines import Span, Tint, inert_line
from tui.text.page_writer import PageWriter

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
