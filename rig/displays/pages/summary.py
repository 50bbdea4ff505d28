"""The table that ends a run and begins `rig show`: a column for each arm."""

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rig.displays import contention
from rig.displays.numbers import (
    UNKNOWN,
    clock_time,
    kilojoules,
    measured,
    mebibytes,
    out_of,
    percent,
    rate,
    seconds,
)
from rig.displays.table import Row, by_kind, columns
from rig.metrics import TASKS, UNCLEAR, Declaration
from rig.paths import runs_file
from rig.store import FAILED_ARM, StoredArm, StoredRun

if TYPE_CHECKING:
    from rig.compare import ArmResult

_SPEED: tuple[tuple[str, Callable[[StoredArm], str]], ...] = (
    ("prompt from cache", lambda arm: percent(arm.speed.cached_share)),
    ("prefill tok/s", lambda arm: rate(arm.speed.prefill_rate)),
    ("decode tok/s", lambda arm: rate(arm.speed.decode_rate)),
    ("CPU time its threads got", lambda arm: contention.shown(arm.speed, arm.fingerprint)),
    ("forced by grammar", lambda arm: percent(arm.speed.forced_share)),
    ("drafted tokens kept", lambda arm: percent(arm.speed.accepted_share)),
    ("first token after", lambda arm: seconds(arm.speed.first_token)),
    ("time", lambda arm: clock_time(arm.speed.wall_s)),
    ("  in the model", lambda arm: _share(arm, arm.speed.prefill_s + arm.speed.decode_s)),
    ("    of it in the grammar", lambda arm: _share(arm, arm.speed.mask_s)),
    ("  in tools", lambda arm: _share(arm, arm.speed.tools_s)),
    ("  in scoring", lambda arm: _share(arm, arm.speed.scoring_s)),
    ("  in the store", lambda arm: _share(arm, arm.speed.store_s)),
    ("  in the display", lambda arm: _share(arm, arm.speed.display_s)),
    ("peak memory", lambda arm: mebibytes(arm.speed.peak_memory)),
    ("peak GPU memory", lambda arm: mebibytes(arm.speed.peak_device_memory)),
    ("energy", lambda arm: kilojoules(arm.speed.energy_j)),
)


def summary(run: StoredRun, width: int | None = None) -> str:
    """Rates, counts, what went wrong by kind, and speed; then what failed, in words, and who graded.

    Arms that do not fit into `width` cells follow below.
    """
    rows = [Row("", [arm.name for arm in run.arms])]
    rows.append(Row("conversations", [_finished(run, arm) for arm in run.arms]))
    rows += [
        Row(metric.title, [measured(metric, arm.rated) for arm in run.arms])
        for metric in run.declaration.shown("tables")
    ]
    if any(arm.counts.get(UNCLEAR) for arm in run.arms):
        rows.append(count_row("texts unclear", run.arms, UNCLEAR))
    rows += wrong_rows(run.declaration, run.arms)
    speed = [Row(label, [cell(arm) for arm in run.arms]) for label, cell in _SPEED]
    rows += [row for row in speed if set(row.cells) != {UNKNOWN}]
    lines = columns(rows, width)
    lines += [f"{arm.name} failed: {arm.failure}" for arm in run.arms if arm.failure]
    lines += [f"{arm.name}: {_tried_again(arm)}" for arm in run.arms if arm.attempts]
    lines += [f"{arm.name} is not evaluated: {arm.not_evaluated}" for arm in run.arms if arm.not_evaluated]
    lines += [f"{arm.name}: {arm.decided}" for arm in run.arms if arm.decided]
    lines += contention.note((arm.name, arm.speed, arm.fingerprint) for arm in run.arms)
    lines += [f"{arm.name}: {arm.made_from}" for arm in run.arms if arm.made_from]
    if any(arm.counts.get(UNCLEAR) for arm in run.arms):
        lines.append(f"unclear texts count as wrong until you decide: rig adjudicate {run.id}")
    if run.declaration.caution:
        lines.append(run.declaration.caution)
    graders = {arm.grader for arm in run.arms if arm.grader}
    lines += [f"graded by {grader}" for grader in sorted(map(str, graders))]
    return "\n".join(lines)


def _finished(run: StoredRun, arm: StoredArm) -> str:
    """How many conversations; of how many where more were to come. Recorded arms may have fewer trials."""
    finished, planned = int(arm.counts.get(TASKS, 0)), len(run.conversations) * run.repeats
    stopped = run.state != "finished" or arm.decided or arm.failure
    return out_of(finished, planned, " of ") if stopped and finished < planned else str(finished)


def count_row(label: str, arms: "Sequence[StoredArm | ArmResult]", count: str) -> Row:
    """A count of each arm."""
    return Row(label, [f"{arm.counts.get(count, 0):g}" for arm in arms])


def wrong_rows(declaration: Declaration, arms: "Sequence[StoredArm | ArmResult]") -> list[Row]:
    """The counts that a method declares, and what went wrong by kind."""
    rows = [count_row(count.noun, arms, count.name) for count in declaration.counts]
    rows += by_kind("steps in error", [arm.errors for arm in arms])
    rows += by_kind(declaration.error_types, [arm.error_types for arm in arms])
    return rows + by_kind("faults", [arm.faults for arm in arms])


def _tried_again(arm: StoredArm) -> str:
    """What failed by the machine before, which the numbers no longer show."""
    turns = [f"{kind} {count}" for kind, count in arm.attempts.items() if kind != FAILED_ARM]
    notes = [f"turns played again after they failed: {', '.join(turns)}"] if turns else []
    loads = arm.attempts.get(FAILED_ARM)
    notes += [f"tried again after it failed: {loads}"] if loads else []
    return f"{'; '.join(notes)} (the table attempts has them)"


def _share(arm: StoredArm, part_s: float) -> str:
    return percent(part_s / arm.speed.wall_s if arm.speed.wall_s else None)


def whereabouts(run: StoredRun, store: str) -> str:
    """Where a run is stored, and the commands to continue with."""
    runs = "" if store == str(runs_file()) else f" --runs {shlex.quote(store)}"
    lines = [f"run {run.id} is stored in {store}", f"  rig show {run.id}{runs}"]
    if run.state == "running":
        lines.append(f"  rig watch {run.id}{runs}  ({run.turns_left} still to be made)")
    elif run.state != "finished":
        lines.append(f"  rig run --resume {run.id}{runs}  ({run.turns_left} left)")
    return "\n".join(lines)
