"""`rig score` and `rig adjudicate`: score predictions again, and decide on texts that no rule can judge."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import click

from rig.cli.json_lines import result_stream
from rig.cli.options import JSON_LINES, RUN, STORE, complete_runs, json_option, of_table
from rig.cli.output import print_json, print_table, say, show_progress
from rig.cli.runs import print_scores
from rig.cli.verbs import argument, option, verb
from rig.config.options import Mode
from rig.core.budget import parse_json
from rig.core.calls import ExecutedCall, JsonObject
from rig.core.errors import RigError, counted
from rig.core.files import json_text
from rig.core.metrics import TASKS, Counts, Declaration, total
from rig.show.texts import measured

if TYPE_CHECKING:
    from rig.core.events import Where
    from rig.core.models import Model
    from rig.methods.base import Method, Setup
    from rig.plugins.rescore.adjudication import Adjudication, Opinions
    from rig.plugins.rescore.stored import Scored

_IN_MEMORY = 1 << 20
_MOST_DIFFERENCES = 20
_LONGEST = 200


class Spool(list[Any]):
    """Any number of JSON values as text, in memory while they are few, otherwise in a temporary file.

    `json` iterates over it as over a list, and keeps none of them.
    """

    length = 0

    def __init__(self) -> None:
        super().__init__()
        self._file = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="ascii", newline="\n")  # noqa: SIM115

    def __del__(self) -> None:
        self._file.close()

    def add(self, value: JsonObject) -> None:
        """Keep a value. Raises RigError if the disk is full."""
        try:
            self._file.write(json_text(value) + "\n")
        except OSError as error:
            raise RigError(f"no room for what is printed at the end: {error.strerror}; set TMPDIR") from error
        self.length += 1

    def __bool__(self) -> bool:
        return bool(self.length)

    def __iter__(self) -> Iterator[Any]:
        self._file.seek(0)
        return map(parse_json, self._file)


def print_spooled(value: JsonObject) -> None:
    """Print JSON as `print_json` does, but read and write the values of a spool one at a time."""
    stream = result_stream()
    for part in json.JSONEncoder().iterencode(value):
        stream.write(part)
    print(file=stream, flush=True)


@dataclass(eq=False)
class ScoredGroup:
    """Scored conversations, with their calls executed again if there is an `acting` setup.

    `arm` is "" for files. They are counted as they come. For each, only what will be printed is kept: JSON if
    `is_json`, else a row. Of the calls that were `executed` again, `differing` have another response now.
    """

    arm: str
    declaration: Declaration
    acting: Setup | None = None
    is_json: bool = field(default=False, kw_only=True)
    counts: Counts = field(default_factory=dict)
    executed: int = 0
    differing: int = 0
    conversations: Spool = field(default_factory=Spool)
    differences: Spool = field(default_factory=Spool)
    _broken_down: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _rows: list[tuple[str, ...]] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)

    def add(self, scored: Scored) -> None:
        """Add a conversation."""
        from rig.plugins.rescore.reexecute import reexecute
        from rig.show.steps import ended
        from rig.show.story import errors_by_kind

        counts, declaration = scored.score.counts, self.declaration
        self.counts = total((self.counts, counts))
        for name, parts in scored.breakdown.items():
            self._broken_down[name].update(parts)
        executed = reexecute(scored.conversation, scored.turns, self.acting) if self.acting else ()
        again = [call for call, _ in executed]
        differing = [call for call in again if call.differs]
        self.executed += len(again)
        self.differing += len(differing)
        if self.is_json:
            self.conversations.add(scored.as_json())
            for call in differing:
                place = {"conversation": scored.conversation.name, "repeat": scored.repeat}
                self.differences.add({**place, **call.as_json()})
        else:
            title = scored.conversation.name + (f" #{scored.repeat + 1}" if scored.repeat else "")
            sign = ended(declaration, counts, errors_by_kind(scored.turns.values())).sign.label
            parts_of = (part.brief(counts) or "0" for part in declaration.outcome)
            others = (f"{counts.get(count.name, 0):g}" for count in declaration.other_counts)
            self._rows.append((title, sign, *parts_of, *others))
            for call in differing[: _MOST_DIFFERENCES - len(self._lines)]:
                where = f"{scored.conversation.name} turn {call.number}, call {call.step + 1}"
                outcomes = f"{_outcome(call.recorded)}, now {_outcome(call.executed)}"
                self._lines.append(f"  {where}, {call.recorded.name}: {outcomes}")

    def as_json(self) -> JsonObject:
        """Return totals, every conversation, and the calls that differ, with spools in place of lists."""
        of_all = {name: dict(self._broken_down[name]) for name in ("errors", "error_types", "faults")}
        totals = {"metrics": self.declaration.as_json(self.counts), **of_all}
        summary: JsonObject = {"total": totals, "conversations": self.conversations}
        if self.acting is not None:
            summary["reexecuted"] = {"calls": self.executed, "differences": self.differences}
        return summary

    def print(self) -> None:
        """Print a table of the conversations, and below it the totals."""
        outcome = [part.short or part.noun for part in self.declaration.outcome]
        counts = [count.noun for count in self.declaration.other_counts]
        print_table(("conversation", "", *outcome, *counts), self._rows)
        metrics = self.declaration.shown("meters")
        click.echo(", ".join(f"{metric.title} {measured(metric, self.counts)}" for metric in metrics))
        if self.acting is not None:
            changed = counted(self.differing, "response")
            click.echo(f"executed {counted(self.executed, 'call')} again; {changed} changed")
            for line in self._lines:
                say(line)


def _outcome(executed: ExecutedCall) -> str:
    if executed.exception is not None:
        return f"error {executed.exception[:_LONGEST]!r}"
    return json.dumps(executed.response)[:_LONGEST]


@verb()
def command(
    *,
    what: str = argument("RUN|DIR", shell_complete=complete_runs),
    grader: Mode | None = option(
        "The rules for matching calls.  [default: those of the run; for files, default]"
    ),
    similarity: str | None = option(
        "What compares free text: minilm, exact, a sentence-transformers folder, or distilbert:DIR."
        " NAME@X has a threshold of its own.  [default: that of the run; for files, minilm]",
        "NAME",
    ),
    reader: str | None = of_table("reader"),
    reexecute: bool = option("Execute every call again, and exit with code 1 if a response differs."),
    world: Path | None = option(
        "A folder of JSON databases to execute calls in.  [default: that of the run; for files, rig's own]"
    ),
    format_: str | None = option(
        "The method that the files in DIR belong to, if they do not say: bfcl.", "METHOD", "--format"
    ),
    set_: tuple[str, ...] = option(
        "Set an option that only the method knows, such as data=DIR for bfcl. Repeatable.",
        "NAME=VALUE",
        "--set",
    ),
    runs: Path = STORE,
    as_json: bool = JSON_LINES,
) -> int:
    """Score stored predictions again, without a model.

    RUN is an id or its first characters, a name given with --name, or `latest`. The new score is stored next
    to those the run already has.

    DIR is a folder with files of predictions, such as ToolTalk's, a folder of such folders, as `rig export`
    writes for several arms, or a single file. Several files of one conversation are its repeats.

    Texts that rig cannot judge are decided by the answers you gave to `rig adjudicate`, which are kept next
    to the run store. With --grader upstream, calls are matched and executed the way ToolTalk's own code does
    it.
    """
    from rig.plugins.rescore.setups import setup_for_files
    from rig.scoring import answers_file

    place = Path(what)
    options: dict[str, Any] = {"grader": grader, "similarity": similarity}
    options |= {"reader": reader, "world": world, "answers": answers_file(runs)}
    if place.is_dir() or place.suffix == ".json" or format_ is not None:
        if format_ is not None and not place.exists():
            raise RigError(f"{place}: no such file or folder; --format is of files")
        setups = setup_for_files(place, name=format_, options=set_, **options)
        groups = _score_files(place, setups, reexecute, as_json)
    elif os.sep in what:
        raise RigError(
            f"{what}: no such folder of predictions, or .json file; a run has no {os.sep} in its id"
        )
    elif set_:
        raise RigError("--set is for files; a stored run is scored with the options it was played with")
    else:
        groups = _score_run(what, runs, options, reexecute, as_json)
    return any(group.differing for group in groups)


def _score_files(
    place: Path, setups: list[tuple[Method, Setup]], reexecute: bool, as_json: bool
) -> list[ScoredGroup]:
    from rig.plugins.rescore.reexecute import require_world
    from rig.plugins.rescore.stored import score_files
    from rig.store import GraderInfo

    every: list[tuple[Setup, list[ScoredGroup]]] = []
    for method, setup in setups:
        acting = require_world(setup) if reexecute else None
        by_folder = score_files(place, method, setup)
        conversations = [scored.conversation for several in by_folder.values() for scored in several]
        declaration = method.declaration_of(conversations)
        groups = [ScoredGroup(name, declaration, acting, is_json=as_json) for name in by_folder]
        for group in groups:
            for scored in by_folder[group.arm]:
                group.add(scored)
        every.append((setup, groups))
    if as_json:
        told = []
        for setup, groups in every:
            arms = [{"arm": group.arm, **group.as_json()} for group in groups]
            results = groups[0].as_json() if len(groups) == 1 else {"arms": arms}
            told.append({"grader": setup.grader.fingerprint, **results})
        print_spooled({"source": str(place), **(told[0] if len(told) == 1 else {"methods": told})})
    for setup, groups in () if as_json else every:
        _print_groups(groups)
        say(f"graded by {GraderInfo.of(setup.grader)}")
    return [group for _, groups in every for group in groups]


def _print_groups(groups: list[ScoredGroup]) -> None:
    for group in groups:
        if group.arm:
            say(group.arm)
        group.print()
        if group.arm:
            click.echo()


def _score_run(
    text: str, store: Path, options: dict[str, Any], reexecute: bool, as_json: bool
) -> list[ScoredGroup]:
    from rig.plugins.rescore.reexecute import require_world
    from rig.plugins.rescore.setups import setup_of
    from rig.plugins.rescore.stored import score_run
    from rig.store import Runs

    with Runs.open(store) as runs:
        run = runs.get(text)
    setup = setup_of(run, **options)
    acting = require_world(setup) if reexecute else None
    groups = [ScoredGroup(arm.name, run.declaration, acting, is_json=as_json) for arm in run.arms]
    place, of = Counter[str](), sum(arm.counts.get(TASKS, 0) for arm in run.arms)

    def take(where: Where, scored: Scored) -> None:
        groups[where.arm].add(scored)
        place["done"] += 1
        show_progress(run.id, "conversations", place["done"], int(of))

    score_run(store, run, setup, take)
    if as_json:
        arms = [{"arm": group.arm, **group.as_json()} for group in groups]
        print_spooled({"run": run.id, "store": str(store), "grader": setup.grader.fingerprint, "arms": arms})
        return groups
    _print_groups(groups)
    with Runs.open(store) as runs:
        print_scores(run, runs.scores(run))
    return groups


_KEYS = {"y": True, "yes": True, "n": False, "no": False}
_UNDO = ("u", "undo")


@verb()
def adjudicate(
    *,
    run: str | None = RUN,
    judge: str | None = option("Also show what this local model thinks. It decides nothing.", "MODEL"),
    show_arms: bool = option("Also say whose text it is, which can sway you."),
    to: Path | None = option("Write all answers to a new file.", flags="--export"),
    source: Path | None = option("Add the answers in this file; they overrule yours.", flags="--import"),
    runs: Path = STORE,
    as_json: bool = json_option("Print the undecided texts as JSON, and ask nothing."),
) -> None:
    """Decide on texts that rig cannot judge by itself.

    RUN is an id or its first characters, a name given with --name, or `latest`. rig shows each pair of texts
    once, with its conversation, and asks whether they mean the same: y, n, skip, undo or quit. It does not
    say which arm wrote the text. It saves each answer at once, next to the run store. An answer counts
    wherever the same two texts are compared again; if you answer twice, the last answer counts. `rig score
    RUN` then scores the run with your answers.
    """
    from rig.plugins.rescore.adjudication import Adjudication, Opinions
    from rig.scoring import add_answers, answers_file, read_answers

    if run is None and to is None and source is None:
        raise RigError("which run? Name one (`rig runs`), or give --export or --import")
    file = answers_file(runs)
    if source is not None:
        if not source.is_file():
            raise RigError(f"--import {source}: no such file")
        mine, theirs = read_answers(file), read_answers(source)
        new = [answer for answer in theirs if mine.of(answer.first, answer.second) is not answer.same]
        contradicting = sum(mine.of(answer.first, answer.second) is not None for answer in new)
        add_answers(file, new)
        click.echo(f"added {counted(len(new), 'answer')} to {file}{_overrules(contradicting)}", err=True)
    if run is not None:
        if overruled := read_answers(file).overruled:
            click.echo(f"{file}{_overrules(len(overruled))}", err=True)
        asking = Adjudication(runs, run)
        with nullcontext() if judge is None else closing(Opinions(load_one(judge))) as opinions:
            if as_json:
                questions = [question.as_json(is_blind=not show_arms) for question in asking.questions]
                for question, told in zip(asking.questions, questions, strict=True):
                    told |= {"opinion": opinions.of(question)._asdict()} if opinions else {}
                print_json({"run": asking.run.id, "answers": str(asking.file), "unclear": questions})
            else:
                _ask(asking, opinions, is_blind=not show_arms)
    if to is not None:
        if to.exists():
            raise RigError(f"--export {to}: exists; choose a new file")
        answers = read_answers(file)
        add_answers(to, answers)
        overrules = _overrules(len(answers.overruled))
        click.echo(f"wrote {counted(len(answers), 'answer')} to {to}{overrules}", err=True)


def _ask(asking: Adjudication, opinions: Opinions | None, *, is_blind: bool) -> None:
    from rig.plugins.rescore.question import question_text

    run, pairs = asking.run, asking.questions
    if not pairs:
        click.echo(f"run {run.id} has no unclear texts left to judge")
        return
    at, decided = 0, set[int]()
    while at < len(pairs):
        opinion = opinions.of(pairs[at]) if opinions else None
        say(question_text(pairs[at], at + 1, len(pairs), opinion, is_blind=is_blind))
        reply = _reply()
        if reply is None:
            break
        if reply in _UNDO:
            at = max(at - 1, 0)
            if at in decided:
                asking.answer(pairs[at], same=None)
                decided.remove(at)
        else:
            if reply in _KEYS:
                asking.answer(pairs[at], same=_KEYS[reply])
                decided.add(at)
            at += 1
        click.echo()
    click.echo(f"{asking.answered} of {len(pairs)} answered, kept in {asking.file}")
    if asking.answered:
        click.echo(f"  rig score {run.id}  scores the run with them")


def _reply() -> str | None:
    """Ask a person for a reply; None for quitting, or at the end of the input."""
    from rig.plugins.rescore.question import QUESTION

    while True:
        try:
            question = f"{QUESTION} y, n, s(kip), u(ndo), q(uit)"
            reply = click.prompt(question, prompt_suffix=" > ").strip().lower()
        except click.Abort:
            click.echo()
            return None
        if reply in ("q", "quit"):
            return None
        if reply in (*_KEYS, *_UNDO, "s", "skip"):
            return str(reply)
        click.echo("y if they mean the same, n if not, s to leave it open, u to go back, q to stop here")


def load_one(name: str) -> Model:
    """Load a model by file or name, which answers one question after another. Raises RigError."""
    # Imported here, because it loads llama.cpp.
    from rig.plugins.llama.core.settings import EngineSettings
    from rig.plugins.llama.files.registry import resolve
    from rig.plugins.llama.loading import load

    model = resolve(name)
    loaded = load(model.path, EngineSettings(parallel=1), model.base, lambda _text: None)
    loaded.apply_adapter(model.adapter)
    return loaded


def _overrules(count: int) -> str:
    return f"; {count} contradict an earlier answer: the last one counts" if count else ""


def show_effects(
    *,
    run: str,
    conversation: str | None,
    runs: Path,
    arms: tuple[str, ...],
    graded_by: str,
    as_json: bool,
    **_: object,
) -> None:
    """Show a conversation with what each call changed in the world."""
    from rig.cli.runs import print_conversation
    from rig.plugins.rescore.reexecute import notes_on
    from rig.store import Runs

    if conversation is None:
        raise RigError("--diff needs a conversation; name it after the run")
    with Runs.open(runs, graded_by) as stored:
        stored_run = stored.get(run)
        print_conversation(stored, stored_run, conversation, arms, as_json=as_json, notes_on=notes_on)
