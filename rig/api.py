"""rig in Python: read a run store, compare arms, and run models, in a notebook or a script.

`import rig` offers all of it: `rig.open` and `rig.run`, and the types below. Everything that is read is an
immutable typed value. Lists are a `RecordTable`; pandas and polars make a dataframe of what its `to_dicts()`
returns, and neither is needed. Whatever you can put right raises `rig.RigError`, with the line that the
command line prints. Stores are only read, so that a run in progress never waits for a notebook.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, TypeVar, Unpack, overload

from markupsafe import escape

from rig import running, show
from rig.compare import compare as comparing
from rig.compare.arms import ComparisonOptions
from rig.compare.findings import Comparison as Comparison
from rig.compare.verdict import ArmVerdict as ArmVerdict
from rig.compare.verdict import VerdictKind as VerdictKind
from rig.config.options import RunConfig, named, require_one_suite
from rig.core import paths
from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import RigError as RigError
from rig.core.errors import meant
from rig.core.metrics import in_other_forms
from rig.running.planning import plan
from rig.show import is_notebook
from rig.show.texts import printable
from rig.show.transcript import transcript_text
from rig.store import Runs, StoredRun, Transcript

if TYPE_CHECKING:
    from rig.config.keywords import RunKeywords


@dataclass(frozen=True, slots=True)
class FlatRecord:
    """A record of a table, which `to_dict` gives as a flat dict."""

    def to_dict(self) -> JsonObject:
        """Return all fields by name."""
        return self._named(*(part.name for part in fields(self) if part.name[0] != "_"))

    def _named(self, *names: str) -> JsonObject:
        return {name: getattr(self, name) for name in names}


R = TypeVar("R", bound=FlatRecord)
_MOST_SHOWN = 60
"""The most rows of a table that a notebook shows."""


class RecordTable(tuple[R, ...], Generic[R]):
    """Records of one kind, in order: a tuple that a notebook shows as a table."""

    @overload
    def __getitem__(self, index: SupportsIndex) -> R: ...

    @overload
    def __getitem__(self, index: slice) -> "RecordTable[R]": ...

    def __getitem__(self, index: Any) -> Any:
        records = super().__getitem__(index)
        return RecordTable(records) if isinstance(index, slice) else records

    def where(self, **values: Any) -> "RecordTable[R]":
        """Return the records with these values, as in `run.scores.where(arm="q4_k_m", success=False)`."""
        pairs = values.items()
        return RecordTable(r for r in self if all(getattr(r, name) == value for name, value in pairs))

    def to_dicts(self) -> list[JsonObject]:
        """Return a flat dict for each record, all with the same keys, as for `pandas.DataFrame`."""
        rows = [record.to_dict() for record in self]
        keys = dict.fromkeys(key for row in rows for key in row)
        return [{key: row.get(key) for key in keys} for row in rows]

    def _repr_html_(self) -> str:
        rows = self.to_dicts()
        header = "".join(f"<th>{_cell(key)}</th>" for key in (rows[0] if rows else {}))
        lines = ("".join(f"<td>{_cell(value)}</td>" for value in row.values()) for row in rows[:_MOST_SHOWN])
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        more = f"<p>{len(rows) - _MOST_SHOWN} more</p>" if len(rows) > _MOST_SHOWN else ""
        return f"<table><tr>{header}</tr>{body}</table>{more}"


def _cell(value: Any) -> str:
    """Return the text of a cell as escaped HTML, safe to show even if a model wrote it."""
    text = f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)
    return str(escape(printable(text if len(text) <= 200 else f"{text[:200]}…")))


@dataclass(frozen=True, slots=True)
class ConversationRecord(FlatRecord):
    """A record of one conversation, as an arm played it. `repeat` counts from 0."""

    run: str
    arm: str
    suite: str
    conversation: str
    repeat: int


@dataclass(frozen=True, slots=True)
class ConversationScore(ConversationRecord):
    """How an arm scored in a conversation, by the grader whose scores are shown.

    `rates` are by the names of the method's metrics, from 0 to 1, None where there is nothing to divide by.
    `counts` are what the rates are computed from; `unclear` of the texts may be right or wrong, and count as
    wrong. `errors` counts failed steps by kind.
    """

    success: bool
    unclear: int
    rates: Mapping[str, float | None]
    counts: Mapping[str, float]
    errors: Mapping[str, int]

    def to_dict(self) -> JsonObject:
        """Return all fields as a flat dict, with rates instead of counts and the sum of the errors."""
        own = self._named("run", "arm", "suite", "conversation", "repeat", "success", "unclear")
        return {**own, **self.rates, "errors": sum(self.errors.values())}


@dataclass(frozen=True, slots=True)
class PlayedStep(ConversationRecord):
    """A step of a conversation: a call, a reply, or an error. Names are those of the view `steps`.

    `turn` counts from 1, `step` from 0; times are in seconds. `match` and `bad_action` are None for steps
    that are not calls. `form` is that of a call: `own`, `leaked: ` or `broken: ` and its name, else empty.
    """

    turn: int
    step: int
    role: str
    kind: str
    tool: str | None
    arguments: Any
    reply: str | None
    response: Any
    exception: str | None
    error: str | None
    error_detail: str
    finish_reason: str
    raw: str
    reasoning: str
    form: str
    match: bool | None
    bad_action: bool | None
    reason: str | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    prefill_s: float
    decode_s: float


def _step(row: Mapping[str, Any]) -> PlayedStep:
    """Return the step of a row of the view `steps`."""
    values = {part.name: row[part.name] for part in fields(PlayedStep)}
    present = {name for name, value in values.items() if value is not None}
    values |= {name: parse_json(values[name]) for name in present & {"arguments", "response"}}
    values |= {name: bool(values[name]) for name in present & {"match", "bad_action"}}
    return PlayedStep(**values)


@dataclass(frozen=True, slots=True)
class PlayedConversation(ConversationRecord):
    """A conversation as an arm played it, `turns_done` of its `turns` so far.

    `success` is None until it is scored. As text, it is what `rig show RUN CONVERSATION` prints.
    """

    state: str
    turns: int
    turns_done: int
    success: bool | None
    _run: "Run" = field(repr=False, compare=False)
    _position: int = field(repr=False, compare=False)

    @property
    def transcript(self) -> Transcript:
        """The conversation with the turns played so far, and what was expected."""
        with self._run._store._reading() as runs:
            stored = runs.get(self.run, sums=False)
            return runs.transcript(stored, self.conversation, self._position, self.repeat)

    @property
    def steps(self) -> RecordTable[PlayedStep]:
        """The steps of the conversation, in order."""
        return self._run.steps.where(**self._named("arm", "conversation", "repeat"))

    def __str__(self) -> str:
        return printable(transcript_text(self.transcript))


@dataclass(frozen=True, slots=True)
class PlayedArm(FlatRecord):
    """An arm of a run: a model with its settings, and its results.

    `rates` are by the names of the method's metrics, from 0 to 1, empty if nothing is finished; `forms`
    counts the calls that are in other forms than the family's own, `leaked: ` or `broken: ` and the form;
    `speed` has tokens, seconds, rates and bytes by name. `fingerprint` is everything that can change an
    answer, `failure` says why the arm could not go on.
    """

    run: str
    arm: str
    model: str | None
    rates: Mapping[str, float | None]
    conversations: int
    forms: Mapping[str, int]
    failure: str | None
    speed: Mapping[str, Any]
    fingerprint: Mapping[str, Any]
    _store: "Store" = field(repr=False, compare=False)

    @property
    def scores(self) -> RecordTable[ConversationScore]:
        """The scores of the arm, a record for each conversation and repeat."""
        return self._store._scores(self.run).where(arm=self.arm)

    @property
    def steps(self) -> RecordTable[PlayedStep]:
        """The steps of the arm, in order."""
        return self._store._steps(self.run).where(arm=self.arm)

    def to_dict(self) -> JsonObject:
        """Return names, rates and speed, without the fingerprint, which has dozens of settings."""
        own = self._named("run", "arm", "model", "conversations", "failure")
        return {**own, **self.rates, **self.speed}


@dataclass(frozen=True, slots=True)
class Run(FlatRecord):
    """A stored run. `state` is `finished`, `running` or `interrupted`; `settings` are its options."""

    id: str
    name: str | None
    created: datetime
    state: str
    method: str
    repeats: int
    settings: Mapping[str, Any] = field(repr=False)
    arms: RecordTable[PlayedArm] = field(repr=False)
    _store: "Store" = field(repr=False, compare=False)

    @property
    def conversations(self) -> RecordTable[PlayedConversation]:
        """Every conversation of every arm and repeat, in the order in which they are run."""
        with self._store._reading() as runs:
            stored = runs.get(self.id)
            suites = {task.name: task.suite for task in runs.conversations(stored)}
            succeeded = stored.declaration.succeeded
            played = [
                PlayedConversation(
                    run=self.id,
                    arm=stored.arms[cell.arm].name,
                    suite=suites[cell.conversation],
                    conversation=cell.conversation,
                    repeat=cell.repeat,
                    state=cell.state,
                    turns=cell.turns,
                    turns_done=cell.turns_done,
                    success=None if cell.counts is None else succeeded(cell.counts),
                    _run=self,
                    _position=cell.arm,
                )
                for cell in runs.each_cell(stored)
            ]
        return RecordTable(played)

    @property
    def scores(self) -> RecordTable[ConversationScore]:
        """A record for each finished conversation, arm and repeat."""
        return self._store._scores(self.id)

    @property
    def steps(self) -> RecordTable[PlayedStep]:
        """Every step of every arm, in the order of the run."""
        return self._store._steps(self.id)

    def rows(self, view: str) -> list[JsonObject]:
        """Return the rows of a view of the store, as `rig export --rows` has them: `calls`, `flips`, …"""
        return self._store._rows(self.id, view)

    def compare(self, **question: Any) -> Comparison:
        """Compare the arms with the first, or with `baseline`. Takes what `Store.compare` does."""
        return self._store.compare(self.id, **question)

    def to_dict(self) -> JsonObject:
        """Return the fields by name, without settings, and with the number of arms."""
        own = self._named("id", "name", "created", "state", "method", "repeats")
        return {**own, "arms": len(self.arms)}


@dataclass(frozen=True, slots=True)
class Store:
    """A run store, opened anew for each reading and never written. `graded_by` is as for `rig show`."""

    path: Path
    graded_by: str = ""

    @property
    def runs(self) -> RecordTable[Run]:
        """Every run, newest first."""
        with self._reading() as runs:
            return RecordTable(map(self._run, runs.all()))

    def run(self, text: str = "latest") -> Run:
        """Return the run with this id, name or beginning of an id. Raises RigError unless one run matches."""
        with self._reading() as runs:
            return self._run(runs.get(text))

    def compare(self, *addresses: str, **question: Any) -> Comparison:
        """Compare arms, addressed as RUN or RUN/ARM; without any, those of the latest run.

        Takes `baseline` (an arm, else the first), `metric` (a name, else success), `alpha` (0.05), `loss` (5
        points, which the recommendation allows) and `across_settings` (False), as `rig compare` does.
        """
        choices = ("baseline", "metric", "alpha", "loss", "across_settings")
        for name in question.keys() - set(choices):
            raise RigError(f"a comparison has no option {name!r}{meant(name, choices)}")
        with self._reading() as runs:
            return comparing.compare(runs, addresses or ("latest",), ComparisonOptions(**question))

    def _reading(self) -> AbstractContextManager[Runs]:
        """Open the store for reading."""
        return Runs.open(self.path, self.graded_by)

    def _scores(self, run: str) -> RecordTable[ConversationScore]:
        """Read a record for each finished conversation, arm and repeat of a run."""
        with self._reading() as runs:
            stored = runs.get(run)
            declaration = stored.declaration
            scores = [
                ConversationScore(
                    run=run,
                    arm=arm.name,
                    suite=cell.suite,
                    conversation=cell.conversation,
                    repeat=cell.repeat,
                    success=declaration.succeeded(cell.counts),
                    unclear=round(cell.counts.get("unclear", 0)),
                    rates=declaration.rates(cell.counts),
                    counts=cell.counts,
                    errors=cell.errors,
                )
                for arm in stored.arms
                if arm.grader is not None
                for cell in runs.scored_cells(stored, arm.grader, [arm.position])
            ]
        return RecordTable(scores)

    def _steps(self, run: str) -> RecordTable[PlayedStep]:
        """Read every step of every arm of a run, in order."""
        return RecordTable(map(_step, self._rows(run, "steps")))

    def _rows(self, run: str, view: str) -> list[JsonObject]:
        """Read the rows of a run in a view of the store."""
        with self._reading() as runs:
            return list(runs.view(view, runs.get(run, sums=False)))

    def _run(self, stored: StoredRun) -> Run:
        arms = [
            PlayedArm(
                run=stored.id,
                arm=arm.name,
                model=(arm.fingerprint or {}).get("model.file"),
                rates=stored.declaration.rates(arm.rated) if arm.rated else {},
                conversations=round(arm.counts.get("tasks", 0)),
                forms=in_other_forms(arm.counts),
                failure=arm.failure or arm.not_evaluated,
                speed=arm.speed.as_json(),
                fingerprint=arm.fingerprint or {},
                _store=self,
            )
            for arm in stored.arms
        ]
        return Run(
            id=stored.id,
            name=stored.name,
            created=stored.created,
            state=stored.state,
            method=stored.declaration.method,
            repeats=stored.repeats,
            settings=stored.settings,
            arms=RecordTable(arms),
            _store=self,
        )


def open(path: str | Path | None = None, *, graded_by: str = "") -> Store:
    """Open a run store: by default `$RIG_RUNS`, or `runs.sqlite`. Raises RigError if it cannot be read."""
    store = Store(paths.runs_file() if path is None else Path(path), graded_by)
    with Runs.open(store.path):
        return store


def run(
    models: str | Path | Sequence[str | Path],
    *,
    store: str | Path | None = None,
    name: str | None = None,
    display: str | None = None,
    **options: "Unpack[RunKeywords]",
) -> Run:
    """Evaluate models as `rig run` does, store every turn, and return the run.

    `models` are names, paths of .gguf files, or `oracle`; several are arms of one run. `options` are those of
    `rig run`, under the same names: `suite="easy"`, `limit=4`, `docs=["full", "names"]`. `display` is a name
    that `--display` takes; by default a bar in a notebook, and lines elsewhere. An interrupt stops after the
    current step and returns the run as it is; `rig run --resume` continues it. Raises RigError.
    """
    for option in options:
        if not named(option).help:
            raise RigError(f"no option {option!r}; `rig run --help-all` lists them")
    require_one_suite(options)
    several = [models] if isinstance(models, str | Path) else models
    path = paths.runs_file() if store is None else Path(store)
    planned = plan(RunConfig.of(models=several, **options), path, name)
    chosen_display = display or ("notebook" if is_notebook() else "plain")
    running.run(planned, show.choose(chosen_display, sys.stdout))
    return Store(path).run(planned.run)
