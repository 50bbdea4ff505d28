"""The table at the end of a run and in `rig show`, with a column for each arm, and the notes below it."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rig.config.limits import LIMITS, CutAnswers
from rig.config.options import TABLE
from rig.core.calls import JsonObject
from rig.core.errors import counted, listed
from rig.core.events import Speed
from rig.core.metrics import TASKS, UNCLEAR, UNPLAYED, UNREAD_TEXTS, Counts, Declaration
from rig.core.paths import runs_file
from rig.show import texts
from rig.show.table import Row, by_kind, columns
from rig.show.texts import UNKNOWN, estimate, measured, mebibytes, percent, seconds
from rig.store import FAILED_ARM, Cell, StoredArm, StoredRun

Timed: TypeAlias = tuple[str, Speed, JsonObject | None]
"""An arm's name, speed and fingerprint."""

_MUCH = 0.9
"""The share of the CPU time below which an arm's speed depends too much on other processes."""

_MOST_FLAKY = 5
"""The most conversations with mixed results that are named."""

_MOST_NAMED = 3
"""If more arms than this were short of CPU time, they are counted instead of named."""


def cpu_share(speed: Speed, fingerprint: JsonObject | None) -> float | None:
    """Return the share of CPU time that an arm's threads got; None if a GPU computes, or if it is unknown."""
    values = fingerprint or {}
    threads = values.get("model.n_threads")
    if not isinstance(threads, int) or values.get("model.n_gpu_layers"):
        return None
    return speed.cpu_share(threads)


def cpu_share_text(speed: Speed, fingerprint: JsonObject | None) -> str:
    """Return `cpu_share` as the text of a cell, at most 100%."""
    share = cpu_share(speed, fingerprint)
    return UNKNOWN if share is None else percent(min(share, 1.0))


def contention_notes(arms: Iterable[Timed]) -> list[str]:
    """Return a line about the arms whose threads got too little CPU time; none if all got enough."""
    shares = {name: cpu_share(speed, fingerprint) for name, speed, fingerprint in arms}
    short = {name: percent(share) for name, share in shares.items() if share is not None and share < _MUCH}
    if not short:
        return []
    who = listed(f"{name} got {share}" for name, share in short.items())
    if len(short) > _MOST_NAMED:
        who = f"{len(short)} of {len(shares)} arms got less than {percent(_MUCH)}"
    whose = "its" if len(short) == 1 else "their"
    return [
        f"{who} of the CPU time that {whose} threads could have used: other processes were at work, or the"
        f" machine waited; the means of {whose} speeds and times cannot be compared"
    ]


if TYPE_CHECKING:
    from rig.compare.findings import ArmResult
    from rig.stats.repeats import RepeatOutcomes

_COSTS: tuple[tuple[str, bool, str, Callable[[Any], str]], ...] = (
    ("prompt tokens", False, "compare", lambda arm: f"{arm.speed.prompt_tokens:,}"),
    ("prompt from cache", False, "", lambda arm: percent(arm.speed.cached_share)),
    ("completion tokens", False, "compare", lambda arm: f"{arm.speed.completion_tokens:,}"),
    ("prefill tok/s", False, "", lambda arm: texts.rate(arm.speed.prefill_rate)),
    ("decode tok/s", False, "", lambda arm: texts.rate(arm.speed.decode_rate)),
    ("CPU time its threads got", False, "", lambda arm: cpu_share_text(arm.speed, arm.fingerprint)),
    ("forced by grammar", False, "run", lambda arm: percent(arm.speed.forced_share)),
    ("first token after", False, "", lambda arm: seconds(arm.speed.first_token)),
    ("time per turn", False, "compare", lambda arm: seconds(arm.turn_times.mean_s)),
    ("median", True, "compare", lambda arm: seconds(arm.turn_times.median_s)),
    ("95th percentile", True, "compare", lambda arm: seconds(arm.turn_times.p95_s)),
    ("time", False, "", lambda arm: texts.clock_time(arm.speed.wall_s)),
    ("in the model", True, "run", lambda arm: _share(arm, arm.speed.prefill_s + arm.speed.decode_s)),
    ("  of it in the grammar", True, "run", lambda arm: _share(arm, arm.speed.mask_s)),
    ("in tools", True, "run", lambda arm: _share(arm, arm.speed.tools_s)),
    ("in scoring", True, "run", lambda arm: _share(arm, arm.speed.scoring_s)),
    ("in the store", True, "run", lambda arm: _share(arm, arm.speed.store_s)),
    ("in the display", True, "run", lambda arm: _share(arm, arm.speed.display_s)),
    ("memory", False, "", lambda arm: mebibytes(arm.speed.peak_memory)),
    ("GPU memory", False, "", lambda arm: mebibytes(arm.speed.peak_device_memory)),
    ("energy", False, "", lambda arm: texts.kilojoules(arm.speed.energy_j)),
)
"""What a run cost: a label, whether it is a detail, the only table it is for (if any), and its cell."""


