"""The table that ends a run and begins `rig show`: a column for each arm."""

import shlex
from collections.abc import Callable

from rig.displays.numbers import clock_time, percent, rate
from rig.paths import runs_file
from rig.store import StoredArm, StoredRun

_ROWS: tuple[tuple[str, Callable[[StoredArm], str]], ...] = (
    ("conversations", lambda arm: str(arm.metrics.conversations)),
    ("success", lambda arm: percent(arm.metrics.success_rate)),
    ("soft success", lambda arm: percent(arm.metrics.soft_success)),
    ("recall", lambda arm: percent(arm.metrics.recall)),
    ("precision", lambda arm: percent(arm.metrics.precision)),
    ("incorrect actions", lambda arm: percent(arm.metrics.incorrect_action_rate)),
    ("calls predicted", lambda arm: str(arm.metrics.predictions)),
    ("calls wanted", lambda arm: str(arm.metrics.ground_truths)),
    ("failed steps", lambda arm: str(sum(arm.errors.values()))),
)
_SPEED: tuple[tuple[str, Callable[[StoredArm], str]], ...] = (
    ("prompt from cache", lambda arm: percent(arm.speed.cached_share)),
    ("prefill tok/s", lambda arm: rate(arm.speed.prefill_rate)),
    ("decode tok/s", lambda arm: rate(arm.speed.decode_rate)),
    ("time", lambda arm: clock_time(arm.speed.wall_s)),
)


def summary(run: StoredRun) -> str:
    """Rates, counts, errors by kind and speed; then what failed, in words."""
    kinds = sorted({kind for arm in run.arms for kind in arm.errors})
    rows = [("", [arm.name for arm in run.arms])]
    rows += [(label, [cell(arm) for arm in run.arms]) for label, cell in _ROWS]
    rows += [(f"  {kind}", [str(arm.errors.get(kind, 0)) for arm in run.arms]) for kind in kinds]
    rows += [(label, [cell(arm) for arm in run.arms]) for label, cell in _SPEED]
    width = max(len(label) for label, _ in rows)
    widths = [max(len(cells[column]) for _, cells in rows) for column in range(len(run.arms))]
    lines = [
        "  ".join([label.ljust(width), *(cell.rjust(w) for cell, w in zip(cells, widths, strict=True))])
        for label, cells in rows
    ]
    lines += [f"{arm.name} failed: {arm.failure}" for arm in run.arms if arm.failure]
    return "\n".join(lines)


def whereabouts(run: StoredRun, store: str) -> str:
    """Where a run is stored and the commands that go on from here."""
    runs = "" if store == str(runs_file()) else f" --runs {shlex.quote(store)}"
    lines = [f"run {run.id} is stored in {store}", f"  rig show {run.id}{runs}"]
    if run.state != "finished":
        lines.append(f"  rig run --resume {run.id}{runs}  ({run.turns - run.turns_done} turns are left)")
    return "\n".join(lines)
