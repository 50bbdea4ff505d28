"""What a page over all runs is made of: every arm with its file and rate, and how each conversation ended."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from rig.compare.leaks import leak_text, leaks_of
from rig.core.errors import RigError
from rig.core.metrics import UNCLEAR, Counts, Declaration, Metric, forms_in_words, total
from rig.core.tasks import Task
from rig.scoring import Answers, answers_file, read_answers
from rig.show import steps
from rig.show.table import one_line
from rig.show.texts import clip, measured
from rig.stats import Estimate
from rig.stats.rates import estimates
from rig.store import Runs, ScoredCell, StoredArm, StoredRun

ALPHA = 0.05
NAME = 120
"""The most characters of a name on the page. An address may be cut there: the beginning of a name will do."""
_TEXT = 200
_NOTE = 240


class ListedTalk(NamedTuple):
    """A conversation of a suite. `key` tells it from others of its name; `said` is the user's first words."""

    key: str
    name: str
    suite: str
    said: str


class Ending(NamedTuple):
    """How a conversation ended for an arm: in how many repeats it succeeded, and what was not right."""

    successes: int
    repeats: int
    text: str


@dataclass(frozen=True, slots=True)
class ListedArm:
    """An arm as the page lists it. `endings` are by the index of the conversation.

    `strict` is the rate that a server would leave that takes leaked calls for words. `is_chosen` says that
    results chose what was played, so that no rate is fair. `notes` are what to know of its numbers.
    """

    position: int
    name: str
    file: str
    digest: str
    size: int | None
    quantization: str
    rate: Estimate | None
    strict: float | None
    finished: int
    planned: int
    grader: str
    is_chosen: bool
    notes: tuple[str, ...]
    endings: Mapping[int, Ending] = field(default_factory=dict)

    @property
    def file_key(self) -> str:
        """What tells its file from others: the hash, or the name where there is none."""
        return self.digest or self.file


class ListedRun(NamedTuple):
    """A run with its arms. `metric` is the rate that they are listed by, if the method has one."""

    stored: StoredRun
    metric: Metric | None
    suites: tuple[str, ...]
    arms: tuple[ListedArm, ...]


class Gathered(NamedTuple):
    """All that the page shows: the runs, newest first, their conversations, and what people answered."""

    runs: tuple[ListedRun, ...]
    talks: tuple[ListedTalk, ...]
    answers: Answers
    faults: tuple[str, ...]


def gather(runs: Runs, progress: Callable[[int, int], None] = lambda done, of: None) -> Gathered:
    """Read all runs of a store. Raises StoreError if it cannot be read."""
    ids = sorted(runs.ids())
    talks: dict[tuple[str, str], int] = {}
    told: list[ListedTalk] = []
    listed = []
    was_enabled = gc.isenabled()
    gc.disable()  # which would look through millions of values, and find nothing
    try:
        for number, run_id in enumerate(ids, 1):
            listed.append(_listed(runs, runs.get(run_id, sums=False), talks, told))
            progress(number, len(ids))
    finally:
        if was_enabled:
            gc.enable()
    listed.sort(key=lambda run: (run.stored.created, run.stored.id), reverse=True)
    faults = []
    try:
        answers = read_answers(answers_file(runs.path))
    except RigError as error:
        answers = Answers()
        faults.append(f"people's answers are not shown: {error}")
    return Gathered(tuple(listed), tuple(told), answers, tuple(faults))


def _listed(
    runs: Runs, run: StoredRun, talks: dict[tuple[str, str], int], told: list[ListedTalk]
) -> ListedRun:
    declaration = run.declaration
    metric = declaration.success_metric or next(iter(declaration.metrics), None)
    by_arm = []
    suites: dict[str, None] = {}
    for arm in run.arms:
        cells: list[ScoredCell] = []
        if arm.grader is not None and not arm.not_evaluated:
            cells = list(runs.scored_cells(run, arm.grader, [arm.position]))
        by_arm.append((arm, cells))
        suites.update(dict.fromkeys(cell.suite for cell in cells))
        if any((cell.conversation, cell.source) not in talks for cell in cells):
            _add_talks(runs, run, cells, talks, told)
    arms = tuple(
        _arm(run, arm, cells, metric, talks, leaks_of(arm.fingerprint, _tasks(runs, run, cells)))
        for arm, cells in by_arm
    )
    return ListedRun(run, metric, tuple(map(short, suites)), arms)


def _tasks(runs: Runs, run: StoredRun, cells: Sequence[ScoredCell]) -> Iterator[Task]:
    """Yield the tasks of an arm's conversations. They are only read if one is asked for."""
    names = {cell.conversation for cell in cells}
    yield from (task for task in runs.conversations(run) if task.name in names)