def cost_rows(
    arms: "Sequence[StoredArm | ArmResult]", place: Literal["run", "compare"] = "compare"
) -> list[Row]:
    """Return rows of tokens, speed, memory and energy, without those that are unknown for all arms."""
    rows = [
        Row(label, tuple(cell(arm) for arm in arms), detail)
        for label, detail, only, cell in _COSTS
        if only in ("", place)
    ]
    return [row for row in rows if set(row.cells) != {UNKNOWN}]


def summary(run: StoredRun, width: int | None = None, repeated: "Sequence[RepeatOutcomes]" = ()) -> str:
    """Return a table of rates, counts, what went wrong by kind and speed, and below it notes and graders.

    `repeated` are the outcomes of each arm's repeats, if there are any.

    Arms that do not fit into `width` cells follow below.
    """
    metrics = run.declaration.shown("tables")
    rows = [Row("", [arm.name for arm in run.arms])]
    rows.append(Row("conversations", [_finished(run, arm) for arm in run.arms]))
    rows += [Row(metric.title, [measured(metric, arm.rated) for arm in run.arms]) for metric in metrics]
    rows += limit_rows([arm.limits for arm in run.arms])
    rows += repeat_rows(repeated)
    if unclear := unclear_notes(run):
        rows.append(count_row("texts unclear", run.arms, UNCLEAR))
    rows += wrong_rows(run.declaration, run.arms)
    lines = columns([*rows, *cost_rows(run.arms, "run")], width)
    lines += [f"{arm.name} failed: {arm.failure}" for arm in run.arms if arm.failure]
    lines += [f"{arm.name}: {_tried_again(arm)}" for arm in run.arms if arm.attempts]
    lines += [f"{arm.name} is not evaluated: {arm.not_evaluated}" for arm in run.arms if arm.not_evaluated]
    lines += [f"{arm.name}: {arm.decided}" for arm in run.arms if arm.decided]
    lines += form_notes(run.declaration, ((arm.name, arm.rated) for arm in run.arms))
    lines += note_lines((arm.name, arm.notes) for arm in run.arms)
    lines += limit_notes({arm.name: arm.limits for arm in run.arms})
    for arm, of_arm in zip(run.arms, repeated, strict=False):
        lines += repeat_notes(arm.name, of_arm, arm.fingerprint or {})
    lines += contention_notes((arm.name, arm.speed, arm.fingerprint) for arm in run.arms)
    lines += [f"{arm.name}: {arm.made_from}" for arm in run.arms if arm.made_from]
    lines += unclear
    if run.declaration.caution:
        lines.append(run.declaration.caution)
    graders = {arm.grader for arm in run.arms if arm.grader}
    lines += [f"graded by {grader}" for grader in sorted(map(str, graders))]
    return "\n".join(lines)


def repeated_arms(run: StoredRun, cells: Iterable[Cell]) -> "list[RepeatOutcomes]":
    """Return the outcomes of every arm's repeats, empty if each conversation is played once.

    Arms that failed or were stopped are included with what they have played.
    """
    if run.repeats == 1:
        return []
    from rig.stats.repeats import RepeatOutcomes

    outcomes: list[list[tuple[str, bool]]] = [[] for _ in run.arms]
    bounded = {arm.position for arm in run.arms if UNPLAYED in arm.counts}
    for cell in cells:
        if cell.counts is not None and cell.arm not in bounded:
            outcomes[cell.arm].append((cell.conversation, run.declaration.succeeded(cell.counts)))
    return [RepeatOutcomes.of(of_arm) for of_arm in outcomes]


def _finished(run: StoredRun, arm: StoredArm) -> str:
    """Return how many conversations an arm finished, and of how many if it stopped before the end.

    Recorded arms may have fewer trials than planned.
    """
    finished, planned = int(arm.counts.get(TASKS, 0)), len(run.conversations) * run.repeats
    stopped = run.state != "finished" or arm.decided or arm.failure
    return texts.out_of(finished, planned, " of ") if stopped and finished < planned else str(finished)


def limit_rows(limits: Sequence[Sequence[CutAnswers]]) -> list[Row]:
    """Return the share of each arm's answers that each limit cut off, without limits that cut off none."""
    by_option = [{limit.option: limit.share for limit in of_arm} for of_arm in limits]
    return [
        Row(f"cut off by {TABLE[name].flag}", [percent(shares.get(name)) for shares in by_option])
        for name in LIMITS
        if any(shares.get(name) for shares in by_option)
    ]


def limit_notes(limits: Mapping[str, Sequence[CutAnswers]]) -> list[str]:
    """Return a line for each arm and limit that cut off answers; `limits` are by the name of the arm."""
    return [f"{arm}: {limit.text}" for arm, of_arm in limits.items() for limit in of_arm if limit.cut]


