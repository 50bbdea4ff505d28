"""`rig adjudicate`: decide whether texts mean the same that no rule can judge."""

from contextlib import closing, nullcontext
from pathlib import Path

import click

from rig.cli.options import RUN, STORE, json_option
from rig.cli.output import print_json, say
from rig.cli.verbs import option, verb
from rig.displays.transcript import QUESTION, question_text
from rig.errors import RigError, counted
from rig.models import Model
from rig.rescore.adjudication import Adjudication, Opinions
from rig.scoring import add_answers, answers_file, read_answers

_KEYS = {"y": True, "yes": True, "n": False, "no": False}
_UNDO = ("u", "undo")


@verb()
def command(
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
    if run is None and to is None and source is None:
        raise RigError("which run? Name one (`rig runs`), or give --export or --import")
    file = answers_file(runs)
    if source is not None:
        _import(source, file)
    if run is not None:
        if overruled := read_answers(file).overruled:
            click.echo(f"{file}{_overrules(len(overruled))}", err=True)
        asking = Adjudication(runs, run)
        with nullcontext() if judge is None else closing(Opinions(_load(judge))) as opinions:
            if as_json:
                print_json(_as_json(asking, opinions, is_blind=not show_arms))
            else:
                _ask(asking, opinions, is_blind=not show_arms)
    if to is not None:
        if to.exists():
            raise RigError(f"--export {to}: exists; choose a new file")
        answers = read_answers(file)
        add_answers(to, answers)
        overruled_text = _overrules(len(answers.overruled))
        click.echo(f"wrote {counted(len(answers), 'answer')} to {to}{overruled_text}", err=True)


def _ask(asking: Adjudication, opinions: Opinions | None, *, is_blind: bool) -> None:
    run, pairs = asking.run, asking.questions
    if not pairs:
        click.echo(f"run {run.id} has no unclear texts left to judge")
        return
    at, decided = 0, set[int]()
    while at < len(pairs):
        opinion = opinions.of(pairs[at]) if opinions else None
        say(question_text(pairs[at], at + 1, len(pairs), opinion, is_blind=is_blind))
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
    questions = [question.as_json(is_blind=is_blind) for question in asking.questions]
    if opinions is not None:
        for question, told in zip(asking.questions, questions, strict=True):
            told["opinion"] = opinions.of(question).as_json()
    return {"run": asking.run.id, "answers": str(asking.file), "unclear": questions}


def _import(source: Path, file: Path) -> None:
    if not source.is_file():
        raise RigError(f"--import {source}: no such file")
    mine, theirs = read_answers(file), read_answers(source)
    new = [answer for answer in theirs if mine.of(answer.first, answer.second) is not answer.same]
    overruled = sum(mine.of(answer.first, answer.second) is not None for answer in new)
    add_answers(file, new)
    click.echo(f"added {counted(len(new), 'answer')} to {file}{_overrules(overruled)}", err=True)


def _overrules(count: int) -> str:
    return f"; {count} contradict an earlier answer: the last one counts" if count else ""
