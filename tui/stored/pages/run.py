"""A stored run in short: what was run, and the same numbers as `rig show`."""

from rig.calls import Json
from rig.displays.numbers import clock_time, out_of
from rig.displays.pages.summary import summary
from rig.store import StoredRun
from tui.text.inert import inert_line
from tui.text.lines import Tint, fit
from tui.text.page_writer import PageWriter

_SETTINGS = (
    "suite",
    "conversations",
    "world",
    "only",
    "limit",
    "docs",
    "tools",
    "history",
    "temperature",
    "seed",
    "repeats",
    "max_calls",
    "max_tokens",
    "grader",
)


def write_run(page: PageWriter, run: StoredRun) -> None:
    """The run's settings and its summary."""
    page.title(f"run {run.id}", (f"  {inert_line(run.name or '')}", Tint.STRONG))
    took = sum(arm.speed.wall_s for arm in run.arms)
    state = f"{run.state}, {out_of(run.turns_done, run.turns, between=' of ')} turns in {clock_time(took)}"
    page.words(("state", Tint.MUTED), state)
    if run.state == "interrupted":
        page.words(("", Tint.MUTED), "resume it with r, or with rig run --resume", Tint.ERROR)
    settings = [
        f"{name} {_plain(run.settings[name])}"
        for name in _SETTINGS
        if run.settings.get(name) not in (None, [], ())
    ]
    if settings:
        page.words(("settings", Tint.MUTED), ", ".join(settings))
    page.gap()
    for line in summary(run, page.width - 1).splitlines():
        page.lines.append(fit([(f" {inert_line(line)}", Tint.PLAIN)], page.width))


def _plain(value: Json) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