def repeat_rows(arms: "Sequence[RepeatOutcomes | ArmResult]") -> list[Row]:
    """Return pass^k and pass@k for the repeats that all arms have, and the number of flaky conversations."""
    if not arms or not all(arm.reliability for arm in arms):
        return []
    k = min(len(arm.reliability) for arm in arms)
    several = [arm.reliability[k - 1] for arm in arms]
    return [
        Row(f"all of {k} repeats (pass^{k})", [estimate(part.all_pass) for part in several]),
        Row(f"any of {k} repeats (pass@{k})", [estimate(part.any_passes) for part in several]),
        Row("conversations that are flaky", [str(len(arm.flaky)) for arm in arms]),
    ]


def repeat_rates(label: str, arm: "RepeatOutcomes | ArmResult") -> list[str]:
    """Return a line of how often all repeats of an arm succeed, and any of them; none without repeats."""
    told = [f"{row.label} {row.cells[0]}" for row in repeat_rows([arm])[:2]]
    return [f"{label}: {', '.join(told)}"] if told else []


def repeat_notes(label: str, arm: "RepeatOutcomes | ArmResult", fingerprint: JsonObject) -> list[str]:
    """Return a line that names an arm's flaky conversations, or says why its repeats show nothing."""
    if arm.reliability and fingerprint.get("model.temperature") == 0:
        return [f"{label} was sampled greedily: its repeats are alike, and pass^k says nothing new"]
    if not arm.flaky:
        return []
    names, more = ", ".join(arm.flaky[:_MOST_FLAKY]), len(arm.flaky) - _MOST_FLAKY
    rest = f" and {more} more" if more > 0 else ""
    return [f"{label} succeeds in some repeats and fails in others of {names}{rest}"]


def form_notes(declaration: Declaration, arms: Iterable[tuple[str, Counts]]) -> list[str]:
    """Return a line for each arm with calls that are not in its family's own form."""
    notes = ((label, declaration.form_note(counts)) for label, counts in arms)
    return [f"{label}: {note}" for label, note in notes if note]


def count_row(label: str, arms: "Sequence[StoredArm | ArmResult]", count: str) -> Row:
    """Return a row with one of the counts of each arm."""
    return Row(label, [f"{arm.counts.get(count, 0):g}" for arm in arms])


def wrong_rows(declaration: Declaration, arms: "Sequence[StoredArm | ArmResult]") -> list[Row]:
    """Return rows of the counts that a method declares, and of what went wrong by kind."""
    rows = [count_row(count.noun, arms, count.name) for count in declaration.counts]
    rows += by_kind("steps in error", [arm.errors for arm in arms])
    rows += by_kind(declaration.error_types, [arm.error_types for arm in arms])
    return rows + by_kind("faults", [arm.faults for arm in arms])


def _tried_again(arm: StoredArm) -> str:
    """Return what the machine failed before it was tried again, which the numbers no longer show."""
    turns = [f"{kind} {count}" for kind, count in arm.attempts.items() if kind != FAILED_ARM]
    notes = [f"turns played again after they failed: {', '.join(turns)}"] if turns else []
    loads = arm.attempts.get(FAILED_ARM)
    notes += [f"tried again after it failed: {loads}"] if loads else []
    return f"{'; '.join(notes)} (the table attempts has them)"


def unclear_notes(run: StoredRun) -> list[str]:
    """Return the remark on a run with texts that are unclear."""
    notes = []
    if any(arm.counts.get(UNCLEAR) for arm in run.arms):
        notes.append(f"unclear texts count as wrong until you decide: rig adjudicate {run.id}")
    if unread := sum(arm.counts.get(UNREAD_TEXTS, 0) for arm in run.arms):
        notes.append(f"in languages that rig does not read, and so unclear: {counted(int(unread), 'text')}")
    return notes


def _share(arm: StoredArm, part_s: float) -> str:
    return percent(part_s / arm.speed.wall_s if arm.speed.wall_s else None)


def whereabouts(run: StoredRun, store: str) -> str:
    """Return where a run is stored, and the commands to continue with."""
    runs = "" if store == str(runs_file()) else f" --runs {shlex.quote(store)}"
    lines = [f"run {run.id} is stored in {store}", f"  rig show {run.id}{runs}"]
    if run.state == "running":
        lines.append(f"  rig watch {run.id}{runs}  ({run.turns_left} still to be made)")
    elif run.state != "finished":
        lines.append(f"  rig run --resume {run.id}{runs}  ({run.turns_left} left)")
    return "\n".join(lines)


def note_lines(arms: Iterable[tuple[str, Mapping[str, JsonObject]]]) -> Iterator[str]:
    """Yield what the notes on arms say. Arms are pairs of a name and its notes."""
    for name, notes in arms:
        for note in notes.values():
            yield f"{name}: {note['text']}"
            yield from (f"  {line}" for line in note["lines"])
