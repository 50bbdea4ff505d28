"""`rig adjudicate`: decide whether texts mean the same that no rule can judge."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from rig.cli import completion
from rig.cli.options import json_option, runs_option
from rig.cli.output import print_json, printable
from rig.displays.pages.adjudication import QUESTION, question_text
from rig.errors import RigError
from rig.models import Model
from rig.paths import runs_file
from rig.rescore import Adjudication, Opinion, Opinions
from rig.scoring import add_answers, answers_file, read_answers
from rig.words import counted

_PATH = click.Path(path_type=Path)
_KEYS = {"y": True, "yes": True, "n": False, "no": False}
_UNDO = ("u", "undo")


@click.command()
@click.argument("run", required=False, shell_complete=completion.runs)
@click.option("--judge", metavar="MODEL", help="Also show what this local model thinks. It decides nothing.")
@click.option("--show-arms", is_flag=True, help="Also say whose text it is, which can sway you.")
@click.option("--export", "to", type=_PATH, help="Write all answers to a new file.")
@click.option("--import", "source", type=_PATH, help="Add the answers in this file; they overrule yours.")
@runs_option()
@json_option("Print the undecided texts as JSON, and ask nothing.")
def command(
    run: str | None,
    judge: str | None,
    show_arms: bool,
    to: Path | None,
    source: Path | None,
    runs: Path | None,
    as_json: bool,
) -> None:
    """Decide on texts that rig cannot judge by itself.

    RUN is an id or its first characters, a name given with --name, or `latest`. rig shows each pair of texts
    once, with its conversation, and asks whether they mean the same: y, n, skip, undo or quit. It does not
    say which arm wrote the text. It saves each answer at once, next to the run store. An answer counts
    wherever the same two texts are compared again; if you answer twice, the last answer counts. `rig score
    RUN` then scores the run with your answers.
    """
    store = runs or runs_file()
    if run is None and to is None and source is None:
        raise RigError("which run? Name one (`rig runs`), or give --export or --import")
    if source is not None:
        _import(source, answers_file(store))
    if run is not None:
        if overruled := read_answers(answers_file(store)).overruled:
            click.echo(f"{answers_file(store)}{_overrules(len(overruled))}", err=True)
        asking = Adjudication(store, run)
        with _opinions(judge) as opinions:
            if as_json:
                print_json(_as_json(asking, opinions, is_blind=not show_arms))
            else:
                _ask(asking, opinions, is_blind=not show_arms)
    if to is not None:
        _export(answers_file(store), to)


def _ask(asking: Adjudication, opinions: Opinions | None, *, is_blind: bool) -> None:
    run, pairs = asking.run, asking.questions
    if not pairs:
        click.echo(f"run {run.id} has no unclear texts left to judge")
        return
    at, decided = 0, set[int]()
    while at < len(pairs):
        opinion = opinions.of(pairs[at]) if opinions else None
        click.echo(printable(question_text(pairs[at], at + 1, len(pairs), opinion, is_blind=is_blind)))
        reply = _answer()
        if reply is None:
            break
        if reply in _UNDO:
            at = max(at - 1, 0)
            if at in decided:
                asking.undo(pairs[at])
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


def _answer() -> str | None:
    """What a person says, None for quitting; so does the end of the input."""
    while True:
        try:
            reply = (
                click.prompt(f"{QUESTION} y, n, s(kip), u(ndo), q(uit)", prompt_suffix=" > ").strip().lower()
            )
        except click.Abort:
            click.echo()
            return None
        if reply in ("q", "quit"):
            return None
        if reply in (*_KEYS, *_UNDO, "s", "skip"):
            return str(reply)
        click.echo("y if they mean the same, n if not, s to leave it open, u to go back, q to stop here")


@contextmanager
def _opinions(judge: str | None) -> Iterator[Opinions | None]:
    if judge is None:
        yield None
        return
    with closing(Opinions(_load(judge))) as opinions:
        yield opinions


def _load(name: str) -> Model:
    # Kept from those who ask no model: this loads llama.cpp.
    from rig.engine.core.settings import EngineSettings
    from rig.engine.files.registry import resolve
    from rig.engine.loading import load

    model = resolve(name)
    loaded = load(model.path, EngineSettings(parallel=1), model.base, lambda _text: None)
    loaded.apply_adapter(model.adapter)
    return loaded


def _as_json(asking: Adjudication, opinions: Opinions | None, *, is_blind: bool) -> dict[str, object]:
    judgements: list[Opinion | None] = [
        opinions.of(question) if opinions else None for question in asking.questions
    ]
    questions = [
        {**question.as_json(is_blind=is_blind), **({"opinion": opinion.as_json()} if opinion else {})}
        for question, opinion in zip(asking.questions, judgements, strict=True)
    ]
    return {"run": asking.run.id, "answers": str(asking.file), "unclear": questions}


def _import(source: Path, file: Path) -> None:
    if not source.is_file():
        raise RigError(f"--import {source}: no such file")
    mine, theirs = read_answers(file), read_answers(source)
    new = [answer for answer in theirs if mine.of(answer.first, answer.second) is not answer.same]
    overruled = sum(mine.of(answer.first, answer.second) is not None for answer in new)
    add_answers(file, new)
    click.echo(f"added {counted(len(new), 'answer')} to {file}{_overrules(overruled)}", err=True)


def _export(file: Path, to: Path) -> None:
    if to.exists():
        raise RigError(f"--export {to}: exists; choose a new file")
    answers = read_answers(file)
    add_answers(to, answers)
    click.echo(
        f"wrote {counted(len(answers), 'answer')} to {to}{_overrules(len(answers.overruled))}", err=True
    )


def _overrules(count: int) -> str:
    return f"; {count} contradict an earlier answer: the last one counts" if count else ""