def _add_talks(
    runs: Runs,
    run: StoredRun,
    cells: Sequence[ScoredCell],
    talks: dict[tuple[str, str], int],
    told: list[ListedTalk],
) -> None:
    """Add the conversations that were not met in another run."""
    tasks = {task.name: task for task in runs.conversations(run)}
    for cell in cells:
        if (cell.conversation, cell.source) in talks:
            continue
        talks[cell.conversation, cell.source] = len(told)
        task = tasks[cell.conversation]
        said = task.expected(task.known_turns[0]).said if task.known_turns else ()
        key = sha256(f"{cell.source} {cell.conversation}".encode("utf-8", "backslashreplace")).hexdigest()[
            :10
        ]
        first = one_line(clip(" ".join(said), _TEXT).text)
        told.append(ListedTalk(key, short(cell.conversation), short(cell.suite), first))


def _arm(
    run: StoredRun,
    arm: StoredArm,
    cells: Sequence[ScoredCell],
    metric: Metric | None,
    talks: Mapping[tuple[str, str], int],
    leaks: Sequence[str],
) -> ListedArm:
    values = arm.fingerprint or {}
    file, digest, kind = (values.get(f"model.{name}") for name in ("file", "file_sha256", "quantization"))
    size = values.get("model.file_bytes")
    declaration = run.declaration.with_forms(total(cell.counts for cell in cells))
    finished = [(cell.conversation, cell.counts) for cell in cells]
    is_chosen = run.settings.get("until") is not None and len(cells) < len(run.conversations) * run.repeats
    rates = {} if is_chosen else estimates(finished, declaration, ALPHA)
    rate = rates.get(metric.name) if metric else None
    strict = rates.get(f"strict_{metric.name}") if metric else None
    played: dict[int, list[ScoredCell]] = {}
    for cell in cells:
        played.setdefault(talks[cell.conversation, cell.source], []).append(cell)
    counts = _per_conversation(played.values())
    notes = [*_notes(run, arm, counts, metric, is_chosen=is_chosen)]
    if words := forms_in_words(counts) if strict else declaration.form_note(counts):
        notes.append(words)
    if leaks:
        notes.insert(0, leak_text("it", leaks, "of these"))
    return ListedArm(
        position=arm.position,
        name=short(arm.name),
        file=short(file or arm.name),
        digest=short(digest) if digest else "",
        size=size if isinstance(size, int) and size > 0 else None,
        quantization=short(kind or "")[:20],
        rate=rate if rate and rate.value is not None else None,
        strict=strict.value if strict and rate and strict.value != rate.value else None,
        finished=len(cells),
        planned=len(run.conversations) * run.repeats,
        grader=short(arm.grader.rules) if arm.grader else "",
        is_chosen=is_chosen,
        notes=tuple(short(note, _NOTE, "…") for note in notes),
        endings={talk: _ending(declaration, of_talk) for talk, of_talk in sorted(played.items())},
    )


def _per_conversation(rows: Iterable[Sequence[ScoredCell]]) -> Counts:
    """Return the sums of counts in which a conversation counts once, however often it was played."""
    return total(
        {name: count / len(row) for name, count in cell.counts.items()} for row in rows for cell in row
    )


def _notes(
    run: StoredRun, arm: StoredArm, counts: Counts, metric: Metric | None, *, is_chosen: bool
) -> Iterator[str]:
    """Yield what must be known of an arm's numbers, the gravest first."""
    if arm.failure:
        yield f"failed: {arm.failure}"
    if arm.not_evaluated:
        yield f"not evaluated: {arm.not_evaluated}"
    if is_chosen:
        yield "its results chose what it played"
    if texts := counts.get(UNCLEAR):
        ends = f" ({measured(metric, counts)})" if metric and metric.bounds(counts) else ""
        yield f"{round(texts)} unclear{ends}: rig adjudicate {run.id}"
    if arm.grader and arm.grader.has_answers:
        yield "people decided what was unclear"
    yield from (str(note["text"]) for note in arm.notes.values())
    if run.declaration.caution:
        yield run.declaration.caution


def _ending(declaration: Declaration, cells: Sequence[ScoredCell]) -> Ending:
    right = [declaration.succeeded(cell.counts) for cell in cells]
    text = ""
    if not all(right):
        cell = cells[right.index(False)]
        end = steps.ended(declaration, cell.counts, cell.errors)
        kinds = ", ".join(cell.faults)
        text = short("; ".join(filter(None, (end.sign.word, end.text, kinds))))
    return Ending(sum(right), len(cells), text)


def short(value: object, most: int = NAME, sign: str = "") -> str:
    """Return a text of the store on one line, cut where no page has room for more, with a sign if so."""
    line = one_line(str(value)[: 4 * most])
    return line if len(line) <= most else line[:most] + sign
